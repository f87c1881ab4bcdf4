//! Replies of ECS as they come.
#![expect(clippy::struct_field_names, reason = "fields are named as the API names them")]

use serde::Deserialize;

use crate::{
    alibaba::rpc::{
        decode::{self, List, Tag},
        paging::{Page, Paged},
    },
    cloud::{self, InstanceStatus, NetworkInterfaceId, RegionId},
};

/// `DescribeInstances`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Instances {
    instances: Option<List<Instance>>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    next_token: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Instance {
    instance_id: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    region_id: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    zone_id: Option<String>,
    #[serde(default, deserialize_with = "decode::text")]
    status: String,
    #[serde(default, deserialize_with = "decode::text")]
    instance_name: String,
    #[serde(default, deserialize_with = "decode::text")]
    host_name: String,
    #[serde(default, deserialize_with = "decode::text")]
    instance_type: String,
    #[serde(default, deserialize_with = "decode::text")]
    instance_charge_type: String,
    #[serde(default, deserialize_with = "decode::text")]
    spot_strategy: String,
    #[serde(default)]
    public_ip_address: List<Option<String>>,
    #[serde(default)]
    inner_ip_address: List<Option<String>>,
    #[serde(default, deserialize_with = "decode::or_empty")]
    eip_address: EipAddress,
    #[serde(default, deserialize_with = "decode::or_empty")]
    vpc_attributes: VpcAttributes,
    #[serde(default)]
    network_interfaces: List<AttachedInterface>,
    #[serde(default)]
    tags: List<Tag>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EipAddress {
    #[serde(default, deserialize_with = "decode::text")]
    ip_address: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct VpcAttributes {
    #[serde(default)]
    private_ip_address: List<Option<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AttachedInterface {
    #[serde(default, deserialize_with = "decode::text")]
    network_interface_id: String,
    #[serde(default, rename = "Type", deserialize_with = "decode::text")]
    kind: String,
    #[serde(default, deserialize_with = "decode::text")]
    primary_ip_address: String,
    #[serde(default)]
    ipv6_sets: List<Ipv6>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Ipv6 {
    #[serde(default, deserialize_with = "decode::text")]
    ipv6_address: String,
}

/// `DescribeNetworkInterfaces`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Interfaces {
    network_interface_sets: Option<List<Interface>>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    next_token: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Interface {
    network_interface_id: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    instance_id: Option<String>,
    #[serde(default)]
    attachment: Attachment,
    #[serde(default, rename = "Type", deserialize_with = "decode::text")]
    kind: String,
    #[serde(default, deserialize_with = "decode::optional_bool")]
    source_dest_check: Option<bool>,
    #[serde(default, deserialize_with = "decode::text")]
    private_ip_address: String,
    #[serde(default)]
    private_ip_sets: List<PrivateIp>,
    #[serde(default)]
    ipv6_sets: List<Ipv6>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attachment {
    #[serde(default, deserialize_with = "decode::optional_text")]
    instance_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PrivateIp {
    #[serde(default, deserialize_with = "decode::text")]
    private_ip_address: String,
}

// === impl Instances ===

impl Paged for Instances {
    type Item = Instance;

    fn into_page(self) -> Option<Page<Instance>> {
        Some(Page { items: self.instances?.0, total: self.total_count, next_token: self.next_token })
    }

    fn key(item: &Instance) -> String {
        item.instance_id.clone()
    }
}

// === impl Instance ===

impl Instance {
    /// `region` is the one that was asked.
    pub(super) fn into_instance(self, region: &RegionId) -> cloud::Instance {
        let primary = self.network_interfaces.0.iter().find(|interface| interface.kind.eq_ignore_ascii_case("primary"));
        let public = self.public_ip_address.0.iter().flatten().chain([&self.eip_address.ip_address]);
        let private = self.inner_ip_address.0.iter().chain(&self.vpc_attributes.private_ip_address.0).flatten();
        let mut private = decode::addresses(private);
        // Addresses come in any order; clients take the first one, so it has to be the primary one.
        let main = primary.and_then(|interface| interface.primary_ip_address.parse().ok());
        private.sort_by_key(|address| Some(*address) != main);
        cloud::Instance {
            id: self.instance_id.into(),
            region: self.region_id.map_or_else(|| region.clone(), RegionId::new),
            zone: self.zone_id.map(Into::into),
            status: status(self.status),
            name: self.instance_name,
            host_name: self.host_name,
            instance_type: self.instance_type,
            charge_type: self.instance_charge_type,
            spot_strategy: self.spot_strategy,
            public_addresses: decode::addresses(public),
            private_addresses: private,
            ipv6_addresses: primary
                .map(|interface| decode::addresses(interface.ipv6_sets.0.iter().map(|ip| &ip.ipv6_address)))
                .unwrap_or_default(),
            primary_interface: primary
                .map(|interface| &interface.network_interface_id)
                .filter(|id| !id.is_empty())
                .map(NetworkInterfaceId::new),
            tags: decode::tags(self.tags),
        }
    }
}

fn status(word: String) -> InstanceStatus {
    match word.as_str() {
        "Pending" => InstanceStatus::Pending,
        "Starting" => InstanceStatus::Starting,
        "Running" => InstanceStatus::Running,
        "Stopping" => InstanceStatus::Stopping,
        "Stopped" => InstanceStatus::Stopped,
        _ => InstanceStatus::Other(word),
    }
}

// === impl Interfaces ===

impl Paged for Interfaces {
    type Item = Interface;

    fn into_page(self) -> Option<Page<Interface>> {
        Some(Page { items: self.network_interface_sets?.0, total: self.total_count, next_token: self.next_token })
    }

    fn key(item: &Interface) -> String {
        item.network_interface_id.clone()
    }
}

// === impl Interface ===

impl Interface {
    pub(super) fn into_interface(self) -> cloud::NetworkInterface {
        let mut addresses = decode::addresses(
            [&self.private_ip_address]
                .into_iter()
                .chain(self.private_ip_sets.0.iter().map(|ip| &ip.private_ip_address))
                .chain(self.ipv6_sets.0.iter().map(|ip| &ip.ipv6_address)),
        );
        // The primary address is in the set as well.
        let first = addresses.first().copied();
        let mut n = 0;
        addresses.retain(|address| {
            n += 1;
            n == 1 || Some(*address) != first
        });
        cloud::NetworkInterface {
            id: self.network_interface_id.into(),
            instance: self.instance_id.or(self.attachment.instance_id).map(Into::into),
            primary: self.kind.eq_ignore_ascii_case("primary"),
            source_destination_check: self.source_dest_check,
            addresses,
        }
    }
}
