//! Columns of pods and of what makes them.

use serde_json::Value;

use super::{AGE, Column, NAME, column, or_none, pairs, wide};
use crate::sim::kube::object::{at, is_deleting, items, text};

pub(super) static POD: [Column; 9] = [
    NAME,
    column("Ready", |pod, _| ready(pod).into()),
    column("Status", |pod, _| status(pod).into()),
    column("Restarts", |pod, _| {
        let restarts = items(pod, &["status", "containerStatuses"]).iter().filter_map(|c| c["restartCount"].as_u64());
        restarts.sum::<u64>().to_string().into()
    }),
    AGE,
    wide("IP", |pod, _| or_none(text(pod, &["status", "podIP"]))),
    wide("Node", |pod, _| or_none(text(pod, &["spec", "nodeName"]))),
    wide("Nominated Node", |pod, _| or_none(text(pod, &["status", "nominatedNodeName"]))),
    wide("Readiness Gates", |pod, _| readiness_gates(pod)),
];

pub(super) static DEPLOYMENT: [Column; 8] = [
    NAME,
    column("Ready", |object, _| {
        format!("{}/{}", count(object, "status", "readyReplicas"), count(object, "spec", "replicas")).into()
    }),
    column("Up-to-date", |object, _| count(object, "status", "updatedReplicas").into()),
    column("Available", |object, _| count(object, "status", "availableReplicas").into()),
    AGE,
    wide("Containers", |object, _| containers(object, "name")),
    wide("Images", |object, _| containers(object, "image")),
    wide("Selector", |object, _| pairs(at(object, &["spec", "selector", "matchLabels"]))),
];

pub(super) static REPLICA_SET: [Column; 8] = [
    NAME,
    column("Desired", |object, _| count(object, "spec", "replicas").into()),
    column("Current", |object, _| count(object, "status", "replicas").into()),
    column("Ready", |object, _| count(object, "status", "readyReplicas").into()),
    AGE,
    wide("Containers", |object, _| containers(object, "name")),
    wide("Images", |object, _| containers(object, "image")),
    wide("Selector", |object, _| pairs(at(object, &["spec", "selector", "matchLabels"]))),
];

pub(super) static DAEMON_SET: [Column; 11] = [
    NAME,
    column("Desired", |object, _| count(object, "status", "desiredNumberScheduled").into()),
    column("Current", |object, _| count(object, "status", "currentNumberScheduled").into()),
    column("Ready", |object, _| count(object, "status", "numberReady").into()),
    column("Up-to-date", |object, _| count(object, "status", "updatedNumberScheduled").into()),
    column("Available", |object, _| count(object, "status", "numberAvailable").into()),
    column("Node Selector", |object, _| pairs(at(object, &["spec", "template", "spec", "nodeSelector"]))),
    AGE,
    wide("Containers", |object, _| containers(object, "name")),
    wide("Images", |object, _| containers(object, "image")),
    wide("Selector", |object, _| pairs(at(object, &["spec", "selector", "matchLabels"]))),
];

fn count(object: &Value, part: &str, field: &str) -> i64 {
    at(object, &[part, field]).as_i64().unwrap_or_default()
}

fn containers(object: &Value, field: &str) -> Value {
    let containers = items(object, &["spec", "template", "spec", "containers"]).iter();
    containers.map(|c| text(c, &[field])).collect::<Vec<_>>().join(",").into()
}

fn ready(pod: &Value) -> String {
    let ready = items(pod, &["status", "containerStatuses"]).iter().filter(|c| c["ready"] == true).count();
    format!("{ready}/{}", items(pod, &["spec", "containers"]).len())
}

fn status(pod: &Value) -> String {
    if is_deleting(pod) {
        return "Terminating".into();
    }
    let waiting = items(pod, &["status", "containerStatuses"]).iter().find_map(|c| {
        let reason = text(c, &["state", "waiting", "reason"]);
        (!reason.is_empty()).then_some(reason)
    });
    let reason = text(pod, &["status", "reason"]);
    match (waiting, reason) {
        (Some(waiting), _) => waiting.into(),
        (None, "") => text(pod, &["status", "phase"]).into(),
        (None, reason) => reason.into(),
    }
}

fn readiness_gates(pod: &Value) -> Value {
    let gates = items(pod, &["spec", "readinessGates"]);
    let met = gates.iter().filter(|gate| {
        let kind = &gate["conditionType"];
        items(pod, &["status", "conditions"]).iter().any(|c| &c["type"] == kind && c["status"] == "True")
    });
    if gates.is_empty() { "<none>".into() } else { format!("{}/{}", met.count(), gates.len()).into() }
}
