//! VPCs.

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

/// A VPC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vpc {
    /// `vpc-…`.
    pub id: String,
    /// Region id.
    pub region: String,
    /// Address range.
    pub cidr: Ipv4Net,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// `vrt-…`, the router whose tables these are.
    #[serde(default)]
    pub router: String,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let ids: Option<Vec<&str>> = cx.params.get("VpcId").map(|ids| ids.split(',').map(str::trim).collect());
    let found: Vec<&Vpc> = state
        .network
        .vpcs
        .values()
        .filter(|vpc| vpc.region == cx.region)
        .filter(|vpc| ids.as_ref().is_none_or(|ids| ids.contains(&vpc.id.as_str())))
        .filter(|vpc| cx.params.get("VpcName").is_none_or(|name| vpc.name == name))
        .filter(|vpc| tag::matches(&vpc.tags, &wanted))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let vpcs: Vec<Value> = page.items.iter().map(|vpc| item(state, vpc)).collect();
    Ok(json!({
        "Vpcs": { "Vpc": vpcs },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VpcId")?;
    let vpc = state.network.vpcs.get(id).filter(|vpc| vpc.region == cx.region);
    let vpc =
        vpc.ok_or_else(|| Failure::not_found("InvalidVpcId.NotFound", format!("Specified VPC {id} does not exist.")))?;
    let mut reply = item(state, vpc);
    if let Value::Object(fields) = &mut reply {
        fields.remove("RouterTableIds");
        fields.remove("NatGatewayIds");
        fields.insert("AssociatedCens".into(), json!({ "AssociatedCen": [] }));
        fields.insert("ClassicLinkEnabled".into(), json!(false));
    }
    Ok(reply)
}

fn item(state: &State, vpc: &Vpc) -> Value {
    let vswitches: Vec<&str> =
        state.network.vswitches.values().filter(|v| v.vpc == vpc.id).map(|v| v.id.as_str()).collect();
    let tables: Vec<&str> =
        state.network.route_tables.values().filter(|t| t.vpc == vpc.id).map(|t| t.id.as_str()).collect();
    json!({
        "VpcId": vpc.id,
        "VpcName": vpc.name,
        "RegionId": vpc.region,
        "CidrBlock": vpc.cidr.to_string(),
        "VRouterId": vpc.router,
        "Status": "Available",
        "IsDefault": false,
        "OwnerId": state.owner(),
        "CreationTime": time::seconds(vpc.created),
        "Description": "",
        "ResourceGroupId": state.resource_group(),
        "Ipv6CidrBlock": "",
        "EnabledIpv6": false,
        "VSwitchIds": { "VSwitchId": vswitches },
        "RouterTableIds": { "RouterTableIds": tables },
        "NatGatewayIds": { "NatGatewayIds": [] },
        "SecondaryCidrBlocks": { "SecondaryCidrBlock": [] },
        "UserCidrs": { "UserCidr": [] },
        "Tags": { "Tag": tag::short_list(&vpc.tags) },
    })
}
