//! What is there for one Service, and how a change shows in it: pure functions.
//!
//! A change is written into the observation when the cloud has accepted it. What a job still works
//! on is marked as such, takes no other change, and is settled when the job has succeeded.

use std::collections::BTreeMap;

use crate::cloud::{
    Made, Member, NetworkAction, NetworkEffect, NetworkGroup, NetworkGroupStatus, NetworkListener,
    NetworkListenerStatus, NetworkLoadBalancerState, NetworkStatus, SecurityGroup, ServerGroupId,
    network_action::{Lock, NetworkListenerChange},
};

/// What is there for one Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub load_balancer: Option<NetworkLoadBalancerState>,
    pub groups: Vec<NetworkGroup>,
    /// The security group for source ranges; outer `None` if it was not looked up.
    pub sources: Option<Option<SecurityGroup>>,
}

// === impl State ===

impl State {
    /// Whether this takes no change now.
    pub fn is_locked(&self, lock: &Lock) -> bool {
        match lock {
            Lock::LoadBalancer(id) => {
                let there = self.load_balancer.as_ref().filter(|there| there.load_balancer.id == *id);
                there.is_some_and(|there| there.load_balancer.status != NetworkStatus::Active)
            }
            Lock::Group(id) => {
                self.groups.iter().any(|group| group.id == *id && group.status != NetworkGroupStatus::Available)
            }
        }
    }

    /// What takes no change now.
    pub fn locks(&self) -> Vec<Lock> {
        let balancer = self.load_balancer.iter().map(|there| Lock::LoadBalancer(there.load_balancer.id.clone()));
        let groups = self.groups.iter().map(|group| Lock::Group(group.id.clone()));
        balancer.chain(groups).filter(|lock| self.is_locked(lock)).collect()
    }

    /// Takes over what a change brings about.
    pub fn apply(&mut self, action: &NetworkAction, effect: &NetworkEffect) {
        self.change(action, &effect.made);
        if effect.job.is_none() {
            match action {
                NetworkAction::CreateGroup(_) => {
                    if let Made::Group(id) = &effect.made {
                        self.settle(&Lock::Group(id.clone()));
                    }
                }
                NetworkAction::DeleteLoadBalancer { .. } => self.load_balancer = None,
                _ => {}
            }
            return;
        }
        match action.lock() {
            Some(Lock::LoadBalancer(_)) => {
                if let Some(there) = &mut self.load_balancer
                    && there.load_balancer.status == NetworkStatus::Active
                {
                    there.load_balancer.status = NetworkStatus::Changing;
                }
            }
            Some(Lock::Group(id)) => {
                if let Some(group) = self.groups.iter_mut().find(|group| group.id == id) {
                    group.status = NetworkGroupStatus::Changing;
                }
            }
            None => {}
        }
    }

    /// What was being changed takes changes again.
    pub fn settle(&mut self, lock: &Lock) {
        match lock {
            Lock::LoadBalancer(_) => {
                if let Some(there) = &mut self.load_balancer {
                    settle_load_balancer(there);
                    if there.load_balancer.status == NetworkStatus::Deleting {
                        self.load_balancer = None;
                    }
                }
            }
            Lock::Group(id) => settle_group(&mut self.groups, id),
        }
    }

    /// A load balancer that nobody is really making takes changes at once.
    pub fn complete(&mut self) {
        if let Some(there) = self.load_balancer.as_mut().map(|there| &mut there.load_balancer)
            && there.status == NetworkStatus::Provisioning
        {
            there.status = NetworkStatus::Active;
        }
    }

    fn change(&mut self, action: &NetworkAction, made: &Made) {
        match action {
            NetworkAction::CreateLoadBalancer(create) => {
                if let Made::LoadBalancer(id) = made {
                    let load_balancer = create.created(id.clone());
                    self.load_balancer = Some(NetworkLoadBalancerState { load_balancer, listeners: Vec::new() });
                }
            }
            NetworkAction::CreateGroup(create) => {
                if let Made::Group(id) = made {
                    self.groups.push(create.created(id.clone()));
                }
            }
            NetworkAction::UpdateGroup { group, settings } => {
                self.with_group(group, |group| group.settings.overlay(settings));
            }
            NetworkAction::DeleteGroup { group } => self.groups.retain(|there| there.id != *group),
            NetworkAction::UntagGroups { groups, keys } => {
                for group in self.groups.iter_mut().filter(|group| groups.contains(&group.id)) {
                    group.tags.retain(|key, _| !keys.contains(key));
                }
            }
            NetworkAction::AddMembers { group, members } => {
                self.with_group(group, |group| group.members.extend(members.iter().cloned()));
            }
            NetworkAction::UpdateMembers { group, members } => self.with_group(group, |group| {
                for old in &mut group.members {
                    if let Some(new) = members.iter().find(|new| is_same(old, new)) {
                        old.clone_from(new);
                    }
                }
            }),
            NetworkAction::RemoveMembers { group, members } => self.with_group(group, |group| {
                group.members.retain(|old| !members.iter().any(|gone| is_same(old, gone)));
            }),
            NetworkAction::CreateSecurityGroup(create) => {
                if let Made::SecurityGroup(id) = made {
                    self.sources = Some(Some(SecurityGroup {
                        id: id.clone(),
                        name: create.name.clone(),
                        description: create.description.clone(),
                        rules: Vec::new(),
                        others: BTreeMap::new(),
                    }));
                }
            }
            NetworkAction::NameSecurityGroup { name, description, .. } => {
                if let Some(Some(group)) = &mut self.sources {
                    group.name.clone_from(name);
                    group.description.clone_from(description);
                }
            }
            NetworkAction::AddRules { rules, .. } => {
                if let Some(Some(group)) = &mut self.sources {
                    group.rules.extend(rules.iter().cloned());
                }
            }
            NetworkAction::RemoveRules { rules, .. } => {
                if let Some(Some(group)) = &mut self.sources {
                    group.rules.retain(|rule| !rules.contains(&rule.id));
                    group.others.retain(|id, _| !rules.contains(id));
                }
            }
            NetworkAction::DeleteSecurityGroup { .. } => self.sources = Some(None),
            _ => self.change_load_balancer(action, made),
        }
    }

