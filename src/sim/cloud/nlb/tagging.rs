//! Tags and resource groups of NLB resources.

use serde_json::{Value, json};

use super::{Nlb, load_balancer, security_policy};
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
};

/// The most resources in one call.
const PER_CALL: usize = 50;

// === impl Nlb ===

impl Nlb {
    fn tags_mut(&mut self, kind: &str, id: &str) -> Result<&mut Tags, Failure> {
        match kind {
            "loadbalancer" => {
                self.load_balancers.get_mut(id).map(|lb| &mut lb.tags).ok_or_else(|| load_balancer::missing(id))
            }
            "servergroup" => {
                self.server_group(id)?;
                self.server_groups
                    .get_mut(id)
                    .map(|group| &mut group.tags)
                    .ok_or_else(|| Failure::invalid("ResourceId"))
            }
            "securitypolicy" => {
                let policy = self.security_policies.get_mut(id);
                policy.map(|policy| &mut policy.tags).ok_or_else(|| security_policy::missing(id))
            }
            _ => Err(Failure::bad("IllegalParam.resourceType", format!("{kind} cannot be tagged."))),
        }
    }

    fn all_tags(&self, kind: &str) -> Vec<(&str, &Tags)> {
        match kind {
            "loadbalancer" => self.load_balancers.values().map(|lb| (lb.id.as_str(), &lb.tags)).collect(),
            "servergroup" => self.server_groups.values().map(|group| (group.id.as_str(), &group.tags)).collect(),
            "listener" => self.listeners.values().map(|listener| (listener.id.as_str(), &listener.tags)).collect(),
            _ => self.security_policies.values().map(|policy| (policy.id.as_str(), &policy.tags)).collect(),
        }
    }
}

fn resources(cx: &Context<'_>) -> Result<(String, Vec<String>), Failure> {
    let ids = cx.params.list("ResourceId");
    if ids.len() > PER_CALL {
        return Err(Failure::bad("IllegalParam", "At most 50 resources can be given."));
    }
    Ok((cx.params.required("ResourceType")?.to_owned(), ids))
}

/// Acts at once; no job stands for it.
pub(super) fn tag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (kind, ids) = resources(cx)?;
    let more = tag::given(cx.params)?;
    for id in &ids {
        tag::add(&mut state.nlb.tags_mut(&kind, id)?.clone(), &more)?;
    }
    for id in &ids {
        let tags = state.nlb.tags_mut(&kind, id)?;
        let mut changed = tags.clone();
        tag::add(&mut changed, &more)?;
        cx.set(tags, changed);
    }
    Ok(json!({}))
}

pub(super) fn untag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (kind, ids) = resources(cx)?;
    let keys = cx.params.list("TagKey");
    let all = keys.is_empty() && cx.params.flag("All") == Some(true);
    for id in &ids {
        state.nlb.tags_mut(&kind, id)?;
    }
    for id in &ids {
        let tags = state.nlb.tags_mut(&kind, id)?;
        let mut left = tags.clone();
        left.retain(|key, _| !all && !keys.contains(key));
        cx.set(tags, left);
    }
    Ok(json!({}))
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (kind, ids) = resources(cx)?;
    let wanted = tag::filter(cx.params);
    let mut found = Vec::new();
    for (id, tags) in state.nlb.all_tags(&kind) {
        if (ids.is_empty() || ids.iter().any(|one| one == id)) && tag::matches(tags, &wanted) {
            found.extend(tags.iter().map(|(key, value)| {
                json!({
                    "ResourceId": id,
                    "ResourceType": kind,
                    "TagKey": key,
                    "TagValue": value,
                    "AliUid": state.owner(),
                    "RegionNo": cx.region,
                    "Scope": "public",
                    "Category": "custom",
                })
            }));
        }
    }
    let size = paging::size(cx.params, "MaxResults", 50, 50)?;
    let page = paging::tokened(cx.params, found, size)?;
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
