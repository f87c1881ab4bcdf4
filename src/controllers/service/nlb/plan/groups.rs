//! The part of the plan that is about server groups and their members.

use super::{Planner, Scope};
use crate::{
    cloud::{
        Member, NetworkAction, NetworkGroup, ServerGroupId,
        network_action::{CreateNetworkGroup, MEMBERS_PER_CALL},
    },
    controllers::service::{
        checks::policy,
        desired::GroupKey,
        nlb::{
            desired::{Desired, DesiredGroup},
            observed::State,
        },
        ownership,
        plan::MemberChange,
    },
};

impl Planner<'_> {
    pub(super) fn groups(&mut self, desired: &Desired, state: &State) {
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

    fn group(&mut self, desired: &Desired, group: &NetworkGroup, key: &GroupKey, wanted: &DesiredGroup) {
        self.members(desired, group, key, wanted);
        let check = match key {
            GroupKey::Own(_) => {
                let (check, changed) = (wanted.check.as_ref(), desired.policy_changed);
                policy::change_of_group(check, &wanted.keep, &group.settings, changed)
            }
            GroupKey::Users(_) => None,
        };
        if check.is_some() || wanted.keep.differ_from(&group.settings) {
            // All that is asked for, because the API wants some settings only together.
            let mut settings = wanted.keep.clone();
            settings.overlay(&check.unwrap_or_default());
            self.push(Scope::Group(key.to_string()), NetworkAction::UpdateGroup { group: group.id.clone(), settings });
        }
    }

    /// Members that are wanted come before those that are not go, so that a group with members
    /// is never empty in between.
    pub(super) fn members(&mut self, desired: &Desired, group: &NetworkGroup, key: &GroupKey, wanted: &DesiredGroup) {
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
    }
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
