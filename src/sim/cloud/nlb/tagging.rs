//! Tags and resource groups of NLB resources.

use serde_json::{Value, json};

use super::{Nlb, load_balancer, security_policy};
use crate::sim::cloud::{Context, State, Tags, error::Failure, paging, tagging};

/// The most resources in one call.
const PER_CALL: usize = 50;

// === impl Nlb ===

impl Nlb {
    fn all_tags(&self, kind: &str) -> Vec<(String, &Tags)> {
        match kind {
            "loadbalancer" => self.load_balancers.values().map(|lb| (lb.id.clone(), &lb.tags)).collect(),
            "servergroup" => self.server_groups.values().map(|group| (group.id.clone(), &group.tags)).collect(),
            "listener" => self.listeners.values().map(|listener| (listener.id.clone(), &listener.tags)).collect(),
            _ => self.security_policies.values().map(|policy| (policy.id.clone(), &policy.tags)).collect(),
        }
    }
}

fn find<'a>(state: &'a mut State, kind: &str, id: &str) -> Result<&'a mut Tags, Failure> {
    let nlb = &mut state.nlb;
    match kind {
        "loadbalancer" => {
            nlb.load_balancers.get_mut(id).map(|lb| &mut lb.tags).ok_or_else(|| load_balancer::missing(id))
        }
        "servergroup" => {
            nlb.server_group(id)?;
            nlb.server_groups.get_mut(id).map(|group| &mut group.tags).ok_or_else(|| Failure::invalid("ResourceId"))
        }
        "securitypolicy" => {
            let policy = nlb.security_policies.get_mut(id);
            policy.map(|policy| &mut policy.tags).ok_or_else(|| security_policy::missing(id))
        }
        _ => Err(Failure::bad("IllegalParam.resourceType", format!("{kind} cannot be tagged."))),
    }
}

fn check_size(cx: &Context<'_>) -> Result<(), Failure> {
    if cx.params.list("ResourceId").len() > PER_CALL {
        return Err(Failure::bad("IllegalParam", "At most 50 resources can be given."));
    }
    Ok(())
}

/// Acts at once; no job stands for it.
pub(super) fn tag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    check_size(cx)?;
    tagging::tag(cx, state, find)
}

pub(super) fn untag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    check_size(cx)?;
    tagging::untag(cx, state, find)
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    check_size(cx)?;
    let mut entries = tagging::entries(cx, state.nlb.all_tags(cx.params.required("ResourceType")?));
    for entry in &mut entries {
        entry["AliUid"] = state.owner().into();
        entry["RegionNo"] = cx.region.into();
        entry["Scope"] = "public".into();
        entry["Category"] = "custom".into();
    }
    let size = paging::size(cx.params, "MaxResults", 50, 50)?;
    let page = paging::tokened(cx.params, entries, size)?;
    Ok(json!({
        "TagResources": page.items,
        "MaxResults": page.size,
        "TotalCount": page.total,
        "NextToken": page.next.unwrap_or_default(),
    }))
}

pub(super) fn move_resource_group(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("ResourceId")?;
    let slot = match cx.params.required("ResourceType")? {
        "loadbalancer" => state.nlb.load_balancers.get_mut(id).map(|lb| &mut lb.resource_group),
        "servergroup" => state.nlb.server_groups.get_mut(id).map(|group| &mut group.resource_group),
        _ => state.nlb.security_policies.get_mut(id).map(|policy| &mut policy.resource_group),
    };
    cx.set(slot.ok_or_else(|| load_balancer::missing(id))?, cx.params.required("NewResourceGroupId")?.to_owned());
    Ok(json!({ "Data": { "ResourceId": id }, "HttpStatusCode": 200, "Success": true }))
}
