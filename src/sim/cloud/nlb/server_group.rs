//! Server groups of network load balancers.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{
    Nlb,
    job::{self, Effect},
    server::NlbServer,
};
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    params::Params,
    tag::{self, Tags},
};

/// A server group of network load balancers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerGroup {
    /// `sgp-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// `Instance` or `Ip`.
    pub kind: String,
    /// `TCP`, `UDP` or `TCP_UDP`.
    pub protocol: String,
    /// The VPC's id.
    pub vpc: String,
    /// Where it is in its life.
    pub status: GroupState,
    /// Plain attributes by the names that the list action gives them.
    pub attributes: BTreeMap<String, String>,
    /// The health check's attributes by the names that the list action gives them.
    pub health_check: BTreeMap<String, String>,
    /// The HTTP codes that count as healthy.
    pub health_check_codes: Vec<String>,
    /// Servers in the order in which they came.
    pub servers: Vec<NlbServer>,
    /// Resource group id.
    pub resource_group: String,
    /// Tags.
    pub tags: Tags,
    /// Creation time.
    pub created: Timestamp,
}

/// Where a server group is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum GroupState {
    /// Being created.
    Creating,
    /// Takes changes.
    Available,
    /// A change is being applied.
    Configuring,
}

const PLAIN: [&str; 6] = [
    "AddressIPVersion",
    "ConnectionDrainEnabled",
    "ConnectionDrainTimeout",
    "IpVersionAffinityMode",
    "PreserveClientIpEnabled",
    "Scheduler",
];

const DEFAULTS: [(&str, &str); 7] = [
    ("AddressIPVersion", "ipv4"),
    ("AnyPortEnabled", "false"),
    ("ConnectionDrainEnabled", "false"),
    ("ConnectionDrainTimeout", "10"),
    ("IpVersionAffinityMode", "NonAffinity"),
    ("PreserveClientIpEnabled", "true"),
    ("Scheduler", "Wrr"),
];

const HEALTH_CHECK: [(&str, &str); 7] = [
    ("HealthCheckConnectPort", "0"),
    ("HealthCheckConnectTimeout", "5"),
    ("HealthCheckEnabled", "true"),
    ("HealthCheckInterval", "10"),
    ("HealthCheckType", "TCP"),
    ("HealthyThreshold", "2"),
    ("UnhealthyThreshold", "2"),
];

fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

// === impl GroupState ===

impl GroupState {
    /// As the product spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Available => "Available",
            Self::Configuring => "Configuring",
        }
    }
}

// === impl ServerGroup ===

impl ServerGroup {
    fn change(&mut self, params: &Params) -> Result<(), Failure> {
        for name in PLAIN {
            if let Some(value) = params.get(name) {
                self.attributes.insert(name.to_owned(), value.to_owned());
            }
        }
        let timeout = params.number::<i64>("ConnectionDrainTimeout")?;
        if timeout.is_some_and(|timeout| !(0..=900).contains(&timeout)) {
            return Err(Failure::bad(
                "IllegalParam.ConnectionDrainTimeout",
                "The ConnectionDrainTimeout must be 0 to 900.",
            ));
        }
        let check = params.object("HealthCheckConfig");
        let codes = check.list("HealthCheckHttpCode");
        if !codes.is_empty() {
            self.health_check_codes = codes;
        }
        for (name, value) in check.iter().filter(|(name, _)| !name.contains('.')) {
            self.health_check.insert(name.to_owned(), value.to_owned());
        }
        Ok(())
    }
}

// === impl Nlb ===

impl Nlb {
    pub(super) fn server_group(&self, id: &str) -> Result<&ServerGroup, Failure> {
        self.server_groups.get(id).ok_or_else(|| missing(id))
    }

    /// A server group that takes writes now.
    pub(super) fn writable_group(&mut self, id: &str) -> Result<&mut ServerGroup, Failure> {
        let group = self.server_groups.get_mut(id).ok_or_else(|| missing(id))?;
        if group.status == GroupState::Available {
            return Ok(group);
        }
        Err(Failure::bad(
            "IncorrectStatus.serverGroup",
            format!("The server group {id} is {}, which does not support the operation.", group.status.as_str()),
        ))
    }
}

fn missing(id: &str) -> Failure {
    Failure::not_found("ResourceNotFound.serverGroup", format!("The specified resource {id} is not found."))
}

fn checked_name(name: &str) -> Result<&str, Failure> {
    if (2..=128).contains(&name.chars().count()) {
        return Ok(name);
    }
    Err(Failure::bad("IllegalParam.ServerGroupName", "The name must have 2 to 128 characters."))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let vpc = cx.params.required("VpcId")?;
    if !state.network.vpcs.contains_key(vpc) {
        return Err(Failure::not_found("ResourceNotFound.Vpc", format!("The VPC {vpc} does not exist.")));
    }
    let name = checked_name(cx.params.required("ServerGroupName")?)?;
    let mut group = ServerGroup {
        id: cx.id("sgp-"),
        name: name.to_owned(),
        kind: cx.params.get("ServerGroupType").unwrap_or("Instance").to_owned(),
        protocol: cx.params.get("Protocol").unwrap_or("TCP").to_owned(),
        vpc: vpc.to_owned(),
        status: GroupState::Creating,
        attributes: table(&DEFAULTS),
        health_check: table(&HEALTH_CHECK),
        health_check_codes: Vec::new(),
        servers: Vec::new(),
        resource_group: cx.params.get("ResourceGroupId").map_or_else(|| state.resource_group(), str::to_owned),
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    group.change(cx.params)?;
    if let Some(any_port) = cx.params.flag("AnyPortEnabled") {
        group.attributes.insert("AnyPortEnabled".to_owned(), any_port.to_string());
    }
    let id = group.id.clone();
    state.nlb.server_groups.insert(id.clone(), group);
    let mut reply = job::begin(cx, state, None, vec![Effect::GroupAvailable(id.clone())]);
    reply["ServerGroupId"] = id.into();
    Ok(reply)
}

pub(super) fn update(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ServerGroupId")?;
    let group = state.nlb.writable_group(id)?;
    let mut changed = group.clone();
    changed.change(cx.params)?;
    if let Some(name) = cx.params.get("ServerGroupName") {
        checked_name(name)?.clone_into(&mut changed.name);
    }
    changed.status = GroupState::Configuring;
    *group = changed;
    let mut reply = job::begin(cx, state, None, vec![Effect::GroupAvailable(id.to_owned())]);
    reply["ServerGroupId"] = id.into();
    Ok(reply)
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ServerGroupId")?;
    state.nlb.writable_group(id)?;
    if state.nlb.listeners.values().any(|listener| listener.server_group == id) {
        return Err(Failure::bad("ResourceInUse.ServerGroup", format!("A listener uses the server group {id}.")));
    }
    state.nlb.writable_group(id)?.status = GroupState::Configuring;
    Ok(job::begin(cx, state, None, vec![Effect::GroupGone(id.to_owned())]))
}
