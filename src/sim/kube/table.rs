//! Tables for `kubectl get`: columns and cells kind by kind, as the real server prints them.

mod network;
mod node;
mod others;
mod workload;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    form::{Include, metadata_of},
    object::{name, text},
    resource::Resource,
};

/// One column. Columns of priority 1 show with `-o wide`.
struct Column {
    name: &'static str,
    priority: u8,
    cell: fn(&Value, Timestamp) -> Value,
}

const fn column(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column { name, priority: 0, cell }
}

const fn wide(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column { name, priority: 1, cell }
}

const NAME: Column = column("Name", |object, _| name(object).into());
const AGE: Column = column("Age", |object, now| age(text(object, &["metadata", "creationTimestamp"]), now).into());
static PLAIN: [Column; 2] = [NAME, AGE];

fn columns(resource: &Resource) -> &'static [Column] {
    match (resource.group, resource.plural) {
        ("", "nodes") => &node::COLUMNS,
        ("", "services") => &network::SERVICE,
        ("", "endpoints") => &network::ENDPOINTS,
        ("discovery.k8s.io", "endpointslices") => &network::SLICE,
        ("", "pods") => &workload::POD,
        ("apps", "deployments") => &workload::DEPLOYMENT,
        ("apps", "replicasets") => &workload::REPLICA_SET,
        ("apps", "daemonsets") => &workload::DAEMON_SET,
        ("", "namespaces") => &others::NAMESPACE,
        ("" | "events.k8s.io", "events") => &others::EVENT,
        ("coordination.k8s.io", "leases") => &others::LEASE,
        ("", "configmaps") => &others::CONFIG_MAP,
        ("", "secrets") => &others::SECRET,
        _ => &PLAIN,
    }
}

/// The `Table` of some objects.
pub(super) fn render(
    resource: &Resource,
    objects: &[&Value],
    metadata: &Value,
    include: Include,
    now: Timestamp,
) -> Value {
    let columns = columns(resource);
    let definitions: Vec<Value> = columns
        .iter()
        .map(|c| {
            let format = if c.name == "Name" { "name" } else { "" };
            json!({ "name": c.name, "type": "string", "format": format, "description": c.name, "priority": c.priority })
        })
        .collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let cells: Vec<Value> = columns.iter().map(|c| (c.cell)(object, now)).collect();
            let object = match include {
                Include::Nothing => Value::Null,
                Include::Metadata => metadata_of(object),
                Include::Object => (*object).clone(),
            };
            json!({ "cells": cells, "object": object })
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

/// How long ago `time` was, the way kubectl says it: `42s`, `5m3s`, `3h`, `12d`.
fn age(time: &str, now: Timestamp) -> String {
    let Ok(then) = time.parse::<Timestamp>() else { return "<unknown>".into() };
    let seconds = now.as_second() - then.as_second();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |a: i64, unit_a: &str, b: i64, unit_b: &str| match b {
        0 => format!("{a}{unit_a}"),
        _ => format!("{a}{unit_a}{b}{unit_b}"),
    };
    match seconds {
        ..-1 => "<invalid>".into(),
        -1..0 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

/// Text, or `<none>`.
fn or_none(text: impl Into<String>) -> Value {
    let text = text.into();
    if text.is_empty() { "<none>".into() } else { text.into() }
}

/// A map as `a=1,b=2`, or `<none>`.
fn pairs(map: &Value) -> Value {
    let pairs = map.as_object().into_iter().flatten().map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()));
    or_none(pairs.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let table = [
            ("2026-01-10T00:00:00Z", "0s"),
            ("2026-01-09T23:58:01Z", "119s"),
            ("2026-01-09T23:54:57Z", "5m3s"),
            ("2026-01-09T23:30:00Z", "30m"),
            ("2026-01-09T20:30:00Z", "3h30m"),
            ("2026-01-09T00:00:00Z", "24h"),
            ("2026-01-07T00:00:00Z", "3d"),
            ("2025-12-01T00:00:00Z", "40d"),
            ("nonsense", "<unknown>"),
        ];
        for (then, wanted) in table {
            assert_eq!(age(then, now), wanted, "{then}");
        }
    }
}
