//! Replies of NLB, and of ECS about security groups, as they come.
#![expect(clippy::struct_field_names, reason = "fields are named as the API names them")]

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use tracing::debug;

use super::setting::{self, Form};
use crate::{
    alibaba::rpc::{
        decode::{self, List, Tag},
        paging::{Page, Paged},
    },
    cloud::{
        self, AddressType, JobState, LoadBalancerId, Member, MemberKind, NetworkGroup, NetworkGroupKind,
        NetworkGroupStatus, NetworkListener, NetworkListenerSettings, NetworkListenerStatus, NetworkLoadBalancer,
        NetworkProtocol, NetworkStatus, PortRange, ServerGroupId,
    },
};

macro_rules! page {
    ($(#[$doc:meta])* $page:ident, $field:literal, $item:ident, $key:expr) => {
        $(#[$doc])*
        #[derive(Deserialize)]
        pub(in crate::alibaba::nlb) struct $page {
            #[serde(rename = $field)]
            items: Option<List<$item>>,
            #[serde(default, rename = "NextToken", deserialize_with = "decode::optional_text")]
            next_token: Option<String>,
            #[serde(default, rename = "TotalCount", deserialize_with = "decode::optional_number")]
            total_count: Option<usize>,
        }

        impl Paged for $page {
            type Item = $item;

            fn into_page(self) -> Option<Page<$item>> {
                Some(Page { items: self.items?.0, total: self.total_count, next_token: self.next_token })
            }

            fn key(item: &$item) -> String {
                let key: fn(&$item) -> String = $key;
                key(item)
            }
        }
    };
}

pub(super) mod security_group;

page!(
    /// `ListLoadBalancers`
    LoadBalancers, "LoadBalancers", LoadBalancer, |item| item.load_balancer_id.clone()
);
page!(
    /// `ListListeners`
    Listeners, "Listeners", Listener, |item| item.listener_id.clone()
);
page!(
    /// `ListServerGroups`
    Groups, "ServerGroups", Group, |item| item.server_group_id.clone()
);
page!(
    /// `ListServerGroupServers`
    Servers, "Servers", Server, |item| {
        format!("{} {} {:?} {}", item.server_group_id, item.server_id, item.server_ip, item.port)
    }
);
page!(
    /// `ListListenerCertificates`
    Certificates, "Certificates", Certificate, |item| item.id.clone()
);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct LoadBalancer {
    load_balancer_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    load_balancer_name: String,
    #[serde(default, deserialize_with = "decode::text")]
    load_balancer_status: String,
    #[serde(default, rename = "DNSName", deserialize_with = "decode::text")]
    dns_name: String,
    #[serde(default, deserialize_with = "decode::text")]
    address_type: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    address_ip_version: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    ipv6_address_type: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    vpc_id: Option<String>,
    #[serde(default)]
    zone_mappings: List<ZoneMapping>,
    #[serde(default)]
    security_group_ids: List<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    bandwidth_package_id: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_bool")]
    cross_zone_enabled: Option<bool>,
    deletion_protection_config: Option<DeletionProtection>,
    modification_protection_config: Option<ModificationProtection>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    resource_group_id: Option<String>,
    tags: Option<List<Tag>>,
}

#[derive(Deserialize)]
struct DeletionProtection {
    #[serde(default, rename = "Enabled", deserialize_with = "decode::optional_bool")]
    enabled: Option<bool>,
}

#[derive(Deserialize)]
struct ModificationProtection {
    #[serde(default, rename = "Status", deserialize_with = "decode::optional_text")]
    status: Option<String>,
}

#[derive(Deserialize)]
struct ZoneMapping {
    #[serde(rename = "ZoneId")]
    zone: String,
    #[serde(rename = "VSwitchId")]
    vswitch: String,
    #[serde(default, rename = "LoadBalancerAddresses")]
    addresses: List<ZoneAddress>,
}

#[derive(Default, Deserialize)]
struct ZoneAddress {
    #[serde(default, rename = "PrivateIPv4Address", deserialize_with = "decode::text")]
    private: String,
    #[serde(default, rename = "AllocationId", deserialize_with = "decode::optional_text")]
    allocation: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Listener {
    listener_id: String,
    load_balancer_id: String,
    listener_protocol: String,
    #[serde(default, deserialize_with = "decode::optional_number")]
    listener_port: Option<u16>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    start_port: Option<u16>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    end_port: Option<u16>,
    #[serde(default, deserialize_with = "decode::text")]
    listener_status: String,
    #[serde(default, deserialize_with = "decode::text")]
    listener_description: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    server_group_id: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Group {
    server_group_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    server_group_name: String,
    #[serde(default, deserialize_with = "decode::text")]
    server_group_status: String,
    #[serde(default, deserialize_with = "decode::text")]
    server_group_type: String,
    #[serde(default, deserialize_with = "decode::text")]
    protocol: String,
    #[serde(default, deserialize_with = "decode::optional_bool")]
    any_port_enabled: Option<bool>,
    #[serde(default, rename = "AddressIPVersion", deserialize_with = "decode::optional_text")]
    address_ip_version: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    resource_group_id: Option<String>,
    /// Where it is not told, the group may have members.
    #[serde(default, deserialize_with = "decode::optional_number")]
    server_count: Option<usize>,
    #[serde(default)]
    health_check: BTreeMap<String, Value>,
    tags: Option<List<Tag>>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Server {
    server_group_id: String,
    server_id: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    server_ip: Option<String>,
    #[serde(default, deserialize_with = "decode::text")]
    server_type: String,
    #[serde(deserialize_with = "decode::number")]
    port: u16,
    #[serde(default, deserialize_with = "decode::optional_number")]
    weight: Option<u8>,
    #[serde(default, deserialize_with = "decode::text")]
    description: String,
    #[serde(default, deserialize_with = "decode::text")]
    status: String,
}

#[derive(Deserialize)]
pub(super) struct Certificate {
    #[serde(rename = "CertificateId")]
    id: String,
    #[serde(default, rename = "IsDefault", deserialize_with = "decode::optional_bool")]
    is_default: Option<bool>,
    #[serde(default, rename = "Status", deserialize_with = "decode::text")]
    status: String,
}

/// `ListAsynJobs`
#[derive(Deserialize)]
pub(super) struct Jobs {
    #[serde(rename = "Jobs")]
    jobs: List<Job>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(rename = "Id")]
    id: String,
    #[serde(rename = "Status")]
    status: String,
}

/// What changes answer.
#[derive(Deserialize)]
pub(super) struct Changed {
    #[serde(default, rename = "JobId", deserialize_with = "decode::optional_text")]
    pub(super) job: Option<String>,
    /// This spelling is the product's.
    #[serde(default, rename = "LoadbalancerId", deserialize_with = "decode::optional_text")]
    pub(super) load_balancer: Option<String>,
    #[serde(default, rename = "ServerGroupId", deserialize_with = "decode::optional_text")]
    pub(super) group: Option<String>,
    #[serde(default, rename = "ListenerId", deserialize_with = "decode::optional_text")]
    pub(super) listener: Option<String>,
    #[serde(default, rename = "SecurityGroupId", deserialize_with = "decode::optional_text")]
    pub(super) security_group: Option<String>,
    /// There in every answer that is one.
    #[serde(rename = "RequestId", deserialize_with = "decode::text")]
    _request: String,
}

/// The weight that the cloud gives a member that was added without one.
const DEFAULT_WEIGHT: u8 = 100;

fn may_have_tag(tags: Option<&List<Tag>>, key: &str, value: &str) -> bool {
    tags.is_none_or(|tags| tags.0.iter().any(|tag| tag.is(key, value)))
}

fn address_type(text: &str) -> AddressType {
    if text.eq_ignore_ascii_case("intranet") { AddressType::Intranet } else { AddressType::Internet }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Array(items) => {
            let items: BTreeSet<String> = items.iter().filter_map(text).collect();
            (!items.is_empty()).then(|| items.into_iter().collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Object(_) => None,
    }
}

// === impl LoadBalancer ===

impl LoadBalancer {
    /// Whether it carries the tag, or does not tell its tags.
    pub(super) fn may_have_tag(&self, key: &str, value: &str) -> bool {
        may_have_tag(self.tags.as_ref(), key, value)
    }

    pub(super) fn into_load_balancer(self) -> NetworkLoadBalancer {
        NetworkLoadBalancer {
            id: self.load_balancer_id.into(),
            name: self.load_balancer_name,
            status: match self.load_balancer_status.to_ascii_lowercase().as_str() {
                "provisioning" => NetworkStatus::Provisioning,
                "configuring" => NetworkStatus::Changing,
                "deleting" | "deleted" => NetworkStatus::Deleting,
                "inactive" | "createfailed" => NetworkStatus::Unusable,
                _ => NetworkStatus::Active,
            },
            dns_name: self.dns_name,
            address_type: address_type(&self.address_type),
            ip_version: self.address_ip_version,
            ipv6_address_type: self.ipv6_address_type.as_deref().map(address_type),
            vpc: self.vpc_id.map(Into::into),
            zones: self.zone_mappings.into_iter().map(ZoneMapping::into_mapping).collect(),
            security_groups: self.security_group_ids.into_iter().map(Into::into).collect(),
            bandwidth_package: self.bandwidth_package_id,
            cross_zone: self.cross_zone_enabled,
            delete_protection: self.deletion_protection_config.and_then(|config| config.enabled),
            modification_protection: self.modification_protection_config.and_then(|config| config.status),
            resource_group: self.resource_group_id,
            tags: self.tags.map(decode::tags).unwrap_or_default(),
        }
    }
}

// === impl ZoneMapping ===

impl ZoneMapping {
    fn into_mapping(self) -> cloud::ZoneMapping {
        let first = self.addresses.into_iter().next().unwrap_or_default();
        cloud::ZoneMapping {
            zone: self.zone.into(),
            vswitch: self.vswitch.into(),
            private_address: first.private.parse().ok(),
            allocation: first.allocation.map(Into::into),
        }
    }
}

// === impl Listener ===

impl Listener {
    pub(super) fn load_balancer(&self) -> LoadBalancerId {
        LoadBalancerId::new(&self.load_balancer_id)
    }

    /// `None` for protocols that this program does not know: such a listener is not its own.
    pub(super) fn into_listener(self) -> Option<NetworkListener> {
        let known = NetworkProtocol::ALL.into_iter();
        let Some(protocol) = known.into_iter().find(|p| p.as_str().eq_ignore_ascii_case(&self.listener_protocol))
        else {
            debug!(
                listener.id = self.listener_id,
                protocol = self.listener_protocol,
                "a listener of a foreign protocol"
            );
            return None;
        };
        let ports = match (self.listener_port.filter(|port| *port != 0), self.start_port, self.end_port) {
            (Some(port), _, _) => PortRange::one(port),
            (None, Some(first), Some(last)) => PortRange { first, last },
            _ => return None,
        };
        Some(NetworkListener {
            id: self.listener_id.into(),
            protocol,
            ports,
            status: match self.listener_status.to_ascii_lowercase().as_str() {
                "running" => NetworkListenerStatus::Running,
                "stopped" => NetworkListenerStatus::Stopped,
                _ => NetworkListenerStatus::Changing,
            },
            description: self.listener_description,
            group: self.server_group_id.map(Into::into),
            settings: listener_settings(protocol, &self.rest),
            additional_certificates: None,
        })
    }
}

fn listener_settings(protocol: NetworkProtocol, fields: &BTreeMap<String, Value>) -> NetworkListenerSettings {
    let proxy = fields.get("ProxyProtocolV2Config");
    let value = |(of, name, form): (_, &str, Form)| {
        let value = match form {
            Form::Proxy => proxy.and_then(|proxy| proxy.get(name)),
            Form::Plain | Form::List => fields.get(name),
        };
        Some((of, text(value?)?))
    };
    setting::LISTENER.into_iter().filter(|(of, ..)| of.applies_to(protocol)).filter_map(value).collect()
}

// === impl Group ===

impl Group {
    pub(super) fn may_have_tag(&self, key: &str, value: &str) -> bool {
        may_have_tag(self.tags.as_ref(), key, value)
    }

    /// The group without its members, and how many it has.
    pub(super) fn into_group(self) -> (NetworkGroup, usize) {
        let plain = setting::GROUP.into_iter().filter_map(|(of, name)| Some((of, text(self.rest.get(name)?)?)));
        let health = setting::GROUP_HEALTH
            .into_iter()
            .filter_map(|(of, name, _)| Some((of, text(self.health_check.get(name)?)?)));
        let settings = plain.chain(health).map(|(of, value)| (of, setting::canonical(of, &value))).collect();
        let group = NetworkGroup {
            id: self.server_group_id.into(),
            name: self.server_group_name,
            status: match self.server_group_status.to_ascii_lowercase().as_str() {
                "creating" => NetworkGroupStatus::Creating,
                "configuring" => NetworkGroupStatus::Changing,
                _ => NetworkGroupStatus::Available,
            },
            kind: if self.server_group_type.eq_ignore_ascii_case("ip") {
                NetworkGroupKind::Ip
            } else {
                NetworkGroupKind::Instance
            },
            protocol: self.protocol,
            any_port: self.any_port_enabled.unwrap_or(false),
            ip_version: self.address_ip_version,
            resource_group: self.resource_group_id,
            settings,
            tags: self.tags.map(decode::tags).unwrap_or_default(),
            members: Vec::new(),
        };
        (group, self.server_count.unwrap_or(1))
    }
}

// === impl Server ===

impl Server {
    pub(super) fn group(&self) -> ServerGroupId {
        ServerGroupId::new(&self.server_group_id)
    }

    /// `None` for what is on its way out, and for kinds that this program never uses.
    pub(super) fn into_member(self) -> Option<Member> {
        if self.status.eq_ignore_ascii_case("removing") {
            return None;
        }
        let kind = match self.server_type.to_ascii_lowercase().as_str() {
            "" | "ecs" => MemberKind::Ecs,
            "eni" => MemberKind::Eni,
            "eci" => MemberKind::Eci,
            "ip" => MemberKind::Ip,
            other => {
                debug!(server.id = self.server_id, r#type = other, "a member of a foreign type");
                return None;
            }
        };
        // Instances are told apart without their address, which answers give all the same.
        let address = self.server_ip.filter(|_| kind != MemberKind::Ecs).and_then(|ip| ip.parse().ok());
        Some(Member {
            kind,
            server: self.server_id,
            address,
            port: self.port,
            weight: self.weight.unwrap_or(DEFAULT_WEIGHT),
            description: self.description,
        })
    }
}

// === impl Certificate ===

impl Certificate {
    /// The id, unless it is the default certificate or on its way out.
    pub(super) fn into_additional(self) -> Option<String> {
        // This spelling is the product's.
        let leaving = ["diassociating", "dissociating"].contains(&self.status.to_ascii_lowercase().as_str());
        (self.is_default != Some(true) && !leaving).then_some(self.id)
    }
}

// === impl Jobs ===

impl Jobs {
    pub(super) fn into_states(self) -> BTreeMap<String, JobState> {
        let state = |job: Job| {
            let state = match job.status.to_ascii_lowercase().as_str() {
                "succeeded" => JobState::Succeeded,
                "failed" => JobState::Failed,
                _ => JobState::Processing,
            };
            (job.id, state)
        };
        self.jobs.into_iter().map(state).collect()
    }
}
