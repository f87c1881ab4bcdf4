//! Services: defaults, what a change of type drops, and allocation of addresses and ports.

mod allocate;
mod validate;

use serde_json::{Map, Value, json};

pub(super) use self::allocate::Cursors;
use super::{
    failure::Cause,
    object::{at, child, default, items, map, text},
    store::Store,
};

/// Brings a Service into the form the real server keeps; returns what is wrong with it.
pub(super) fn fill(store: &mut Store, service: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    fill_spec(service);
    if let Some(old) = old {
        keep_allocated(service, old);
        drop_unneeded(service, old);
    }
    let causes = validate::check(service, old);
    if !causes.is_empty() {
        return causes;
    }
    allocate::assign(store, service, old)
}

/// The status as the server keeps it: there from the start, each address with the way packets take
/// to it, and no address of a Service that is no load balancer any more.
pub(super) fn fill_status(service: &mut Value) {
    let balanced = type_of(service) == "LoadBalancer";
    let status = child(service, "status");
    let shown = map(status.entry("loadBalancer").or_insert_with(|| json!({})));
    if !balanced {
        shown.clear();
    }
    for ingress in shown.get_mut("ingress").and_then(Value::as_array_mut).into_iter().flatten() {
        if !text(ingress, &["ip"]).is_empty() {
            default(map(ingress), "ipMode", "VIP");
        }
    }
}

/// The type, `ClusterIP` when unset.
fn type_of(service: &Value) -> &str {
    match text(service, &["spec", "type"]) {
        "" => "ClusterIP",
        other => other,
    }
}

/// Whoever makes the endpoints of such a Service decides on their families.
fn is_without_selector(service: &Value) -> bool {
    at(service, &["spec", "selector"]).as_object().is_none_or(Map::is_empty)
}

fn is_external_name(service: &Value) -> bool {
    type_of(service) == "ExternalName"
}

/// Whether the type may have node ports at all.
fn takes_node_ports(service: &Value) -> bool {
    matches!(type_of(service), "NodePort" | "LoadBalancer")
}

/// Whether every port gets a node port.
fn wants_node_ports(service: &Value) -> bool {
    match type_of(service) {
        "NodePort" => true,
        "LoadBalancer" => at(service, &["spec", "allocateLoadBalancerNodePorts"]) != &Value::Bool(false),
        _ => false,
    }
}

fn wants_health_check(service: &Value) -> bool {
    type_of(service) == "LoadBalancer" && text(service, &["spec", "externalTrafficPolicy"]) == "Local"
}

fn fill_spec(service: &mut Value) {
    let kind = type_of(service).to_owned();
    let spec = child(service, "spec");
    default(spec, "type", kind.as_str());
    default(spec, "sessionAffinity", "None");
    if spec.get("sessionAffinity").is_some_and(|a| a == "ClientIP") {
        default(spec, "sessionAffinityConfig", json!({ "clientIP": { "timeoutSeconds": 10800 } }));
    }
    if kind != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    let external = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
    if external || matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let port = map(port);
        default(port, "protocol", "TCP");
        // 0 stands for unset, as the typed clients of the real API send it.
        port.retain(|key, value| !(matches!(key.as_str(), "nodePort" | "targetPort") && *value == 0));
        let number = port.get("port").cloned().unwrap_or_default();
        default(port, "targetPort", number);
    }
    spec.retain(|key, value| !(key == "healthCheckNodePort" && *value == 0));
}

/// A PUT that leaves out what the server had allocated keeps it.
fn keep_allocated(service: &mut Value, old: &Value) {
    let (external_name, node_ports) = (is_external_name(service), wants_node_ports(service));
    let health_check = wants_health_check(service) && wants_health_check(old);
    let spec = child(service, "spec");
    if !external_name && !is_external_name(old) {
        let (ip, ips) = (at(old, &["spec", "clusterIP"]), at(old, &["spec", "clusterIPs"]));
        let moved = spec.get("clusterIP").is_some_and(|new| new != ip && new != "");
        if moved && spec.get("clusterIPs") == Some(ips) {
            // A client that knows only the single field.
            let ips = json!([spec.get("clusterIP")]);
            spec.insert("clusterIPs".into(), ips);
        }
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let value = at(old, &["spec", key]);
            if !value.is_null() {
                default(spec, key, value.clone());
            }
        }
    }
    if node_ports && takes_node_ports(old) {
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let same = |o: &&Value| o.get("port") == port.get("port") && o.get("protocol") == port.get("protocol");
            let allocated = items(old, &["spec", "ports"]).iter().find(same).and_then(|o| o.get("nodePort"));
            if let Some(allocated) = allocated.cloned() {
                default(map(port), "nodePort", allocated);
            }
        }
    }
    if health_check && let Some(port) = old["spec"].get("healthCheckNodePort") {
        default(spec, "healthCheckNodePort", port.clone());
    }
}

/// A change of type gives up what the new type has no use for, unless the user set it anew.
fn drop_unneeded(service: &mut Value, old: &Value) {
    let unchanged = |spec: &Map<String, Value>, key: &str| spec.get(key) == old["spec"].get(key);
    let was_balanced = type_of(old) == "LoadBalancer";
    let is_balanced = type_of(service) == "LoadBalancer";
    let external = !items(service, &["spec", "externalIPs"]).is_empty();
    let (external_name, node_ports) = (is_external_name(service), takes_node_ports(service));
    let health_check = wants_health_check(service);
    let spec = child(service, "spec");
    let drop = |spec: &mut Map<String, Value>, keys: &[&str]| {
        for key in keys.iter().filter(|key| spec.get(**key) == old["spec"].get(**key)).copied().collect::<Vec<_>>() {
            spec.remove(key);
        }
    };
    if external_name {
        drop(spec, &["clusterIPs", "clusterIP", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
    }
    if !node_ports && takes_node_ports(old) {
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let same = |o: &Value| o.get("port") == port.get("port") && o.get("nodePort") == port.get("nodePort");
            if items(old, &["spec", "ports"]).iter().any(same) {
                map(port).remove("nodePort");
            }
        }
        if !external {
            drop(spec, &["externalTrafficPolicy"]);
        }
    }
    if !health_check && wants_health_check(old) && unchanged(spec, "healthCheckNodePort") {
        spec.remove("healthCheckNodePort");
    }
    if was_balanced && !is_balanced {
        drop(spec, &["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
}

#[cfg(test)]
mod tests;
