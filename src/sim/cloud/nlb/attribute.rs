//! Changes to a network load balancer itself.

use serde_json::{Value, json};

use super::{NetworkLoadBalancer, job};
use crate::sim::cloud::{Context, State, error::Failure};

pub(super) fn update(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let lb = state.nlb.writable(id)?;
    if let Some(name) = cx.params.get("LoadBalancerName") {
        name.clone_into(&mut lb.name);
    }
    if let Some(cross_zone) = cx.params.flag("CrossZoneEnabled") {
        lb.cross_zone = cross_zone;
    }
    if let Some(cps) = cx.params.number("Cps")? {
        lb.cps = cps;
    }
    Ok(job::begin(cx, state, Some(id), Vec::new()))
}

/// Acts at once; no job stands for it.
pub(super) fn update_protection(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.nlb.writable(cx.params.required("LoadBalancerId")?)?;
    if let Some(enabled) = cx.params.flag("DeletionProtectionEnabled") {
        cx.set(&mut lb.delete_protection, enabled.then(|| cx.params.text("DeletionProtectionReason")));
    }
    if let Some(status) = cx.params.get("ModificationProtectionStatus") {
        cx.set(&mut lb.modification_protection, status.to_owned());
        let reason =
            if status == "NonProtection" { String::new() } else { cx.params.text("ModificationProtectionReason") };
        cx.set(&mut lb.modification_protection_reason, reason);
    }
    Ok(json!({}))
}

pub(super) fn update_address_type(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let wanted = cx.params.required("AddressType")?;
    let lb = state.nlb.writable(id)?;
    if lb.address_type == wanted {
        return Err(Failure::bad(
            "OperationDenied.AddressTypeNotChanged",
            format!("The load balancer is {wanted} already."),
        ));
    }
    let count = lb.zones.len();
    let addresses: Vec<_> =
        (0..count).map(|_| (wanted == "Internet").then(|| state.network.take_public_address())).collect();
    let lb = state.nlb.writable(id)?;
    wanted.clone_into(&mut lb.address_type);
    for (mapping, address) in lb.zones.iter_mut().zip(addresses) {
        mapping.public_ip = address;
    }
    Ok(job::begin(cx, state, Some(id), Vec::new()))
}

pub(super) fn enable_ipv6_internet(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    set_ipv6(cx, state, "Internet")
}

pub(super) fn disable_ipv6_internet(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    set_ipv6(cx, state, "Intranet")
}

fn set_ipv6(cx: &mut Context<'_>, state: &mut State, wanted: &str) -> Result<Value, Failure> {
    let lb: &mut NetworkLoadBalancer = state.nlb.writable(cx.params.required("LoadBalancerId")?)?;
    if lb.ip_version != "DualStack" {
        return Err(Failure::bad("OperationDenied.NonDualStackInstance", "The load balancer has no IPv6 addresses."));
    }
    cx.set(&mut lb.ipv6_address_type, wanted.to_owned());
    Ok(json!({}))
}
