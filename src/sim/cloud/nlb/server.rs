//! The servers of a group.

use serde::Serialize;
use serde_json::Value;

use super::{
    ServerGroup,
    job::{self, Effect},
    server_group::GroupState,
};
use crate::sim::cloud::{Context, State, error::Failure, params::Params};

/// The most servers in one call.
const PER_CALL: usize = 200;

/// A server of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NlbServer {
    /// Instance or interface id, or an address in groups of type `Ip`.
    pub id: String,
    /// The address used.
    pub ip: String,
    /// `Ecs`, `Eni`, `Eci` or `Ip`.
    pub kind: String,
    /// Port on the server; 0 in groups for all ports.
    pub port: u16,
    /// 0 to 100.
    pub weight: u8,
    /// Text.
    pub description: String,
    /// Zone id, for instances and interfaces.
    pub zone: String,
    /// Where it is in its life.
    pub status: ServerState,
}

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ServerState {
    /// On its way in.
    Adding,
    /// In service.
    Available,
    /// A change is being applied.
    Configuring,
    /// On its way out.
    Removing,
}

// === impl ServerState ===

impl ServerState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Adding => "Adding",
            Self::Available => "Available",
            Self::Configuring => "Configuring",
            Self::Removing => "Removing",
        }
    }
}

// === impl NlbServer ===

impl NlbServer {
    fn is(&self, given: &Params) -> bool {
        let port = given.number::<u16>("Port").ok().flatten().unwrap_or_default();
        given.get("ServerId") == Some(&self.id)
            && port == self.port
            && given.get("ServerIp").is_none_or(|ip| ip == self.ip)
    }
}

fn given(cx: &Context<'_>) -> Result<Vec<Params>, Failure> {
    let list = cx.params.objects("Servers");
    if list.is_empty() || list.len() > PER_CALL {
        return Err(Failure::bad("IllegalParam.Servers", "Give 1 to 200 servers."));
    }
    for (index, one) in list.iter().enumerate() {
        let key = |one: &Params| (one.text("ServerId"), one.text("ServerIp"), one.text("Port"));
        if list[..index].iter().any(|other| key(other) == key(one)) {
            return Err(Failure::bad(
                "DuplicatedParam.Server",
                format!("The server {} is given twice.", one.text("ServerId")),
            ));
        }
    }
    Ok(list)
}

fn weight(given: &Params) -> Result<Option<u8>, Failure> {
    let weight = given.number::<u8>("Weight")?;
    if weight.is_some_and(|weight| weight > 100) {
        Err(Failure::bad("IllegalParam", "The weight must be 0 to 100."))
    } else {
        Ok(weight)
    }
}

