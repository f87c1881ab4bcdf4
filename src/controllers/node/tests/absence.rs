use super::*;

fn names(cluster: &Cluster) -> Vec<String> {
    cluster.kube.list::<Node>().iter().map(name_of).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_instance_is_gone_is_deleted() {
    for status in ["False", "Unknown"] {
        let cluster = steady(3).await;
        cluster.cloud.release("i-1");
        cluster.report_ready("node-i-1", status);
        seconds(5).await;
        assert_eq!(names(&cluster).len(), 3, "one answer is no proof");
        seconds(10).await;
        assert_eq!(names(&cluster), ["node-i-0", "node-i-2"], "{status}");
        assert_eq!(cluster.events("DeletedNode"), ["node-i-1: node-i-1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_ready_or_whose_instance_exists_is_kept() {
    let cluster = steady(4).await;
    cluster.cloud.release("i-0");
    cluster.report_ready("node-i-1", "False");
    cluster.report_ready("node-i-2", "Unknown");
    seconds(30 * 60).await;
    assert_eq!(names(&cluster).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn answers_that_prove_nothing_delete_nothing() {
    for class in [Class::Denied, Class::Throttled, Class::Transient, Class::Malformed, Class::Unknown, Class::NotFound]
    {
        let cluster = steady(10).await;
        cluster.cloud.fail("DescribeInstances", class);
        (0..6).for_each(|n| cluster.report_ready(&format!("node-i-{n}"), "Unknown"));
        seconds(20 * 60).await;
        assert_eq!(names(&cluster).len(), 10, "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_cannot_be_looked_up_is_neither_marked_nor_deleted() {
    for by in ["DescribeInstancesByAddress", "DescribeInstancesOfVpc"] {
        let cluster = steady(3).await;
        cluster.cloud.fail(by, Class::Transient);
        let lost = mk_node("worker-9").ready("False");
        let by_address = by == "DescribeInstancesByAddress";
        let (kind, address) = if by_address { ("InternalIP", "10.0.9.9") } else { ("Hostname", "worker-9") };
        cluster.add(&lost.address(kind, address));
        seconds(20 * 60).await;
        let node = cluster.node("worker-9").unwrap();
        assert_eq!(node.spec.unwrap_or_default().provider_id, None, "{by}");
        assert_eq!(cluster.taints("worker-9"), [""; 0], "{by}");
        assert!(cluster.cloud.calls(by).len() > 2, "{by}: it was tried");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_deletes_nothing() {
    let cluster = steady(10).await;
    cluster.cloud.edit(|state| state.instances.clear());
    (0..6).for_each(|n| cluster.report_ready(&format!("node-i-{n}"), "Unknown"));
    seconds(60 * 60).await;
    assert_eq!(names(&cluster).len(), 10);
}

#[tokio::test(start_paused = true)]
async fn half_an_answer_deletes_nothing_and_is_told() {
    let cluster = steady(10).await;
    for n in 0..5 {
        cluster.cloud.release(&format!("i-{n}"));
        cluster.report_ready(&format!("node-i-{n}"), "Unknown");
    }
    seconds(60 * 60).await;
    assert_eq!(names(&cluster).len(), 10);
    let told = cluster.events("DeleteNodeFailed");
    assert!(told[0].contains("5 of 10 instances are missing at once"), "{told:?}");
    assert!(cluster.metrics.encode().unwrap().contains("ccm_node_instances_missing 5"));
    // Once the others are seen again, the one that is really gone goes.
    for n in 1..5 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{}", n + 1));
    }
    seconds(90).await;
    assert_eq!(cluster.events("DeletedNode"), ["node-i-0: node-i-0"]);
}

#[tokio::test(start_paused = true)]
async fn the_only_node_is_never_deleted() {
    let cluster = steady(1).await;
    cluster.cloud.release("i-0");
    cluster.report_ready("node-i-0", "Unknown");
    seconds(60 * 60).await;
    assert_eq!(names(&cluster), ["node-i-0"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_comes_back_into_view_in_time_keeps_its_node() {
    let cluster = steady(3).await;
    cluster.cloud.release("i-1");
    cluster.report_ready("node-i-1", "Unknown");
    seconds(5).await;
    cluster.cloud.boot("i-1", "10.0.0.2");
    seconds(60 * 60).await;
    assert_eq!(names(&cluster).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_announced_scale_in_goes_through() {
    let cluster = steady(10).await;
    for n in 2..10 {
        let taint = mk_node("t").taint(departure::SCALE_IN_TAINT, "NoSchedule").build().spec.unwrap().taints;
        let name = format!("node-i-{n}");
        cluster.kube.patch::<Node>("", &name, serde_json::json!({ "spec": { "taints": taint } })).unwrap();
        cluster.cloud.release(&format!("i-{n}"));
        cluster.report_ready(&name, "Unknown");
    }
    seconds(20).await;
    assert_eq!(names(&cluster), ["node-i-0", "node-i-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_node_of_the_same_name_is_not_deleted_for_the_old_one() {
    let cluster = steady(3).await;
    cluster.cloud.release("i-1");
    cluster.report_ready("node-i-1", "Unknown");
    seconds(5).await;
    cluster.kube.delete::<Node>("", "node-i-1").unwrap();
    cluster.add(&ecs("i-1").ready("Unknown"));
    seconds(8).await;
    assert_eq!(names(&cluster).len(), 3, "what was seen of the old one does not count");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_never_got_its_provider_id_goes_by_the_name_that_spells_it() {
    let cluster = steady(3).await;
    cluster.add(&mk_node("cn-hangzhou.i-gone").ready("False"));
    cluster.add(&mk_node("worker-9").ready("False").address("InternalIP", "10.0.9.9"));
    cluster.add(&mk_node("i-9").ready("False"));
    seconds(60).await;
    assert_eq!(names(&cluster), ["i-9", "node-i-0", "node-i-1", "node-i-2", "worker-9"], "never a guess");
    let told = cluster.events("SyncNodeFailed");
    assert!(told.len() == 2 && told.iter().all(|text| text.contains("tried: ")), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_others_look_after_is_neither_marked_nor_deleted() {
    let cluster = Cluster::new();
    for n in 0..3 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{}", n + 1));
    }
    for n in 0..3 {
        cluster.add(&ecs(&format!("i-{n}")).joining().ready("True").label(kind::LIFECYCLE_LABEL, ""));
    }
    start(&cluster, |_| {});
    seconds(5).await;
    assert_eq!(cluster.events("InitializedNode").len(), 3, "initialised it is");
    cluster.cloud.release("i-0");
    cluster.cloud.edit(|state| {
        state.instances.get_mut(&"i-1".into()).unwrap().status = InstanceStatus::Stopped;
    });
    cluster.report_ready("node-i-0", "Unknown");
    cluster.report_ready("node-i-1", "Unknown");
    seconds(10 * 60).await;
    assert_eq!(names(&cluster).len(), 3);
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn five_thousand_nodes_cost_fifty_reads_a_sweep() {
    let cluster = Cluster::new();
    let mut nodes = Vec::new();
    for n in 0..5000 {
        let (id, address) = (format!("i-{n}"), format!("10.{}.{}.{}", n / 62500, n / 250 % 250, n % 250 + 1));
        cluster.cloud.boot(&id, &address);
        let node = ecs(&id).ready("True").address("InternalIP", &address);
        let instance = fixtures::mk_instance(&id, &address);
        let labels = desired::desired(&node.clone().build(), &instance, false).labels;
        nodes.push(labels.into_iter().fold(node, |node, (key, value)| node.label(key, &value)).build());
    }
    cluster.cache.services.replace(Vec::new());
    cluster.cache.slices.replace(Vec::new());
    cluster.cache.nodes.replace(nodes);
    start_unwatched(&cluster, |_| {}, |controller| controller);
    seconds(4 * 60).await;
    cluster.cloud.forget_calls();
    seconds(4 * 60).await;
    assert_eq!(cluster.cloud.calls("DescribeInstances").len(), 50, "one sweep");
    assert_eq!(cluster.writes(), [""; 0]);
    // Kubelets fall silent: the witnesses that are asked for along with them fit into the same call.
    cluster.cloud.forget_calls();
    for n in 0..98 {
        let mut node = cluster.cache.nodes.get(None, &format!("node-i-{n}")).unwrap().as_ref().clone();
        node.status.as_mut().unwrap().conditions.as_mut().unwrap()[0].status = "Unknown".to_owned();
        node.metadata.resource_version = Some("2".to_owned());
        cluster.cache.nodes.apply(node);
    }
    seconds(2).await;
    assert_eq!(cluster.cloud.calls("DescribeInstances"), ["DescribeInstances 100"]);
}
