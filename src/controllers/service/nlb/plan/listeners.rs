//! The part of the plan that is about listeners.

use std::collections::BTreeSet;

use super::{Planner, Scope, find_group};
use crate::{
    cloud::{
        NetworkAction, NetworkGroup, NetworkGroupStatus, NetworkListener, NetworkListenerSetting,
        NetworkListenerSettings, NetworkListenerStatus, NetworkLoadBalancerState, NetworkProtocol, PortRange,
        network_action::{CERTIFICATES_PER_CALL, CreateNetworkListener, NetworkListenerChange},
    },
    controllers::service::{
        desired::GroupKey,
        nlb::{
            desired::{Desired, DesiredListener},
            observed::State,
        },
    },
};

impl Planner<'_> {
    pub(super) fn listeners(&mut self, desired: &Desired, state: &State, there: &NetworkLoadBalancerState) {
        // Nobody is let in before it is settled who may come.
        let open = self.plan.needs_sources
            || self.failed.contains(&Scope::Sources)
            || self.plan.steps.iter().any(|step| step.scope == Scope::Sources);
        if desired.leaves_attributes_alone() {
            return;
        }
        for ((protocol, ports), wanted) in &desired.listeners {
            // Its group comes first; the listener follows in the next plan.
            let Some(group) = find_group(desired, state, &wanted.group) else { continue };
            match there.listeners.iter().find(|l| (l.protocol, l.ports) == (*protocol, *ports)) {
                None if open => {}
                None => self.create_listener(desired, state, there, (*protocol, *ports), wanted, group),
                Some(listener) => match taken(desired, state, there, listener) {
                    Some(conflict) => self.plan.conflicts.push(conflict),
                    None => self.change_listener(there, listener, wanted, group),
                },
            }
        }
    }

    fn create_listener(
        &mut self,
        desired: &Desired,
        state: &State,
        there: &NetworkLoadBalancerState,
        (protocol, ports): (NetworkProtocol, PortRange),
        wanted: &DesiredListener,
        group: &NetworkGroup,
    ) {
        if self.failed.contains(&Scope::Group(wanted.group.to_string())) || group.status == NetworkGroupStatus::Creating
        {
            return;
        }
        if protocol == NetworkProtocol::TcpSsl && wanted.settings.get(NetworkListenerSetting::Certificates).is_none() {
            self.plan.conflicts.push(format!("port {ports}: TCPSSL needs a certificate; set the annotation cert-id"));
            return;
        }
        let scope = || Scope::Listener(protocol, ports);
        let load_balancer = || there.load_balancer.id.clone();
        let in_the_way = there
            .listeners
            .iter()
            .filter(|l| protocol.excludes(l.protocol) && ports.overlaps(l.ports))
            .collect::<Vec<_>>();
        for other in &in_the_way {
            let conflict = taken(desired, state, there, other).or_else(|| {
                let wanted = desired.listeners.contains_key(&(other.protocol, other.ports));
                wanted.then(|| format!("the listener {}/{} is wanted, too", other.ports, other.protocol))
            });
            if let Some(conflict) = conflict {
                self.plan.conflicts.push(format!("there can be no listener {ports}/{protocol}: {conflict}"));
                return;
            }
        }
        // The old one goes when its successor's members are in place.
        if !in_the_way.is_empty() && group.status != NetworkGroupStatus::Available {
            return;
        }
        for other in in_the_way {
            let action = NetworkAction::DeleteListener { load_balancer: load_balancer(), listener: other.id.clone() };
            self.push(scope(), action);
        }
        let create = CreateNetworkListener {
            load_balancer: load_balancer(),
            protocol,
            ports,
            description: wanted.description.clone(),
            group: group.id.clone(),
            settings: wanted.settings.clone(),
        };
        self.push(scope(), NetworkAction::CreateListener(create));
    }

    fn change_listener(
        &mut self,
        there: &NetworkLoadBalancerState,
        listener: &NetworkListener,
        wanted: &DesiredListener,
        group: &NetworkGroup,
    ) {
        let scope = || Scope::Listener(listener.protocol, listener.ports);
        let load_balancer = || there.load_balancer.id.clone();
        if listener.status == NetworkListenerStatus::Stopped {
            let action = NetworkAction::StartListener { load_balancer: load_balancer(), listener: listener.id.clone() };
            self.push(scope(), action);
        }
        let differs = wanted.settings.differ_from(&listener.settings);
        let in_use = listener.group.as_ref() == Some(&group.id);
        let change = NetworkListenerChange {
            load_balancer: load_balancer(),
            listener: listener.id.clone(),
            description: Some(wanted.description.clone()).filter(|text| *text != listener.description),
            // Traffic moves to another group only when its members are in place.
            group: Some(group.id.clone()).filter(|_| !in_use && self.is_ready(group, &wanted.group)),
            // All that is asked for, because the API wants some settings only together.
            settings: if differs { wanted.settings.clone() } else { NetworkListenerSettings::default() },
        };
        if differs || change.description.is_some() || change.group.is_some() {
            self.push(scope(), NetworkAction::UpdateListener(change));
        }
        if let Some(certificates) = &wanted.additional_certificates {
            self.certificates(there, listener, certificates);
        }
    }

    /// Whether the group is settled and no members are to be added.
    fn is_ready(&self, group: &NetworkGroup, key: &GroupKey) -> bool {
        let adds =
            |action: &NetworkAction| matches!(action, NetworkAction::AddMembers { group: id, .. } if *id == group.id);
        group.status == NetworkGroupStatus::Available
            && !self.failed.contains(&Scope::Group(key.to_string()))
            && !self.plan.steps.iter().any(|step| adds(&step.action))
    }

    fn certificates(
        &mut self,
        there: &NetworkLoadBalancerState,
        listener: &NetworkListener,
        wanted: &BTreeSet<String>,
    ) {
        let Some(present) = &listener.additional_certificates else {
            self.plan.needs_certificates.push(listener.id.clone());
            return;
        };
        let scope = || Scope::Listener(listener.protocol, listener.ports);
        let missing: Vec<String> = wanted.difference(present).cloned().collect();
        let extra: Vec<String> = present.difference(wanted).cloned().collect();
        let (load_balancer, id) = (|| there.load_balancer.id.clone(), || listener.id.clone());
        for certificates in missing.chunks(CERTIFICATES_PER_CALL).map(<[String]>::to_vec) {
            let action =
                NetworkAction::AddCertificates { load_balancer: load_balancer(), listener: id(), certificates };
            self.push(scope(), action);
        }
        for certificates in extra.chunks(CERTIFICATES_PER_CALL).map(<[String]>::to_vec) {
            let action =
                NetworkAction::RemoveCertificates { load_balancer: load_balancer(), listener: id(), certificates };
            self.push(scope(), action);
        }
    }
}

/// Why the listener may not be changed for this Service, if so.
fn taken(
    desired: &Desired,
    state: &State,
    there: &NetworkLoadBalancerState,
    listener: &NetworkListener,
) -> Option<String> {
    let owner = &desired.owner;
    let uses_our_group =
        state.groups.iter().any(|group| listener.group.as_ref() == Some(&group.id) && owner.owns_network_group(group));
    if owner.owns_network_listener(&listener.description) || uses_our_group {
        return None;
    }
    let place = format!("listener {}/{} of {}", listener.ports, listener.protocol, there.load_balancer.id);
    match owner.network_rival(&listener.description) {
        Some(other) => Some(format!("{place} belongs to the Service {other}; use another port or load balancer")),
        None if desired.requested.force_override_listeners && desired.requested.id.is_some() => None,
        None => Some(format!(
            "{place} was not made for this Service (its description is {:?}); delete it or use another port",
            listener.description
        )),
    }
}
