//! The call log and its counters, as the control API shows them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sim::cloud::{Call, Cloud};

/// The calls that pass all filters, oldest first.
pub(super) fn list(cloud: &Cloud, query: &BTreeMap<String, String>) -> Value {
    let is = |name: &str, value: &str| query.get(name).is_none_or(|wanted| wanted == value);
    let passes = |call: &Call| {
        is("product", &call.product)
            && is("action", &call.action)
            && is("code", call.code.as_deref().unwrap_or_default())
            && is("caller", &call.caller.access_key)
            && is("changed", if call.changed { "true" } else { "false" })
            && is("status", &call.status.to_string())
    };
    let mut calls: Vec<Call> = cloud.calls().into_iter().filter(passes).collect();
    if let Some(last) = query.get("last").and_then(|text| text.parse::<usize>().ok()) {
        calls.drain(..calls.len().saturating_sub(last));
    }
    json!(calls)
}

/// Calls by action since the start or the last reset, and what the log still knows of callers.
pub(super) fn counters(cloud: &Cloud) -> Value {
    let mut callers: BTreeMap<String, u64> = BTreeMap::new();
    let mut changes: BTreeMap<String, u64> = BTreeMap::new();
    for call in cloud.calls() {
        if call.changed {
            *changes.entry(call.name()).or_default() += 1;
        }
        *callers.entry(call.caller.access_key).or_default() += 1;
    }
    json!({ "actions": cloud.call_counts(), "logged_callers": callers, "logged_changes": changes })
}
