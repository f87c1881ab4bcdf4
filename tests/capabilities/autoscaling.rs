//! Nodes that a scaling group adds and the autoscaler takes away: how long each step takes, in the
//! cloud's own time. What happens is told as a story for both clusters, too.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::support::{Stage, play, taints};

fn members(stage: &Stage) -> BTreeSet<String> {
    let load_balancers = stage.cloud().load_balancers();
    let groups = load_balancers.iter().flat_map(|one| stage.cloud().groups(&one.id));
    groups.flat_map(|group| group.servers.into_iter().map(|server| format!("cn-hangzhou.{}", server.id))).collect()
}

fn announce<'a>(stage: &Stage, nodes: impl IntoIterator<Item = &'a String>) {
    let taint = json!([{ "key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule" }]);
    for node in nodes {
        stage.world.kube.patch::<Node>("", node, json!({ "spec": { "taints": taint } })).unwrap();
    }
}

fn leave<'a>(stage: &Stage, nodes: impl IntoIterator<Item = &'a String>) {
    for node in nodes {
        stage.world.leave(node).unwrap();
    }
}

#[test]
fn new_nodes_serve_within_seconds_and_announced_ones_leave_before_they_go() {
    play(|stage| async move {
        let _replica = stage.start();
        let kept: BTreeSet<String> = stage.joined(3).await.into_iter().collect();
        stage.expose_web();
        stage.address("web").await;
        stage.until("three members", || (members(&stage) == kept).then_some(())).await;

        let added: BTreeSet<String> = (0..27).map(|_| stage.world.join().unwrap()).collect();
        stage.pass(Duration::from_secs(8)).await;
        assert_eq!(members(&stage).len(), 30, "members within seconds");
        let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
        assert_eq!(stage.cloud().routes(&table).len(), 30, "routes within seconds");
        for name in &added {
            let node = stage.node(name).unwrap();
            assert_eq!(taints(&node), Vec::<String>::new());
            let conditions = node.status.unwrap().conditions.unwrap();
            assert!(conditions.iter().any(|c| c.type_ == "NetworkUnavailable" && c.status == "False"), "{name}");
        }

        announce(&stage, &added);
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(members(&stage), kept, "announced nodes get no new traffic");
        assert!(added.iter().all(|name| stage.node(name).is_some()), "they are still there to be drained");
        leave(&stage, &added);
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.world.kube.list::<Node>().len(), 3, "27 of 30 at once are believed if announced");
        assert_eq!(stage.cloud().routes(&table).len(), 3);
        assert_eq!(members(&stage), kept);
    });
}

#[test]
fn a_scale_in_that_nobody_announced_is_not_believed_at_once() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(5).await;
        leave(&stage, &nodes[..3]);
        stage.pass(Duration::from_secs(300)).await;
        assert_eq!(stage.world.kube.list::<Node>().len(), 5);
        announce(&stage, &nodes[..3]);
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.world.kube.list::<Node>().len(), 2, "the announcement may come late");
    });
}
