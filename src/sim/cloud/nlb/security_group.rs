//! The security groups of a network load balancer.

use serde_json::Value;

use super::job;
use crate::sim::cloud::{Context, State, error::Failure};

/// The most security groups of one load balancer.
const MOST: usize = 4;

pub(super) fn join(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let wanted = cx.params.list("SecurityGroupIds");
    let vpc = state.nlb.load_balancer(id)?.vpc.clone();
    for group in &wanted {
        let found = state.ecs.security_groups.get(group).ok_or_else(|| {
            Failure::not_found("ResourceNotFound.SecurityGroup", format!("The security group {group} does not exist."))
        })?;
        if found.vpc != vpc {
            return Err(Failure::bad("Mismatch.vpc", format!("The security group {group} is in another VPC.")));
        }
    }
    let lb = state.nlb.writable(id)?;
    if let Some(twice) = wanted.iter().find(|group| lb.security_groups.contains(group)) {
        return Err(Failure::bad("Conflict.SecurityGroup", format!("The load balancer is in {twice} already.")));
    }
    if lb.security_groups.len() + wanted.len() > MOST {
        return Err(Failure::bad(
            "QuotaExceeded.QuotaInsufficient",
            "A load balancer can be in at most 4 security groups.",
        ));
    }
    lb.security_groups.extend(wanted);
    Ok(job::begin(cx, state, Some(id), Vec::new()))
}

pub(super) fn leave(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let wanted = cx.params.list("SecurityGroupIds");
    let lb = state.nlb.writable(id)?;
    if let Some(other) = wanted.iter().find(|group| !lb.security_groups.contains(group)) {
        return Err(Failure::not_found(
            "ResourceNotFound.SecurityGroup",
            format!("The load balancer is not in {other}."),
        ));
    }
    lb.security_groups.retain(|group| !wanted.contains(group));
    Ok(job::begin(cx, state, Some(id), Vec::new()))
}
