//! Replies of SLB as they come, and the member list in its JSON form.
#![expect(clippy::struct_field_names, reason = "fields are named as the API names them")]

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::debug;

use super::setting;

use crate::{
    alibaba::rpc::{
        decode::{self, List, Tag},
        paging::{Page, Paged},
    },
    cloud::{
        self, AddressType, ListenerSettings, ListenerStatus, LoadBalancerId, Member, MemberKind, Protocol,
        ServerGroupId, Setting, action::CreateLoadBalancer,
    },
};

/// `DescribeLoadBalancers`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct LoadBalancers {
    load_balancers: Option<List<LoadBalancer>>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

/// An item of `DescribeLoadBalancers`, and the reply of `DescribeLoadBalancerAttribute`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct LoadBalancer {
    load_balancer_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    load_balancer_name: String,
    #[serde(default, deserialize_with = "decode::text")]
    address: String,
    #[serde(default, deserialize_with = "decode::text")]
    address_type: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    vpc_id: Option<String>,
    #[serde(default, rename = "VSwitchId", deserialize_with = "decode::optional_text")]
    vswitch_id: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    instance_charge_type: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    load_balancer_spec: Option<String>,
    /// Digits in lists, words in the attribute call.
    #[serde(default, deserialize_with = "decode::optional_text")]
    internet_charge_type: Option<String>,
    /// The words, in lists.
    #[serde(default, deserialize_with = "decode::optional_text")]
    internet_charge_type_alias: Option<String>,
    /// -1 where there is no limit.
    #[serde(default, deserialize_with = "decode::optional_number")]
    bandwidth: Option<i64>,
    #[serde(default, deserialize_with = "decode::optional_bool")]
    delete_protection: Option<bool>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    modification_protection_status: Option<String>,
    #[serde(default, rename = "AddressIPVersion", deserialize_with = "decode::optional_text")]
    address_ip_version: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    master_zone_id: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    slave_zone_id: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    resource_group_id: Option<String>,
    tags: Option<List<Tag>>,
}

/// `CreateLoadBalancer`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Created {
    load_balancer_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    address: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    vpc_id: Option<String>,
    #[serde(default, rename = "VSwitchId", deserialize_with = "decode::optional_text")]
    vswitch_id: Option<String>,
    #[serde(default, rename = "AddressIPVersion", deserialize_with = "decode::optional_text")]
    address_ip_version: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    resource_group_id: Option<String>,
}

