//! Instances.

use std::{collections::BTreeSet, net::Ipv4Addr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Interface;
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
    time,
    vpc::Eip,
};

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// `i-…`.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Host name.
    #[serde(default)]
    pub hostname: String,
    /// Region id; that of its VPC if left out.
    #[serde(default)]
    pub region: String,
    /// Zone id; that of its vswitch if left out.
    #[serde(default)]
    pub zone: String,
    /// The VPC's id; that of its vswitch if left out.
    #[serde(default)]
    pub vpc: String,
    /// The vswitch's id.
    pub vswitch: String,
    /// Private address; a free one of the vswitch if left out.
    #[serde(default)]
    pub private_ip: Option<Ipv4Addr>,
    /// Public addresses that came with the instance.
    #[serde(default)]
    pub public_ips: Vec<Ipv4Addr>,
    /// For example `ecs.g7.xlarge`.
    #[serde(default = "default_type")]
    pub instance_type: String,
    /// `PostPaid` or `PrePaid`.
    #[serde(default = "default_charge_type")]
    pub charge_type: String,
    /// `NoSpot`, `SpotWithPriceLimit`, `SpotAsPriceGo`.
    #[serde(default = "default_spot_strategy")]
    pub spot_strategy: String,
    /// Image id.
    #[serde(default = "default_image")]
    pub image: String,
    /// Where it is in its life.
    #[serde(default)]
    pub status: InstanceStatus,
    /// RAM role.
    #[serde(default)]
    pub role: Option<String>,
    /// Security group ids.
    #[serde(default)]
    pub security_groups: Vec<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
    /// Ids of its interfaces, the primary one first.
    #[serde(default, skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
}

/// Where an instance is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstanceStatus {
    /// Being created.
    Pending,
    /// Booting.
    Starting,
    /// Up.
    #[default]
    Running,
    /// Going down.
    Stopping,
    /// Down.
    Stopped,
}

fn default_type() -> String {
    "ecs.g7.xlarge".to_owned()
}

fn default_charge_type() -> String {
    "PostPaid".to_owned()
}

fn default_spot_strategy() -> String {
    "NoSpot".to_owned()
}

fn default_image() -> String {
    "aliyun_3_x64_20G_alibase.vhd".to_owned()
}

// === impl Instance ===

impl Instance {
    /// An instance with ordinary values in a vswitch.
    pub fn new(id: &str, vswitch: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: String::new(),
            hostname: String::new(),
            region: String::new(),
            zone: String::new(),
            vpc: String::new(),
            vswitch: vswitch.to_owned(),
            private_ip: None,
            public_ips: Vec::new(),
            instance_type: default_type(),
            charge_type: default_charge_type(),
            spot_strategy: default_spot_strategy(),
            image: default_image(),
            status: InstanceStatus::Running,
            role: None,
            security_groups: Vec::new(),
            tags: Tags::new(),
            created: Timestamp::default(),
            interfaces: Vec::new(),
        }
    }

    fn address(&self) -> String {
        self.private_ip.map(|address| address.to_string()).unwrap_or_default()
    }
}

// === impl InstanceStatus ===

impl InstanceStatus {
    /// As the product spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Starting => "Starting",
            Self::Running => "Running",
            Self::Stopping => "Stopping",
            Self::Stopped => "Stopped",
        }
    }
}

pub(crate) fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidInstanceId.NotFound", format!("The specified InstanceId {id} does not exist."))
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let found = select(cx, state)?;
    let mut reply = if cx.params.has("MaxResults") || cx.params.has("NextToken") {
        let size = paging::size(cx.params, "MaxResults", 10, 100)?;
        let page = paging::tokened(cx.params, found, size)?;
        let mut reply = json!({ "TotalCount": page.total, "PageSize": page.size });
        reply["Instances"] = items(state, &page.items);
        if let Some(next) = page.next {
            reply["NextToken"] = next.into();
        }
        reply
    } else {
        let page = paging::numbered(cx.params, found, 10, 100)?;
        json!({
            "TotalCount": page.total,
            "PageSize": page.size,
            "PageNumber": page.number,
            "Instances": items(state, &page.items),
        })
    };
    // Part of every answer, empty on the last page.
    if reply.get("NextToken").is_none() {
        reply["NextToken"] = "".into();
    }
    Ok(reply)
}

