//! Tags of all kinds of SLB resources.

use serde_json::{Value, json};

use super::{Protocol, Slb};
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
};

/// The most resources in one call.
const PER_CALL: usize = 20;

// === impl Slb ===

impl Slb {
    /// The tags of one resource.
    fn tags_mut(&mut self, kind: &str, id: &str) -> Result<&mut Tags, Failure> {
        let found = match kind {
            "instance" => self.load_balancers.get_mut(id).map(|lb| &mut lb.tags),
            "vservergroup" => self.groups.get_mut(id).map(|group| &mut group.tags),
            "listener" => self.listener_tags_mut(id),
            "certificate" => self.certificates.get_mut(id).map(|certificate| &mut certificate.tags),
            "acl" => self.acls.get_mut(id).map(|acl| &mut acl.tags),
            _ => None,
        };
        found.ok_or_else(|| Failure::bad("ResourceNotExist", format!("The {kind} {id} does not exist.")))
    }

    /// Listeners are named `<load balancer>_<protocol>_<port>` here.
    fn listener_tags_mut(&mut self, id: &str) -> Option<&mut Tags> {
        let (rest, port) = id.rsplit_once('_')?;
        let (load_balancer, protocol) = rest.rsplit_once('_')?;
        let lb = self.load_balancers.get_mut(load_balancer)?;
        lb.listener_mut(port.parse().ok()?, Protocol::parse(protocol)?).map(|listener| &mut listener.tags)
    }

    /// Every resource of a kind with its tags.
    fn all_tags(&self, kind: &str) -> Vec<(String, &Tags)> {
        match kind {
            "instance" => self.load_balancers.values().map(|lb| (lb.id.clone(), &lb.tags)).collect(),
            "vservergroup" => self.groups.values().map(|group| (group.id.clone(), &group.tags)).collect(),
            "listener" => {
                let all = self.load_balancers.values().flat_map(|lb| lb.listeners.iter().map(move |one| (lb, one)));
                all.map(|(lb, listener)| (listener.tag_id(&lb.id), &listener.tags)).collect()
            }
            "certificate" => self.certificates.values().map(|one| (one.id.clone(), &one.tags)).collect(),
            "acl" => self.acls.values().map(|acl| (acl.id.clone(), &acl.tags)).collect(),
            _ => Vec::new(),
        }
    }
}

fn resources(cx: &Context<'_>) -> Result<(String, Vec<String>), Failure> {
    let ids = cx.params.list("ResourceId");
    if ids.len() > PER_CALL {
        return Err(Failure::bad("SizeLimitExceeded.ResourceId", "At most 20 resources can be given."));
    }
    Ok((cx.params.required("ResourceType")?.to_owned(), ids))
}

pub(super) fn tag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (kind, ids) = resources(cx)?;
    let more = tag::given(cx.params)?;
    // All or nothing: check each before the first is changed.
    for id in &ids {
        tag::add(&mut state.slb.tags_mut(&kind, id)?.clone(), &more)?;
    }
    for id in &ids {
        let tags = state.slb.tags_mut(&kind, id)?;
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
        state.slb.tags_mut(&kind, id)?;
    }
    for id in &ids {
        let tags = state.slb.tags_mut(&kind, id)?;
        let left = tags.iter().filter(|(key, _)| !all && !keys.contains(*key));
        let left: Tags = left.map(|(key, value)| (key.clone(), value.clone())).collect();
        cx.set(tags, left);
    }
    Ok(json!({}))
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (kind, ids) = resources(cx)?;
    let wanted = tag::filter(cx.params);
    if ids.is_empty() && wanted.is_empty() {
        return Err(Failure::bad("MissingParam.TagOrResourceId", "Give ResourceId or Tag."));
    }
    let mut found = Vec::new();
    for (id, tags) in state.slb.all_tags(&kind) {
        if (ids.is_empty() || ids.contains(&id)) && tag::matches(tags, &wanted) {
            found.extend(tags.iter().map(
                |(key, value)| json!({ "ResourceId": id, "ResourceType": kind, "TagKey": key, "TagValue": value }),
            ));
        }
    }
    let page = paging::tokened(cx.params, found, 50)?;
    let mut reply = json!({ "TagResources": { "TagResource": page.items } });
    if let Some(next) = page.next {
        reply["NextToken"] = next.into();
    }
    Ok(reply)
}
