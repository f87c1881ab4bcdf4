//! Columns of nodes.

use serde_json::Value;

use super::{AGE, Column, NAME, column, or_none, wide};
use crate::sim::kube::object::{at, items, text};

pub(super) static COLUMNS: [Column; 10] = [
    NAME,
    column("Status", |node, _| status(node).into()),
    column("Roles", |node, _| roles(node)),
    AGE,
    column("Version", |node, _| text(node, &["status", "nodeInfo", "kubeletVersion"]).into()),
    wide("Internal-IP", |node, _| address(node, "InternalIP")),
    wide("External-IP", |node, _| address(node, "ExternalIP")),
    wide("OS-Image", |node, _| info(node, "osImage")),
    wide("Kernel-Version", |node, _| info(node, "kernelVersion")),
    wide("Container-Runtime", |node, _| info(node, "containerRuntimeVersion")),
];

fn status(node: &Value) -> String {
    let ready = items(node, &["status", "conditions"]).iter().find(|c| c["type"] == "Ready");
    let mut status = match ready.map(|c| text(c, &["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if at(node, &["spec", "unschedulable"]) == &Value::Bool(true) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(node: &Value) -> Value {
    let labels = at(node, &["metadata", "labels"]).as_object().into_iter().flatten();
    let roles = labels.filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) if !role.is_empty() => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        _ => None,
    });
    or_none(roles.collect::<Vec<_>>().join(","))
}

fn address(node: &Value, kind: &str) -> Value {
    let found = items(node, &["status", "addresses"]).iter().find(|a| a["type"] == kind);
    or_none(found.map(|a| text(a, &["address"])).unwrap_or_default())
}

fn info(node: &Value, field: &str) -> Value {
    match text(node, &["status", "nodeInfo", field]) {
        "" => "<unknown>".into(),
        info => info.into(),
    }
}
