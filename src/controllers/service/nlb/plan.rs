//! The way from what is there to what should be there on a network load balancer: a pure function.
//!
//! As for classic load balancers, a plan holds what can be done with the ids that exist now, and
//! planning is repeated. In addition, what a job works on takes no other change: such steps are
//! planned all the same, and whoever carries out the plan leaves them for later.
//!
//! Order: the load balancer and its groups; who may come, before any listener is there; for each
//! port its members, new ones before old ones go, then its listener; and only when all of that is
//! in place and settled, what is no longer wanted.

mod listeners;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{
    desired::{Desired, DesiredGroup},
    observed::State,
};
use crate::{
    cloud::{
        ListenerId, Member, NetworkAction, NetworkGroup, NetworkListener, NetworkLoadBalancer,
        NetworkLoadBalancerState, NetworkProtocol, NetworkStatus, PortRange, ServerGroupId, ZoneMapping,
        network_action::{CreateNetworkGroup, MEMBERS_PER_CALL},
    },
    controllers::service::{
        desired::GroupKey,
        ownership::{self, Owner},
        plan::MemberChange,
    },
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

    fn attributes(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let asked = &desired.requested;
        let id = || there.id.clone();
        let leaves_alone = desired.leaves_attributes_alone();
        let marks = if asked.id.is_some() { BTreeMap::default() } else { desired.owner.tags() };
        let asked_for = asked
            .tags
            .iter()
            .filter(|_| !leaves_alone)
            .filter(|(key, value)| !marks.contains_key(*key) && there.tags.get(*key) != Some(*value));
        let tags: BTreeMap<String, String> = asked_for
            .chain(marks.iter().filter(|(key, _)| !there.tags.contains_key(*key)))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !tags.is_empty() {
            self.push(Scope::Attribute("tags"), NetworkAction::Tag { load_balancer: id(), tags });
        }
        self.fixed(desired, there);
        if leaves_alone {
            return;
        }
        // What is being made has the attributes it was asked for, and the rest is not known yet.
        if there.status == NetworkStatus::Provisioning {
            return;
        }
        if let Some(address_type) = asked.address_type.filter(|wanted| *wanted != there.address_type) {
            let action =
                NetworkAction::SetAddressType { load_balancer: id(), address_type, zones: asked.zones.clone() };
            self.push(Scope::Attribute("address type"), action);
        }
        self.zones(&asked.zones, there);
        self.ipv6(desired, there);
        self.bandwidth_package(desired, there);
        let name = asked.name.clone().filter(|name| *name != there.name);
        let cross_zone = asked.cross_zone.filter(|wanted| there.cross_zone != Some(*wanted));
        if name.is_some() || cross_zone.is_some() {
            let action = NetworkAction::SetAttributes { load_balancer: id(), name, cross_zone };
            self.push(Scope::Attribute("name and cross-zone forwarding"), action);
        }
    }

    /// What the API cannot change.
    fn fixed(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let asked = &desired.requested;
        for (what, asked, there_is) in [
            ("AddressIpVersion", &asked.ip_version, &there.ip_version),
            ("ResourceGroupId", &asked.resource_group, &there.resource_group),
        ] {
            if let (Some(asked), Some(there_is)) = (asked, there_is)
                && !asked.eq_ignore_ascii_case(there_is)
            {
                self.plan.conflicts.push(format!(
                    "{what} cannot be changed once created: {} has {there_is}, the Service asks for {asked}",
                    there.id
                ));
            }
        }
    }

    fn zones(&mut self, wanted: &[ZoneMapping], there: &NetworkLoadBalancer) {
        if wanted.is_empty() {
            return;
        }
        let mut differs = there.zones.iter().any(|old| wanted.iter().all(|new| new.zone != old.zone));
        let mut zones = Vec::new();
        for new in wanted {
            let Some(old) = there.zones.iter().find(|old| old.zone == new.zone) else {
                differs = true;
                zones.push(new.clone());
                continue;
            };
            let fixed = [
                ("vSwitch", Some(new.vswitch.to_string()), Some(old.vswitch.to_string())),
                ("private address", text(new.private_address.as_ref()), text(old.private_address.as_ref())),
                ("elastic address", text(new.allocation.as_ref()), text(old.allocation.as_ref())),
            ];
            for (what, new_is, old_is) in fixed {
                if new_is.is_some() && new_is != old_is {
                    self.plan.conflicts.push(format!(
                        "the {what} in zone {} of {} cannot be changed from {} to {}; take the zone out of zone-maps first, \
                         and put it in again then",
                        new.zone,
                        there.id,
                        old_is.unwrap_or_else(|| "none".to_owned()),
                        new_is.unwrap_or_default()
                    ));
                }
            }
            // What stays is named without its addresses, which count as taken.
            zones.push(ZoneMapping {
                zone: old.zone.clone(),
                vswitch: old.vswitch.clone(),
                private_address: None,
                allocation: None,
            });
        }
        if differs {
            self.push(Scope::Attribute("zones"), NetworkAction::SetZones { load_balancer: there.id.clone(), zones });
        }
    }

    fn ipv6(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let Some(wanted) = desired.requested.ipv6_address_type else { return };
        if !there.ip_version.as_deref().is_some_and(|version| version.eq_ignore_ascii_case("dualstack")) {
            let id = &there.id;
            self.plan.conflicts.push(format!("{id} has no IPv6 addresses, so ipv6-address-type has no effect on it"));
        } else if there.ipv6_address_type != Some(wanted) {
            let action = NetworkAction::SetIpv6AddressType { load_balancer: there.id.clone(), address_type: wanted };
            self.push(Scope::Attribute("IPv6 address type"), action);
        }
    }

    fn bandwidth_package(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let Some(wanted) = &desired.requested.bandwidth_package else { return };
        if *wanted == there.bandwidth_package {
            return;
        }
        let load_balancer = || there.id.clone();
        let scope = || Scope::Attribute("bandwidth package");
        match (&there.bandwidth_package, wanted) {
            (Some(package), _) => {
                let package = package.clone();
                let action = NetworkAction::DetachBandwidthPackage { load_balancer: load_balancer(), package };
                self.push(scope(), action);
            }
            (None, Some(package)) => {
                let package = package.clone();
                let action = NetworkAction::AttachBandwidthPackage { load_balancer: load_balancer(), package };
                self.push(scope(), action);
            }
            (None, None) => {}
        }
    }

    fn groups(&mut self, desired: &Desired, state: &State) {
        for (key, wanted) in &desired.groups {
            match (find_group(desired, state, key), key) {
                (Some(group), _) => self.group(desired, group, key, wanted),
                (None, GroupKey::Own(name)) => {
                    self.push(Scope::Group(name.clone()), NetworkAction::CreateGroup(wanted.create.clone()));
                }
                (None, GroupKey::Users(id)) => {
                    self.troubled = true;
                    self.plan.conflicts.push(why_unusable(state, id, &wanted.create));
                }
            }
        }
    }

    /// Members that are wanted come before those that are not go, so that a group with members
    /// is never empty in between.
    fn group(&mut self, desired: &Desired, group: &NetworkGroup, key: &GroupKey, wanted: &DesiredGroup) {
        let owner = &desired.owner;
        let mut change = MemberChange::of(&group.members, &wanted.members, |member| owner.owns_network_member(member));
        if desired.requested.members.ignores_weights {
            change.update.clear();
        }
        let scope = || Scope::Group(key.to_string());
        let id = || group.id.clone();
        for members in change.add.chunks(MEMBERS_PER_CALL).map(<[Member]>::to_vec) {
            self.push(scope(), NetworkAction::AddMembers { group: id(), members });
        }
        for members in change.update.chunks(MEMBERS_PER_CALL).map(<[Member]>::to_vec) {
            self.push(scope(), NetworkAction::UpdateMembers { group: id(), members });
        }
        for members in change.remove.chunks(MEMBERS_PER_CALL).map(<[Member]>::to_vec) {
            self.push(scope(), NetworkAction::RemoveMembers { group: id(), members });
        }
        if wanted.keep.differ_from(&group.settings) {
            // All that is asked for, because the API wants some settings only together.
            self.push(scope(), NetworkAction::UpdateGroup { group: id(), settings: wanted.keep.clone() });
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

fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

/// The group with this name that is as a new one would be made; of several the one that a listener
/// uses. What cannot be changed on a group makes another one necessary. Or the group of the user's, if
/// it can be used.
pub fn find_group<'a>(desired: &Desired, state: &'a State, key: &GroupKey) -> Option<&'a NetworkGroup> {
    let create = &desired.groups.get(key)?.create;
    let name = match key {
        GroupKey::Users(id) => return state.groups.iter().find(|group| group.id == *id && is_usable(group, create)),
        GroupKey::Own(name) => name,
    };
    let listeners = || state.load_balancer.iter().flat_map(|there| &there.listeners);
    let used = |group: &NetworkGroup| listeners().any(|listener| listener.group.as_ref() == Some(&group.id));
    let fits = |group: &&NetworkGroup| {
        group.name == *name
            && desired.owner.owns_network_group(group)
            && group.kind == create.kind
            && group.any_port == create.any_port
            && group.protocol.eq_ignore_ascii_case(create.protocol)
            && has_addresses_of(group, create)
    };
    let mut fitting = state.groups.iter().filter(fits);
    fitting.clone().find(|group| used(group)).or_else(|| fitting.next())
}

/// Whether the group takes members of the families that are asked for.
fn has_addresses_of(group: &NetworkGroup, create: &CreateNetworkGroup) -> bool {
    let same = |wanted: &String| group.ip_version.as_ref().is_some_and(|there| there.eq_ignore_ascii_case(wanted));
    create.ip_version.as_ref().is_none_or(same)
}

/// Whether a group of the user's takes the members that are meant for it.
fn is_usable(group: &NetworkGroup, create: &CreateNetworkGroup) -> bool {
    !ownership::is_network_group_mark(group)
        && group.kind == create.kind
        && group.any_port == create.any_port
        && has_addresses_of(group, create)
}

fn why_unusable(state: &State, id: &ServerGroupId, create: &CreateNetworkGroup) -> String {
    let place = format!("group {id} of the annotation vgroup-port");
    let Some(group) = state.groups.iter().find(|group| group.id == *id) else {
        return format!("reused server group id {id} not found: there is no {place}");
    };
    if ownership::is_network_group_mark(group) {
        format!("cannot reuse a ccm created server group: {place} is {}; use a group of your own", group.name)
    } else if group.kind != create.kind {
        let kind = group.kind.as_str();
        format!("the {place} is of the type {kind}; set the annotation server-group-type to {kind}")
    } else if group.any_port != create.any_port {
        let (is, goes) = if group.any_port { ("all ports", "only with") } else { ("one port", "not with") };
        format!("the {place} is for {is} of its members, and goes {goes} the annotation listener-port-range")
    } else {
        format!("the {place} takes no members of IPv6, which the annotation backend-ip-version asks for")
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
