//! Network interfaces.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, Ipv6Addr},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
    time,
};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// `eni-…`.
    pub id: String,
    /// Whether it is its instance's primary interface.
    #[serde(default)]
    pub primary: bool,
    /// The instance that it is attached to.
    #[serde(default)]
    pub instance: Option<String>,
    /// The vswitch's id.
    pub vswitch: String,
    /// The VPC's id; that of its vswitch if left out.
    #[serde(default)]
    pub vpc: String,
    /// Zone id; that of its vswitch if left out.
    #[serde(default)]
    pub zone: String,
    /// MAC address.
    #[serde(default)]
    pub mac: String,
    /// Private addresses, the primary one first.
    #[serde(default)]
    pub private_ips: Vec<Ipv4Addr>,
    /// IPv6 addresses.
    #[serde(default)]
    pub ipv6: Vec<Ipv6Addr>,
    /// Whether packets from or to other addresses are dropped.
    #[serde(default)]
    pub source_dest_check: bool,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Text.
    #[serde(default)]
    pub description: String,
    /// Security group ids.
    #[serde(default)]
    pub security_groups: Vec<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
}

// === impl Interface ===

impl Interface {
    fn kind(&self) -> &'static str {
        if self.primary { "Primary" } else { "Secondary" }
    }

    fn status(&self) -> &'static str {
        if self.instance.is_some() { "InUse" } else { "Available" }
    }

    fn primary_address(&self) -> String {
        self.private_ips.first().map(ToString::to_string).unwrap_or_default()
    }

    fn address_sets(&self) -> (Vec<Value>, Vec<Value>) {
        let private = self.private_ips.iter().enumerate();
        let private =
            private.map(|(index, address)| json!({ "PrivateIpAddress": address.to_string(), "Primary": index == 0 }));
        let ipv6 = self.ipv6.iter().map(|address| json!({ "Ipv6Address": address.to_string() }));
        (private.collect(), ipv6.collect())
    }

    /// As it stands inside an instance.
    pub(super) fn brief(&self) -> Value {
        let (private, ipv6) = self.address_sets();
        json!({
            "NetworkInterfaceId": self.id,
            "MacAddress": self.mac,
            "Type": self.kind(),
            "PrimaryIpAddress": self.primary_address(),
            "PrivateIpSets": { "PrivateIpSet": private },
            "Ipv6Sets": { "Ipv6Set": ipv6 },
            "Ipv4PrefixSets": { "Ipv4PrefixSet": [] },
            "Ipv6PrefixSets": { "Ipv6PrefixSet": [] },
        })
    }
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (ids, private, ipv6) =
        (cx.params.list("NetworkInterfaceId"), cx.params.list("PrivateIpAddress"), cx.params.list("Ipv6Address"));
    for (name, list) in [("NetworkInterfaceId", &ids), ("PrivateIpAddress", &private), ("Ipv6Address", &ipv6)] {
        if list.len() > 100 {
            return Err(Failure::invalid(name));
        }
    }
    let private = super::instance::addresses(&private);
    let ask_private = !cx.params.list("PrivateIpAddress").is_empty();
    let wanted = tag::filter(cx.params);
    let is = |name: &str| cx.params.is(name);
    let (vpc, vswitch, status, kind) = (is("VpcId"), is("VSwitchId"), is("Status"), is("Type"));
    let (instance, primary, name) = (is("InstanceId"), is("PrimaryIpAddress"), is("NetworkInterfaceName"));
    let group = cx.params.get("SecurityGroupId");
    let candidates: Vec<&Interface> = if ids.is_empty() {
        state.ecs.interfaces.values().collect()
    } else {
        let ids: BTreeSet<String> = ids.into_iter().collect();
        ids.iter().filter_map(|id| state.ecs.interfaces.get(id)).collect()
    };
    let passes = |one: &&Interface| {
        state.network.vpcs.get(&one.vpc).is_some_and(|vpc| vpc.region == cx.region)
            && (!ask_private || one.private_ips.iter().any(|address| private.contains(address)))
            && (ipv6.is_empty() || one.ipv6.iter().any(|address| is_listed(&ipv6, *address)))
            && vpc(&one.vpc)
            && vswitch(&one.vswitch)
            && status(one.status())
            && kind(one.kind())
            && instance(one.instance.as_deref().unwrap_or_default())
            && (!cx.params.has("PrimaryIpAddress") || primary(&one.primary_address()))
            && name(&one.name)
            && group.is_none_or(|id| one.security_groups.iter().any(|group| group == id))
            && tag::matches(&one.tags, &wanted)
    };
    let found: Vec<&Interface> = candidates.into_iter().filter(passes).collect();
    if cx.params.has("PageNumber") || cx.params.has("PageSize") {
        let page = paging::numbered(cx.params, found, 10, 1000)?;
        return Ok(json!({
            "NetworkInterfaceSets": items(state, &page.items),
            "TotalCount": page.total,
            "PageNumber": page.number,
            "PageSize": page.size,
        }));
    }
    // Values outside 10 to 500 count as the nearest one inside.
    let size = cx.params.number::<usize>("MaxResults")?.unwrap_or(10).clamp(10, 500);
    let page = paging::tokened(cx.params, found, size)?;
    Ok(json!({
        "NetworkInterfaceSets": items(state, &page.items),
        "TotalCount": page.total,
        "PageSize": page.size,
        "NextToken": page.next.unwrap_or_default(),
    }))
}

