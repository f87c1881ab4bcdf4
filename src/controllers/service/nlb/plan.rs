//! The way from what is there to what should be there on a network load balancer: a pure function.
//!
//! As for classic load balancers, a plan holds what can be done with the ids that exist now, and
//! planning is repeated. In addition, what a job works on takes no other change: such steps are
//! planned all the same, and whoever carries out the plan leaves them for later.
//!
//! Order: the load balancer and its groups; who may come, before any listener is there; for each
//! port its members, new ones before old ones go, then its listener; and only when all of that is
//! in place and settled, what is no longer wanted.

mod attributes;
mod groups;
mod listeners;
#[cfg(test)]
mod paper;
#[cfg(test)]
mod properties;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

pub use self::groups::find_group;
use super::{desired::Desired, observed::State};
use crate::{
    cloud::{
        ListenerId, Member, NetworkAction, NetworkGroup, NetworkListener, NetworkLoadBalancerState, NetworkProtocol,
        NetworkStatus, PortRange, ServerGroupId, network_action::MEMBERS_PER_CALL,
    },
    controllers::service::ownership::Owner,
};

/// An action and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub scope: Scope,
    pub action: NetworkAction,
}

/// What a step is for. If one fails, later steps of the same scope are left for the next pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The load balancer itself; without it nothing goes on.
    LoadBalancer,
    /// One attribute of the load balancer.
    Attribute(&'static str),
    /// Who may come. Without it no listener is made.
    Sources,
    /// A group by name or id, and the listeners that use it.
    Group(String),
    Listener(NetworkProtocol, PortRange),
    /// Removal of what is no longer wanted; it waits until everything else is in place.
    Cleanup,
}

/// What is to be done next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Wishes that cannot be fulfilled on what is there.
    pub conflicts: Vec<String>,
    /// The security group for source ranges has to be looked up before the plan can go on.
    pub needs_sources: bool,
    /// Listeners whose additional certificates have to be looked up before the plan can go on.
    pub needs_certificates: Vec<ListenerId>,
}

/// Plans towards `desired` from `state`. What failed a moment ago is not planned again, and
/// neither is what depends on it.
pub fn plan(desired: &Desired, state: &State, failed: &BTreeSet<Scope>) -> Plan {
    let mut planner = Planner::new(failed);
    match &state.load_balancer {
        None => planner.push(Scope::LoadBalancer, NetworkAction::CreateLoadBalancer(desired.create.clone())),
        Some(there) => planner.attributes(desired, &there.load_balancer),
    }
    planner.sources(desired, state);
    planner.groups(desired, state);
    if let Some(there) = &state.load_balancer {
        planner.listeners(desired, state, there);
        planner.cleanup(desired, state, there);
    }
    planner.plan
}

/// Plans the members of the groups that are there, and nothing else: for a Service that asks for
/// something that cannot be, whose nodes and pods come and go all the same.
pub fn members(desired: &Desired, state: &State, failed: &BTreeSet<Scope>) -> Plan {
    let mut planner = Planner::new(failed);
    for (key, wanted) in &desired.groups {
        if let Some(group) = find_group(desired, state, key) {
            planner.members(desired, group, key, wanted);
        }
    }
    planner.plan
}

/// Plans the removal of everything that a Service has on a load balancer that stays: the user's
/// own.
pub fn detach(owner: &Owner, state: &State) -> Plan {
    let mut planner = Planner::new(&NOTHING);
    if let Some(there) = &state.load_balancer {
        planner.remove_listeners(owner, there, &|_| false);
    }
    if planner.plan.steps.is_empty() && state.locks().is_empty() {
        planner.remove_groups(owner, state, &|_| false);
    }
    planner.plan
}

/// Plans the deletion of all that was made for a Service.
pub fn delete(owner: &Owner, state: &State) -> Plan {
    let mut planner = Planner::new(&NOTHING);
    if let Some(there) = &state.load_balancer {
        let there = &there.load_balancer;
        let load_balancer = || there.id.clone();
        if there.status == NetworkStatus::Deleting {
            return planner.plan;
        }
        // Where the protection is not known, turning it off is the safe choice.
        if there.delete_protection != Some(false) {
            planner.push(Scope::LoadBalancer, NetworkAction::Unprotect { load_balancer: load_balancer() });
        }
        planner.push(Scope::LoadBalancer, NetworkAction::DeleteLoadBalancer { load_balancer: load_balancer() });
        return planner.plan;
    }
    planner.remove_groups(owner, state, &|_| false);
    if let Some(Some(group)) = &state.sources {
        planner.push(Scope::Cleanup, NetworkAction::DeleteSecurityGroup { group: group.id.clone() });
    }
    planner.plan
}

