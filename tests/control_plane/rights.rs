//! The shipped rights are enough and not too many.

use std::collections::BTreeSet;

use k8s_openapi::api::{
    core::v1::{Event, Pod},
    rbac::v1::{ClusterRole, PolicyRule, Role},
};
use serde_json::json;

use crate::{
    meddler,
    readiness::is_registered,
    secure::{ask, free_port},
    stage::Stage,
    theatre::{play_in, theatre},
};

/// A resource and a verb, such as `nodes/status patch`; those of a group as `leases.coordination.k8s.io get`.
type Right = String;

/// Everything that the controller does in the life of a cluster, and each thing for certain. With a token
/// of somebody who calls.
async fn life(stage: Stage, token: String) {
    // A Node is read for itself only when someone else has changed it in between.
    let port = free_port();
    let flags = [format!("--secure-port={port}"), "--bind-address=127.0.0.1".to_owned()];
    let replica = stage.start_with(meddler::edits(&stage, 1), &flags.each_ref().map(String::as_str));
    let nodes = stage.joined(2).await;
    stage.deploy_gated_web(1, "1").await;
    stage.expose_web().await;
    stage.address("web").await;
    let told = || async { stage.list::<Pod>().await.iter().any(is_registered).then_some(()) };
    stage.until("the pod told that it is registered", told).await;
    // The API server is asked about who calls.
    let called = ask(&format!("https://127.0.0.1:{port}/metrics"), None, Some(&token)).await;
    assert_eq!(called.map(|(code, _)| code), Some(403));
    // What is told a second time is counted, not told anew.
    stage.change("web", json!({ "ports": [{ "name": "http", "port": 81, "targetPort": 8080 }] })).await;
    let counted = || async {
        let event = stage
            .list::<Event>()
            .await
            .into_iter()
            .find(|event| event.reason.as_deref() == Some("EnsuredLoadBalancer"));
        event?.count.filter(|count| *count == 2)
    };
    stage.until("the success counted twice", counted).await;
    stage.release(&nodes[0]).await;
    stage.until("the Node gone", || async { stage.node(&nodes[0]).await.is_none().then_some(()) }).await;
    stage.delete_service("web").await;
    stage.until("the Service gone", || async { stage.service("web").await.is_none().then_some(()) }).await;
    replica.stop().await.unwrap();
}

#[test]
fn the_account_may_do_what_it_does_and_nothing_else() {
    let theatre = theatre();
    // That nothing was refused is checked by `play_in`.
    let token = theatre.token(&[]);
    let entries = play_in(&theatre, |stage| life(stage, token));
    let used: BTreeSet<Right> = entries
        .iter()
        .filter_map(|entry| entry.resource().map(|(group, resource)| right(&group, &resource, &entry.verb)))
        .collect();
    let get = |kind: &str, namespace: &str| {
        let namespace = format!("--namespace={namespace}");
        theatre.plane.kubectl(&["get", kind, "system:cloud-controller-manager", &namespace, "--output=json"])
    };
    let cluster: ClusterRole = serde_json::from_str(&get("clusterrole", "")).unwrap();
    let own: Role = serde_json::from_str(&get("role", "kube-system")).unwrap();
    let granted: BTreeSet<Right> = cluster.rules.iter().chain(&own.rules).flatten().flat_map(rights).collect();
    let unused: Vec<&Right> = granted.difference(&used).collect();
    assert!(unused.is_empty(), "granted, but never used: {unused:?}");
}

fn rights(rule: &PolicyRule) -> Vec<Right> {
    let mut all = Vec::new();
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            all.extend(rule.verbs.iter().map(|verb| right(group, resource, verb)));
        }
    }
    all
}

fn right(group: &str, resource: &str, verb: &str) -> Right {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{resource}{dot}{group} {verb}")
}
