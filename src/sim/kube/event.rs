//! The two event APIs over one store.
//!
//! kubectl reads `v1` events, newer recorders write `events.k8s.io/v1`. The real server keeps
//! one object and renames fields; so does this. The stored form is `v1`.

use serde_json::{Value, json};

use super::{
    failure::Cause,
    object::{map, text},
    resource::Resource,
};

/// Field names: `v1` beside `events.k8s.io/v1`. All others are the same in both.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The stored form of an event that came through `resource`.
pub(super) fn stored(resource: &Resource, object: Value) -> Value {
    if resource.group.is_empty() { object } else { rename(object, "v1", |(core, new)| (new, core)) }
}

/// A stored event as `resource` shows it.
pub(super) fn shown(resource: &Resource, object: Value) -> Value {
    if resource.group.is_empty() { object } else { rename(object, "events.k8s.io/v1", |names| names) }
}

/// The `v1` name of a field selector that uses the newer names.
pub(super) fn stored_field(field: &str) -> String {
    for (core, new) in NAMES {
        if let Some(rest) = field.strip_prefix(new) {
            return format!("{core}{rest}");
        }
    }
    field.to_owned()
}

fn rename<'a>(
    mut object: Value,
    api_version: &str,
    from_to: impl Fn((&'a str, &'a str)) -> (&'a str, &'a str),
) -> Value {
    let fields = map(&mut object);
    fields.insert("apiVersion".into(), api_version.into());
    for (from, to) in NAMES.map(from_to) {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.into(), value);
        }
    }
    object
}

/// What each API checks of a new event.
pub(super) fn validate(resource: &Resource, event: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let namespace = text(event, &["metadata", "namespace"]);
    let involved = text(event, &["involvedObject", "namespace"]);
    // Events about cluster-wide objects live in `default`.
    let fits = if involved.is_empty() { namespace == "default" } else { namespace == involved };
    if !fits {
        let field = "involvedObject.namespace";
        causes.push(Cause::invalid(field, &json!(involved), "does not match event.namespace"));
    }
    if !resource.group.is_empty() {
        let required = ["eventTime", "reportingComponent", "reportingInstance", "action", "reason", "type"];
        for field in required.into_iter().filter(|f| event.get(f).is_none_or(|v| v.is_null() || v == "")) {
            let shown = if field == "reportingComponent" { "reportingController" } else { field };
            causes.push(Cause::required(shown, ""));
        }
    }
    causes
}
