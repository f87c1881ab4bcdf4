//! Replies of NLB about server groups and their members.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tracing::debug;

use super::{may_have_tag, text};
use crate::{
    alibaba::{
        nlb::setting,
        rpc::{
            decode::{self, List, Tag},
            paging::{Page, Paged},
        },
    },
    cloud::{Member, MemberKind, NetworkGroup, NetworkGroupKind, NetworkGroupStatus, ServerGroupId},
};

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

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::alibaba::nlb) struct Group {
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
pub(in crate::alibaba::nlb) struct Server {
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

/// The weight that the cloud gives a member that was added without one.
const DEFAULT_WEIGHT: u8 = 100;

// === impl Group ===

impl Group {
    pub(in crate::alibaba::nlb) fn may_have_tag(&self, key: &str, value: &str) -> bool {
        may_have_tag(self.tags.as_ref(), key, value)
    }

    /// The group without its members, and how many it has.
    pub(in crate::alibaba::nlb) fn into_group(self) -> (NetworkGroup, usize) {
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
    pub(in crate::alibaba::nlb) fn group(&self) -> ServerGroupId {
        ServerGroupId::new(&self.server_group_id)
    }

    /// `None` for what is on its way out, and for kinds that this program never uses.
    pub(in crate::alibaba::nlb) fn into_member(self) -> Option<Member> {
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
