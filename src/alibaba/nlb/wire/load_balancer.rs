//! Replies of NLB about load balancers.

use serde::Deserialize;

use super::may_have_tag;
use crate::{
    alibaba::rpc::{
        decode::{self, List, Tag},
        paging::{Page, Paged},
    },
    cloud::{self, AddressType, NetworkLoadBalancer, NetworkStatus},
};

page!(
    /// `ListLoadBalancers`
    LoadBalancers, "LoadBalancers", LoadBalancer, |item| item.load_balancer_id.clone()
);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::alibaba::nlb) struct LoadBalancer {
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

fn address_type(text: &str) -> AddressType {
    if text.eq_ignore_ascii_case("intranet") { AddressType::Intranet } else { AddressType::Internet }
}

// === impl LoadBalancer ===

impl LoadBalancer {
    /// Whether it carries the tag, or does not tell its tags.
    pub(in crate::alibaba::nlb) fn may_have_tag(&self, key: &str, value: &str) -> bool {
        may_have_tag(self.tags.as_ref(), key, value)
    }

    pub(in crate::alibaba::nlb) fn into_load_balancer(self) -> NetworkLoadBalancer {
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