/// `DescribeLoadBalancerListeners`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Listeners {
    listeners: Option<List<Listener>>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    next_token: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Listener {
    load_balancer_id: String,
    #[serde(deserialize_with = "decode::number")]
    listener_port: u16,
    listener_protocol: String,
    #[serde(default, deserialize_with = "decode::text")]
    status: String,
    #[serde(default, deserialize_with = "decode::text")]
    description: String,
    #[serde(default, rename = "VServerGroupId", deserialize_with = "decode::optional_text")]
    group_id: Option<String>,
    /// Everything else: some settings stand here, some in an object for the protocol.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// VPC `DescribeEipAddresses`
#[derive(Deserialize)]
pub(super) struct ElasticAddresses {
    #[serde(rename = "EipAddresses")]
    addresses: Option<List<ElasticAddress>>,
    #[serde(default, rename = "TotalCount", deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct ElasticAddress {
    #[serde(rename = "IpAddress")]
    pub(super) ip_address: String,
}

/// `DescribeDomainExtensions`
#[derive(Deserialize)]
pub(super) struct DomainExtensions {
    #[serde(rename = "DomainExtensions")]
    extensions: List<DomainExtensionItem>,
}

#[derive(Deserialize)]
struct DomainExtensionItem {
    #[serde(rename = "DomainExtensionId")]
    id: String,
    #[serde(default, rename = "Domain", deserialize_with = "decode::text")]
    domain: String,
    #[serde(default, rename = "ServerCertificateId", deserialize_with = "decode::text")]
    certificate: String,
}

/// `CreateDomainExtension`
#[derive(Deserialize)]
pub(super) struct DomainExtensionCreated {
    #[serde(rename = "DomainExtensionId")]
    id: String,
}

/// `DescribeServerCertificates`
#[derive(Deserialize)]
pub(super) struct Certificates {
    #[serde(rename = "ServerCertificates")]
    certificates: List<CertificateItem>,
}

#[derive(Deserialize)]
struct CertificateItem {
    #[serde(rename = "ServerCertificateId")]
    id: String,
    /// Milliseconds since 1970.
    #[serde(default, rename = "ExpireTimeStamp", deserialize_with = "decode::optional_number")]
    expires: Option<i64>,
}

/// `DescribeVServerGroups`
#[derive(Deserialize)]
pub(super) struct ServerGroups {
    #[serde(rename = "VServerGroups")]
    groups: List<ServerGroupItem>,
}

#[derive(Deserialize)]
struct ServerGroupItem {
    #[serde(rename = "VServerGroupId")]
    id: String,
}

/// `DescribeVServerGroupAttribute`
#[derive(Deserialize)]
pub(super) struct ServerGroup {
    #[serde(rename = "VServerGroupId")]
    id: String,
    #[serde(default, rename = "VServerGroupName", deserialize_with = "decode::text")]
    name: String,
    #[serde(rename = "BackendServers")]
    servers: List<BackendServer>,
}

/// `CreateVServerGroup`
#[derive(Deserialize)]
pub(super) struct GroupCreated {
    #[serde(rename = "VServerGroupId")]
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BackendServer {
    server_id: String,
    #[serde(deserialize_with = "decode::number")]
    port: u16,
    #[serde(default, deserialize_with = "decode::optional_number")]
    weight: Option<u8>,
    #[serde(default, rename = "Type", deserialize_with = "decode::text")]
    kind: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    server_ip: Option<String>,
    #[serde(default, deserialize_with = "decode::text")]
    description: String,
}

/// A member in the `BackendServers` parameter.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct BackendServerParam<'a> {
    server_id: &'a str,
    port: u16,
    weight: u8,
    #[serde(rename = "Type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_ip: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
}

/// The weight that the cloud gives a member that was added without one.
const DEFAULT_WEIGHT: u8 = 100;

// === impl LoadBalancers ===

impl Paged for LoadBalancers {
    type Item = LoadBalancer;

    fn into_page(self) -> Option<Page<LoadBalancer>> {
        Some(Page { items: self.load_balancers?.0, total: self.total_count, next_token: None })
    }

    fn key(item: &LoadBalancer) -> String {
        item.load_balancer_id.clone()
    }
}

// === impl LoadBalancer ===

impl LoadBalancer {
    /// Whether it carries the tag, or does not tell its tags.
    pub(super) fn may_have_tag(&self, key: &str, value: &str) -> bool {
        self.tags.as_ref().is_none_or(|tags| tags.0.iter().any(|tag| tag.is(key, value)))
    }

    pub(super) fn into_load_balancer(self) -> cloud::LoadBalancer {
        let words = |text: &String| !text.bytes().all(|byte| byte.is_ascii_digit());
        cloud::LoadBalancer {
            id: self.load_balancer_id.into(),
            name: self.load_balancer_name,
            address: self.address,
            address_type: if self.address_type.eq_ignore_ascii_case("intranet") {
                AddressType::Intranet
            } else {
                AddressType::Internet
            },
            vpc: self.vpc_id.map(Into::into),
            vswitch: self.vswitch_id.map(Into::into),
            instance_charge_type: self.instance_charge_type,
            spec: self.load_balancer_spec,
            internet_charge_type: self.internet_charge_type_alias.or_else(|| self.internet_charge_type.filter(words)),
            bandwidth: self.bandwidth.and_then(|bandwidth| u32::try_from(bandwidth).ok()),
            delete_protection: self.delete_protection,
            modification_protection: self.modification_protection_status,
            ip_version: self.address_ip_version,
            master_zone: self.master_zone_id,
            slave_zone: self.slave_zone_id,
            resource_group: self.resource_group_id,
            tags: self.tags.map(decode::tags).unwrap_or_default(),
        }
    }
}

// === impl Created ===

impl Created {
    pub(super) fn into_load_balancer(self, create: &CreateLoadBalancer) -> cloud::LoadBalancer {
        let mut created = create.created(self.load_balancer_id.into(), &self.address);
        created.vpc = self.vpc_id.map(Into::into).or(created.vpc);
        created.vswitch = self.vswitch_id.map(Into::into).or(created.vswitch);
        created.ip_version = self.address_ip_version.or(created.ip_version);
        created.resource_group = self.resource_group_id.or(created.resource_group);
        created
    }
}

// === impl Listeners ===

impl Paged for Listeners {
    type Item = Listener;

    fn into_page(self) -> Option<Page<Listener>> {
        Some(Page { items: self.listeners?.0, total: self.total_count, next_token: self.next_token })
    }

    fn key(item: &Listener) -> String {
        format!("{} {} {}", item.load_balancer_id, item.listener_port, item.listener_protocol)
    }
}

// === impl Listener ===

impl Listener {
    pub(super) fn load_balancer(&self) -> LoadBalancerId {
        LoadBalancerId::new(&self.load_balancer_id)
    }

    /// `None` for protocols that this program never uses: such a listener is not its own.
    pub(super) fn into_listener(self) -> Option<cloud::Listener> {
        let protocol = match self.listener_protocol.to_ascii_lowercase().as_str() {
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            "http" => Protocol::Http,
            "https" => Protocol::Https,
            other => {
                debug!(load_balancer.id = self.load_balancer_id, protocol = other, "a listener of a foreign protocol");
                return None;
            }
        };
        Some(cloud::Listener {
            port: self.listener_port,
            protocol,
            status: match self.status.to_ascii_lowercase().as_str() {
                "running" => ListenerStatus::Running,
                "stopped" => ListenerStatus::Stopped,
                _ => ListenerStatus::Changing,
            },
            description: self.description,
            group: self.group_id.map(Into::into),
            settings: settings(protocol, &self.rest),
            domain_extensions: None,
        })
    }
}

/// The settings of a listener, from the answer's top level and the object of its protocol.
fn settings(protocol: Protocol, fields: &BTreeMap<String, Value>) -> ListenerSettings {
    let nested = fields.get(&format!("{}ListenerConfig", protocol.as_str().to_uppercase()));
    let find = |name: &str| fields.get(name).or_else(|| nested.and_then(|nested| nested.get(name)));
    let on = |name: &str| find(name).and_then(Value::as_str) == Some("on");
    let value = |(setting, name): (Setting, &str)| {
        let value = match setting {
            Setting::ForwardPort if !on("ListenerForward") => return None,
            // One or several, in fields of their own.
            Setting::AclId => find("AclIds").and_then(Value::as_array).map_or_else(
                || find("AclId").and_then(text),
                |ids| {
                    let mut ids: Vec<String> = ids.iter().filter_map(text).collect();
                    ids.sort();
                    Some(ids.join(","))
                },
            )?,
            // Old answers name it as for HTTP.
            Setting::HealthCheck => find(name).or_else(|| find("HealthCheck")).and_then(text)?,
            _ => find(name).and_then(text)?,
        };
        (!value.is_empty()).then_some((setting, value))
    };
    setting::of(protocol).filter_map(value).collect()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        _ => None,
    }
}