/// Callers may write an address in any of its forms.
fn is_listed(list: &[String], address: Ipv6Addr) -> bool {
    list.iter().any(|text| text.parse() == Ok(address))
}

fn items(state: &State, interfaces: &[&Interface]) -> Value {
    let list: Vec<Value> = interfaces.iter().map(|interface| item(state, interface)).collect();
    json!({ "NetworkInterfaceSet": list })
}

pub(super) fn item(state: &State, interface: &Interface) -> Value {
    let (private, ipv6) = interface.address_sets();
    json!({
        "NetworkInterfaceId": interface.id,
        "NetworkInterfaceName": interface.name,
        "Description": interface.description,
        "Type": interface.kind(),
        "Status": interface.status(),
        "InstanceId": interface.instance.as_deref().unwrap_or_default(),
        "MacAddress": interface.mac,
        "VpcId": interface.vpc,
        "VSwitchId": interface.vswitch,
        "ZoneId": interface.zone,
        "PrivateIpAddress": interface.primary_address(),
        "PrivateIpSets": { "PrivateIpSet": private },
        "Ipv6Sets": { "Ipv6Set": ipv6 },
        "Ipv4PrefixSets": { "Ipv4PrefixSet": [] },
        "Ipv6PrefixSets": { "Ipv6PrefixSet": [] },
        "SecurityGroupIds": { "SecurityGroupId": interface.security_groups },
        "SourceDestCheck": interface.source_dest_check,
        "DeleteOnRelease": interface.primary,
        "CreationTime": time::seconds(interface.created),
        "OwnerId": state.account,
        "ResourceGroupId": state.resource_group(),
        "ServiceManaged": false,
        "AssociatedPublicIp": {},
        "Tags": { "Tag": tag::list(&interface.tags) },
    })
}

pub(super) fn modify(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("NetworkInterfaceId")?;
    let interface = state.ecs.interfaces.get_mut(id).ok_or_else(|| {
        Failure::not_found("InvalidEniId.NotFound", format!("The network interface {id} does not exist."))
    })?;
    if let Some(check) = cx.params.flag("SourceDestCheck") {
        cx.set(&mut interface.source_dest_check, check);
    }
    if let Some(name) = cx.params.get("NetworkInterfaceName") {
        cx.set(&mut interface.name, name.to_owned());
    }
    if let Some(text) = cx.params.get("Description") {
        cx.set(&mut interface.description, text.to_owned());
    }
    let groups = cx.params.list("SecurityGroupId");
    if !groups.is_empty() {
        cx.set(&mut interface.security_groups, groups);
    }
    Ok(json!({}))
}