/// Plans to let go of what was made for a Service, and leave it working.
pub fn release(owner: &Owner, state: &State) -> Plan {
    let mut planner = Planner::new(&NOTHING);
    let marks = owner.tags();
    let marked = |tags: &BTreeMap<String, String>| -> Vec<String> {
        marks.iter().filter(|(key, value)| tags.get(*key) == Some(*value)).map(|(key, _)| key.clone()).collect()
    };
    let groups: Vec<ServerGroupId> =
        state.groups.iter().filter(|group| !marked(&group.tags).is_empty()).map(|group| group.id.clone()).collect();
    if !groups.is_empty() {
        let keys = marks.keys().cloned().collect();
        planner.push(Scope::LoadBalancer, NetworkAction::UntagGroups { groups, keys });
    }
    if let Some(there) = &state.load_balancer {
        let there = &there.load_balancer;
        let open =
            there.delete_protection == Some(false) && there.modification_protection.as_deref() == Some("NonProtection");
        if !open {
            planner.push(Scope::LoadBalancer, NetworkAction::Unprotect { load_balancer: there.id.clone() });
        }
        let keys = marked(&there.tags);
        if open && !keys.is_empty() {
            planner.push(Scope::LoadBalancer, NetworkAction::Untag { load_balancer: there.id.clone(), keys });
        }
    }
    planner.plan
}

/// Nothing has failed.
static NOTHING: BTreeSet<Scope> = BTreeSet::new();

/// A plan in the making.
struct Planner<'a> {
    plan: Plan,
    failed: &'a BTreeSet<Scope>,
    /// A group that is asked for cannot be used, so what is there for it must stay.
    troubled: bool,
}

// === impl Planner ===

impl<'a> Planner<'a> {
    fn new(failed: &'a BTreeSet<Scope>) -> Self {
        Self { plan: Plan::default(), failed, troubled: false }
    }

    fn push(&mut self, scope: Scope, action: NetworkAction) {
        if !self.failed.contains(&scope) {
            self.plan.steps.push(Step { scope, action });
        }
    }

    /// What is ours and no longer wanted, once everything wanted is in place.
    fn cleanup(&mut self, desired: &Desired, state: &State, there: &NetworkLoadBalancerState) {
        let missing = |scope: &Scope| !matches!(scope, Scope::Attribute(_));
        let plan = &self.plan;
        let needs = plan.needs_sources || !plan.needs_certificates.is_empty() || self.troubled;
        let unsettled = !state.locks().is_empty();
        if !plan.steps.is_empty() || needs || unsettled || self.failed.iter().any(missing) {
            return;
        }
        let keeps_listeners = desired.leaves_attributes_alone();
        let troubled = |ports: PortRange| {
            desired.troubled_ports.iter().any(|port| {
                let ranges = desired.requested.ranges.get(port).cloned().unwrap_or_default();
                ports.overlaps(PortRange::one(*port)) || ranges.into_iter().any(|range| ports.overlaps(range))
            })
        };
        let keep = |listener: &NetworkListener| {
            keeps_listeners
                || desired.listeners.contains_key(&(listener.protocol, listener.ports))
                || troubled(listener.ports)
        };
        self.remove_listeners(&desired.owner, there, &keep);
        if !self.plan.steps.is_empty() {
            return;
        }
        let chosen: BTreeSet<&ServerGroupId> =
            desired.groups.keys().filter_map(|key| find_group(desired, state, key)).map(|group| &group.id).collect();
        // The group of a port that could not be made out is among those there, but which is not known.
        let keeps_groups = !desired.troubled_ports.is_empty();
        self.remove_groups(&desired.owner, state, &|group| keeps_groups || chosen.contains(&group.id));
        self.leave_sources(desired, state, there);
    }

    fn remove_listeners(
        &mut self,
        owner: &Owner,
        there: &NetworkLoadBalancerState,
        keep: &dyn Fn(&NetworkListener) -> bool,
    ) {
        let load_balancer = || there.load_balancer.id.clone();
        for listener in there.listeners.iter().filter(|l| owner.owns_network_listener(&l.description) && !keep(l)) {
            let action =
                NetworkAction::DeleteListener { load_balancer: load_balancer(), listener: listener.id.clone() };
            self.push(Scope::Cleanup, action);
        }
    }

    fn remove_groups(&mut self, owner: &Owner, state: &State, keep: &dyn Fn(&NetworkGroup) -> bool) {
        let listeners = || state.load_balancer.iter().flat_map(|there| &there.listeners);
        for group in &state.groups {
            let used = || listeners().any(|listener| listener.group.as_ref() == Some(&group.id));
            let whole = owner.owns_network_group(group);
            if keep(group) || (whole && used()) {
                continue;
            }
            let (ours, foreign): (Vec<&Member>, Vec<&Member>) =
                group.members.iter().partition(|member| owner.owns_network_member(member));
            if whole && foreign.is_empty() {
                self.push(Scope::Cleanup, NetworkAction::DeleteGroup { group: group.id.clone() });
                continue;
            }
            // Somebody else's group, or one into which somebody else put members: only ours go.
            let ours: Vec<Member> = ours.into_iter().cloned().collect();
            for members in ours.chunks(MEMBERS_PER_CALL).map(<[Member]>::to_vec) {
                self.push(Scope::Cleanup, NetworkAction::RemoveMembers { group: group.id.clone(), members });
            }
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoadBalancer => f.write_str("load balancer"),
            Self::Attribute(name) => f.write_str(name),
            Self::Sources => f.write_str("source ranges"),
            Self::Group(name) => write!(f, "group {name}"),
            Self::Listener(protocol, ports) => write!(f, "listener {ports}/{protocol}"),
            Self::Cleanup => f.write_str("cleanup"),
        }
    }
}

#[cfg(test)]
mod tests;