fn one(state: &State, group: &ServerGroup, given: &Params) -> Result<NlbServer, Failure> {
    let id = given.required("ServerId")?;
    let kind = given.get("ServerType").unwrap_or(if group.kind == "Ip" { "Ip" } else { "Ecs" });
    if (kind == "Ip") != (group.kind == "Ip") {
        return Err(Failure::bad("Mismatch.ServerType", format!("A group of type {} takes no {kind}.", group.kind)));
    }
    let not_found =
        |what: &str| Failure::not_found(&format!("ResourceNotFound.{what}"), format!("The server {id} is not found."));
    let (vpc, ips, zone) = match kind {
        "Ecs" => {
            let instance = state.ecs.instances.get(id).ok_or_else(|| not_found("Ecs"))?;
            (Some(&instance.vpc), instance.private_ip.iter().map(ToString::to_string).collect(), instance.zone.clone())
        }
        "Eni" => {
            let interface = state.ecs.interfaces.get(id).ok_or_else(|| not_found("Eni"))?;
            let ips = interface.private_ips.iter().map(ToString::to_string);
            let ips: Vec<String> = ips.chain(interface.ipv6.iter().map(ToString::to_string)).collect();
            (Some(&interface.vpc), ips, interface.zone.clone())
        }
        "Ip" => {
            let ip = given.get("ServerIp").unwrap_or(id);
            ip.parse::<std::net::IpAddr>()
                .map_err(|_| Failure::bad("IllegalParam.IP", format!("{ip} is no address.")))?;
            (None, vec![ip.to_owned()], String::new())
        }
        _ => return Err(not_found("Eci")),
    };
    if vpc.is_some_and(|vpc| *vpc != group.vpc) {
        return Err(Failure::bad("Mismatch.VpcId", format!("The server {id} is in another VPC.")));
    }
    let ip = given.get("ServerIp").map(str::to_owned).or_else(|| ips.first().cloned()).unwrap_or_default();
    if !ips.contains(&ip) {
        return Err(Failure::bad("IllegalParam.IP", format!("The server {id} does not have the address {ip}.")));
    }
    let port = given.number::<u16>("Port")?.unwrap_or_default();
    if (port == 0) != (group.attributes.get("AnyPortEnabled").is_some_and(|value| value == "true")) {
        return Err(Failure::bad(
            "IllegalParam.RSPortConflictWithServerGroup",
            format!("The port {port} does not fit the group."),
        ));
    }
    Ok(NlbServer {
        id: id.to_owned(),
        ip,
        kind: kind.to_owned(),
        port,
        weight: weight(given)?.unwrap_or(100),
        description: given.text("Description"),
        zone,
        status: ServerState::Adding,
    })
}

fn finish(cx: &mut Context<'_>, state: &mut State, id: &str) -> Result<Value, Failure> {
    state.nlb.writable_group(id)?.status = GroupState::Configuring;
    let mut reply = job::begin(cx, state, None, vec![Effect::GroupAvailable(id.to_owned())]);
    reply["ServerGroupId"] = id.into();
    Ok(reply)
}

/// Adds servers; one that is there already stays as it is.
pub(super) fn add(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ServerGroupId")?;
    let list = given(cx)?;
    state.nlb.writable_group(id)?;
    let group = state.nlb.server_group(id)?;
    let fresh = list.iter().filter(|given| !group.servers.iter().any(|server| server.is(given)));
    let fresh: Vec<NlbServer> = fresh.map(|given| one(state, group, given)).collect::<Result<_, _>>()?;
    if cx.options.quotas.network_servers.is_some_and(|limit| group.servers.len() + fresh.len() > limit) {
        return Err(Failure::bad(
            "QuotaExceeded.QuotaInsufficient",
            "The number of servers of the group exceeds the quota.",
        ));
    }
    state.nlb.writable_group(id)?.servers.extend(fresh);
    finish(cx, state, id)
}

/// Removes servers; each must be there.
pub(super) fn remove(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ServerGroupId")?;
    let list = given(cx)?;
    let group = state.nlb.writable_group(id)?;
    check_present(group, &list)?;
    for server in group.servers.iter_mut().filter(|server| list.iter().any(|given| server.is(given))) {
        server.status = ServerState::Removing;
    }
    finish(cx, state, id)
}

/// Changes weight and description; each must be there.
pub(super) fn update(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ServerGroupId")?;
    let list = given(cx)?;
    let group = state.nlb.writable_group(id)?;
    check_present(group, &list)?;
    for given in &list {
        let weight = weight(given)?;
        for server in group.servers.iter_mut().filter(|server| server.is(given)) {
            server.weight = weight.unwrap_or(server.weight);
            server.status = ServerState::Configuring;
            if let Some(description) = given.get("Description") {
                description.clone_into(&mut server.description);
            }
        }
    }
    finish(cx, state, id)
}

fn check_present(group: &ServerGroup, list: &[Params]) -> Result<(), Failure> {
    match list.iter().find(|given| !group.servers.iter().any(|server| server.is(given))) {
        None => Ok(()),
        Some(absent) => Err(Failure::not_found(
            "ResourceNotFound.BackendServer",
            format!("The server {} is not in the group {}.", absent.text("ServerId"), group.id),
        )),
    }
}
