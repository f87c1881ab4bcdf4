//! The way from what is there to what should be there: a pure function.
//!
//! A plan holds what can be done now, with the ids that exist now. Carrying it out makes more
//! possible (members need their group, listeners too), so planning is repeated until nothing is
//! left. Each plan follows from the observation alone: it makes no difference whether the
//! process was stopped in between.
//!
//! Order: the load balancer's own attributes; for each port its group, new members before old
//! ones go, then its listener; and only when all of that was planned without failures, what is
//! no longer wanted.

mod attributes;
mod listeners;
#[cfg(test)]
mod paper;
#[cfg(test)]
mod properties;

use std::{collections::BTreeSet, fmt, net::IpAddr};

use super::{
    desired::{Desired, GroupKey},
    ownership::{self, Owner},
};
use crate::cloud::{
    Action, GroupsView, Listener, LoadBalancer, LoadBalancerId, LoadBalancerState, Member, MemberKind, Protocol,
    ServerGroup, ServerGroupId, Setting, action::MEMBERS_PER_CALL,
};

/// An action and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub scope: Scope,
    pub action: Action,
}

/// What a step is for. If one fails, later steps of the same scope are left for the next pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The load balancer itself; without it nothing goes on.
    LoadBalancer,
    /// One attribute of the load balancer.
    Attribute(&'static str),
    /// A group by name or id, and the listeners that use it.
    Group(String),
    Listener(u16, Protocol),
    /// Removal of what is no longer wanted; it waits until everything else is in place.
    Cleanup,
}

/// What is to be done next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Wishes that cannot be fulfilled on what is there.
    pub conflicts: Vec<String>,
    /// Groups have to be looked up in full before the plan can go on.
    pub needs_groups: bool,
    /// HTTPS ports whose domain extensions have to be looked up before the plan can go on.
    pub needs_domain_extensions: Vec<u16>,
}

/// Plans towards `desired` on a load balancer in the state `observed`; `None` if there is none.
/// What failed a moment ago is not planned again, and neither is what depends on it.
pub fn plan(desired: &Desired, observed: Option<&LoadBalancerState>, failed: &BTreeSet<Scope>) -> Plan {
    let mut planner = Planner { plan: Plan::default(), failed, troubled: false };
    let Some(state) = observed else {
        planner.push(Scope::LoadBalancer, Action::CreateLoadBalancer(desired.create.clone()));
        return planner.plan;
    };
    planner.attributes(desired, &state.load_balancer);
    planner.groups(desired, state);
    if desired.requested.id.is_none() || desired.requested.force_override_listeners {
        planner.listeners(desired, state);
    }
    planner.cleanup(desired, state);
    planner.plan
}

/// Plans the members of the groups that are there, and nothing else: for a Service that asks for
/// something that cannot be, whose nodes and pods come and go all the same.
pub fn members(desired: &Desired, observed: Option<&LoadBalancerState>, failed: &BTreeSet<Scope>) -> Plan {
    let mut planner = Planner { plan: Plan::default(), failed, troubled: false };
    for (key, wanted) in &desired.groups {
        let group = observed.and_then(|state| Some((&state.load_balancer.id, find_group(state, key)?)));
        let is_usable = |group: &ServerGroup| !matches!(key, GroupKey::Users(_)) || !ownership::is_mark(&group.name);
        if let Some((id, group)) = group.filter(|(_, group)| is_usable(group)) {
            planner.members(desired, id, group, key, wanted);
        }
    }
    planner.plan
}

/// Plans the removal of everything that `desired`'s Service has on a load balancer that stays:
/// the user's own.
pub fn detach(owner: &Owner, state: &LoadBalancerState) -> Plan {
    let mut planner = Planner { plan: Plan::default(), failed: &BTreeSet::new(), troubled: false };
    planner.remove_unwanted(owner, state, &|_| false, &|_| false);
    if planner.plan.steps.is_empty()
        && state.load_balancer.tags.contains_key(ownership::REUSE_TAG)
        && !ownership::is_used(state)
    {
        let keys = vec![ownership::REUSE_TAG.to_owned()];
        planner.push(Scope::Cleanup, Action::Untag { load_balancer: state.load_balancer.id.clone(), keys });
    }
    planner.plan
}

/// Plans the deletion of a load balancer that was made for a Service.
pub fn delete(load_balancer: &LoadBalancer) -> Plan {
    let mut plan = Plan::default();
    let id = load_balancer.id.clone();
    // Where the protection is not known, turning it off is the safe choice.
    if load_balancer.delete_protection != Some(false) {
        let action = Action::SetDeleteProtection { load_balancer: id.clone(), on: false };
        plan.push(Scope::LoadBalancer, action);
        return plan;
    }
    plan.push(Scope::LoadBalancer, Action::DeleteLoadBalancer { load_balancer: id });
    plan
}

