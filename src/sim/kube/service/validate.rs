//! What the real server refuses of a Service, as far as a load-balancer user meets it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{is_external_name, is_without_selector, takes_node_ports, type_of, wants_health_check};
use crate::sim::kube::{
    failure::Cause,
    name::is_label,
    object::{at, items, text},
};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const FAMILY_POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

pub(super) fn check(service: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let headless = text(service, &["spec", "clusterIP"]) == "None";
    let ports = items(service, &["spec", "ports"]);
    one_of(service, "type", &TYPES, &mut causes);
    one_of(service, "sessionAffinity", &["ClientIP", "None"], &mut causes);
    one_of(service, "externalTrafficPolicy", &["Cluster", "Local"], &mut causes);
    one_of(service, "internalTrafficPolicy", &["Cluster", "Local"], &mut causes);
    one_of(service, "ipFamilyPolicy", &FAMILY_POLICIES, &mut causes);
    for (index, family) in items(service, &["spec", "ipFamilies"]).iter().enumerate() {
        if !FAMILIES.iter().any(|known| family == known) {
            causes.push(Cause::unsupported(format!("spec.ipFamilies[{index}]"), family, &FAMILIES));
        }
    }
    if text(service, &["spec", "ipFamilyPolicy"]) == "RequireDualStack" && !(headless && is_without_selector(service)) {
        let value = at(service, &["spec", "ipFamilyPolicy"]);
        let detail = "this cluster is not configured for dual-stack services";
        causes.push(Cause::invalid("spec.ipFamilyPolicy", value, detail));
    }
    if ports.is_empty() && !headless && !is_external_name(service) {
        causes.push(Cause::required("spec.ports", ""));
    }
    if headless && takes_node_ports(service) {
        let detail = format!("may not be set to 'None' for {} services", type_of(service));
        causes.push(Cause::invalid("spec.clusterIPs[0]", &json!("None"), &detail));
    }
    if is_external_name(service) && text(service, &["spec", "externalName"]).is_empty() {
        causes.push(Cause::required("spec.externalName", ""));
    }
    check_ports(service, ports, &mut causes);
    check_balancer(service, &mut causes);
    if let Some(old) = old {
        check_change(service, old, &mut causes);
    }
    causes
}

fn one_of(service: &Value, field: &str, known: &[&str], causes: &mut Vec<Cause>) {
    let value = at(service, &["spec", field]);
    if let Some(set) = value.as_str().filter(|s| !s.is_empty())
        && !known.contains(&set)
    {
        causes.push(Cause::unsupported(format!("spec.{field}"), value, known));
    }
}

fn check_ports(service: &Value, ports: &[Value], causes: &mut Vec<Cause>) {
    let (mut names, mut numbers, mut node_ports) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (index, port) in ports.iter().enumerate() {
        let field = |name: &str| format!("spec.ports[{index}].{name}");
        let name = text(port, &["name"]);
        if name.is_empty() && ports.len() > 1 {
            causes.push(Cause::required(field("name"), ""));
        } else if !name.is_empty() && !is_label(name) {
            let detail = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'";
            causes.push(Cause::invalid(field("name"), &port["name"], detail));
        } else if !name.is_empty() && !names.insert(name) {
            causes.push(Cause::duplicate(field("name"), &port["name"]));
        }
        let in_range = |value: &Value| value.as_i64().is_some_and(|n| (1..=65535).contains(&n));
        let range = "must be between 1 and 65535, inclusive";
        if !in_range(&port["port"]) {
            causes.push(Cause::invalid(field("port"), &port["port"], range));
        }
        if port["targetPort"].is_number() && !in_range(&port["targetPort"]) {
            causes.push(Cause::invalid(field("targetPort"), &port["targetPort"], range));
        }
        let protocol = text(port, &["protocol"]);
        if !["SCTP", "TCP", "UDP"].contains(&protocol) {
            causes.push(Cause::unsupported(field("protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]));
        }
        if !numbers.insert((port["port"].as_i64(), protocol)) {
            causes.push(Cause::duplicate(
                format!("spec.ports[{index}]"),
                &json!({ "port": port["port"], "protocol": protocol }),
            ));
        }
        let node_port = at(port, &["nodePort"]);
        if node_port.is_null() {
            continue;
        }
        if !takes_node_ports(service) {
            let detail = format!("may not be used when `type` is '{}'", type_of(service));
            causes.push(Cause::forbidden(field("nodePort"), &detail));
        } else if !node_ports.insert((node_port.as_i64(), protocol)) {
            causes.push(Cause::duplicate(field("nodePort"), node_port));
        }
    }
}

fn check_balancer(service: &Value, causes: &mut Vec<Cause>) {
    let spec = |field: &str| at(service, &["spec", field]);
    let balanced = type_of(service) == "LoadBalancer";
    let only_balanced = "may only be used when `type` is 'LoadBalancer'";
    for field in ["loadBalancerClass", "allocateLoadBalancerNodePorts"] {
        if !balanced && !spec(field).is_null() {
            causes.push(Cause::forbidden(format!("spec.{field}"), only_balanced));
        }
    }
    let ranges = items(service, &["spec", "loadBalancerSourceRanges"]);
    if !balanced && !ranges.is_empty() {
        causes.push(Cause::forbidden("spec.LoadBalancerSourceRanges", only_balanced));
    }
    for range in ranges.iter().filter(|r| r.as_str().is_none_or(|r| r.trim().parse::<ipnet::IpNet>().is_err())) {
        causes.push(Cause::invalid(
            "spec.LoadBalancerSourceRanges",
            range,
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ));
    }
    let external = !items(service, &["spec", "externalIPs"]).is_empty();
    if !takes_node_ports(service) && !external && !spec("externalTrafficPolicy").is_null() {
        let detail = "may only be set for externally-accessible services";
        causes.push(Cause::invalid("spec.externalTrafficPolicy", spec("externalTrafficPolicy"), detail));
    }
    if !wants_health_check(service) && !spec("healthCheckNodePort").is_null() {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push(Cause::invalid("spec.healthCheckNodePort", spec("healthCheckNodePort"), detail));
    }
}

fn check_change(service: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let pair = |field: &str| (at(old, &["spec", field]), at(service, &["spec", field]));
    let (before, after) = pair("clusterIP");
    let set = |v: &Value| v.as_str().is_some_and(|s| !s.is_empty());
    if set(before) && !is_external_name(service) && !is_external_name(old) && before != after {
        causes.push(Cause::invalid("spec.clusterIPs[0]", &json!([after]), "may not change once set"));
    }
    let stays = type_of(old) == "LoadBalancer" && type_of(service) == "LoadBalancer";
    let (before, after) = pair("loadBalancerClass");
    if stays && before != after {
        causes.push(Cause::invalid("spec.loadBalancerClass", after, "may not change once set"));
    }
    let (before, after) = pair("healthCheckNodePort");
    if wants_health_check(old) && wants_health_check(service) && !before.is_null() && before != after {
        causes.push(Cause::invalid("spec.healthCheckNodePort", after, "field is immutable"));
    }
}
