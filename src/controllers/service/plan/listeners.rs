//! The part of the plan that is about listeners.

use std::collections::BTreeMap;

use super::{Planner, Scope, find_group};
use crate::{
    cloud::{
        Action, DomainExtension, Listener, ListenerSettings, ListenerStatus, LoadBalancerId, LoadBalancerState,
        Protocol, ServerGroupId, Setting, action::ListenerChange,
    },
    controllers::service::{
        checks::policy,
        desired::{Desired, DesiredListener, GroupKey},
        ownership,
    },
};

/// Where a listener is.
#[derive(Clone, Copy)]
struct Place<'a> {
    id: &'a LoadBalancerId,
    port: u16,
    protocol: Protocol,
}

impl Planner<'_> {
    pub(super) fn listeners(&mut self, desired: &Desired, state: &LoadBalancerState) {
        for ((port, protocol), wanted) in &desired.listeners {
            // Its group comes first; the listener follows in the next plan.
            let Some(group) = find_group(state, &wanted.group) else { continue };
            if matches!(wanted.group, GroupKey::Users(_)) && ownership::is_mark(&group.name) {
                continue;
            }
            let place = Place { id: &state.load_balancer.id, port: *port, protocol: *protocol };
            match state.listeners.iter().find(|l| (l.port, l.protocol) == (*port, *protocol)) {
                None => self.create_listener(desired, state, place, wanted, &group.id),
                Some(there) => {
                    if let Some(conflict) = taken(desired, state, there) {
                        self.plan.conflicts.push(conflict);
                        continue;
                    }
                    if !self.can_forward(desired, state, place, wanted) {
                        continue;
                    }
                    // While nobody could be added to its new group, it stays with the one it has.
                    let failed = self.failed.contains(&Scope::Group(wanted.group.to_string()));
                    let stays = there.group.as_ref().filter(|_| failed && group.members.is_empty());
                    self.change_listener(desired, place, wanted, there, stays.unwrap_or(&group.id));
                }
            }
        }
    }

    fn create_listener(
        &mut self,
        desired: &Desired,
        state: &LoadBalancerState,
        place: Place<'_>,
        wanted: &DesiredListener,
        group: &ServerGroupId,
    ) {
        if self.failed.contains(&Scope::Group(wanted.group.to_string())) {
            return;
        }
        if place.protocol == Protocol::Https && wanted.create.get(Setting::Certificate).is_none() {
            self.plan
                .conflicts
                .push(format!("port {}: https needs a certificate; set the annotation cert-id", place.port));
            return;
        }
        if let Some(missing) = wanted.create.missing_companion(&wanted.create) {
            self.plan.conflicts.push(format!("port {}: {missing}; its listener is not made without", place.port));
            return;
        }
        if !self.can_forward(desired, state, place, wanted) {
            return;
        }
        let in_the_way = state.listeners.iter().filter(|l| l.port == place.port && place.protocol.excludes(l.protocol));
        for other in in_the_way {
            let is_ours = taken(desired, state, other).is_none();
            if !is_ours || desired.listeners.contains_key(&(other.port, other.protocol)) {
                self.plan.conflicts.push(format!(
                    "port {} of {} already has a {} listener, beside which there cannot be one for {}",
                    place.port, place.id, other.protocol, place.protocol
                ));
                return;
            }
            self.push(place.scope(), Place { protocol: other.protocol, ..place }.delete());
        }
        self.push(place.scope(), place.create(wanted, group));
    }

    /// Whether what the listener is to send requests on to is there. It comes first, or never.
    fn can_forward(
        &mut self,
        desired: &Desired,
        state: &LoadBalancerState,
        place: Place<'_>,
        wanted: &DesiredListener,
    ) -> bool {
        let is_there = |port| state.listeners.iter().any(|l| (l.port, l.protocol) == (port, Protocol::Https));
        let Some(target) = wanted.forward.filter(|target| !is_there(*target)) else { return true };
        if !desired.listeners.contains_key(&(target, Protocol::Https)) {
            self.plan.conflicts.push(format!(
                "port {}: the annotation forward-port sends requests on to port {target}, which is no https port of the \
                 Service or the load balancer; make it one with the annotation protocol-port: \"https:{target}\"",
                place.port
            ));
        }
        false
    }

    fn change_listener(
        &mut self,
        desired: &Desired,
        place: Place<'_>,
        wanted: &DesiredListener,
        there: &Listener,
        group: &ServerGroupId,
    ) {
        let forwards = there.settings.get(Setting::ForwardPort).and_then(|port| port.parse().ok());
        if place.protocol == Protocol::Http && forwards != wanted.forward {
            // The API cannot change this on a listener.
            self.push(place.scope(), place.delete());
            self.push(place.scope(), place.create(wanted, group));
            return;
        }
        if forwards.is_none() {
            let mut together = there.settings.clone();
            together.overlay(&wanted.keep);
            if let Some(missing) = together.missing_companion(&wanted.keep) {
                self.plan.conflicts.push(format!("port {}: {missing}; its listener stays as it is", place.port));
                return;
            }
            let check = wanted.check.as_ref();
            let check = policy::change_of_listener(
                place.protocol,
                check,
                &wanted.keep,
                &there.settings,
                desired.policy_changed,
            );
            let differs = wanted.keep.differ_from(&there.settings) || check.is_some();
            let mut settings = wanted.keep.clone();
            settings.overlay(&check.unwrap_or_default());
            let change = ListenerChange {
                description: Some(wanted.description.clone()).filter(|text| *text != there.description),
                group: Some(group.clone()).filter(|group| there.group.as_ref() != Some(group)),
                // All that is asked for, because the API wants some settings only together.
                settings: if differs { settings } else { ListenerSettings::default() },
                ..place.change()
            };
            if differs || change.description.is_some() || change.group.is_some() {
                self.push(place.scope(), Action::UpdateListener(change));
            }
        }
        if let Some(domains) = &wanted.domain_extensions {
            match &there.domain_extensions {
                None => self.plan.needs_domain_extensions.push(place.port),
                Some(extensions) => self.domain_extensions(place, domains, extensions),
            }
        }
        if there.status == ListenerStatus::Stopped {
            let (load_balancer, port, protocol) = (place.id.clone(), place.port, place.protocol);
            self.push(place.scope(), Action::StartListener { load_balancer, port, protocol });
        }
    }

    fn domain_extensions(&mut self, place: Place<'_>, wanted: &BTreeMap<String, String>, there: &[DomainExtension]) {
        let (load_balancer, port) = (|| place.id.clone(), place.port);
        for (domain, certificate) in wanted {
            let (domain, certificate) = (domain.clone(), certificate.clone());
            match there.iter().find(|extension| extension.domain == domain) {
                None => {
                    let action =
                        Action::CreateDomainExtension { load_balancer: load_balancer(), port, domain, certificate };
                    self.push(place.scope(), action);
                }
                Some(extension) if extension.certificate != certificate => {
                    let id = extension.id.clone();
                    let action = Action::SetDomainExtension { load_balancer: load_balancer(), port, id, certificate };
                    self.push(place.scope(), action);
                }
                Some(_) => {}
            }
        }
        for extension in there.iter().filter(|extension| !wanted.contains_key(&extension.domain)) {
            let id = extension.id.clone();
            self.push(place.scope(), Action::DeleteDomainExtension { load_balancer: load_balancer(), port, id });
        }
    }
}