/// Plans to let go of a load balancer that was made for a Service, and leave it working.
pub fn release(owner: &Owner, load_balancer: &LoadBalancer) -> Plan {
    let mut plan = Plan::default();
    let id = || load_balancer.id.clone();
    if load_balancer.delete_protection != Some(false) {
        plan.push(Scope::LoadBalancer, Action::SetDeleteProtection { load_balancer: id(), on: false });
    }
    if load_balancer.modification_protection.as_deref() != Some("NonProtection") {
        let action = Action::SetModificationProtection {
            load_balancer: id(),
            status: "NonProtection".to_owned(),
            reason: String::new(),
        };
        plan.push(Scope::LoadBalancer, action);
    }
    let tags = owner.tags();
    let keys: Vec<String> = tags
        .iter()
        .filter(|(key, value)| load_balancer.tags.get(*key) == Some(*value))
        .map(|(k, _)| k.clone())
        .collect();
    if !keys.is_empty() {
        plan.push(Scope::LoadBalancer, Action::Untag { load_balancer: id(), keys });
    }
    plan
}

// === impl Plan ===

impl Plan {
    fn push(&mut self, scope: Scope, action: Action) {
        self.steps.push(Step { scope, action });
    }
}

type MakeAction = fn(LoadBalancerId, ServerGroupId, Vec<Member>) -> Action;

/// A plan in the making.
struct Planner<'a> {
    plan: Plan,
    failed: &'a BTreeSet<Scope>,
    /// A group that is asked for cannot be used, so what is there for it must stay.
    troubled: bool,
}

// === impl Planner ===

impl Planner<'_> {
    fn push(&mut self, scope: Scope, action: Action) {
        if !self.failed.contains(&scope) {
            self.plan.push(scope, action);
        }
    }

    fn groups(&mut self, desired: &Desired, state: &LoadBalancerState) {
        for (key, wanted) in &desired.groups {
            let load_balancer = || state.load_balancer.id.clone();
            match (find_group(state, key), key) {
                (Some(group), GroupKey::Users(id)) if ownership::is_mark(&group.name) => {
                    self.troubled = true;
                    self.plan.conflicts.push(format!(
                        "cannot reuse a ccm created vgroup: {id} of the annotation vgroup-port is {}; use a group of your own",
                        group.name
                    ));
                }
                (Some(group), _) => self.members(desired, &load_balancer(), group, key, wanted),
                // Names of groups are not unique: without having seen all, a second one might be made.
                (None, _) if state.groups_view == GroupsView::Referenced => self.plan.needs_groups = true,
                (None, GroupKey::Users(id)) => {
                    self.troubled = true;
                    self.plan.conflicts.push(format!(
                        "can not find vgroupId {id} of the annotation vgroup-port in load balancer {}",
                        state.load_balancer.id
                    ));
                }
                (None, GroupKey::Own(name)) => {
                    let members = wanted.iter().take(MEMBERS_PER_CALL).cloned().collect();
                    let action =
                        Action::CreateServerGroup { load_balancer: load_balancer(), name: name.clone(), members };
                    self.push(Scope::Group(name.clone()), action);
                }
            }
        }
    }

    /// Members that are wanted come before those that are not go, so that a group with members
    /// is never empty in between.
    fn members(
        &mut self,
        desired: &Desired,
        id: &LoadBalancerId,
        group: &ServerGroup,
        key: &GroupKey,
        wanted: &[Member],
    ) {
        let scope = Scope::Group(key.to_string());
        let mut change = MemberChange::between(&group.members, wanted, &desired.owner);
        if desired.requested.ignores_weights {
            change.update.clear();
        }
        let mut push = |members: &[Member], action: MakeAction| {
            for batch in members.chunks(MEMBERS_PER_CALL) {
                self.push(scope.clone(), action(id.clone(), group.id.clone(), batch.to_vec()));
            }
        };
        push(&change.add, |load_balancer, group, members| Action::AddMembers { load_balancer, group, members });
        push(&change.update, |load_balancer, group, members| Action::UpdateMembers { load_balancer, group, members });
        push(&change.remove, |load_balancer, group, members| Action::RemoveMembers { load_balancer, group, members });
    }

    /// What is ours and no longer wanted, once everything wanted is in place.
    fn cleanup(&mut self, desired: &Desired, state: &LoadBalancerState) {
        let missing = |scope: &Scope| !matches!(scope, Scope::Attribute(_));
        let plan = &self.plan;
        let needs = plan.needs_groups || !plan.needs_domain_extensions.is_empty() || self.troubled;
        if !plan.steps.is_empty() || needs || self.failed.iter().any(missing) {
            return;
        }
        let keeps_listeners = desired.requested.id.is_some() && !desired.requested.force_override_listeners;
        // The group of a port that could not be made out is among those that are there, but which is not known.
        let keeps_groups = !desired.troubled_ports.is_empty();
        // Of several groups with one name, one is worked with.
        let is_wanted = |group: &ServerGroup| {
            let own = GroupKey::Own(group.name.clone());
            desired.groups.contains_key(&own) && find_group(state, &own).is_some_and(|chosen| chosen.id == group.id)
        };
        let keep_group = |group: &ServerGroup| {
            keeps_groups || is_wanted(group) || desired.groups.contains_key(&GroupKey::Users(group.id.clone()))
        };
        let keep = |listener: &Listener| {
            keeps_listeners
                || desired.listeners.contains_key(&(listener.port, listener.protocol))
                || desired.troubled_ports.contains(&listener.port)
        };
        self.remove_unwanted(&desired.owner, state, &keep, &keep_group);
    }

    fn remove_unwanted(
        &mut self,
        owner: &Owner,
        state: &LoadBalancerState,
        keep: &dyn Fn(&Listener) -> bool,
        keep_group: &dyn Fn(&ServerGroup) -> bool,
    ) {
        let id = || state.load_balancer.id.clone();
        let (mut going, staying): (Vec<&Listener>, Vec<&Listener>) =
            state.listeners.iter().partition(|listener| owner.owns_listener(&listener.description) && !keep(listener));
        // What sends on goes before what it sends on to.
        going.sort_by_key(|listener| listener.settings.get(Setting::ForwardPort).is_none());
        for Listener { port, protocol, .. } in going {
            let action = Action::DeleteListener { load_balancer: id(), port: *port, protocol: *protocol };
            self.push(Scope::Cleanup, action);
        }
        for group in &state.groups {
            let used = staying.iter().any(|listener| listener.group.as_ref() == Some(&group.id));
            let whole = owner.owns_group(&group.name);
            if keep_group(group) || (whole && used) {
                continue;
            }
            let (ours, foreign): (Vec<&Member>, Vec<&Member>) =
                group.members.iter().partition(|member| owner.owns_member(member));
            if whole && foreign.is_empty() {
                let action = Action::DeleteServerGroup { load_balancer: id(), group: group.id.clone() };
                self.push(Scope::Cleanup, action);
                continue;
            }
            // Somebody else's group, or one into which somebody else put members: only ours go.
            let ours: Vec<Member> = ours.into_iter().cloned().collect();
            for members in ours.chunks(MEMBERS_PER_CALL).map(<[Member]>::to_vec) {
                let action = Action::RemoveMembers { load_balancer: id(), group: group.id.clone(), members };
                self.push(Scope::Cleanup, action);
            }
        }
    }
}

