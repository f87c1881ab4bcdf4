//! Tags of all kinds of SLB resources.

use serde_json::Value;

use super::{Protocol, Slb};
use crate::sim::cloud::{Context, State, Tags, error::Failure, tag, tagging};

/// The most resources in one call.
const PER_CALL: usize = 20;

// === impl Slb ===

impl Slb {
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

fn find<'a>(state: &'a mut State, kind: &str, id: &str) -> Result<&'a mut Tags, Failure> {
    let slb = &mut state.slb;
    let found = match kind {
        "instance" => slb.load_balancers.get_mut(id).map(|lb| &mut lb.tags),
        "vservergroup" => slb.groups.get_mut(id).map(|group| &mut group.tags),
        "listener" => slb.listener_tags_mut(id),
        "certificate" => slb.certificates.get_mut(id).map(|certificate| &mut certificate.tags),
        "acl" => slb.acls.get_mut(id).map(|acl| &mut acl.tags),
        _ => None,
    };
    found.ok_or_else(|| Failure::bad("ResourceNotExist", format!("The {kind} {id} does not exist.")))
}

fn check_size(cx: &Context<'_>) -> Result<(), Failure> {
    if cx.params.list("ResourceId").len() > PER_CALL {
        return Err(Failure::bad("SizeLimitExceeded.ResourceId", "At most 20 resources can be given."));
    }
    Ok(())
}

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
    if cx.params.list("ResourceId").is_empty() && tag::filter(cx.params).is_empty() {
        return Err(Failure::bad("MissingParam.TagOrResourceId", "Give ResourceId or Tag."));
    }
    let all = state.slb.all_tags(cx.params.required("ResourceType")?);
    tagging::wrapped(cx, tagging::entries(cx, all))
}
