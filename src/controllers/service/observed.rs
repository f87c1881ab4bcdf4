//! How a change shows in what was observed: a pure function.
//!
//! Each success is written into the observation at once, so that the next plan starts from it
//! without reading anything.

use crate::cloud::{
    Action, DomainExtension, Effect, GroupsView, Listener, ListenerStatus, LoadBalancerState, Member, Protocol,
    ServerGroup, ServerGroupId, action::ListenerChange,
};

/// The state after `action` had this `effect` on it; `None` if there is no load balancer then.
pub fn after(state: Option<LoadBalancerState>, action: &Action, effect: &Effect) -> Option<LoadBalancerState> {
    if let Effect::LoadBalancerCreated(load_balancer) = effect {
        // Nothing can hang on a load balancer that was just made.
        return Some(LoadBalancerState {
            load_balancer: (**load_balancer).clone(),
            listeners: Vec::new(),
            groups: Vec::new(),
            groups_view: GroupsView::Complete,
        });
    }
    let mut state = state?;
    let there = &mut state.load_balancer;
    match action {
        Action::CreateLoadBalancer(_)
        | Action::CreateAccessList(_)
        | Action::AddAccessEntries { .. }
        | Action::RemoveAccessEntries { .. }
        | Action::DeleteAccessList { .. }
        | Action::UntagAccessList { .. } => {}
        Action::DeleteLoadBalancer { .. } => return None,
        Action::SetDeleteProtection { on, .. } => there.delete_protection = Some(*on),
        Action::SetModificationProtection { status, .. } => there.modification_protection = Some(status.clone()),
        Action::SetName { name, .. } => there.name.clone_from(name),
        Action::SetInternetSpec { charge_type, bandwidth, .. } => {
            there.internet_charge_type = charge_type.clone().or_else(|| there.internet_charge_type.take());
            there.bandwidth = bandwidth.or(there.bandwidth);
        }
        Action::SetSpec { spec, .. } => there.spec = Some(spec.clone()),
        Action::SetInstanceChargeType { charge_type, spec, .. } => {
            there.instance_charge_type = Some(charge_type.clone());
            there.spec.clone_from(spec);
        }
        Action::Tag { tags, .. } => there.tags.extend(tags.clone()),
        Action::Untag { keys, .. } => there.tags.retain(|key, _| !keys.contains(key)),
        Action::CreateServerGroup { name, members, .. } => {
            if let Effect::ServerGroupCreated(id) = effect {
                let (id, name, members) = (id.clone(), name.clone(), members.clone());
                state.groups.push(ServerGroup { id, name, members });
            }
        }
        Action::DeleteServerGroup { group, .. } => state.groups.retain(|there| there.id != *group),
        Action::AddMembers { group, members, .. } => {
            for_group(&mut state, group, |there| there.extend(members.iter().cloned()));
        }
        Action::UpdateMembers { group, members, .. } => for_group(&mut state, group, |there| {
            for old in there {
                if let Some(new) = members.iter().find(|new| is_same(old, new)) {
                    old.clone_from(new);
                }
            }
        }),
        Action::RemoveMembers { group, members, .. } => for_group(&mut state, group, |there| {
            there.retain(|old| !members.iter().any(|gone| is_same(old, gone)));
        }),
        Action::CreateListener(change) => state.listeners.push(change.created()),
        Action::UpdateListener(change) => update_listener(&mut state, change),
        Action::StartListener { port, protocol, .. } => {
            let started = state.listeners.iter_mut().filter(|l| (l.port, l.protocol) == (*port, *protocol));
            started.for_each(|listener| listener.status = ListenerStatus::Running);
        }
        Action::DeleteListener { port, protocol, .. } => {
            state.listeners.retain(|l| (l.port, l.protocol) != (*port, *protocol));
        }
        Action::CreateDomainExtension { port, domain, certificate, .. } => {
            if let Effect::DomainExtensionCreated(id) = effect {
                let (id, domain, certificate) = (id.clone(), domain.clone(), certificate.clone());
                for_listener(&mut state, *port, |all| all.push(DomainExtension { id, domain, certificate }));
            }
        }
        Action::SetDomainExtension { port, id, certificate, .. } => for_listener(&mut state, *port, |all| {
            all.iter_mut().filter(|there| there.id == *id).for_each(|there| there.certificate.clone_from(certificate));
        }),
        Action::DeleteDomainExtension { port, id, .. } => {
            for_listener(&mut state, *port, |all| all.retain(|there| there.id != *id));
        }
    }
    Some(state)
}

fn is_same(a: &Member, b: &Member) -> bool {
    (a.kind, &a.server, a.address, a.port) == (b.kind, &b.server, b.address, b.port)
}

fn for_group(state: &mut LoadBalancerState, id: &ServerGroupId, change: impl FnOnce(&mut Vec<Member>)) {
    if let Some(group) = state.groups.iter_mut().find(|group| group.id == *id) {
        change(&mut group.members);
    }
}

fn update_listener(state: &mut LoadBalancerState, change: &ListenerChange) {
    let there = state.listeners.iter_mut().find(|l| (l.port, l.protocol) == (change.port, change.protocol));
    let Some(Listener { description, group, settings, .. }) = there else { return };
    if let Some(new) = &change.description {
        description.clone_from(new);
    }
    if let Some(new) = &change.group {
        *group = Some(new.clone());
    }
    settings.overlay(&change.settings);
}

fn for_listener(state: &mut LoadBalancerState, at: u16, change: impl FnOnce(&mut Vec<DomainExtension>)) {
    let https = |listener: &&mut Listener| (listener.port, listener.protocol) == (at, Protocol::Https);
    if let Some(extensions) = state.listeners.iter_mut().find(https).and_then(|l| l.domain_extensions.as_mut()) {
        change(extensions);
    }
}
