//! A network load balancer's place in each zone: vswitch and addresses.

use std::net::Ipv4Addr;

use serde::Serialize;
use serde_json::{Value, json};

use super::job;
use crate::sim::cloud::{Context, State, error::Failure, params::Params, vpc::EipStatus};

/// A load balancer's place in one zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneMapping {
    /// Zone id.
    pub zone: String,
    /// The vswitch's id.
    pub vswitch: String,
    /// Private address.
    pub private_ip: Ipv4Addr,
    /// Public address, for load balancers on the internet.
    pub public_ip: Option<Ipv4Addr>,
    /// The elastic address behind the public one, if the caller gave it.
    pub eip: Option<String>,
    /// Its network interface.
    pub interface: String,
    /// `Active` or `Shifted`.
    pub status: String,
}

/// Makes the wanted mappings, keeping those that are there already.
pub(super) fn place(
    cx: &Context<'_>,
    state: &mut State,
    load_balancer: &str,
    vpc: &str,
    address_type: &str,
    present: &[ZoneMapping],
) -> Result<Vec<ZoneMapping>, Failure> {
    let wanted = cx.params.objects("ZoneMappings");
    let zones: std::collections::BTreeSet<&str> = wanted.iter().filter_map(|one| one.get("ZoneId")).collect();
    if zones.len() != wanted.len() || zones.len() < 2 {
        return Err(Failure::bad("InvalidZones", "A network load balancer needs at least two different zones."));
    }
    // All checks before the first address is taken.
    let mut eips = std::collections::BTreeSet::new();
    for one in &wanted {
        check(state, vpc, one)?;
        if let Some(id) = one.get("AllocationId") {
            if address_type != "Internet" {
                return Err(Failure::bad("IllegalParam.AllocationId", "Only a public load balancer takes an EIP."));
            }
            let kept = kept(present, one).is_some_and(|mapping| mapping.eip.as_deref() == Some(id));
            check_eip(state, id, kept)?;
            if !eips.insert(id) {
                return Err(in_use(id));
            }
        }
    }
    let mut made: Vec<ZoneMapping> = Vec::new();
    for one in &wanted {
        match make(cx, state, load_balancer, address_type, one, present) {
            Ok(mapping) => made.push(mapping),
            Err(failure) => {
                // A refused call leaves no trace.
                made.iter().filter(|mapping| !present.contains(mapping)).for_each(|mapping| release(state, mapping));
                return Err(failure);
            }
        }
    }
    Ok(made)
}

fn check(state: &State, vpc: &str, wanted: &Params) -> Result<(), Failure> {
    let (zone, id) = (wanted.required("ZoneId")?, wanted.required("VSwitchId")?);
    let vswitch = state.network.vswitches.get(id).filter(|vswitch| vswitch.vpc == vpc).ok_or_else(|| {
        Failure::not_found("ResourceNotFound.VSwitch", format!("The vSwitch {id} does not exist in the VPC {vpc}."))
    })?;
    if vswitch.zone != zone {
        return Err(Failure::bad(
            "Mismatch.ZoneIdAndVswitchId",
            format!("The vSwitch {id} is not in the zone {zone}."),
        ));
    }
    Ok(())
}

/// `kept`: the caller names again what its place in the zone has already.
fn check_eip(state: &State, id: &str, kept: bool) -> Result<(), Failure> {
    let eip = state.network.eips.get(id);
    let eip = eip.ok_or_else(|| Failure::not_found("ResourceNotFound.Eip", format!("The EIP {id} does not exist.")))?;
    if eip.status != EipStatus::Available && !kept { Err(in_use(id)) } else { Ok(()) }
}

fn in_use(id: &str) -> Failure {
    Failure::bad("ResourceAlreadyAssociated.AllocationId", format!("The EIP {id} is in use."))
}

/// The place that the load balancer has already where it is wanted.
fn kept<'a>(present: &'a [ZoneMapping], wanted: &Params) -> Option<&'a ZoneMapping> {
    let (zone, vswitch) = (wanted.text("ZoneId"), wanted.text("VSwitchId"));
    present.iter().find(|one| one.zone == zone && one.vswitch == vswitch)
}

fn make(
    cx: &Context<'_>,
    state: &mut State,
    load_balancer: &str,
    address_type: &str,
    wanted: &Params,
    present: &[ZoneMapping],
) -> Result<ZoneMapping, Failure> {
    let (zone, vswitch) = (wanted.text("ZoneId"), wanted.text("VSwitchId"));
    if let Some(kept) = kept(present, wanted) {
        return Ok(kept.clone());
    }
    let private = match wanted.get("PrivateIPv4Address").map(str::parse::<Ipv4Addr>) {
        None => state.network.take_address(&vswitch),
        Some(Ok(address)) => state.network.reserve_address(&vswitch, address).then_some(address),
        Some(Err(_)) => return Err(Failure::invalid("PrivateIPv4Address")),
    };
    let private_ip = private.ok_or_else(|| {
        Failure::bad("ResourceNotEnough.VSwitchIp", format!("The vSwitch {vswitch} has no such address free."))
    })?;
    let eip = wanted.get("AllocationId").map(str::to_owned);
    let public_ip = match &eip {
        _ if address_type != "Internet" => None,
        None => Some(state.network.take_public_address()),
        Some(id) => state.network.eips.get_mut(id).map(|eip| {
            eip.status = EipStatus::InUse;
            eip.instance = Some(load_balancer.to_owned());
            eip.instance_type = Some("SlbInstance".to_owned());
            eip.address
        }),
    };
    Ok(ZoneMapping {
        zone,
        vswitch,
        private_ip,
        public_ip,
        eip,
        interface: cx.id("eni-bp1"),
        status: "Active".to_owned(),
    })
}

/// Gives a mapping's addresses back.
pub(crate) fn release(state: &mut State, mapping: &ZoneMapping) {
    state.network.release_address(&mapping.vswitch, mapping.private_ip);
    if let Some(eip) = mapping.eip.as_ref().and_then(|id| state.network.eips.get_mut(id)) {
        (eip.status, eip.instance, eip.instance_type) = (EipStatus::Available, None, None);
    }
}

/// Sets the zones: the list is the whole list, what it leaves out is removed.
pub(super) fn update(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let lb = state.nlb.writable(id)?;
    let (vpc, address_type, present) = (lb.vpc.clone(), lb.address_type.clone(), lb.zones.clone());
    let zones = place(cx, state, id, &vpc, &address_type, &present)?;
    for gone in present.iter().filter(|one| !zones.contains(one)) {
        release(state, gone);
    }
    state.nlb.writable(id)?.zones = zones;
    Ok(job::begin(cx, state, Some(id), Vec::new()))
}

pub(super) fn start_shift(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    shift(cx, state, "Shifted")
}

pub(super) fn cancel_shift(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    shift(cx, state, "Active")
}

fn shift(cx: &mut Context<'_>, state: &mut State, status: &str) -> Result<Value, Failure> {
    let lb = state.nlb.writable(cx.params.required("LoadBalancerId")?)?;
    for wanted in cx.params.objects("ZoneMappings") {
        let zone = wanted.required("ZoneId")?;
        let mapping = lb.zones.iter_mut().find(|one| one.zone == zone).ok_or_else(|| {
            Failure::bad("IncorrectStatus.ZoneId", format!("The load balancer is not in the zone {zone}."))
        })?;
        cx.set(&mut mapping.status, status.to_owned());
    }
    Ok(json!({}))
}
