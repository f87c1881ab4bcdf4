//! Nodes: what a cloud controller could get wrong and the real server would refuse.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sim::kube::{
    failure::Cause,
    object::{at, child, default, items, text},
};

const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "PreferNoSchedule"];

/// Fills in the twin of the pod range, then checks.
pub(super) fn fill(node: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    let single = at(node, &["spec", "podCIDR"]).clone();
    let first = items(node, &["spec", "podCIDRs"]).first().cloned();
    let spec = child(node, "spec");
    match (single.as_str().is_some_and(|s| !s.is_empty()), first) {
        (true, None) => {
            spec.insert("podCIDRs".into(), json!([single]));
        }
        (false, Some(first)) => default(spec, "podCIDR", first),
        _ => {}
    }
    check(node, old)
}

/// Complaints about a Node, or about the change from `old`.
pub(super) fn check(node: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut taints = BTreeSet::new();
    for (index, taint) in items(node, &["spec", "taints"]).iter().enumerate() {
        let (key, effect) = (text(taint, &["key"]), text(taint, &["effect"]));
        if key.is_empty() {
            causes.push(Cause::required(format!("metadata.taints[{index}].key"), ""));
        }
        if !EFFECTS.contains(&effect) {
            causes.push(Cause::unsupported(format!("metadata.taints[{index}].effect"), &taint["effect"], &EFFECTS));
        }
        if !taints.insert((key, effect)) {
            causes.push(Cause::duplicate(format!("metadata.taints[{index}]"), taint));
        }
    }
    let mut addresses = BTreeSet::new();
    for (index, address) in items(node, &["status", "addresses"]).iter().enumerate() {
        if !addresses.insert((text(address, &["type"]), text(address, &["address"]))) {
            causes.push(Cause::duplicate(format!("status.addresses[{index}]"), address));
        }
    }
    let id = |node: &Value| text(node, &["spec", "providerID"]).to_owned();
    if old.is_some_and(|old| !id(old).is_empty() && id(old) != id(node)) {
        let detail = "node updates may not change providerID except from \"\" to valid";
        causes.push(Cause::forbidden("spec.providerID", detail));
    }
    causes
}
