//! Many nodes at once, and the cloud's limits on calls and entries.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind, Rate};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::support::{Stage, play, play_unheard, taints};

/// Room for the pod CIDRs of more than 256 nodes; a single replica, so that hours cost no renewals.
const FLAGS: &[&str] = &["--leader-elect=false", "--cluster-cidr=172.16.0.0/12"];

fn join(stage: &Stage, count: usize) {
    for _ in 0..count {
        stage.world.join().unwrap();
    }
}

fn nodes(stage: &Stage) -> Vec<Node> {
    stage.world.kube.list::<Node>()
}

fn uninitialised(stage: &Stage) -> usize {
    nodes(stage).iter().filter(|node| !taints(node).is_empty()).count()
}

/// `NetworkUnavailable` of a node.
fn unavailable(node: &Node) -> &str {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|c| c.type_ == "NetworkUnavailable").map(|c| c.status.as_str()).next().unwrap_or_default()
}

fn available(stage: &Stage) -> usize {
    nodes(stage).iter().filter(|node| unavailable(node) == "False").count()
}

/// Calls of an action that were carried out.
fn done(stage: &Stage, action: &str) -> usize {
    stage.words().into_iter().filter(|word| word == action).count()
}

#[test]
fn a_batch_that_is_throttled_once_is_initialised_within_seconds() {
    play(|stage| async move {
        let _replica = stage.start_with(FLAGS, json!({}));
        stage.joined(1).await;
        stage.cloud().inject(Fault::on("ecs.DescribeInstances", FaultKind::Throttle { retry_after: None }).once());
        join(&stage, 120);
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(uninitialised(&stage), 0);
    });
}

fn a_thousand_nodes_join_in_a_storm(flags: &'static [&'static str]) {
    play_unheard(move |stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        let _replica = stage.start_with(flags, json!({}));
        stage.joined(3).await;
        stage.cloud().inject(Fault::on("*", FaultKind::Throttle { retry_after: None }));
        join(&stage, 1000);
        stage.pass(Duration::from_secs(150)).await;
        assert_eq!(uninitialised(&stage), 1000);
        let calls = stage.cloud().calls().len();
        assert!(calls < 300, "{calls} calls went into the storm");
        stage.cloud().clear_faults();
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(uninitialised(&stage), 0);
        stage.pass(Duration::from_secs(300)).await;
        let closed =
            stage.cloud().with_state(|state| state.ecs.interfaces.values().filter(|i| i.source_dest_check).count());
        assert_eq!(closed, 0, "interfaces that drop what is for pods");
    });
}

#[test]
fn a_thousand_joining_nodes_are_initialised_within_ten_seconds_after_a_storm() {
    a_thousand_nodes_join_in_a_storm(FLAGS);
}

#[test]
fn where_routes_are_others_task_a_thousand_joining_nodes_are_initialised_as_soon() {
    a_thousand_nodes_join_in_a_storm(&["--leader-elect=false", "--configure-cloud-routes=false"]);
}

#[test]
fn a_thousand_nodes_have_their_routes_within_three_minutes() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        stage.cloud().configure(|options| options.rates = Rate::published());
        let _replica = stage.start_with(FLAGS, json!({}));
        stage.joined(1).await;
        stage.pass(Duration::from_secs(5)).await;
        stage.clear_calls();
        let throttled = Fault::on("vpc.DescribeRouteEntryList", FaultKind::Throttle { retry_after: None });
        stage.cloud().inject(throttled.with_probability(0.3));
        join(&stage, 1000);
        stage.pass(Duration::from_secs(180)).await;
        assert_eq!(available(&stage), 1001);
        let created = done(&stage, "vpc.CreateRouteEntries");
        assert!(created <= 20, "{created} batches");
    });
}

#[test]
fn a_full_route_table_is_told_to_those_who_find_no_room() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        stage.cloud().configure(|options| options.quotas.route_entries = Some(200));
        let _replica = stage.start_with(FLAGS, json!({}));
        join(&stage, 220);
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(done(&stage, "vpc.CreateRouteEntries"), 5, "{:?}", stage.words());
        assert_eq!(available(&stage), 200);
        let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
        assert_eq!(stage.cloud().routes(&table).len(), 200);
        let waiting: Vec<Node> = nodes(&stage).into_iter().filter(|node| unavailable(node) == "True").collect();
        assert_eq!(waiting.len(), 20);
        for node in &waiting {
            assert_eq!(taints(node), Vec::<String>::new(), "initialised all the same");
            let told = stage.told(node.metadata.name.as_ref().unwrap());
            let quota = |(reason, text): &&(String, String)| reason == "CreateRouteFailed" && text.contains("quota");
            assert_eq!(told.iter().filter(quota).count(), 1, "{told:?}");
        }
        stage.clear_calls();
        stage.pass(Duration::from_secs(1800)).await;
        let tries = stage.words().iter().filter(|word| word.starts_with("vpc.CreateRouteEntries")).count();
        assert!(tries <= 15, "{tries} calls in half an hour for what has no room");
        stage.cloud().configure(|options| options.quotas.route_entries = None);
        stage.pass(Duration::from_secs(360)).await;
        assert_eq!(available(&stage), 220);
    });
}

#[test]
fn restarts_with_more_services_than_a_page_holds_write_nothing_and_read_in_bulk() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        let mut replica = stage.start_with(FLAGS, json!({}));
        stage.joined(2).await;
        for number in 0..120 {
            stage.expose(&format!("s{number}"), &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        }
        let filled = || {
            let groups = stage.cloud().load_balancers().into_iter().map(|one| stage.cloud().groups(&one.id));
            groups.filter(|groups| groups.len() == 1 && groups[0].servers.len() == 2).count()
        };
        let started = || stage.cloud().call_counts().get("slb.StartLoadBalancerListener").copied().unwrap_or_default();
        stage
            .until_within(Duration::from_secs(3600), "120 load balancers", || {
                (filled() == 120 && started() == 120).then_some(())
            })
            .await;
        stage.pass(Duration::from_secs(60)).await;
        for _ in 0..3 {
            replica.kill().await;
            stage.clear_calls();
            replica = stage.start_with(FLAGS, json!({}));
            stage.pass(Duration::from_secs(60)).await;
            let calls = stage.cloud().calls();
            assert!(calls.iter().all(|call| !call.changed), "{:?}", stage.cloud().call_counts());
            // Load balancers and listeners come by the hundred, a group's members one group a call.
            let reads = calls.iter().filter(|call| call.product == "slb").count();
            assert!(reads <= 2 + 2 + 120, "{:?}", stage.cloud().call_counts());
        }
    });
}
