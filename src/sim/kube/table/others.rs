//! Columns of namespaces, events, leases, config maps and secrets.

use jiff::Timestamp;
use serde_json::Value;

use super::{AGE, Column, NAME, age, column, wide};
use crate::sim::kube::object::{at, text};

pub(super) static NAMESPACE: [Column; 3] =
    [NAME, column("Status", |namespace, _| text(namespace, &["status", "phase"]).into()), AGE];

pub(super) static LEASE: [Column; 3] =
    [NAME, column("Holder", |lease, _| text(lease, &["spec", "holderIdentity"]).into()), AGE];

pub(super) static CONFIG_MAP: [Column; 3] = [
    NAME,
    column("Data", |object, _| (entries(object, "data") + entries(object, "binaryData")).to_string().into()),
    AGE,
];

pub(super) static SECRET: [Column; 4] = [
    NAME,
    column("Type", |secret, _| text(secret, &["type"]).into()),
    column("Data", |secret, _| entries(secret, "data").to_string().into()),
    AGE,
];

/// Shown from whichever API they were read through.
pub(super) static EVENT: [Column; 10] = [
    column("Last Seen", |event, now| seen(event, Seen::Last, now).into()),
    column("Type", |event, _| text(event, &["type"]).into()),
    column("Reason", |event, _| text(event, &["reason"]).into()),
    column("Object", |event, _| {
        let object = either(event, "involvedObject", "regarding");
        format!("{}/{}", text(object, &["kind"]).to_lowercase(), text(object, &["name"])).into()
    }),
    wide("Subobject", |event, _| text(either(event, "involvedObject", "regarding"), &["fieldPath"]).into()),
    wide("Source", |event, _| source(event).into()),
    column("Message", |event, _| either(event, "message", "note").as_str().unwrap_or_default().trim().into()),
    wide("First Seen", |event, now| seen(event, Seen::First, now).into()),
    wide("Count", |event, _| count(event).to_string().into()),
    wide("Name", |event, _| super::name(event).into()),
];

#[derive(Clone, Copy, PartialEq)]
enum Seen {
    First,
    Last,
}

fn entries(object: &Value, field: &str) -> usize {
    at(object, &[field]).as_object().map_or(0, serde_json::Map::len)
}

fn either<'a>(event: &'a Value, core: &str, new: &str) -> &'a Value {
    let value = at(event, &[core]);
    if value.is_null() { at(event, &[new]) } else { value }
}

fn source(event: &Value) -> String {
    let source = either(event, "source", "deprecatedSource");
    let component = match text(source, &["component"]) {
        "" => either(event, "reportingComponent", "reportingController").as_str().unwrap_or_default(),
        component => component,
    };
    match text(source, &["host"]) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}

fn count(event: &Value) -> i64 {
    let single = either(event, "count", "deprecatedCount").as_i64();
    at(event, &["series", "count"]).as_i64().or(single).unwrap_or(1)
}

fn seen(event: &Value, which: Seen, now: Timestamp) -> String {
    let time = |value: &Value| value.as_str().map(str::to_owned);
    let first = time(either(event, "firstTimestamp", "deprecatedFirstTimestamp")).or_else(|| time(&event["eventTime"]));
    let series = time(at(event, &["series", "lastObservedTime"]));
    let last = series.or_else(|| time(either(event, "lastTimestamp", "deprecatedLastTimestamp")));
    let shown = if which == Seen::First { first } else { last.or(first) };
    shown.map_or_else(|| "<unknown>".into(), |time| age(&time, now))
}
