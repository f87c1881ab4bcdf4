//! A scaling group grows, and the cluster autoscaler takes its nodes away again.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;

use crate::{
    services::{members, set},
    stage::Stage,
};

const ANNOUNCED: &str = "ToBeDeletedByClusterAutoscaler";

pub async fn a_scaling_group_goes_from_3_to_30_and_back(stage: Stage) {
    let _replica = stage.start();
    let kept = stage.joined(3).await;
    stage.deploy_web(3).await;
    stage.expose_web().await;
    stage.address("web").await;
    stage.until("three members", || async { (members(&stage) == set(&kept)).then_some(()) }).await;

    let added = stage.joined(27).await;
    let all: Vec<String> = kept.iter().chain(&added).cloned().collect();
    stage.until("thirty members", || async { (members(&stage) == set(&all)).then_some(()) }).await;
    stage.until("thirty routes", || async { (routed(&stage).len() == 30).then_some(()) }).await;

    for name in &added {
        stage.taint(name, ANNOUNCED).await;
    }
    stage.until("only the kept as members", || async { (members(&stage) == set(&kept)).then_some(()) }).await;
    for name in &added {
        assert!(stage.node(name).await.is_some(), "{name} is still there to be drained");
    }
    for name in &added {
        stage.release(name).await;
    }
    let gone = || async {
        for name in &added {
            if stage.node(name).await.is_some() {
                return None;
            }
        }
        Some(())
    };
    stage.until("the Nodes gone", gone).await;
    stage.until("their routes gone", || async { (routed(&stage) == instances(&kept)).then_some(()) }).await;
    assert_eq!(members(&stage), set(&kept));
    let nodes: Vec<Option<Node>> = futures::future::join_all(kept.iter().map(|name| stage.node(name))).await;
    assert!(nodes.iter().all(Option::is_some), "the others stay");
}

fn instances(nodes: &[String]) -> BTreeSet<String> {
    nodes.iter().map(|name| name.split_once('.').unwrap().1.to_owned()).collect()
}

/// The instances that routes lead to.
fn routed(stage: &Stage) -> BTreeSet<String> {
    let tables = stage.cloud().route_tables("vpc-bp1sim");
    tables.iter().flat_map(|table| stage.cloud().routes(table)).map(|entry| entry.next_hop).collect()
}
