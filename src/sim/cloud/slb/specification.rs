//! Changes to a load balancer itself: name, protection, bandwidth, specification.

use serde_json::{Value, json};

use super::load_balancer::check_bandwidth;
use crate::sim::cloud::{Context, State, error::Failure};

pub(super) fn set_name(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    let name = cx.params.required("LoadBalancerName")?;
    if name.chars().count() > 80 {
        return Err(Failure::invalid("LoadBalancerName"));
    }
    cx.set(&mut lb.name, name.to_owned());
    Ok(json!({}))
}

pub(super) fn set_status(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    lb.check_unlocked()?;
    cx.set(&mut lb.status, cx.params.required("LoadBalancerStatus")?.to_owned());
    Ok(json!({}))
}

pub(super) fn move_resource_group(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ResourceId")?;
    if cx.params.get("ResourceType") != Some("loadbalancer") {
        return Err(Failure::bad(
            "UnsupportedOperation",
            "Only load balancers are moved; other types are not simulated.",
        ));
    }
    let lb = state.slb.load_balancer_mut(id)?;
    cx.set(&mut lb.resource_group, cx.params.required("NewResourceGroupId")?.to_owned());
    Ok(json!({}))
}

pub(super) fn set_delete_protection(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    cx.set(&mut lb.delete_protection, cx.params.get("DeleteProtection") == Some("on"));
    Ok(json!({}))
}

pub(super) fn set_modification_protection(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    let status = cx.params.required("ModificationProtectionStatus")?;
    let reason = cx.params.text("ModificationProtectionReason");
    if status == "NonProtection" && !reason.is_empty() {
        return Err(Failure::bad(
            "InvalidParam.ModificationProtectionReason",
            "A reason can be given only for ConsoleProtection.",
        ));
    }
    cx.set(&mut lb.modification_protection, status.to_owned());
    cx.set(&mut lb.modification_protection_reason, reason);
    Ok(json!({}))
}

pub(super) fn modify_internet_spec(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    if lb.address_type != "internet" {
        return Err(Failure::bad(
            "Operation.NotAllowed",
            "A load balancer without a public address has no internet charge.",
        ));
    }
    let charge_type = cx.params.get("InternetChargeType").unwrap_or(&lb.internet_charge_type).to_owned();
    let bandwidth = cx.params.number::<i64>("Bandwidth")?;
    if charge_type == "paybybandwidth" && lb.instance_charge_type == "PayByCLCU" {
        return Err(Failure::bad("OperationDenied.PayByCLCU", "A load balancer charged by use pays by traffic."));
    }
    check_bandwidth(&charge_type, bandwidth)?;
    if let Some(bandwidth) = bandwidth {
        cx.set(&mut lb.bandwidth, bandwidth);
    }
    cx.set(&mut lb.internet_charge_type, charge_type);
    Ok(json!({ "OrderId": 0 }))
}

pub(super) fn modify_instance_spec(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    if lb.instance_charge_type == "PayByCLCU" {
        return Err(Failure::bad("OperationDenied.PayByCLCU", "A load balancer charged by use has no specification."));
    }
    cx.set(&mut lb.spec, cx.params.required("LoadBalancerSpec")?.to_owned());
    Ok(json!({ "OrderId": 0 }))
}

/// From `PayBySpec` to `PayByCLCU`, never back.
pub(super) fn modify_instance_charge_type(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    match (lb.instance_charge_type.as_str(), cx.params.required("InstanceChargeType")?) {
        ("PayBySpec", "PayByCLCU") => {
            cx.set(&mut lb.instance_charge_type, "PayByCLCU".to_owned());
            lb.spec.clear();
            Ok(json!({}))
        }
        ("PayByCLCU", "PayByCLCU") => {
            Err(Failure::bad("OperationDenied.PayByCLCU", "The load balancer is charged by use already."))
        }
        ("PayBySpec", "PayBySpec") => {
            Err(Failure::bad("OperationDenied.PayBySpec", "The load balancer is charged by specification already."))
        }
        ("PayByCLCU", "PayBySpec") => {
            Err(Failure::bad("Forbidden.LcuToSpec", "The charge type cannot go back to PayBySpec."))
        }
        _ => Err(Failure::bad(
            "IllegalParam.InstanceChargeType",
            "The InstanceChargeType must be PayBySpec or PayByCLCU.",
        )),
    }
}
