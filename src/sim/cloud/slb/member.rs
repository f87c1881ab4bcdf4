//! The servers of a group: what may become one, and the four ways to change them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Due;
use crate::sim::cloud::{Context, State, agenda, error::Failure, params::Params};

/// The most servers in one call.
const PER_CALL: usize = 20;

/// A server of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Instance or interface id.
    pub id: String,
    /// Port on the server; 0 for the load balancer's default servers, which have none.
    pub port: u16,
    /// 0 to 100.
    pub weight: u8,
    /// `ecs`, `eni` or `eci`.
    pub kind: String,
    /// The address used, for interfaces.
    pub ip: String,
    /// Text.
    pub description: String,
}

/// A server as callers write it. Numbers may come as text.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Given {
    server_id: String,
    port: Option<Number>,
    weight: Option<Number>,
    r#type: Option<String>,
    server_ip: Option<String>,
    description: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(i64),
    Text(String),
}

// === impl Number ===

impl Number {
    fn value(&self) -> Option<i64> {
        match self {
            Self::Plain(value) => Some(*value),
            Self::Text(text) => text.trim().parse().ok(),
        }
    }
}

// === impl Given ===

impl Given {
    fn port(&self, name: &str) -> Result<Option<u16>, Failure> {
        let Some(port) = &self.port else { return Ok(None) };
        let port = port.value().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        port.map(Some).ok_or_else(|| Failure::invalid(name))
    }

    pub(super) fn weight(&self, name: &str) -> Result<Option<u8>, Failure> {
        let Some(weight) = &self.weight else { return Ok(None) };
        let weight = weight.value().and_then(|weight| u8::try_from(weight).ok()).filter(|weight| *weight <= 100);
        weight.map(Some).ok_or_else(|| Failure::invalid(name))
    }

    pub(super) fn into_id(self) -> String {
        self.server_id
    }

    pub(super) fn means(&self, server: &Server) -> bool {
        let port = self.port.as_ref().and_then(Number::value);
        server.id == self.server_id
            && port.is_none_or(|port| port == i64::from(server.port))
            && self.server_ip.as_ref().is_none_or(|ip| ip.is_empty() || *ip == server.ip)
    }
}

/// Reads the servers that a call gives.
pub(super) fn given(params: &Params, name: &str) -> Result<Vec<Given>, Failure> {
    let list: Vec<Given> = params.json(name)?.unwrap_or_default();
    if list.len() > PER_CALL {
        return Err(Failure::bad("InvalidParameter", format!("At most {PER_CALL} servers can be given in {name}.")));
    }
    for server in &list {
        server.port(name)?;
        server.weight(name)?;
    }
    Ok(list)
}

/// Turns what a call gives into servers of a load balancer, if they can be its servers.
pub(super) fn admit(
    cx: &Context<'_>,
    state: &State,
    load_balancer: &str,
    list: Vec<Given>,
) -> Result<Vec<Server>, Failure> {
    let servers: Vec<Server> =
        list.into_iter().map(|given| one(state, load_balancer, given)).collect::<Result<_, _>>()?;
    let present = state.slb.groups.values().filter(|group| group.load_balancer == load_balancer);
    let present: usize = present.map(|group| group.servers.len()).sum();
    if cx.options.quotas.backend_servers.is_some_and(|limit| present + servers.len() > limit) {
        return Err(Failure::bad(
            "InstanceBackendServerNumberOverLimit",
            "The backend server number has reached to the quota limit of this load balancers",
        ));
    }
    Ok(servers)
}

/// The same for default servers, which have no port of their own.
pub(super) fn admit_default(
    cx: &Context<'_>,
    state: &State,
    load_balancer: &str,
    list: Vec<Given>,
) -> Result<Vec<Server>, Failure> {
    let with_port = |given: Given| Given { port: Some(Number::Plain(1)), ..given };
    let servers = admit(cx, state, load_balancer, list.into_iter().map(with_port).collect())?;
    Ok(servers.into_iter().map(|server| Server { port: 0, ..server }).collect())
}

fn one(state: &State, load_balancer: &str, given: Given) -> Result<Server, Failure> {
    let name = "BackendServers";
    let kind = given.r#type.clone().filter(|kind| !kind.is_empty()).unwrap_or_else(|| "ecs".to_owned());
    let id = &given.server_id;
    let unusable =
        || Failure::bad("ObtainIpFail", format!("The backend server {id} does not exist or is not running."));
    let (vpc, ip) = match kind.as_str() {
        "ecs" => {
            let instance = state.ecs.instances.get(id).ok_or_else(unusable)?;
            if instance.status != crate::sim::cloud::ecs::InstanceStatus::Running {
                return Err(unusable());
            }
            (&instance.vpc, String::new())
        }
        "eni" => {
            let interface = state.ecs.interfaces.get(id).ok_or_else(unusable)?;
            let ips: Vec<String> = interface
                .private_ips
                .iter()
                .map(ToString::to_string)
                .chain(interface.ipv6.iter().map(ToString::to_string))
                .collect();
            let ip = given.server_ip.clone().filter(|ip| !ip.is_empty());
            let ip = ip.or_else(|| ips.first().cloned()).unwrap_or_default();
            if !ips.contains(&ip) {
                return Err(Failure::bad(
                    "InvalidParameter",
                    format!("The interface {id} does not have the address {ip}."),
                ));
            }
            (&interface.vpc, ip)
        }
        _ => {
            return Err(Failure::bad("BackendServer.InvalidType", format!("The server type {kind} is not supported.")));
        }
    };
    if network_of(state, load_balancer).is_some_and(|network| network != vpc) {
        return Err(Failure::bad("NetworkConflict", format!("The backend server {id} is in another VPC.")));
    }
    Ok(Server {
        port: given.port(name)?.ok_or_else(|| Failure::missing("BackendServers.Port"))?,
        weight: given.weight(name)?.unwrap_or(100),
        description: given.description.unwrap_or_default(),
        id: given.server_id,
        kind,
        ip,
    })
}