// === impl ElasticAddresses ===

impl Paged for ElasticAddresses {
    type Item = ElasticAddress;

    fn into_page(self) -> Option<Page<ElasticAddress>> {
        Some(Page { items: self.addresses?.0, total: self.total_count, next_token: None })
    }

    fn key(item: &ElasticAddress) -> String {
        item.ip_address.clone()
    }
}

// === impl DomainExtensions ===

impl DomainExtensions {
    pub(super) fn into_extensions(self) -> Vec<cloud::DomainExtension> {
        let convert = |item: DomainExtensionItem| cloud::DomainExtension {
            id: item.id,
            domain: item.domain,
            certificate: item.certificate,
        };
        self.extensions.into_iter().map(convert).collect()
    }
}

// === impl DomainExtensionCreated ===

impl DomainExtensionCreated {
    pub(super) fn id(self) -> String {
        self.id
    }
}

// === impl Certificates ===

impl Certificates {
    pub(super) fn find(self, id: &str) -> Option<cloud::Certificate> {
        let item = self.certificates.into_iter().find(|item| item.id == id)?;
        let expires = item.expires.and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
        Some(cloud::Certificate { id: item.id, expires })
    }
}

// === impl ServerGroups ===

impl ServerGroups {
    pub(super) fn ids(self) -> Vec<ServerGroupId> {
        self.groups.into_iter().map(|group| group.id.into()).collect()
    }
}

// === impl ServerGroup ===

impl ServerGroup {
    pub(super) fn into_group(self) -> Result<cloud::ServerGroup, String> {
        let members = self.servers.into_iter().filter_map(|server| server.into_member().transpose());
        let mut members: Vec<_> = members.collect::<Result<_, _>>()?;
        // Collected in the place of what they are made from, which is larger, and then kept for long.
        members.shrink_to_fit();
        Ok(cloud::ServerGroup { id: self.id.into(), name: self.name, members })
    }
}

// === impl GroupCreated ===

impl GroupCreated {
    pub(super) fn id(self) -> ServerGroupId {
        self.id.into()
    }
}

// === impl BackendServer ===

impl BackendServer {
    /// `None` for kinds that this program never uses: such a member is not its own.
    fn into_member(self) -> Result<Option<Member>, String> {
        let kind = match self.kind.to_ascii_lowercase().as_str() {
            "" | "ecs" => MemberKind::Ecs,
            "eni" => MemberKind::Eni,
            "eci" => MemberKind::Eci,
            other => {
                debug!(server.id = self.server_id, r#type = other, "a member of a foreign type");
                return Ok(None);
            }
        };
        // Instances are told apart without their address, which some answers give all the same.
        let address = match (kind, self.server_ip) {
            (MemberKind::Ecs, _) | (_, None) => None,
            (_, Some(ip)) => Some(ip.parse().map_err(|_| format!("member {} has the address {ip:?}", self.server_id))?),
        };
        Ok(Some(Member {
            kind,
            server: self.server_id,
            address,
            port: self.port,
            weight: self.weight.unwrap_or(DEFAULT_WEIGHT),
            description: self.description,
        }))
    }
}

/// Members as the JSON text that goes into one parameter.
pub(super) fn backend_servers(members: &[Member]) -> String {
    let servers: Vec<_> = members
        .iter()
        .map(|member| BackendServerParam {
            server_id: &member.server,
            port: member.port,
            weight: member.weight,
            kind: member.kind.as_str(),
            server_ip: member.address.map(|address| address.to_string()),
            description: &member.description,
        })
        .collect();
    serde_json::json!(servers).to_string()
}