    fn change_load_balancer(&mut self, action: &NetworkAction, made: &Made) {
        let Some(state) = &mut self.load_balancer else { return };
        let there = &mut state.load_balancer;
        match action {
            NetworkAction::DeleteLoadBalancer { .. } => there.status = NetworkStatus::Deleting,
            NetworkAction::Unprotect { .. } => {
                there.delete_protection = Some(false);
                there.modification_protection = Some("NonProtection".to_owned());
            }
            NetworkAction::SetAttributes { name, cross_zone, .. } => {
                if let Some(name) = name {
                    there.name.clone_from(name);
                }
                there.cross_zone = cross_zone.or(there.cross_zone);
            }
            NetworkAction::SetAddressType { address_type, .. } => there.address_type = *address_type,
            NetworkAction::SetZones { zones, .. } => {
                let kept = std::mem::take(&mut there.zones);
                there.zones = zones
                    .iter()
                    .map(|new| kept.iter().find(|old| old.zone == new.zone).unwrap_or(new).clone())
                    .collect();
            }
            NetworkAction::SetIpv6AddressType { address_type, .. } => there.ipv6_address_type = Some(*address_type),
            NetworkAction::JoinSecurityGroups { groups, .. } => there.security_groups.extend(groups.iter().cloned()),
            NetworkAction::LeaveSecurityGroups { groups, .. } => {
                there.security_groups.retain(|group| !groups.contains(group));
            }
            NetworkAction::AttachBandwidthPackage { package, .. } => there.bandwidth_package = Some(package.clone()),
            NetworkAction::DetachBandwidthPackage { .. } => there.bandwidth_package = None,
            NetworkAction::Tag { tags, .. } => there.tags.extend(tags.clone()),
            NetworkAction::Untag { keys, .. } => there.tags.retain(|key, _| !keys.contains(key)),
            NetworkAction::CreateListener(create) => {
                if let Made::Listener(id) = made {
                    state.listeners.push(create.created(id.clone()));
                }
            }
            NetworkAction::UpdateListener(change) => {
                if let Some(listener) = state.listeners.iter_mut().find(|l| l.id == change.listener) {
                    update(listener, change);
                }
            }
            NetworkAction::StartListener { listener, .. } => {
                if let Some(listener) = state.listeners.iter_mut().find(|l| l.id == *listener) {
                    listener.status = NetworkListenerStatus::Running;
                }
            }
            NetworkAction::DeleteListener { listener, .. } => state.listeners.retain(|l| l.id != *listener),
            NetworkAction::AddCertificates { listener, certificates, .. } => {
                let there = state.listeners.iter_mut().find(|l| l.id == *listener);
                if let Some(all) = there.and_then(|l| l.additional_certificates.as_mut()) {
                    all.extend(certificates.iter().cloned());
                }
            }
            NetworkAction::RemoveCertificates { listener, certificates, .. } => {
                let there = state.listeners.iter_mut().find(|l| l.id == *listener);
                if let Some(all) = there.and_then(|l| l.additional_certificates.as_mut()) {
                    all.retain(|certificate| !certificates.contains(certificate));
                }
            }
            _ => {}
        }
    }

    fn with_group(&mut self, id: &ServerGroupId, change: impl FnOnce(&mut NetworkGroup)) {
        if let Some(group) = self.groups.iter_mut().find(|group| group.id == *id) {
            change(group);
        }
    }
}

/// The load balancer and its listeners take changes again, unless it is on its way out.
pub fn settle_load_balancer(there: &mut NetworkLoadBalancerState) {
    if there.load_balancer.status == NetworkStatus::Changing {
        there.load_balancer.status = NetworkStatus::Active;
    }
    for listener in there.listeners.iter_mut().filter(|l| l.status == NetworkListenerStatus::Changing) {
        listener.status = NetworkListenerStatus::Running;
    }
}

/// The group takes changes again.
pub fn settle_group(groups: &mut [NetworkGroup], id: &ServerGroupId) {
    for group in groups.iter_mut().filter(|group| group.id == *id) {
        group.status = NetworkGroupStatus::Available;
    }
}

fn is_same(a: &Member, b: &Member) -> bool {
    (a.kind, &a.server, a.address, a.port) == (b.kind, &b.server, b.address, b.port)
}

fn update(listener: &mut NetworkListener, change: &NetworkListenerChange) {
    if let Some(new) = &change.description {
        listener.description.clone_from(new);
    }
    if let Some(new) = &change.group {
        listener.group = Some(new.clone());
    }
    listener.settings.overlay(&change.settings);
}
