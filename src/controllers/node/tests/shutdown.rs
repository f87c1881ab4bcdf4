use super::{super::plan::SHUTDOWN_TAINT, *};
use crate::cloud::InstanceStatus;

fn set(cluster: &Cluster, id: &str, status: InstanceStatus) {
    cluster.cloud.edit(|state| state.instances.get_mut(&id.into()).unwrap().status = status);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_instance_is_marked_and_unmarked() {
    let cluster = steady(2).await;
    set(&cluster, "i-1", InstanceStatus::Stopped);
    cluster.report_ready("node-i-1", "Unknown");
    seconds(3).await;
    assert_eq!(cluster.taints("node-i-1"), [SHUTDOWN_TAINT]);
    // The cloud need not answer for a node that kubelet reports as ready.
    cluster.cloud.fail("DescribeInstances", Class::Transient);
    cluster.report_ready("node-i-1", "True");
    seconds(3).await;
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
    assert!(cluster.node("node-i-1").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_node_without_provider_id_is_marked_too_and_other_taints_stay() {
    let cluster = steady(1).await;
    for (number, name) in [(8, "i-8"), (9, "worker-9")] {
        cluster.cloud.boot(&format!("i-{number}"), &format!("10.0.9.{number}"));
        set(&cluster, &format!("i-{number}"), InstanceStatus::Stopped);
        let node = mk_node(name).ready("Unknown").address("InternalIP", &format!("10.0.9.{number}"));
        cluster.add(&node.taint("node.kubernetes.io/out-of-service", "NoExecute"));
    }
    seconds(5).await;
    for (name, instance) in [("i-8", "i-8"), ("worker-9", "i-9")] {
        assert_eq!(cluster.taints(name), ["node.kubernetes.io/out-of-service", SHUTDOWN_TAINT]);
        let provider_id = cluster.node(name).unwrap().spec.unwrap().provider_id.unwrap();
        assert_eq!(provider_id, format!("cn-hangzhou.{instance}"));
        set(&cluster, instance, InstanceStatus::Running);
        cluster.report_ready(name, "True");
    }
    seconds(5).await;
    for name in ["i-8", "worker-9"] {
        assert_eq!(cluster.taints(name), ["node.kubernetes.io/out-of-service"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_stops_later_is_noticed_soon() {
    let cluster = steady(2).await;
    cluster.report_ready("node-i-1", "False");
    seconds(5).await;
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
    set(&cluster, "i-1", InstanceStatus::Stopping);
    seconds(35).await;
    assert_eq!(cluster.taints("node-i-1"), [SHUTDOWN_TAINT]);
    set(&cluster, "i-1", InstanceStatus::Running);
    seconds(35).await;
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn addresses_follow_the_instance_at_the_next_sweep() {
    let cluster = steady(1).await;
    let bind = |address: &[&str]| {
        let address = address.iter().map(|ip| ip.parse().unwrap()).collect();
        cluster.cloud.edit(|state| state.instances.get_mut(&"i-0".into()).unwrap().public_addresses = address);
    };
    let addresses = || {
        let node = cluster.node("node-i-0").unwrap();
        address::current(&node).iter().map(|a| format!("{} {}", a.type_, a.address)).collect::<Vec<_>>()
    };
    bind(&["47.0.0.1"]);
    seconds(340).await;
    assert_eq!(addresses(), ["ExternalIP 47.0.0.1", "InternalIP 10.0.0.1"]);
    bind(&[]);
    seconds(340).await;
    assert_eq!(addresses(), ["InternalIP 10.0.0.1"]);
    cluster.cloud.edit(|state| state.instances.get_mut(&"i-0".into()).unwrap().private_addresses.clear());
    seconds(340).await;
    assert_eq!(addresses(), ["InternalIP 10.0.0.1"]);
}