/// The VPC that a load balancer's servers must be in: its own, or that of the servers that
/// one on the internet has already.
fn network_of<'a>(state: &'a State, load_balancer: &str) -> Option<&'a String> {
    let lb = state.slb.load_balancers.get(load_balancer)?;
    if !lb.vpc.is_empty() {
        return Some(&lb.vpc);
    }
    let groups = state.slb.groups.values().filter(|group| group.load_balancer == load_balancer);
    groups.flat_map(|group| &group.servers).find_map(|server| {
        let instance = state.ecs.instances.get(&server.id).map(|instance| &instance.vpc);
        instance.or_else(|| state.ecs.interfaces.get(&server.id).map(|interface| &interface.vpc))
    })
}

/// The servers as replies show them.
pub(super) fn list(servers: &[Server]) -> Value {
    let item = |server: &Server| {
        json!({
            "ServerId": server.id,
            "Port": server.port,
            "Weight": server.weight,
            "Type": server.kind,
            "ServerIp": server.ip,
            "Description": server.description,
        })
    };
    json!({ "BackendServer": servers.iter().map(item).collect::<Vec<_>>() })
}

/// The answer after a change, from which on the group is busy for a while.
fn reply(cx: &Context<'_>, state: &mut State, id: &str) -> Result<Value, Failure> {
    if cx.changed() && !cx.options.delays.group_change.is_zero() {
        state.slb.group_mut(id)?.busy = true;
        state.later(cx, cx.options.delays.group_change, agenda::Due::Slb(Due::GroupIdle(id.to_owned())));
    }
    let group = state.slb.group(id)?;
    Ok(json!({ "VServerGroupId": id, "BackendServers": list(&group.servers) }))
}

/// Adds servers; one that is there already stays as it is.
pub(super) fn add(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VServerGroupId")?;
    let group = state.slb.idle_group(id)?;
    let list = given(cx.params, "BackendServers")?;
    let fresh = list.into_iter().filter(|given| !group.servers.iter().any(|server| given.means(server))).collect();
    let servers = admit(cx, state, &group.load_balancer.clone(), fresh)?;
    if !servers.is_empty() {
        cx.change();
    }
    state.slb.group_mut(id)?.servers.extend(servers);
    reply(cx, state, id)
}

/// Removes servers; one that is not there is no error.
pub(super) fn remove(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VServerGroupId")?;
    let list = given(cx.params, "BackendServers")?;
    state.slb.idle_group(id)?;
    let servers = &mut state.slb.group_mut(id)?.servers;
    let before = servers.len();
    servers.retain(|server| !list.iter().any(|given| given.means(server)));
    if servers.len() != before {
        cx.change();
    }
    reply(cx, state, id)
}

/// Swaps servers: the old list goes, the new one comes.
pub(super) fn modify(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VServerGroupId")?;
    let group = state.slb.idle_group(id)?.clone();
    let old = given(cx.params, "OldBackendServers")?;
    let new = given(cx.params, "NewBackendServers")?;
    let mut servers = group.servers.clone();
    servers.retain(|server| !old.iter().any(|given| given.means(server)));
    let new = new.into_iter().filter(|given| !servers.iter().any(|server| given.means(server))).collect();
    servers.extend(admit(cx, state, &group.load_balancer, new)?);
    let group = state.slb.group_mut(id)?;
    cx.set(&mut group.servers, servers);
    reply(cx, state, id)
}

/// Changes the group's name, and weight and description of servers that are there.
pub(super) fn set(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VServerGroupId")?;
    let list = given(cx.params, "BackendServers")?;
    state.slb.idle_group(id)?;
    let group = state.slb.group_mut(id)?;
    if list.is_empty() && !cx.params.has("VServerGroupName") {
        return Err(Failure::missing("BackendServers"));
    }
    let mut servers = group.servers.clone();
    for given in &list {
        let server = servers.iter_mut().find(|server| given.means(server)).ok_or_else(|| {
            Failure::bad("InvalidParameter", format!("The server {} is not in the group.", given.server_id))
        })?;
        server.weight = given.weight("BackendServers")?.unwrap_or(server.weight);
        if let Some(description) = &given.description {
            server.description.clone_from(description);
        }
    }
    cx.set(&mut group.servers, servers);
    if let Some(name) = cx.params.get("VServerGroupName") {
        cx.set(&mut group.name, name.to_owned());
    }
    let mut reply = reply(cx, state, id)?;
    reply["VServerGroupName"] = state.slb.group(id)?.name.clone().into();
    Ok(reply)
}
