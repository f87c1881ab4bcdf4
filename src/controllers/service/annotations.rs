//! What a Service asks for beyond its spec: the annotations under our two prefixes.
//!
//! All values are checked here, before any call, and all mistakes of a Service are reported
//! together. What is said here about a key is all there is: nothing else reads annotations.

mod catalogue;
mod checked;
mod in_vain;
mod network;
mod notice;
#[cfg(test)]
mod page;
mod value;
mod values;

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::core::v1::Service;

pub use catalogue::notices;
pub use in_vain::in_vain;
pub use network::{NetworkRequested, network_notices};

use self::catalogue::Sets;
use super::members::Families;
use crate::cloud::{AddressType, ListenerSettings, LoadBalancerId, Protocol, ServerGroupId, Setting, VSwitchId};

/// The prefix of the annotations.
pub const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
/// The prefix's older spelling; [`PREFIX`] wins if both are there.
pub const LEGACY_PREFIX: &str = "service.beta.kubernetes.io/alicloud-loadbalancer-";
/// Whether members are instances (`ecs`) or pods' network interfaces (`eni`).
pub const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";

/// Suffix of the annotation that allows a lost load balancer to be made anew.
pub const RECREATE: &str = "recreate-lb-on-loss";

/// What a Service asks for. `None` is not asked for: the default on creation, no change later.
#[expect(clippy::struct_excessive_bools, reason = "each is an annotation by itself")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// A load balancer of the user's to use instead of making one.
    pub id: Option<LoadBalancerId>,
    /// Whether listeners on that load balancer may be created and taken over.
    pub force_override_listeners: bool,
    pub address_type: Option<AddressType>,
    pub address: Option<String>,
    /// `ipv4` or `ipv6`; of network load balancers `ipv4` or `DualStack`.
    pub ip_version: Option<String>,
    pub name: Option<String>,
    /// Such as `slb.s1.small`.
    pub spec: Option<String>,
    /// `PayBySpec` or `PayByCLCU`.
    pub instance_charge_type: Option<String>,
    /// `paybytraffic` or `paybybandwidth`.
    pub charge_type: Option<String>,
    /// Peak bandwidth in Mbit/s.
    pub bandwidth: Option<u32>,
    pub vswitch: Option<VSwitchId>,
    pub master_zone: Option<String>,
    pub slave_zone: Option<String>,
    pub resource_group: Option<String>,
    /// Further tags of the load balancer.
    pub tags: BTreeMap<String, String>,
    pub delete_protection: Option<bool>,
    /// Whether a load balancer that somebody else deleted is made anew.
    pub recreates: bool,
    /// `ConsoleProtection` or `NonProtection`.
    pub modification_protection: Option<String>,
    /// What the status shows.
    pub shows: Shows,
    /// Protocols of ports other than the Service says.
    pub protocols: BTreeMap<u16, Protocol>,
    /// HTTP port → the HTTPS port that its requests are sent on to.
    pub forwards: BTreeMap<u16, u16>,
    pub certificate: Option<String>,
    /// Domain → certificate; `None` leaves alone what is there.
    pub domain_extensions: Option<BTreeMap<String, String>>,
    /// Labels that a node must have to be a member.
    pub node_labels: BTreeMap<String, String>,
    pub default_weight: Option<u8>,
    /// Ports whose members go into a group of the user's on the load balancer with [`Self::id`].
    pub user_groups: BTreeMap<u16, ServerGroupId>,
    /// Weight of all members together, where they go into groups of the user's.
    pub weight: Option<u8>,
    /// At which addresses pods are members, if the cluster and the load balancer let them.
    pub families: Families,
    /// Whether pods are members at their own addresses; `None` is as the options say.
    pub eni: Option<bool>,
    /// Whether members are named by their addresses rather than as instances or interfaces.
    pub by_address: bool,
    pub ignores_weights: bool,
    pub leaves_out_cordoned: bool,
    pub(in crate::controllers::service) listener: Vec<(Sets, String)>,
}

/// What the status of a Service shows of its load balancer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shows {
    /// Its address.
    #[default]
    Address,
    /// The elastic addresses bound to it.
    ElasticAddresses,
    /// A name of the user's choice.
    HostName(String),
}

/// A value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// An annotation's key, or the path of a field of the spec.
    pub key: String,
    pub value: String,
    /// What would be right, to go after "must be".
    pub expected: String,
}

/// All values of one Service that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

/// The annotations of a Service, by the suffix behind the prefix.
pub struct Annotations<'a>(Option<&'a BTreeMap<String, String>>);

// === impl Annotations ===

impl<'a> Annotations<'a> {
    /// The annotations of `service`.
    pub fn of(service: &'a Service) -> Self {
        Self(service.metadata.annotations.as_ref())
    }

    /// The key and value of an annotation that is there and not empty.
    fn find(&self, suffix: &str) -> Option<(String, &'a str)> {
        let all = self.0?;
        let (key, value) = [PREFIX, LEGACY_PREFIX]
            .map(|prefix| format!("{prefix}{suffix}"))
            .into_iter()
            .find_map(|key| all.get(&key).map(|value| (key, value.as_str())))?;
        (!value.is_empty()).then_some((key, value))
    }

