//! Server groups (VServerGroup) as such: creation, deletion, description.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Listener, Server, Slb, member};
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    tag::{self, Tags},
    time,
};

/// A server group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// `rsp-…`.
    pub id: String,
    /// The load balancer that it belongs to.
    pub load_balancer: String,
    /// Name.
    pub name: String,
    /// A change is being applied; no other one is taken meanwhile.
    pub busy: bool,
    /// Servers in the order in which they came.
    pub servers: Vec<Server>,
    /// Tags.
    pub tags: Tags,
    /// Creation time.
    pub created: Timestamp,
}

pub(super) fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidParameter", format!("The specified VServerGroupId does not exist. ({id})"))
}

// === impl Slb ===

impl Slb {
    pub(super) fn group(&self, id: &str) -> Result<&Group, Failure> {
        self.groups.get(id).ok_or_else(|| missing(id))
    }

    pub(super) fn group_mut(&mut self, id: &str) -> Result<&mut Group, Failure> {
        self.groups.get_mut(id).ok_or_else(|| missing(id))
    }

    /// A group that takes changes now.
    pub(super) fn idle_group(&self, id: &str) -> Result<&Group, Failure> {
        let group = self.group(id)?;
        if group.busy {
            return Err(Failure::bad(
                "VServerGroupProcessing",
                format!("The group {id} is being configured; please wait."),
            ));
        }
        Ok(group)
    }

    /// The listeners that send connections to a group.
    fn users_of(&self, group: &Group) -> impl Iterator<Item = &Listener> {
        let listeners = self.load_balancers.get(&group.load_balancer).into_iter().flat_map(|lb| &lb.listeners);
        let id = group.id.clone();
        listeners.filter(move |listener| listener.group() == Some(&id))
    }
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let load_balancer = cx.params.required("LoadBalancerId")?;
    state.slb.load_balancer(load_balancer)?.check_unlocked()?;
    let servers = member::given(cx.params, "BackendServers")?;
    let servers = member::admit(cx, state, load_balancer, servers)?;
    let id = cx.id("rsp-bp1");
    let group = Group {
        name: cx.params.get("VServerGroupName").map_or_else(|| id.clone(), str::to_owned),
        load_balancer: load_balancer.to_owned(),
        busy: false,
        servers,
        tags: tag::given(cx.params)?,
        created: cx.now,
        id,
    };
    cx.change();
    let reply = json!({ "VServerGroupId": group.id, "BackendServers": member::list(&group.servers) });
    state.slb.groups.insert(group.id.clone(), group);
    Ok(reply)
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VServerGroupId")?;
    let group = state.slb.idle_group(id)?;
    if state.slb.users_of(group).next().is_some() {
        return Err(Failure::bad("RspoolVipExist", "there are vips associating with this vServer group."));
    }
    if state.slb.rules.values().any(|rule| rule.group == id) {
        return Err(Failure::bad("RspoolRuleExist", "there are rules associating with this vServer group."));
    }
    state.slb.groups.remove(id);
    cx.change();
    Ok(json!({}))
}

/// All groups of one load balancer in one answer.
pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let load_balancer = cx.params.required("LoadBalancerId")?;
    state.slb.load_balancer(load_balancer)?;
    let wanted = tag::filter(cx.params);
    let listeners = cx.params.flag("IncludeListener") == Some(true);
    let rules = cx.params.flag("IncludeRule") == Some(true);
    let groups: Vec<Value> = state
        .slb
        .groups
        .values()
        .filter(|group| group.load_balancer == load_balancer && tag::matches(&group.tags, &wanted))
        .map(|group| item(&state.slb, group, listeners, rules))
        .collect();
    Ok(json!({ "VServerGroups": { "VServerGroup": groups } }))
}

fn item(slb: &Slb, group: &Group, with_listeners: bool, with_rules: bool) -> Value {
    let listeners: Vec<Value> = slb
        .users_of(group)
        .filter(|_| with_listeners)
        .map(|listener| json!({ "Port": listener.port, "Protocol": listener.protocol.as_str() }))
        .collect();
    let rules: Vec<Value> = slb
        .rules
        .values()
        .filter(|rule| with_rules && rule.group == group.id)
        .map(|rule| json!({ "RuleId": rule.id, "RuleName": rule.name, "Domain": rule.domain, "Url": rule.url }))
        .collect();
    json!({
        "VServerGroupId": group.id,
        "VServerGroupName": group.name,
        "ServerCount": group.servers.len(),
        "CreateTime": time::seconds(group.created),
        "AssociatedObjects": { "Listeners": { "Listener": listeners }, "Rules": { "Rule": rules } },
        "Tags": { "Tag": tag::list(&group.tags) },
    })
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let group = state.slb.group(cx.params.required("VServerGroupId")?)?;
    Ok(json!({
        "VServerGroupId": group.id,
        "VServerGroupName": group.name,
        "LoadBalancerId": group.load_balancer,
        "CreateTime": time::seconds(group.created),
        "BackendServers": member::list(&group.servers),
        "Tags": { "Tag": tag::list(&group.tags) },
    }))
}
