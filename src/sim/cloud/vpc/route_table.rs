//! Route tables: the System table that each VPC has, and Custom ones.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Network, RouteEntry, VSwitch};
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
    time,
};

/// A route table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteTable {
    /// `vtb-…`.
    pub id: String,
    /// The VPC's id.
    pub vpc: String,
    /// A Custom table; otherwise the VPC's System table.
    #[serde(default)]
    pub custom: bool,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Text.
    #[serde(default)]
    pub description: String,
    /// The vswitches that a Custom table serves.
    #[serde(default)]
    pub vswitches: BTreeSet<String>,
    /// Entries by id.
    #[serde(default)]
    pub entries: BTreeMap<String, RouteEntry>,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
}

// === impl RouteTable ===

impl RouteTable {
    /// `System` or `Custom`.
    pub fn kind(&self) -> &'static str {
        if self.custom { "Custom" } else { "System" }
    }
}

// === impl Network ===

impl Network {
    /// The table that serves a vswitch: the Custom one it was given, else the VPC's System table.
    pub(crate) fn table_of(&self, vswitch: &VSwitch) -> Option<&RouteTable> {
        let mut tables = self.route_tables.values().filter(|table| table.vpc == vswitch.vpc);
        let mut custom = tables.clone().filter(|table| table.custom);
        custom.find(|table| table.vswitches.contains(&vswitch.id)).or_else(|| tables.find(|table| !table.custom))
    }

    pub(crate) fn table(&self, id: &str) -> Result<&RouteTable, Failure> {
        self.route_tables.get(id).ok_or_else(|| missing(id))
    }
}

pub(super) fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidRouteTableId.NotFound", format!("Specified route table {id} does not exist."))
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let vpc_of = |table: &RouteTable| state.network.vpcs.get(&table.vpc);
    let found: Vec<&RouteTable> = state
        .network
        .route_tables
        .values()
        .filter(|table| vpc_of(table).is_some_and(|vpc| vpc.region == cx.region && is("RouterId", &vpc.router)))
        .filter(|table| is("VpcId", &table.vpc) && is("RouteTableId", &table.id) && is("RouteTableName", &table.name))
        .filter(|table| is("RouteTableType", table.kind()) && is("RouterType", "VRouter"))
        .filter(|table| tag::matches(&table.tags, &wanted))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let tables: Vec<Value> = page.items.iter().map(|table| item(state, table)).collect();
    Ok(json!({
        "RouterTableList": { "RouterTableListType": tables },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

fn item(state: &State, table: &RouteTable) -> Value {
    let served: Vec<&str> = state
        .network
        .vswitches
        .values()
        .filter(|vswitch| state.network.table_of(vswitch).is_some_and(|found| found.id == table.id))
        .map(|vswitch| vswitch.id.as_str())
        .collect();
    json!({
        "RouteTableId": table.id,
        "RouteTableName": table.name,
        "RouteTableType": table.kind(),
        "Description": table.description,
        "VpcId": table.vpc,
        "RouterId": state.network.vpcs.get(&table.vpc).map_or("", |vpc| &vpc.router),
        "RouterType": "VRouter",
        "AssociateType": "VSwitch",
        "Status": "Available",
        "OwnerId": state.owner(),
        "ResourceGroupId": state.resource_group(),
        "CreationTime": time::seconds(table.created),
        "VSwitchIds": { "VSwitchId": served },
        "Tags": { "Tag": tag::short_list(&table.tags) },
    })
}
