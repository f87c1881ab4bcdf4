//! Edits to the world through the control API.

use std::{collections::BTreeMap, net::Ipv4Addr};

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, Refusal, body, done, to_json};
use crate::sim::cloud::{
    Cloud,
    ecs::{Instance, InstanceStatus},
    wire::Request,
};

/// What can be changed of an instance.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    status: Option<InstanceStatus>,
    private_ip: Option<Ipv4Addr>,
    public_ips: Option<Vec<Ipv4Addr>>,
    tags: Option<BTreeMap<String, String>>,
    name: Option<String>,
    hostname: Option<String>,
    instance_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyChange {
    active: bool,
}

/// Performs an API action as somebody else. Parameters are those of the wire; numbers and
/// flags may be written as JSON ones.
pub(super) fn act(cloud: &Cloud, action: &str, params: &Map<String, Value>) -> Answer {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let params: Vec<(&str, String)> = params.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
    let params: Vec<(&str, &str)> = params.iter().map(|(name, value)| (*name, value.as_str())).collect();
    cloud.administer(action, &params).map_err(|error| Refusal::bad(error.to_string()))
}

pub(super) fn edit(cloud: &Cloud, request: &Request, kind: &str, rest: &[&str]) -> Answer {
    let method = &request.method;
    match (kind, rest) {
        ("instances", []) if method == Method::POST => {
            let instance: Instance = body(request)?;
            let id = instance.id.clone();
            cloud.add_instance(instance).map_err(|error| Refusal::bad(error.to_string()))?;
            shown(cloud, &id)
        }
        ("instances", [id]) if method == Method::DELETE => existing(cloud.remove_instance(id).is_some(), id),
        ("instances", [id]) if method == Method::PATCH => change(cloud, id, body(request)?),
        ("load-balancers", [id]) if method == Method::DELETE => {
            let removed = cloud.remove_load_balancer(id).is_some();
            let removed = removed || cloud.with_state(|state| state.remove_network_load_balancer(id).is_some());
            existing(removed, id)
        }
        ("members", [group, server]) if method == Method::DELETE => {
            existing(cloud.remove_member(group, server), server)
        }
        ("keys", [id]) if method == Method::PATCH => {
            let change: KeyChange = body(request)?;
            existing(cloud.set_access_key_active(id, change.active), id)
        }
        _ => Err(Refusal(404, format!("{method} {} is not part of the control API; see GET /_sim", request.path))),
    }
}

fn existing(found: bool, id: &str) -> Answer {
    if found { Ok(done(|| ())) } else { Err(Refusal::not_found(id)) }
}

fn shown(cloud: &Cloud, id: &str) -> Answer {
    cloud.with_state(|state| state.ecs.instances.get(id).map_or_else(|| Err(Refusal::not_found(id)), to_json))
}

fn change(cloud: &Cloud, id: &str, change: Change) -> Answer {
    cloud.with_state(|state| {
        let Some(instance) = state.ecs.instances.get_mut(id) else { return Err(Refusal::not_found(id)) };
        instance.status = change.status.unwrap_or(instance.status);
        instance.name = change.name.unwrap_or_else(|| instance.name.clone());
        instance.hostname = change.hostname.unwrap_or_else(|| instance.hostname.clone());
        instance.instance_type = change.instance_type.unwrap_or_else(|| instance.instance_type.clone());
        instance.public_ips = change.public_ips.unwrap_or_else(|| instance.public_ips.clone());
        instance.tags = change.tags.unwrap_or_else(|| instance.tags.clone());
        let (vswitch, interface) = (instance.vswitch.clone(), instance.interfaces.first().cloned());
        if let Some(address) = change.private_ip {
            let before = instance.private_ip.replace(address);
            if !state.network.reserve_address(&vswitch, address) && before != Some(address) {
                if let Some(instance) = state.ecs.instances.get_mut(id) {
                    instance.private_ip = before;
                }
                return Err(Refusal::bad(format!("{address} is outside {vswitch} or taken")));
            }
            if let Some(before) = before.filter(|before| *before != address) {
                state.network.release_address(&vswitch, before);
            }
            if let Some(interface) = interface.and_then(|id| state.ecs.interfaces.get_mut(&id)) {
                interface.private_ips.splice(0..interface.private_ips.len().min(1), [address]);
            }
        }
        Ok(json!({ "done": true }))
    })
}