    /// Whether the annotation is there, also if it is empty.
    fn has(&self, suffix: &str) -> bool {
        let there = |prefix: &str| self.0.is_some_and(|all| all.contains_key(&format!("{prefix}{suffix}")));
        there(PREFIX) || there(LEGACY_PREFIX)
    }

    /// The value of an annotation; an empty one counts as absent.
    pub fn get(&self, suffix: &str) -> Option<&'a str> {
        self.find(suffix).map(|(_, value)| value)
    }

    /// The id of the user's load balancer that the Service uses. Readable however wrong the rest
    /// is, because deletion needs it.
    pub fn load_balancer_id(&self) -> Option<LoadBalancerId> {
        self.get("id").map(LoadBalancerId::new)
    }

    /// The user's groups that members go into, as far as they can be made out.
    pub fn user_groups(&self) -> Vec<ServerGroupId> {
        let pairs = self.get("vgroup-port").unwrap_or_default().split(',');
        pairs.filter_map(|pair| pair.split_once(':')).map(|(id, _)| ServerGroupId::new(id.trim())).collect()
    }

    /// Whether pods are members at their own addresses.
    fn eni(&self) -> Option<bool> {
        self.0?.get(BACKEND_TYPE).filter(|value| !value.is_empty()).map(|value| value == "eni")
    }

    /// Whether the load balancer outlives the Service.
    pub fn preserves_load_balancer(&self) -> bool {
        self.get("preserve-lb-on-delete").is_some()
    }

    /// Reads and checks everything, or tells all that is wrong.
    pub fn parse(&self) -> Result<Requested, Mistakes> {
        values::requested(self)
    }

    /// What is asked for as far as it can be told, if that is enough to say who the members are:
    /// no annotation that has a say in it is wrong.
    pub fn parse_for_members(&self) -> Option<Requested> {
        values::requested_of_members(self)
    }
}

// === impl Requested ===

impl Requested {
    /// The weight to divide among all members, if one is asked for and counts.
    pub fn divided_weight(&self) -> Option<u8> {
        self.weight.filter(|_| self.id.is_some() && !self.user_groups.is_empty())
    }

    /// At which addresses pods are members: only a load balancer with an IPv6 address takes those of IPv6,
    /// and only where the cluster `lets` it.
    pub fn families(&self, lets: bool) -> Families {
        let has_ipv6 = self.ip_version.as_deref().is_some_and(|version| version != "ipv4");
        if lets && has_ipv6 { self.families } else { Families::V4 }
    }

    /// The protocol of a port that the Service gives as `service`.
    pub fn protocol_of(&self, port: u16, service: Protocol) -> Protocol {
        // The layer 7 protocols are made of TCP; a UDP port of the same number stays what it is.
        match self.protocols.get(&port) {
            Some(Protocol::Udp) if service == Protocol::Tcp => Protocol::Udp,
            Some(asked) if service == Protocol::Tcp => *asked,
            _ => service,
        }
    }

    /// Whether annotations say which access control lists apply.
    pub fn names_access_lists(&self) -> bool {
        let is_about_lists =
            |sets: &Sets| matches!(sets, Sets::Listener(Setting::AclStatus | Setting::AclId | Setting::AclType));
        self.listener.iter().any(|(sets, _)| is_about_lists(sets))
    }

    /// The settings asked for that a listener of this protocol has.
    pub fn listener_settings(&self, protocol: Protocol) -> ListenerSettings {
        let is_layer_4 = matches!(protocol, Protocol::Tcp | Protocol::Udp);
        let mut settings: ListenerSettings = self
            .listener
            .iter()
            .filter_map(|(sets, value)| {
                let setting = match sets {
                    Sets::Listener(setting) => *setting,
                    Sets::Layer4(setting) if is_layer_4 => *setting,
                    Sets::Layer7(setting) if !is_layer_4 => *setting,
                    _ => return None,
                };
                setting.applies_to(protocol).then(|| (setting, spelled(setting, value)))
            })
            .collect();
        // These mean something only while what they belong to is on.
        if settings.get(Setting::AclStatus) != Some("on") {
            settings.remove(Setting::AclId);
            settings.remove(Setting::AclType);
        }
        if settings.get(Setting::ConnectionDrain) != Some("on") {
            settings.remove(Setting::ConnectionDrainTimeout);
        }
        if let Some(certificate) = self.certificate.as_ref().filter(|_| protocol == Protocol::Https) {
            settings.set(Setting::Certificate, certificate);
        }
        settings
    }

    /// The same with one more setting, as an annotation would ask for it.
    #[cfg(test)]
    pub(crate) fn with_listener(mut self, setting: Setting, value: &str) -> Self {
        self.listener.push((Sets::Listener(setting), value.to_owned()));
        self
    }
}

/// The API writes this switch as a truth value.
fn spelled(setting: Setting, value: &str) -> String {
    match setting {
        Setting::ProxyProtocol => (value == "on").to_string(),
        _ => value.to_owned(),
    }
}

// === impl Mistakes ===

impl std::error::Error for Mistakes {}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let what = if mistake.key.starts_with("spec.") { "" } else { "annotation " };
            write!(f, "{separator}{what}{} is {:?} but must be {}", mistake.key, mistake.value, mistake.expected)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
