//! Replies of ECS about security groups and their rules.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::may_have_tag;
use crate::{
    alibaba::rpc::{
        decode::{self, List, Tag},
        paging::{Page, Paged},
    },
    cloud::{self, RulePolicy, SourceRule},
};

page!(
    /// ECS `DescribeSecurityGroups`
    SecurityGroups, "SecurityGroups", SecurityGroup, |item| item.id.clone()
);

#[derive(Deserialize)]
pub(in crate::alibaba::nlb) struct SecurityGroup {
    #[serde(rename = "SecurityGroupId")]
    pub(in crate::alibaba::nlb) id: String,
    #[serde(default, rename = "SecurityGroupName", deserialize_with = "decode::text")]
    name: String,
    #[serde(default, rename = "Description", deserialize_with = "decode::text")]
    description: String,
    #[serde(rename = "Tags")]
    tags: Option<List<Tag>>,
}

/// ECS `DescribeSecurityGroupAttribute`
#[derive(Deserialize)]
pub(in crate::alibaba::nlb) struct SecurityGroupAttribute {
    #[serde(rename = "Permissions")]
    permissions: List<Permission>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Permission {
    #[serde(default, deserialize_with = "decode::text")]
    security_group_rule_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    policy: String,
    #[serde(default, deserialize_with = "decode::optional_number")]
    priority: Option<u8>,
    #[serde(default, deserialize_with = "decode::text")]
    ip_protocol: String,
    #[serde(default, deserialize_with = "decode::text")]
    port_range: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    source_port_range: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    dest_cidr_ip: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    ipv6_dest_cidr_ip: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    source_cidr_ip: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    ipv6_source_cidr_ip: Option<String>,
    #[serde(default, deserialize_with = "decode::text")]
    description: String,
}

// === impl SecurityGroup ===

impl SecurityGroup {
    pub(in crate::alibaba::nlb) fn may_have_tag(&self, key: &str, value: &str) -> bool {
        may_have_tag(self.tags.as_ref(), key, value)
    }

    pub(in crate::alibaba::nlb) fn into_group(self, attribute: SecurityGroupAttribute) -> cloud::SecurityGroup {
        let mut group = cloud::SecurityGroup {
            id: self.id.into(),
            name: self.name,
            description: self.description,
            rules: Vec::new(),
            others: BTreeMap::new(),
        };
        for permission in attribute.permissions {
            let (id, description) = (permission.security_group_rule_id.clone(), permission.description.clone());
            match permission.into_rule() {
                Some(rule) => group.rules.push(rule),
                None if id.is_empty() => {}
                None => drop(group.others.insert(id, description)),
            }
        }
        group
    }
}

// === impl Permission ===

impl Permission {
    /// `None` for a rule that is about something else than an address range, or about less than all traffic
    /// from it.
    fn into_rule(self) -> Option<SourceRule> {
        if !self.is_about_all_traffic() {
            return None;
        }
        let source = self.source_cidr_ip.or(self.ipv6_source_cidr_ip)?;
        let source = source.parse().ok().or_else(|| source.parse::<std::net::IpAddr>().ok().map(Into::into))?;
        let drops = self.policy.eq_ignore_ascii_case("drop");
        Some(SourceRule {
            id: self.security_group_rule_id,
            source,
            policy: if drops { RulePolicy::Drop } else { RulePolicy::Accept },
            priority: self.priority.unwrap_or(1),
            description: self.description,
        })
    }

    fn is_about_all_traffic(&self) -> bool {
        let all = |ports: &str| ports == "-1/-1";
        let everywhere = |range: &str| ["0.0.0.0/0", "::/0"].contains(&range);
        self.ip_protocol.eq_ignore_ascii_case("all")
            && all(&self.port_range)
            && self.source_port_range.as_deref().is_none_or(all)
            && self.dest_cidr_ip.as_deref().is_none_or(everywhere)
            && self.ipv6_dest_cidr_ip.as_deref().is_none_or(everywhere)
    }
}
