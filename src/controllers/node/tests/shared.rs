//! What nodes share: calls, but no trouble.

use super::{super::plan::UNINITIALIZED_TAINT, *};

#[tokio::test(start_paused = true)]
async fn nodes_that_join_together_share_their_calls() {
    let cluster = steady(10).await;
    cluster.cloud.forget_calls();
    for n in 10..260 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.1.{}.{}", n / 250, n % 250 + 1));
        cluster.add(&ecs(&format!("i-{n}")).joining().ready("False"));
    }
    seconds(5).await;
    let reads = cluster.cloud.calls("DescribeInstances");
    assert_eq!(reads.len(), 3, "{reads:?}");
    assert_eq!(cluster.cloud.calls("DescribeNetworkInterfaces").len(), 3);
    assert_eq!(cluster.events("InitializedNode").len(), 260);
    (10..260).for_each(|n| cluster.report_ready(&format!("node-i-{n}"), "True"));
    seconds(60).await;
    assert_eq!(cluster.cloud.calls("DescribeInstances").len(), 3, "becoming Ready is no reason to ask");
}

#[tokio::test(start_paused = true)]
async fn a_steady_cluster_costs_a_read_a_sweep_and_no_writes() {
    let cluster = steady(150).await;
    seconds(60).await;
    cluster.cloud.forget_calls();
    cluster.kube.clear_requests();
    seconds(35 * 60).await;
    let sweeps = cluster.cloud.edit(|state| state.calls.clone());
    assert!((12..=14).contains(&sweeps.len()), "{sweeps:?}");
    assert_eq!(cluster.writes(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn each_node_waits_out_trouble_by_itself() {
    for class in [Class::Throttled, Class::Transient, Class::Denied, Class::Malformed, Class::Unknown] {
        let cluster = Cluster::new();
        for n in 0..120 {
            cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{}", n + 1));
            cluster.add(&ecs(&format!("i-{n}")).joining());
        }
        cluster.cloud.fail("DescribeInstances", class);
        start(&cluster, |_| {});
        seconds(3).await;
        assert_eq!(cluster.events("InitializedNode").len(), 0);
        let denied = if class == Class::Denied { 120 } else { 0 };
        assert_eq!(cluster.events("SyncNodeFailed").len(), denied, "{class:?}");
        cluster.cloud.heal();
        seconds(9).await;
        assert_eq!(cluster.events("InitializedNode").len(), 120, "{class:?}");
        assert!(cluster.taints("node-i-7").is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn one_id_that_the_cloud_refuses_spoils_no_other() {
    let cluster = Cluster::new();
    for n in 0..20 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{}", n + 1));
        cluster.add(&ecs(&format!("i-{n}")).joining());
    }
    cluster.cloud.edit(|state| state.refused = Some("i-13".into()));
    start(&cluster, |_| {});
    seconds(3).await;
    assert_eq!(cluster.events("InitializedNode").len(), 19);
    assert_eq!(cluster.taints("node-i-13"), [UNINITIALIZED_TAINT]);
    assert_eq!(cluster.events("SyncNodeFailed").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn however_many_work_each_instance_is_asked_for_once_and_each_node_written_once() {
    for (workers, batch) in [(1, 100), (5, 7), (10, 30), (30, 1)] {
        let cluster = Cluster::new();
        for n in 0..100 {
            cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{}", n + 1));
            cluster.add(&ecs(&format!("i-{n}")).joining().ready("True"));
        }
        start(&cluster, |options| {
            (options.workers, options.batch_size) = (workers, batch);
            // Opening interfaces takes a second look.
            options.skip_source_destination_check = true;
        });
        seconds(120).await;
        let asked = cluster.cloud.calls("DescribeInstances");
        let count = |call: &String| call.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
        assert_eq!(asked.iter().map(count).sum::<usize>(), 100, "{workers} by {batch}: {asked:?}");
        assert_eq!(asked.len(), 100usize.div_ceil(batch), "{workers} by {batch}: {asked:?}");
        assert_eq!(cluster.events("InitializedNode").len(), 100, "{workers} by {batch}");
        assert_eq!(cluster.writes().len(), 200, "{workers} by {batch}: the status and the rest of each");
    }
}
