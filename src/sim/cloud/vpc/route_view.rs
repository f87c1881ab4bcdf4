//! Route entries as the list action shows them.

use serde_json::{Value, json};

use super::RouteEntry;
use crate::sim::cloud::{Context, State, error::Failure, paging};

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("RouteTableId")?;
    let table = state.network.route_tables.get(id).ok_or_else(|| {
        Failure::bad("InvalidRouteTable.NotFound", format!("Specified route table {id} does not exist."))
    })?;
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let destinations = cx.params.list("DestCidrBlockList");
    let found: Vec<&RouteEntry> = table
        .entries
        .values()
        .filter(|entry| is("RouteEntryId", &entry.id) && is("RouteEntryName", &entry.name))
        .filter(|entry| is("DestinationCidrBlock", &entry.destination.to_string()))
        .filter(|entry| destinations.is_empty() || destinations.contains(&entry.destination.to_string()))
        .filter(|entry| is("NextHopId", &entry.next_hop) && is("NextHopType", &entry.next_hop_type))
        .filter(|entry| is("RouteEntryType", entry.kind()) && is("IpVersion", entry.version()))
        .collect();
    // Texts say at most 100, the metadata and existing callers 500.
    let size = paging::size(cx.params, "MaxResult", 10, 500)?;
    let page = paging::tokened(cx.params, found, size)?;
    let entries: Vec<Value> = page.items.iter().map(|entry| item(cx, id, entry)).collect();
    let mut reply = json!({ "RouteEntrys": { "RouteEntry": entries }, "TotalCount": page.total });
    if let Some(next) = page.next {
        reply["NextToken"] = next.into();
    }
    Ok(reply)
}

fn item(cx: &Context<'_>, table: &str, entry: &RouteEntry) -> Value {
    json!({
        "RouteTableId": table,
        "RouteEntryId": entry.id,
        "RouteEntryName": entry.name,
        "Description": entry.description,
        "DestinationCidrBlock": entry.destination.to_string(),
        "IpVersion": entry.version(),
        "Type": entry.kind(),
        "Status": entry.status.as_str(),
        "NextHops": { "NextHop": [{
            "NextHopId": entry.next_hop,
            "NextHopType": entry.next_hop_type,
            "NextHopRegionId": cx.region,
            "Enabled": 1,
            "Weight": 0,
        }] },
    })
}
