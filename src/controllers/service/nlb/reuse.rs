//! Network load balancers of the user's: which ones a Service may use, and which ports on them.
//!
//! As for classic load balancers, a port belongs to the Service that had it first; those that come later
//! are told, and get it once it is free.

use k8s_openapi::api::core::v1::Service;

use super::{desired::Desired, observed::State};
use crate::{
    cloud::{LoadBalancerId, NetworkProtocol, NetworkStatus, PortRange},
    controllers::service::{
        Controller, Key,
        annotations::{Annotations, NetworkRequested},
        ownership::Owner,
        publish,
        reconcile::{
            failure::Failure,
            reuse::{Candidate, refuse},
            unheeded::left_alone,
        },
    },
};

/// A Service, and what it wants to listen on.
type Claim = (Key, NetworkProtocol, PortRange);

impl Controller {
    /// Whether a Service may use a load balancer of the user's. What speaks against it is found
    /// before anything is changed.
    pub(super) fn check_network_reuse(
        &self,
        service: &Service,
        owner: &Owner,
        id: &LoadBalancerId,
        state: &State,
    ) -> Result<(), Failure> {
        let gone = |there: &&_| !matches!(there, NetworkStatus::Deleting);
        let there = state.load_balancer.as_ref().map(|there| &there.load_balancer);
        let Some(there) = there.filter(|there| gone(&&there.status)) else {
            return refuse(format!("load balancer {id} of the annotation id does not exist in this region"));
        };
        self.check_candidate(owner, Candidate { id, tags: &there.tags, vpc: there.vpc.as_ref() })?;
        match publish::shown_host_name(service) {
            Some(shown) if shown != there.dns_name => refuse(format!(
                "service has been associated with dnsname [{shown}], cannot be bound to dnsname [{}]",
                there.dns_name
            )),
            _ => Ok(()),
        }
    }

    /// Leaves out ports that are free, but that a Service of this cluster wanted earlier.
    pub(super) fn yield_network_ports(&self, service: &Service, desired: &mut Desired, state: &State) {
        let Some(id) = desired.requested.id.clone().filter(|_| desired.requested.force_override_listeners) else {
            return;
        };
        let claims = self.earlier_network_claims(service, &id, state);
        let listeners = || state.load_balancer.iter().flat_map(|there| &there.listeners);
        let is_there = |place: &(NetworkProtocol, PortRange)| listeners().any(|l| (l.protocol, l.ports) == *place);
        let taken = |place: &(NetworkProtocol, PortRange)| {
            let (protocol, ports) = *place;
            let mut rivals =
                claims.iter().filter(|(_, other, range)| protocol.excludes(*other) && ports.overlaps(*range));
            rivals.next().map(|(key, ..)| (protocol, ports, key.clone()))
        };
        let taken: Vec<_> = desired.listeners.keys().filter(|place| !is_there(place)).filter_map(taken).collect();
        for (protocol, ports, other) in taken {
            desired.listeners.remove(&(protocol, ports));
            desired.leave_out(ports);
            desired.problems.push(format!(
                "port {ports}/{protocol} of {id} is wanted by the Service {other}, which came first; use another port or \
                 load balancer"
            ));
        }
    }

    /// What Services before this one want to listen on.
    fn earlier_network_claims(&self, service: &Service, id: &LoadBalancerId, state: &State) -> Vec<Claim> {
        let mut claims = Vec::new();
        for other in self.earlier_sharers(service, id) {
            let Ok(requested) = Annotations::of(&other).parse_network() else { continue };
            let owner = Owner::of(&other, &self.options.cluster_id);
            if !requested.force_override_listeners || self.check_network_reuse(&other, &owner, id, state).is_err() {
                continue;
            }
            for port in other.spec.iter().flat_map(|spec| spec.ports.iter().flatten()) {
                let Ok(number) = u16::try_from(port.port) else { continue };
                let own =
                    if port.protocol.as_deref() == Some("UDP") { NetworkProtocol::Udp } else { NetworkProtocol::Tcp };
                let protocol = requested.protocol_of(number, own);
                let ranges = requested.ranges.get(&number).cloned().unwrap_or_else(|| vec![PortRange::one(number)]);
                claims.extend(ranges.into_iter().map(|range| (Key::of(&other), protocol, range)));
            }
        }
        claims
    }
}

/// On a load balancer of the user's, attributes are the user's as well: what of them is asked for in vain.
pub(super) fn unheeded(requested: &NetworkRequested) -> Option<String> {
    if requested.id.is_none() || requested.force_override_listeners {
        return None;
    }
    left_alone(&[
        ("name", requested.name.is_some()),
        ("address-type", requested.address_type.is_some()),
        ("zone-maps", !requested.zones.is_empty()),
        ("ipv6-address-type", requested.ipv6_address_type.is_some()),
        ("bandwidth-package-id", requested.bandwidth_package.is_some()),
        ("cross-zone-enabled", requested.cross_zone.is_some()),
        ("security-group-ids", requested.security_groups.is_some()),
        ("additional-resource-tags", !requested.tags.is_empty()),
    ])
}
