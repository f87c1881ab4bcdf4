//! Columns of Services, Endpoints and EndpointSlices.

use serde_json::Value;

use super::{AGE, Column, NAME, column, or_none, pairs, wide};
use crate::sim::kube::object::{at, items, text};

pub(super) static SERVICE: [Column; 7] = [
    NAME,
    column("Type", |service, _| text(service, &["spec", "type"]).into()),
    column("Cluster-IP", |service, _| or_none(text(service, &["spec", "clusterIP"]))),
    column("External-IP", |service, _| external_address(service)),
    column("Port(s)", |service, _| or_none(service_ports(service))),
    AGE,
    wide("Selector", |service, _| pairs(at(service, &["spec", "selector"]))),
];

pub(super) static ENDPOINTS: [Column; 3] = [NAME, column("Endpoints", |endpoints, _| endpoints_of(endpoints)), AGE];

pub(super) static SLICE: [Column; 5] = [
    NAME,
    column("AddressType", |slice, _| text(slice, &["addressType"]).into()),
    column("Ports", |slice, _| {
        let ports = items(slice, &["ports"]).iter().map(|p| p["port"].to_string());
        or_unset(&ports.collect::<Vec<_>>())
    }),
    column("Endpoints", |slice, _| {
        let addresses = items(slice, &["endpoints"]).iter().flat_map(|e| items(e, &["addresses"]));
        or_unset(&addresses.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
    }),
    AGE,
];

fn external_address(service: &Value) -> Value {
    let ingress = items(service, &["status", "loadBalancer", "ingress"]);
    let balanced = ingress.iter().map(|i| match text(i, &["ip"]) {
        "" => text(i, &["hostname"]),
        ip => ip,
    });
    let external = items(service, &["spec", "externalIPs"]).iter().filter_map(Value::as_str);
    match text(service, &["spec", "type"]) {
        "LoadBalancer" => {
            let all = balanced.chain(external).collect::<Vec<_>>().join(",");
            if all.is_empty() { "<pending>".into() } else { all.into() }
        }
        "ExternalName" => text(service, &["spec", "externalName"]).into(),
        _ => or_none(external.collect::<Vec<_>>().join(",")),
    }
}

fn service_ports(service: &Value) -> String {
    let ports = items(service, &["spec", "ports"]).iter().map(|port| {
        let protocol = text(port, &["protocol"]);
        match port["nodePort"].as_u64() {
            Some(node_port) => format!("{}:{node_port}/{protocol}", port["port"]),
            None => format!("{}/{protocol}", port["port"]),
        }
    });
    ports.collect::<Vec<_>>().join(",")
}

fn endpoints_of(endpoints: &Value) -> Value {
    let mut all = Vec::new();
    for subset in items(endpoints, &["subsets"]) {
        let ports = items(subset, &["ports"]);
        for address in items(subset, &["addresses"]) {
            let ip = text(address, &["ip"]);
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(ports.iter().map(|p| format!("{ip}:{}", p["port"])));
        }
    }
    or_none(shortened(&all))
}

fn or_unset(all: &[String]) -> Value {
    if all.is_empty() { "<unset>".into() } else { shortened(all).into() }
}

/// At most three, then how many more.
fn shortened(all: &[String]) -> String {
    let shown = all[..all.len().min(3)].join(",");
    if all.len() > 3 { format!("{shown} + {} more...", all.len() - 3) } else { shown }
}
