//! Common bandwidth packages of network load balancers.

use serde_json::Value;

use super::job;
use crate::sim::cloud::{Context, State, error::Failure};

pub(super) fn check(state: &State, package: &str) -> Result<(), Failure> {
    if state.network.bandwidth_packages.contains_key(package) {
        return Ok(());
    }
    Err(Failure::not_found(
        "ResourceNotFound.BandwidthPackageId",
        format!("The bandwidth package {package} does not exist."),
    ))
}

pub(super) fn attach(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let package = cx.params.required("BandwidthPackageId")?;
    check(state, package)?;
    let lb = state.nlb.writable(id)?;
    if lb.address_type != "Internet" {
        return Err(Failure::bad("OperationDenied.IntranetLoadBalancer", "The load balancer has no public addresses."));
    }
    if lb.bandwidth_package.is_some() {
        return Err(Failure::bad(
            "ResourceAlreadyAssociated.loadbalancer",
            "The load balancer has a bandwidth package.",
        ));
    }
    lb.bandwidth_package = Some(package.to_owned());
    Ok(job::begin(cx, state, Some(id), Vec::new()))
}

pub(super) fn detach(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let lb = state.nlb.writable(id)?;
    if lb.bandwidth_package.as_deref() != Some(cx.params.required("BandwidthPackageId")?) {
        return Err(Failure::bad(
            "ResourceNotAssociated.loadbalancer",
            "The load balancer does not have that bandwidth package.",
        ));
    }
    lb.bandwidth_package = None;
    Ok(job::begin(cx, state, Some(id), Vec::new()))
}