/// The group; of several with the name the one that a listener uses.
pub(super) fn find_group<'a>(state: &'a LoadBalancerState, key: &GroupKey) -> Option<&'a ServerGroup> {
    let name = match key {
        GroupKey::Users(id) => return state.groups.iter().find(|group| group.id == *id),
        GroupKey::Own(name) => name,
    };
    let used = |group: &ServerGroup| state.listeners.iter().any(|listener| listener.group.as_ref() == Some(&group.id));
    let mut named = state.groups.iter().filter(|group| group.name == *name);
    named.clone().find(|group| used(group)).or_else(|| named.next())
}

/// What to do about the members of one group.
pub(super) struct MemberChange {
    pub(super) add: Vec<Member>,
    pub(super) update: Vec<Member>,
    pub(super) remove: Vec<Member>,
}

// === impl MemberChange ===

impl MemberChange {
    fn between(there: &[Member], wanted: &[Member], owner: &Owner) -> Self {
        Self::of(there, wanted, |member| owner.owns_member(member))
    }

    /// Members that somebody else put there are neither changed nor removed.
    pub(super) fn of(there: &[Member], wanted: &[Member], owns: impl Fn(&Member) -> bool) -> Self {
        let mut change = Self { add: Vec::new(), update: Vec::new(), remove: Vec::new() };
        let mut rest = sorted(there).into_iter().peekable();
        for member in sorted(wanted) {
            let before = |old: &&Member| identity(old) < identity(member);
            while let Some(old) = rest.next_if(before) {
                change.remove.extend(Some(old).filter(|old| owns(old)).cloned());
            }
            match rest.next_if(|old| identity(old) == identity(member)) {
                None => change.add.push(member.clone()),
                Some(old) if old.weight != member.weight && owns(old) => {
                    change.update.push(member.clone());
                }
                Some(_) => {}
            }
        }
        change.remove.extend(rest.filter(|old| owns(old)).cloned());
        change
    }
}

/// What tells one member of a group from another.
fn identity(member: &Member) -> (MemberKind, &str, Option<IpAddr>, u16) {
    (member.kind, &member.server, member.address, member.port)
}

/// Sorting costs next to nothing where the order is right already, as it mostly is.
fn sorted(members: &[Member]) -> Vec<&Member> {
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort_by(|a, b| identity(a).cmp(&identity(b)));
    sorted
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoadBalancer => f.write_str("load balancer"),
            Self::Attribute(name) => f.write_str(name),
            Self::Group(name) => write!(f, "group {name}"),
            Self::Listener(port, protocol) => write!(f, "listener {port}/{protocol}"),
            Self::Cleanup => f.write_str("cleanup"),
        }
    }
}

#[cfg(test)]
mod tests;
