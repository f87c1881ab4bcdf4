//! What the annotations mean on a network load balancer: the second table beside [`catalogue`].
//!
//! [`catalogue`]: super::catalogue

mod reader;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Service;

pub(super) use self::table::ALL;
use super::{
    Annotations, Mistakes, Requested, catalogue,
    notice::{lacks, unknown, without_effect},
};
use crate::cloud::{
    AddressType, LoadBalancerId, NetworkGroupKind, NetworkGroupSettings, NetworkListenerSetting,
    NetworkListenerSettings, NetworkProtocol, PortRange, SecurityGroupId, ZoneMapping,
};

/// What a Service asks for of a network load balancer. `None` is not asked for: the default on
/// creation, no change later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRequested {
    /// A load balancer of the user's to use instead of making one.
    pub id: Option<LoadBalancerId>,
    /// Whether listeners on that load balancer may be created and taken over.
    pub force_override_listeners: bool,
    pub address_type: Option<AddressType>,
    /// `ipv4` or `DualStack`.
    pub ip_version: Option<String>,
    pub ipv6_address_type: Option<AddressType>,
    pub name: Option<String>,
    pub resource_group: Option<String>,
    /// Further tags of the load balancer.
    pub tags: BTreeMap<String, String>,
    pub zones: Vec<ZoneMapping>,
    /// All security groups but the one for source ranges; `None` leaves alone what is there.
    pub security_groups: Option<BTreeSet<SecurityGroupId>>,
    /// `Some(None)` is none; `None` leaves alone what is there.
    pub bandwidth_package: Option<Option<String>>,
    pub cross_zone: Option<bool>,
    /// Protocols of ports other than the Service says.
    pub protocols: BTreeMap<u16, NetworkProtocol>,
    /// Ports to listen on in place of a port of the Service.
    pub ranges: BTreeMap<u16, Vec<PortRange>>,
    /// Certificates for further domains; `None` leaves alone what is there.
    pub additional_certificates: Option<BTreeSet<String>>,
    pub listener: NetworkListenerSettings,
    pub group_kind: NetworkGroupKind,
    pub group: NetworkGroupSettings,
    /// What is asked for of the members, which are chosen as for classic load balancers, and how the
    /// Service is treated.
    pub members: Requested,
}

impl Annotations<'_> {
    /// Reads and checks everything that a network load balancer is asked for, or tells all that is
    /// wrong.
    pub fn parse_network(&self) -> Result<NetworkRequested, Mistakes> {
        reader::requested(self)
    }

    /// What is asked for as far as it can be told, if that is enough to say who the members are.
    pub fn parse_network_for_members(&self) -> Option<NetworkRequested> {
        reader::requested_of_members(self)
    }
}

/// What to tell the user about annotations that have no effect on a network load balancer.
pub fn network_notices(service: &Service) -> BTreeMap<String, String> {
    without_effect(service, |annotations, suffix| {
        if ALL.iter().any(|annotation| annotation.suffix == suffix) {
            lacks(annotations, suffix)
        } else if catalogue::find(suffix).is_some() {
            Some("it is for classic load balancers".to_owned())
        } else {
            Some(unknown(suffix, ALL.iter().map(|annotation| annotation.suffix)))
        }
    })
}

// === impl NetworkRequested ===

impl NetworkRequested {
    /// The protocol of a port that the Service gives as `service`.
    pub fn protocol_of(&self, port: u16, service: NetworkProtocol) -> NetworkProtocol {
        match self.protocols.get(&port) {
            // TLS is made of TCP; a UDP port of the same number stays what it is.
            Some(asked) if service == NetworkProtocol::Tcp => *asked,
            _ => service,
        }
    }

    /// The settings asked for that a listener of this protocol has.
    pub fn listener_settings(&self, protocol: NetworkProtocol) -> NetworkListenerSettings {
        let mut settings: NetworkListenerSettings = self
            .listener
            .iter()
            .filter(|(setting, _)| setting.applies_to(protocol))
            .map(|(setting, value)| (setting, value.to_owned()))
            .collect();
        // This means something only while what it belongs to is on.
        if settings.get(NetworkListenerSetting::AlpnEnabled) != Some("true") {
            settings.remove(NetworkListenerSetting::AlpnPolicy);
        }
        settings
    }
}

#[cfg(test)]
mod tests;
