//! Cluster addresses and node ports. What is taken follows from the Services that exist, so
//! nothing has to be given back.

use std::{collections::BTreeSet, net::Ipv4Addr};

use serde_json::{Map, Value, json};

use super::{is_external_name, is_without_selector, takes_node_ports, wants_health_check, wants_node_ports};
use crate::sim::kube::{
    failure::Cause,
    object::{at, child, items, map, name, namespace},
    store::Store,
};

/// Service range `10.96.0.0/12`.
const FIRST_ADDRESS: u32 = u32::from_be_bytes([10, 96, 0, 0]);
const ADDRESSES: u32 = 1 << 20;
const FIRST_PORT: u64 = 30_000;
const LAST_PORT: u64 = 32_767;

/// Where the search for something free goes on: a number just given back is not given out next.
#[derive(Debug, Default)]
pub(in crate::sim::kube) struct Cursors {
    address: u32,
    port: u64,
}

/// Gives the Service the addresses and ports it still lacks.
pub(super) fn assign(store: &mut Store, service: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if !is_external_name(service) {
        causes.extend(assign_address(store, service, old));
    }
    if takes_node_ports(service) && causes.is_empty() {
        causes.extend(assign_ports(store, service, old));
    }
    causes
}

fn assign_address(store: &mut Store, service: &mut Value, old: Option<&Value>) -> Option<Cause> {
    let listed = items(service, &["spec", "clusterIPs"]).first().and_then(Value::as_str);
    let wanted = at(service, &["spec", "clusterIP"]).as_str().filter(|ip| !ip.is_empty()).or(listed).map(str::to_owned);
    let had = old.and_then(|o| at(o, &["spec", "clusterIP"]).as_str()).map(str::to_owned);
    let address = match wanted {
        Some(ip) if ip == "None" || had.as_deref() == Some(&ip) => ip,
        Some(ip) => {
            let why = match ip.parse::<Ipv4Addr>() {
                Err(_) => Some("not a valid IP"),
                Ok(parsed) if u32::from(parsed).wrapping_sub(FIRST_ADDRESS) >= ADDRESSES => {
                    Some("the provided IP is not in the valid range. The range of valid IPs is 10.96.0.0/12")
                }
                Ok(_) if is_taken(store, service, &ip) => Some("provided IP is already allocated"),
                Ok(_) => None,
            };
            if let Some(why) = why {
                let detail = format!("failed to allocate IP {ip}: {why}");
                return Some(Cause::invalid("spec.clusterIPs", &json!([ip]), &detail));
            }
            ip
        }
        None => next_address(store, service)?,
    };
    let open = address == "None" && is_without_selector(service);
    let spec = child(service, "spec");
    spec.insert("clusterIPs".into(), json!([address]));
    spec.insert("clusterIP".into(), address.into());
    if open {
        families(spec, json!(["IPv4", "IPv6"]), "RequireDualStack");
    } else {
        families(spec, json!(["IPv4"]), "SingleStack");
    }
    None
}

fn families(spec: &mut Map<String, Value>, families: Value, policy: &str) {
    spec.entry("ipFamilies").or_insert(families);
    spec.entry("ipFamilyPolicy").or_insert_with(|| policy.into());
}

fn next_address(store: &mut Store, service: &Value) -> Option<String> {
    // Network, API server and the usual DNS address come first; the last is the broadcast address.
    let reserved = 16;
    (0..ADDRESSES).find_map(|_| {
        store.cursors.address = (store.cursors.address + 1) % (ADDRESSES - reserved - 1);
        let ip = Ipv4Addr::from(FIRST_ADDRESS + reserved + store.cursors.address).to_string();
        (!is_taken(store, service, &ip)).then_some(ip)
    })
}

fn assign_ports(store: &mut Store, service: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    let mut taken = taken_ports(store, service);
    let own: BTreeSet<u64> = old.into_iter().flat_map(ports_of).collect();
    let causes = refused_ports(service, &taken, &own);
    if !causes.is_empty() {
        return causes;
    }
    taken.extend(ports_of(service));
    let (wants_ports, wants_health) = (wants_node_ports(service), wants_health_check(service));
    let full = |field: String| vec![Cause::forbidden(field, "range is full")];
    let spec = child(service, "spec");
    let mut ports = spec.remove("ports").unwrap_or_default();
    for index in 0..ports.as_array().map_or(0, Vec::len) {
        if !wants_ports || !ports[index]["nodePort"].is_null() {
            continue;
        }
        // The same port under another protocol shares the node port.
        let twin = items(&ports, &[]).iter().find(|p| p["port"] == ports[index]["port"] && !p["nodePort"].is_null());
        let number = twin.and_then(|p| p["nodePort"].as_u64()).or_else(|| next_port(store, &mut taken));
        let Some(number) = number else { return full(format!("spec.ports[{index}].nodePort")) };
        map(&mut ports[index]).insert("nodePort".into(), number.into());
    }
    spec.insert("ports".into(), ports);
    if wants_health && spec.get("healthCheckNodePort").is_none() {
        let Some(number) = next_port(store, &mut taken) else { return full("spec.healthCheckNodePort".into()) };
        spec.insert("healthCheckNodePort".into(), number.into());
    }
    Vec::new()
}

/// Ports the user chose that are outside the range or belong to another Service.
fn refused_ports(service: &Value, taken: &BTreeSet<u64>, own: &BTreeSet<u64>) -> Vec<Cause> {
    let ports = items(service, &["spec", "ports"]).iter().enumerate();
    let chosen = ports.map(|(index, port)| (format!("spec.ports[{index}].nodePort"), at(port, &["nodePort"])));
    let health = ("spec.healthCheckNodePort".to_owned(), at(service, &["spec", "healthCheckNodePort"]));
    let refused = chosen.chain([health]).filter_map(|(field, value)| {
        let number = value.as_u64().filter(|n| !own.contains(n))?;
        let why = if !(FIRST_PORT..=LAST_PORT).contains(&number) {
            "provided port is not in the valid range. The range of valid ports is 30000-32767"
        } else if taken.contains(&number) {
            "provided port is already allocated"
        } else {
            return None;
        };
        Some(Cause::invalid(field, value, why))
    });
    refused.collect()
}

fn next_port(store: &mut Store, taken: &mut BTreeSet<u64>) -> Option<u64> {
    let count = LAST_PORT - FIRST_PORT + 1;
    let found = (0..count).find_map(|_| {
        store.cursors.port = (store.cursors.port + 1) % count;
        let port = FIRST_PORT + store.cursors.port;
        (!taken.contains(&port)).then_some(port)
    });
    taken.extend(found);
    found
}

fn others<'a>(store: &'a Store, service: &Value) -> impl Iterator<Item = &'a Value> {
    let (namespace, name) = (namespace(service).to_owned(), name(service).to_owned());
    let services = store.select(("", "services"), None);
    services.filter(move |(key, _)| key.namespace != namespace || key.name != name).map(|(_, service)| service.as_ref())
}

fn is_taken(store: &Store, service: &Value, address: &str) -> bool {
    others(store, service).any(|other| at(other, &["spec", "clusterIP"]) == address)
}

fn taken_ports(store: &Store, service: &Value) -> BTreeSet<u64> {
    others(store, service).flat_map(ports_of).collect()
}

/// Node ports and health-check port of one Service.
fn ports_of(service: &Value) -> impl Iterator<Item = u64> {
    let ports = items(service, &["spec", "ports"]).iter().filter_map(|p| p.get("nodePort"));
    ports.chain([at(service, &["spec", "healthCheckNodePort"])]).filter_map(Value::as_u64)
}