/// The instances that pass all filters of the call. Ids that do not exist are left out in silence.
fn select<'a>(cx: &Context<'_>, state: &'a State) -> Result<Vec<&'a Instance>, Failure> {
    let list = |name: &str| -> Result<Option<Vec<String>>, Failure> {
        let list: Option<Vec<String>> = cx.params.json(name)?;
        if list.as_ref().is_some_and(|list| list.len() > 100) {
            return Err(Failure::invalid(name));
        }
        Ok(list)
    };
    let (ids, private, public) = (list("InstanceIds")?, list("PrivateIpAddresses")?, list("PublicIpAddresses")?);
    let private = private.map(|list| addresses(&list));
    let public = public.map(|list| addresses(&list));
    let wanted = tag::filter(cx.params);
    let is = |name: &str| cx.params.is(name);
    let (vpc, vswitch, zone, status) = (is("VpcId"), is("VSwitchId"), is("ZoneId"), is("Status"));
    let (network, kind, group) = (is("InstanceNetworkType"), is("InstanceType"), cx.params.get("SecurityGroupId"));
    let pattern = cx.params.get("InstanceName");
    let instances: Vec<&Instance> = match ids {
        Some(ids) => {
            let ids: BTreeSet<String> = ids.into_iter().collect();
            ids.iter().filter_map(|id| state.ecs.instances.get(id)).collect()
        }
        None => state.ecs.instances.values().collect(),
    };
    let passes = |one: &&Instance| {
        one.region == cx.region
            && private.as_ref().is_none_or(|list| one.private_ip.is_some_and(|address| list.contains(&address)))
            && public.as_ref().is_none_or(|list| one.public_ips.iter().any(|address| list.contains(address)))
            && vpc(&one.vpc)
            && vswitch(&one.vswitch)
            && zone(&one.zone)
            && status(one.status.as_str())
            && network("vpc")
            && kind(&one.instance_type)
            && group.is_none_or(|id| one.security_groups.iter().any(|group| group == id))
            && pattern.is_none_or(|pattern| like(pattern, &one.name))
            && tag::matches(&one.tags, &wanted)
    };
    Ok(instances.into_iter().filter(passes).collect())
}

/// Those of the texts that are addresses; no resource has any other.
pub(super) fn addresses(list: &[String]) -> BTreeSet<Ipv4Addr> {
    list.iter().filter_map(|text| text.trim().parse().ok()).collect()
}

/// `*` stands for any text at either end.
fn like(pattern: &str, value: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => value.contains(pattern.trim_matches('*')),
        (Some(end), None) => value.ends_with(end),
        (None, Some(start)) => value.starts_with(start),
        (None, None) => value == pattern,
    }
}

/// One instance as the list shows it.
pub(super) fn whole_item(state: &State, instance: &Instance) -> Value {
    let interfaces = state.ecs.interfaces_of(instance);
    let eip = state.network.eips.values().find(|eip| eip.instance.as_deref() == Some(&instance.id));
    item(state, instance, &interfaces, eip)
}

fn items(state: &State, instances: &[&Instance]) -> Value {
    json!({ "Instance": instances.iter().map(|instance| whole_item(state, instance)).collect::<Vec<_>>() })
}

fn item(state: &State, instance: &Instance, interfaces: &[&Interface], eip: Option<&Eip>) -> Value {
    let public: Vec<String> = instance.public_ips.iter().map(ToString::to_string).collect();
    let family = instance.instance_type.rsplit_once('.').map_or(instance.instance_type.as_str(), |(family, _)| family);
    json!({
        "InstanceId": instance.id,
        "InstanceName": instance.name,
        "HostName": instance.hostname,
        "RegionId": instance.region,
        "ZoneId": instance.zone,
        "Status": instance.status.as_str(),
        "StoppedMode": "Not-applicable",
        "InstanceType": instance.instance_type,
        "InstanceTypeFamily": family,
        "InstanceChargeType": instance.charge_type,
        "SpotStrategy": instance.spot_strategy,
        "InstanceNetworkType": "vpc",
        "ImageId": instance.image,
        "OSType": "linux",
        "IoOptimized": true,
        "Cpu": 4,
        "Memory": 16384,
        "DeletionProtection": false,
        "DeviceAvailable": true,
        "ResourceGroupId": state.resource_group(),
        "CreationTime": time::minutes(instance.created),
        "StartTime": time::minutes(instance.created),
        "ExpiredTime": "2099-12-31T15:59Z",
        "SerialNumber": instance.id,
        "InternetChargeType": "PayByTraffic",
        "InnerIpAddress": { "IpAddress": [] },
        "PublicIpAddress": { "IpAddress": public },
        "EipAddress": {
            "AllocationId": eip.map_or("", |eip| &eip.id),
            "IpAddress": eip.map(|eip| eip.address.to_string()).unwrap_or_default(),
            "InternetChargeType": eip.map_or("", |eip| &eip.charge_type),
            "Bandwidth": eip.map_or(0, |eip| eip.bandwidth),
        },
        "VpcAttributes": {
            "VpcId": instance.vpc,
            "VSwitchId": instance.vswitch,
            "NatIpAddress": "",
            "PrivateIpAddress": { "IpAddress": [instance.address()] },
        },
        "NetworkInterfaces": { "NetworkInterface": interfaces.iter().map(|interface| interface.brief()).collect::<Vec<_>>() },
        "SecurityGroupIds": { "SecurityGroupId": instance.security_groups },
        "OperationLocks": { "LockReason": [] },
        "Tags": { "Tag": tag::list(&instance.tags) },
    })
}
