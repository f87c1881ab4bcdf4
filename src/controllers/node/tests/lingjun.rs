//! Lingjun machines, of which ECS knows nothing.

use super::{super::plan::UNINITIALIZED_TAINT, *};

const WORKER: &str = "alibabacloud.com/lingjun-worker";
const GROUP: &str = "alibabacloud.com/lingjun-nodegroup-id";
const TIANWEN: &str = "alibabacloud.com/lingjun-tianwen-environment";

fn lingjun(id: &str) -> MkNode {
    mk_node(&format!("node-{id}")).provider_id(id).label(WORKER, "true").label(GROUP, "i-group")
}

/// A cluster of these machines, all Ready, with the controller running.
async fn cluster_of(ids: &[&str]) -> Cluster {
    let cluster = Cluster::new();
    for id in ids {
        cluster.cloud.edit(|state| state.lingjun.insert((*id).into()));
        cluster.add(&lingjun(id).ready("True"));
    }
    start(&cluster, |_| {});
    seconds(5).await;
    cluster
}

fn release(cluster: &Cluster, id: &str) {
    cluster.cloud.edit(|state| state.lingjun.remove(&id.into()));
}

fn names(cluster: &Cluster) -> Vec<String> {
    cluster.kube.list::<Node>().iter().map(name_of).collect()
}

#[tokio::test(start_paused = true)]
async fn a_joining_one_is_freed_of_its_taint_and_nothing_else_is_written() {
    let cluster = cluster_of(&["e01-1"]).await;
    cluster.add(&lingjun("e01-2").joining().taint("mine", "NoSchedule").ready("False"));
    seconds(5).await;
    assert_eq!(cluster.taints("node-e01-2"), ["mine"]);
    let node = cluster.node("node-e01-2").unwrap();
    assert!(!node.metadata.labels.unwrap().contains_key("topology.kubernetes.io/region"));
    assert_eq!(cluster.cloud.calls("Describe"), [""; 0], "joining is no reason to ask");
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_machine_is_gone_is_deleted_after_two_answers() {
    for status in ["False", "Unknown"] {
        let cluster = cluster_of(&["e01-1", "e01-2", "e01-3"]).await;
        release(&cluster, "e01-2");
        cluster.report_ready("node-e01-2", status);
        seconds(5).await;
        assert_eq!(names(&cluster).len(), 3, "one answer is no proof");
        seconds(10).await;
        assert_eq!(names(&cluster), ["node-e01-1", "node-e01-3"], "{status}");
        assert_eq!(cluster.events("DeletedNode"), ["node-e01-2: node-e01-2"]);
        assert_eq!(cluster.cloud.calls("DescribeNode").len(), 4, "twice, each time with a witness");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_ready_or_exists_or_is_others_is_kept() {
    let cluster = cluster_of(&["e01-1", "e01-2", "e01-3", "e01-4"]).await;
    release(&cluster, "e01-1");
    cluster.report_ready("node-e01-2", "Unknown");
    cluster.report_ready("node-e01-3", "False");
    cluster.add(&lingjun("e01-5").label(TIANWEN, "").joining().ready("Unknown"));
    cluster.add(&lingjun("e01-6").label(kind::LIFECYCLE_LABEL, "").ready("Unknown"));
    cluster.add(&lingjun("e01-2b").label(GROUP, "i-another").ready("Unknown"));
    cluster.cloud.edit(|state| state.lingjun.insert("e01-2b".into()));
    seconds(30 * 60).await;
    assert_eq!(names(&cluster).len(), 7);
    assert_eq!(cluster.taints("node-e01-5"), [UNINITIALIZED_TAINT]);
    // Falls silent, too, and is the only one that is missing.
    cluster.kube.delete::<Node>("", "node-e01-6").unwrap();
    cluster.report_ready("node-e01-1", "Unknown");
    seconds(20).await;
    assert_eq!(names(&cluster).len(), 5, "now it is believed");
}

#[tokio::test(start_paused = true)]
async fn answers_that_prove_nothing_delete_nothing() {
    for class in [Class::Denied, Class::Throttled, Class::Transient, Class::Malformed, Class::Unknown, Class::NotFound]
    {
        let cluster = cluster_of(&["e01-1", "e01-2", "e01-3"]).await;
        cluster.cloud.fail("DescribeNode", class);
        release(&cluster, "e01-2");
        cluster.report_ready("node-e01-2", "Unknown");
        seconds(20 * 60).await;
        assert_eq!(names(&cluster).len(), 3, "{class:?}");
        cluster.cloud.heal();
        seconds(6 * 60).await;
        assert_eq!(names(&cluster).len(), 2, "{class:?}");
    }
    // All of them unknown: another account or region, or the only machine there is.
    for ids in [&["e01-1", "e01-2", "e01-3"][..], &["e01-2"]] {
        let cluster = cluster_of(ids).await;
        for id in ids {
            release(&cluster, id);
        }
        cluster.report_ready("node-e01-2", "Unknown");
        seconds(60 * 60).await;
        assert_eq!(names(&cluster).len(), ids.len());
    }
    // Half of them at once.
    let cluster = cluster_of(&["e01-1", "e01-2", "e01-3", "e01-4"]).await;
    for id in ["e01-1", "e01-2"] {
        release(&cluster, id);
        cluster.report_ready(&format!("node-{id}"), "Unknown");
    }
    seconds(60 * 60).await;
    assert_eq!(names(&cluster).len(), 4);
    assert!(cluster.events("DeleteNodeFailed")[0].contains("2 of 4 instances are missing at once"));
}
