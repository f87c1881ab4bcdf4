//! VSwitches.

use ipnet::Ipv4Net;
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

/// A vswitch: the part of a VPC that lies in one zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VSwitch {
    /// `vsw-…`.
    pub id: String,
    /// The VPC's id.
    pub vpc: String,
    /// Zone id.
    pub zone: String,
    /// Address range, inside the VPC's.
    pub cidr: Ipv4Net,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let region_of = |vpc: &str| state.network.vpcs.get(vpc).map(|vpc| vpc.region.as_str());
    let found: Vec<&VSwitch> = state
        .network
        .vswitches
        .values()
        .filter(|v| region_of(&v.vpc) == Some(cx.region))
        .filter(|v| {
            is("VpcId", &v.vpc) && is("VSwitchId", &v.id) && is("ZoneId", &v.zone) && is("VSwitchName", &v.name)
        })
        .filter(|v| {
            cx.params.get("RouteTableId").is_none_or(|table| state.network.table_of(v).is_some_and(|t| t.id == table))
        })
        .filter(|v| tag::matches(&v.tags, &wanted))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let vswitches: Vec<Value> = page.items.iter().map(|vswitch| item(state, vswitch)).collect();
    Ok(json!({
        "VSwitches": { "VSwitch": vswitches },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

pub(super) fn describe_attributes(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VSwitchId")?;
    let vswitch = state.network.vswitches.get(id).ok_or_else(|| missing(id))?;
    let mut reply = item(state, vswitch);
    reply["CloudResources"] = json!({ "CloudResourceSetType": [] });
    Ok(reply)
}

pub(crate) fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidVSwitchId.NotFound", format!("Specified vSwitch {id} does not exist."))
}

fn item(state: &State, vswitch: &VSwitch) -> Value {
    let table = state.network.table_of(vswitch);
    json!({
        "VSwitchId": vswitch.id,
        "VSwitchName": vswitch.name,
        "VpcId": vswitch.vpc,
        "ZoneId": vswitch.zone,
        "CidrBlock": vswitch.cidr.to_string(),
        "AvailableIpAddressCount": state.network.free_addresses(&vswitch.id),
        "Status": "Available",
        "IsDefault": false,
        "OwnerId": state.owner(),
        "CreationTime": time::seconds(vswitch.created),
        "Description": "",
        "ResourceGroupId": state.resource_group(),
        "Ipv6CidrBlock": "",
        "RouteTable": {
            "RouteTableId": table.map_or("", |table| &table.id),
            "RouteTableType": table.map_or("", |table| table.kind()),
        },
        "Tags": { "Tag": tag::short_list(&vswitch.tags) },
    })
}
