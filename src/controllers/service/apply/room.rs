//! Where a quota lets no further member in: who goes, so that others can come.

use std::collections::VecDeque;

use super::{Pass, room_text};
use crate::{
    cloud::{Action, Error, LoadBalancerId, Member, ServerGroup, ServerGroupId, action::MEMBERS_PER_CALL},
    controllers::service::{
        desired::{Desired, GroupKey},
        plan::{Scope, Step},
    },
};

impl Pass<'_> {
    /// Removes up to `wanted` members that are to go anyway, and answers how many; `None` if there are none. A
    /// group that a listener uses loses a quarter at a time and never all: those that come stand in for them.
    pub(super) async fn make_room(
        &mut self,
        scope: &Scope,
        error: &Error,
        wanted: usize,
        steps: &mut VecDeque<Step>,
        desired: &Desired,
    ) -> Option<usize> {
        let (id, group, members) = self.leaving(wanted, steps, desired)?;
        let count = members.len();
        for step in steps.iter_mut() {
            if let Action::RemoveMembers { group: there, members: planned, .. } = &mut step.action
                && *there == group
            {
                planned.retain(|member| !members.contains(member));
            }
        }
        steps.retain(|step| !matches!(&step.action, Action::RemoveMembers { members, .. } if members.is_empty()));
        let action = Action::RemoveMembers { load_balancer: id.clone(), group: group.clone(), members };
        let scope_of_leaving = Scope::Group(group.to_string());
        if self.execute(&Step { scope: scope_of_leaving, action }).await.is_err() {
            return Some(0);
        }
        let told = room_text(&format!("{scope} of {id}"), error);
        if !self.made_room.contains(&told) {
            self.made_room.push(told);
        }
        Some(count)
    }

    /// Members that can go now: of those that the plan lets go, or of groups that are not wanted any more.
    fn leaving(
        &self,
        wanted: usize,
        steps: &VecDeque<Step>,
        desired: &Desired,
    ) -> Option<(LoadBalancerId, ServerGroupId, Vec<Member>)> {
        let state = self.state.as_ref()?;
        let is_used = |group: &ServerGroup| state.listeners.iter().any(|l| l.group.as_ref() == Some(&group.id));
        let some = |group: &ServerGroup, mut going: Vec<Member>| {
            let there = group.members.len();
            let most = if is_used(group) { there.div_ceil(4).min(there - 1) } else { MEMBERS_PER_CALL };
            going.truncate(wanted.min(most));
            (!going.is_empty()).then(|| (state.load_balancer.id.clone(), group.id.clone(), going))
        };
        let planned = steps.iter().find_map(|step| match &step.action {
            Action::RemoveMembers { group, members, .. } => {
                let there = state.groups.iter().find(|there| there.id == *group && !there.members.is_empty())?;
                some(there, members.clone())
            }
            _ => None,
        });
        // Which groups belong to ports that could not be made out is not known.
        let others = state.groups.iter().filter(|group| {
            desired.troubled_ports.is_empty()
                && desired.owner.owns_group(&group.name)
                && !desired.groups.contains_key(&GroupKey::Own(group.name.clone()))
                && !group.members.is_empty()
        });
        let ours = |group: &ServerGroup| {
            group.members.iter().filter(|member| desired.owner.owns_member(member)).cloned().collect()
        };
        planned.or_else(|| others.into_iter().find_map(|group| some(group, ours(group))))
    }
}

/// Whether there is a limit that fewer members would keep; an unpaid bill is none.
pub(super) fn is_about_numbers(error: &Error) -> bool {
    ["Limit", "Quota", "Exceed"].iter().any(|word| error.code.contains(word))
}
