//! Elastic addresses.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Due;
use crate::sim::cloud::{
    Context, State, agenda,
    error::Failure,
    paging,
    tag::{self, Tags},
    time,
};

/// An elastic address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eip {
    /// `eip-…`.
    pub id: String,
    /// Region id.
    pub region: String,
    /// The public address.
    pub address: Ipv4Addr,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Bandwidth in Mbit/s.
    #[serde(default = "five")]
    pub bandwidth: u32,
    /// `PayByTraffic` or `PayByBandwidth`.
    #[serde(default = "by_traffic")]
    pub charge_type: String,
    /// Where it is in its life.
    #[serde(default)]
    pub status: EipStatus,
    /// What it is associated with.
    #[serde(default)]
    pub instance: Option<String>,
    /// `EcsInstance`, `SlbInstance`, `NetworkInterface`, …
    #[serde(default)]
    pub instance_type: Option<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
}

/// Where an elastic address is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EipStatus {
    /// Free.
    #[default]
    Available,
    /// On its way to an instance.
    Associating,
    /// With an instance.
    InUse,
    /// On its way back.
    Unassociating,
}

fn five() -> u32 {
    5
}

fn by_traffic() -> String {
    "PayByTraffic".to_owned()
}

// === impl EipStatus ===

impl EipStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Available => "Available",
            Self::Associating => "Associating",
            Self::InUse => "InUse",
            Self::Unassociating => "Unassociating",
        }
    }
}

fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidAllocationId.NotFound", format!("Specified allocation ID {id} is not found."))
}

fn wrong_status(eip: &Eip) -> Failure {
    Failure::bad(
        "IncorrectEipStatus",
        format!("The EIP {} is {}, which does not support the operation.", eip.id, eip.status.as_str()),
    )
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let is =
        |name: &str, value: &str| cx.params.get(name).is_none_or(|list| list.split(',').any(|one| one.trim() == value));
    let found: Vec<&Eip> = state
        .network
        .eips
        .values()
        .filter(|eip| eip.region == cx.region)
        .filter(|eip| {
            is("AllocationId", &eip.id) && is("EipAddress", &eip.address.to_string()) && is("EipName", &eip.name)
        })
        .filter(|eip| is("Status", eip.status.as_str()))
        .filter(|eip| is("AssociatedInstanceId", eip.instance.as_deref().unwrap_or_default()))
        .filter(|eip| is("AssociatedInstanceType", eip.instance_type.as_deref().unwrap_or_default()))
        .filter(|eip| tag::matches(&eip.tags, &wanted))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 100)?;
    let eips: Vec<Value> = page.items.iter().map(|eip| item(state, eip)).collect();
    Ok(json!({
        "EipAddresses": { "EipAddress": eips },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

fn item(state: &State, eip: &Eip) -> Value {
    json!({
        "AllocationId": eip.id,
        "IpAddress": eip.address.to_string(),
        "Name": eip.name,
        "RegionId": eip.region,
        "Status": eip.status.as_str(),
        "Bandwidth": eip.bandwidth.to_string(),
        "EipBandwidth": eip.bandwidth.to_string(),
        "ChargeType": "PostPaid",
        "InternetChargeType": eip.charge_type,
        "InstanceId": eip.instance.as_deref().unwrap_or_default(),
        "InstanceType": eip.instance_type.as_deref().unwrap_or_default(),
        "InstanceRegionId": eip.instance.as_ref().map_or("", |_| &eip.region),
        "AllocationTime": time::seconds(eip.created),
        "ExpiredTime": "",
        "ISP": "BGP",
        "Netmode": "public",
        "Mode": "NAT",
        "BusinessStatus": "Normal",
        "Description": "",
        "DeletionProtection": false,
        "ResourceGroupId": state.resource_group(),
        "OperationLocks": { "LockReason": [] },
        "Tags": { "Tag": tag::short_list(&eip.tags) },
    })
}

pub(super) fn allocate(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let eip = Eip {
        id: cx.id("eip-bp1"),
        region: cx.region.to_owned(),
        address: state.network.take_public_address(),
        name: cx.params.text("Name"),
        bandwidth: cx.params.number("Bandwidth")?.unwrap_or(5),
        charge_type: cx.params.get("InternetChargeType").unwrap_or("PayByBandwidth").to_owned(),
        status: EipStatus::Available,
        instance: None,
        instance_type: None,
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    cx.change();
    let reply = json!({
        "AllocationId": eip.id,
        "EipAddress": eip.address.to_string(),
        "ResourceGroupId": state.resource_group(),
    });
    state.network.eips.insert(eip.id.clone(), eip);
    Ok(reply)
}

pub(super) fn modify(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AllocationId")?;
    let bandwidth = cx.params.number::<u32>("Bandwidth")?;
    let eip = state.network.eips.get_mut(id).ok_or_else(|| missing(id))?;
    if let Some(bandwidth) = bandwidth {
        cx.set(&mut eip.bandwidth, bandwidth);
    }
    if let Some(name) = cx.params.get("Name") {
        cx.set(&mut eip.name, name.to_owned());
    }
    Ok(json!({}))
}

pub(super) fn associate(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AllocationId")?;
    let instance = cx.params.required("InstanceId")?;
    let kind = cx.params.get("InstanceType").unwrap_or("EcsInstance");
    let exists = match kind {
        "EcsInstance" => state.ecs.instances.contains_key(instance),
        "NetworkInterface" => state.ecs.interfaces.contains_key(instance),
        "SlbInstance" => state.slb.load_balancers.contains_key(instance),
        _ => return Err(Failure::bad("InvalidInstanceType.ValueNotSupported", format!("{kind} is not simulated."))),
    };
    if !exists {
        return Err(Failure::bad("InvalidInstance.NotExist", format!("The instance {instance} does not exist.")));
    }
    if state.network.eips.values().any(|eip| eip.instance.as_deref() == Some(instance)) {
        return Err(Failure::bad("InvalidAssociation.Duplicated", format!("{instance} has an EIP already.")));
    }
    let eip = state.network.eips.get_mut(id).ok_or_else(|| missing(id))?;
    if eip.status != EipStatus::Available {
        return Err(wrong_status(eip));
    }
    eip.status = EipStatus::Associating;
    eip.instance = Some(instance.to_owned());
    eip.instance_type = Some(kind.to_owned());
    cx.change();
    state.later(cx, cx.options.delays.eip, agenda::Due::Vpc(Due::EipInUse(id.to_owned())));
    Ok(json!({}))
}

pub(super) fn unassociate(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AllocationId")?;
    let eip = state.network.eips.get_mut(id).ok_or_else(|| missing(id))?;
    if eip.status != EipStatus::InUse {
        return Err(wrong_status(eip));
    }
    eip.status = EipStatus::Unassociating;
    cx.change();
    state.later(cx, cx.options.delays.eip, agenda::Due::Vpc(Due::EipAvailable(id.to_owned())));
    Ok(json!({}))
}

pub(super) fn release(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AllocationId")?;
    let eip = state.network.eips.get(id).ok_or_else(|| missing(id))?;
    if eip.status != EipStatus::Available {
        return Err(wrong_status(eip));
    }
    state.network.eips.remove(id);
    cx.change();
    Ok(json!({}))
}
