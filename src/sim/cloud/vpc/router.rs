//! Routers, and the older description of their tables.

use serde_json::{Value, json};

use super::{RouteTable, Vpc};
use crate::sim::cloud::{Context, State, error::Failure, paging, time};

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = cx.params.get("VRouterId");
    let vpcs = state.network.vpcs.values();
    let found: Vec<&Vpc> =
        vpcs.filter(|vpc| vpc.region == cx.region && wanted.is_none_or(|id| id == vpc.router)).collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let item = |vpc: &&Vpc| {
        let tables = state.network.route_tables.values().filter(|table| table.vpc == vpc.id);
        json!({
            "VRouterId": vpc.router,
            "VRouterName": "",
            "VpcId": vpc.id,
            "RegionId": vpc.region,
            "Description": "",
            "CreationTime": time::seconds(vpc.created),
            "RouteTableIds": { "RouteTableId": tables.map(|table| table.id.as_str()).collect::<Vec<_>>() },
        })
    };
    Ok(json!({
        "VRouters": { "VRouter": page.items.iter().map(item).collect::<Vec<_>>() },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

pub(super) fn describe_tables(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let router = |table: &RouteTable| state.network.vpcs.get(&table.vpc).map_or("", |vpc| vpc.router.as_str());
    let found: Vec<&RouteTable> = state
        .network
        .route_tables
        .values()
        .filter(|table| is("RouteTableId", &table.id) && is("RouteTableName", &table.name))
        .filter(|table| is("VRouterId", router(table)) && is("RouterId", router(table)))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let item = |table: &&RouteTable| {
        let entries = table.entries.values().filter(|entry| is("Type", entry.kind()));
        let entries = entries.map(|entry| {
            json!({
                "RouteTableId": table.id,
                "RouteEntryId": entry.id,
                "RouteEntryName": entry.name,
                "DestinationCidrBlock": entry.destination.to_string(),
                "Type": entry.kind(),
                "Status": entry.status.as_str(),
                "InstanceId": entry.next_hop,
                "NextHopType": entry.next_hop_type,
                "NextHops": { "NextHop": [] },
            })
        });
        json!({
            "RouteTableId": table.id,
            "RouteTableType": table.kind(),
            "VRouterId": router(table),
            "Status": "Available",
            "CreationTime": time::seconds(table.created),
            "ResourceGroupId": state.resource_group(),
            "VSwitchIds": { "VSwitchId": table.vswitches },
            "RouteEntrys": { "RouteEntry": entries.collect::<Vec<_>>() },
        })
    };
    Ok(json!({
        "RouteTables": { "RouteTable": page.items.iter().map(item).collect::<Vec<_>>() },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

/// Whether a private address could be given out now.
pub(super) fn check_address(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VSwitchId")?;
    let vswitch =
        state.network.vswitches.get(id).ok_or_else(|| {
            Failure::not_found("ResourceNotFound.VSwitchId", format!("The vSwitch {id} does not exist."))
        })?;
    let address: std::net::Ipv4Addr = cx
        .params
        .required("PrivateIpAddress")?
        .parse()
        .map_err(|_| Failure::bad("IllegalParam.PrivateIpAddress", "The PrivateIpAddress is not an address."))?;
    if !vswitch.cidr.contains(&address) {
        return Err(Failure::bad("Mismatch.VSwitchAndPrivateIpAddress", format!("{address} is outside {id}.")));
    }
    let taken = state.network.addresses.get(id).is_some_and(|used| used.contains(&address));
    Ok(json!({ "CanAllocate": !taken }))
}
