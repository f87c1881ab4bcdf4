use k8s_openapi::api::core::v1::Taint;

use super::{
    super::{address::PROVIDED_NODE_IP, plan::UNINITIALIZED_TAINT},
    *,
};

#[tokio::test(start_paused = true)]
async fn a_joining_node_is_taken_into_service() {
    let cluster = Cluster::new();
    cluster.cloud.boot("i-1", "10.0.0.1");
    start(&cluster, |_| {});
    seconds(1).await;
    cluster.add(&ecs("i-1").joining().taint("mine", "NoSchedule").address("Hostname", "h").pod_cidrs(&["10.9.0.0/24"]));
    seconds(2).await;
    let node = cluster.node("node-i-1").unwrap();
    assert_eq!(cluster.taints("node-i-1"), ["mine"]);
    let addresses: Vec<_> = address::current(&node).iter().map(|a| a.address.as_str()).collect();
    assert_eq!(addresses, ["10.0.0.1", "h"]);
    assert_eq!(node.metadata.labels.unwrap()["topology.kubernetes.io/zone"], "cn-hangzhou-h");
    assert_eq!(cluster.network_unavailable("node-i-1").as_deref(), Some("True/NoRouteCreated"));
    assert_eq!(
        cluster.cloud.edit(|state| state.calls.clone()),
        ["DescribeInstances 1", "DescribeNetworkInterfaces 1", "ModifyNetworkInterfaceAttribute 1"]
    );
    assert_eq!(cluster.events("InitializedNode"), ["node-i-1: Initialized node node-i-1 with cloud provider"]);
    assert_eq!(cluster.writes().len(), 2, "one write of the status and one of the rest: {:?}", cluster.writes());
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_the_cloud_does_not_show_yet_is_waited_for() {
    let cluster = steady(3).await;
    cluster.add(&ecs("i-new").joining().ready("False"));
    seconds(40).await;
    assert_eq!(cluster.taints("node-i-new"), [UNINITIALIZED_TAINT]);
    assert_eq!(cluster.events("SyncNodeFailed").len(), 1);
    cluster.cloud.boot("i-new", "10.0.9.1");
    seconds(60).await;
    assert_eq!(cluster.taints("node-i-new"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_node_without_provider_id_is_found_by_name_or_address() {
    let cluster = Cluster::new();
    cluster.cloud.boot("i-1", "10.0.0.1");
    cluster.cloud.boot("i-2", "10.0.0.2");
    cluster.cloud.boot("i-3", "10.0.0.3");
    cluster.add(&mk_node("cn-hangzhou.i-1").joining());
    cluster.add(&mk_node("i-2").joining());
    cluster.add(&mk_node("worker-3").joining().address("InternalIP", "10.0.0.3"));
    cluster.add(&mk_node("worker-4").joining().address("InternalIP", "10.0.0.4"));
    start(&cluster, |_| {});
    seconds(3).await;
    for (name, want) in [("cn-hangzhou.i-1", "i-1"), ("i-2", "i-2"), ("worker-3", "i-3")] {
        let node = cluster.node(name).unwrap();
        assert_eq!(node.spec.unwrap().provider_id, Some(format!("cn-hangzhou.{want}")), "{name}");
        assert_eq!(cluster.taints(name), [""; 0], "{name}");
    }
    assert_eq!(cluster.taints("worker-4"), [UNINITIALIZED_TAINT]);
    let told = cluster.events("SyncNodeFailed");
    assert!(told.len() == 1 && told[0].contains("10.0.0.4") && told[0].contains("--provider-id"), "{told:?}");
    seconds(120).await;
    assert_eq!(cluster.events("SyncNodeFailed").len(), 1, "told once");
}

#[tokio::test(start_paused = true)]
async fn a_node_ip_that_the_instance_does_not_have_keeps_the_taint() {
    let cluster = Cluster::new();
    cluster.cloud.boot("i-1", "10.0.0.1");
    cluster.add(&ecs("i-1").joining().annotation(PROVIDED_NODE_IP, "10.0.0.2"));
    start(&cluster, |_| {});
    seconds(3).await;
    assert_eq!(cluster.taints("node-i-1"), [UNINITIALIZED_TAINT]);
    let told = cluster.events("SyncNodeFailed");
    assert!(told.len() == 1 && told[0].contains("10.0.0.2") && told[0].contains("10.0.0.1"), "{told:?}");
    let corrected = serde_json::json!({ "metadata": { "annotations": { PROVIDED_NODE_IP: "10.0.0.1" } } });
    cluster.kube.patch::<Node>("", "node-i-1", corrected).unwrap();
    seconds(3).await;
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_someone_adds_meanwhile_survives() {
    let cluster = Cluster::new();
    cluster.cloud.boot("i-1", "10.0.0.1");
    cluster.add(&ecs("i-1").joining());
    let kube = cluster.kube.clone();
    // Between the reading of the Node and the write, and again before the second attempt.
    cluster.cloud.edit(|state| {
        state.hook = Some(Box::new(move || {
            let add = |node: &mut Node| {
                let taints = node.spec.as_mut().unwrap().taints.get_or_insert_default();
                taints.push(Taint { key: "meanwhile".into(), effect: "NoExecute".into(), ..Taint::default() });
            };
            kube.modify("", "node-i-1", add).unwrap();
        }));
    });
    start(&cluster, |_| {});
    seconds(3).await;
    assert_eq!(cluster.taints("node-i-1"), ["meanwhile"]);
    assert_eq!(cluster.events("InitializedNode").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn nodes_of_others_are_left_alone_and_told_of_once() {
    let cluster = steady(2).await;
    cluster.add(&mk_node("idc").provider_id("ack-hybrid://idc-1").joining().ready("Unknown"));
    cluster.add(&mk_node("aws").provider_id("aws:///a/i-1").joining().ready("Unknown"));
    cluster.add(&mk_node("eci").provider_id("cn-hangzhou.eci-xyz").ready("Unknown"));
    cluster.add(&ecs("i-9").label(kind::EXCLUDE_LABEL, "").joining().ready("Unknown"));
    cluster.add(&mk_node("lingjun").provider_id("e01-1").label("alibabacloud.com/lingjun-worker", "true").joining());
    seconds(15 * 60).await;
    for name in ["idc", "aws", "node-i-9"] {
        assert_eq!(cluster.taints(name), [UNINITIALIZED_TAINT], "{name}");
    }
    assert_eq!(cluster.taints("eci"), [""; 0]);
    assert_eq!(cluster.taints("lingjun"), [""; 0]);
    assert_eq!(cluster.events("SyncNodeFailed").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_node_without_address_is_found_by_its_host_name() {
    let cluster = Cluster::new();
    for n in 1..=3 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{n}"));
    }
    cluster.cloud.edit(|state| {
        state.instances.get_mut(&"i-2".into()).unwrap().host_name = "iZ2Z".into();
        for twin in ["i-1", "i-3"] {
            state.instances.get_mut(&twin.into()).unwrap().host_name = "twin".into();
        }
    });
    cluster.add(&mk_node("iz2z").joining().address("Hostname", "iz2z"));
    cluster.add(&mk_node("twin").joining().address("Hostname", "twin"));
    start(&cluster, |_| {});
    seconds(3).await;
    let node = cluster.node("iz2z").unwrap();
    assert_eq!(node.spec.unwrap().provider_id.as_deref(), Some("cn-hangzhou.i-2"));
    assert_eq!(cluster.taints("iz2z"), [""; 0]);
    assert_eq!(cluster.taints("twin"), [UNINITIALIZED_TAINT]);
    let told = cluster.events("SyncNodeFailed");
    assert!(told.len() == 1 && told[0].contains("(i-1, i-3)") && told[0].contains("host name twin"), "{told:?}");
    assert_eq!(cluster.cloud.calls("DescribeInstancesOfVpc").len(), 1, "one look for both");
}

#[tokio::test(start_paused = true)]
async fn how_long_nodes_took_to_join_is_a_metric() {
    let cluster = steady(1).await;
    cluster.add(&ecs("i-late").joining());
    seconds(20).await;
    cluster.cloud.boot("i-late", "10.0.1.1");
    seconds(30).await;
    let metrics = cluster.metrics.encode().unwrap();
    for name in ["initial_node_sync", "cloud_provider_taint_removal"] {
        for (le, nodes) in [("1", 1), ("16", 1), ("64", 2)] {
            let line = format!("node_controller_{name}_delay_seconds_bucket{{le=\"{le}\"}} {nodes}\n");
            assert!(metrics.contains(&line), "{line} is not in {metrics}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_address_is_the_primary_one_however_the_cloud_shuffles() {
    let cluster = steady(1).await;
    let order = |ips: [&str; 3]| {
        let ips = ips.map(|ip| ip.parse().unwrap()).into();
        cluster.cloud.edit(|state| state.instances.get_mut(&"i-0".into()).unwrap().private_addresses = ips);
    };
    order(["10.0.0.1", "10.0.0.7", "10.0.0.8"]);
    seconds(340).await;
    cluster.kube.clear_requests();
    for _ in 0..10 {
        order(["10.0.0.1", "10.0.0.8", "10.0.0.7"]);
        seconds(340).await;
        order(["10.0.0.1", "10.0.0.7", "10.0.0.8"]);
        seconds(340).await;
    }
    assert_eq!(cluster.writes(), [""; 0]);
}