/// Why the listener may not be changed for this Service, if so.
fn taken(desired: &Desired, state: &LoadBalancerState, listener: &Listener) -> Option<String> {
    let owner = &desired.owner;
    let uses_our_group =
        state.groups.iter().any(|group| listener.group.as_ref() == Some(&group.id) && owner.owns_group(&group.name));
    if owner.owns_listener(&listener.description) || uses_our_group {
        return None;
    }
    let place = format!("listener {}/{} of {}", listener.port, listener.protocol, state.load_balancer.id);
    match owner.rival(&listener.description) {
        Some(other) => Some(format!("{place} belongs to the Service {other}; use another port or load balancer")),
        None if desired.requested.force_override_listeners && desired.requested.id.is_some() => None,
        None => Some(format!(
            "{place} was not made for this Service (its description is {:?}); delete it or use another port",
            listener.description
        )),
    }
}

// === impl Place ===

impl Place<'_> {
    fn scope(self) -> Scope {
        Scope::Listener(self.port, self.protocol)
    }

    fn change(self) -> ListenerChange {
        ListenerChange {
            load_balancer: self.id.clone(),
            port: self.port,
            protocol: self.protocol,
            description: None,
            group: None,
            settings: ListenerSettings::default(),
        }
    }

    fn create(self, wanted: &DesiredListener, group: &ServerGroupId) -> Action {
        Action::CreateListener(ListenerChange {
            description: Some(wanted.description.clone()),
            group: Some(group.clone()),
            settings: wanted.create.clone(),
            ..self.change()
        })
    }

    fn delete(self) -> Action {
        Action::DeleteListener { load_balancer: self.id.clone(), port: self.port, protocol: self.protocol }
    }
}

#[cfg(test)]
mod tests;
