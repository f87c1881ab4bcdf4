//! Regions and zones, which each product lists in its own shape.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Context, State, error::Failure};

/// A region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// For example `cn-hangzhou`.
    pub id: String,
    /// For example `cn-hangzhou-h`.
    pub zones: Vec<String>,
}

fn regions(state: &State, product: &str) -> Vec<Value> {
    let item = |region: &Region| {
        json!({
            "RegionId": region.id,
            "LocalName": region.id,
            "RegionEndpoint": format!("{product}.{}.aliyuncs.com", region.id),
        })
    };
    state.regions.iter().map(item).collect()
}

fn zones<'a>(cx: &Context<'_>, state: &'a State) -> Result<&'a [String], Failure> {
    let region = state.regions.iter().find(|region| region.id == cx.region);
    region.map(|region| region.zones.as_slice()).ok_or_else(|| {
        Failure::not_found("InvalidRegionId.NotFound", format!("The region {} does not exist.", cx.region))
    })
}

pub(super) fn describe_regions(_: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    Ok(json!({ "Regions": { "Region": regions(state, "vpc") } }))
}

pub(super) fn describe_zones(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let zones: Vec<Value> = zones(cx, state)?.iter().map(|zone| json!({ "ZoneId": zone, "LocalName": zone })).collect();
    Ok(json!({ "Zones": { "Zone": zones } }))
}

/// SLB names for each primary zone the zones that can be its secondary.
pub(super) fn describe_slb_zones(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let zones = zones(cx, state)?;
    let item = |zone: &String| {
        let others = zones.iter().filter(|other| *other != zone);
        let slaves: Vec<Value> = others.map(|other| json!({ "ZoneId": other, "LocalName": other })).collect();
        json!({ "ZoneId": zone, "LocalName": zone, "SlaveZones": { "SlaveZone": slaves } })
    };
    Ok(json!({ "Zones": { "Zone": zones.iter().map(item).collect::<Vec<_>>() } }))
}

/// Each pair of zones takes both kinds of addresses.
pub(super) fn describe_available_resource(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let zones = zones(cx, state)?;
    let kinds: Vec<Value> = ["vpc", "classic-internet"]
        .into_iter()
        .filter(|kind| cx.params.get("AddressType").is_none_or(|wanted| wanted == *kind))
        .map(|kind| json!({ "AddressType": kind, "AddressIPVersion": "ipv4" }))
        .collect();
    let pairs = zones.iter().flat_map(|master| zones.iter().map(move |slave| (master, slave)));
    let list: Vec<Value> = pairs
        .filter(|(master, slave)| master != slave)
        .map(|(master, slave)| {
            json!({ "MasterZoneId": master, "SlaveZoneId": slave, "SupportResources": { "SupportResource": kinds } })
        })
        .collect();
    Ok(json!({ "AvailableResources": { "AvailableResource": list } }))
}

/// NLB lists are bare.
pub(super) fn describe_nlb_regions(_: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    Ok(json!({ "Regions": regions(state, "nlb") }))
}

pub(super) fn describe_nlb_zones(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let zones: Vec<Value> = zones(cx, state)?.iter().map(|zone| json!({ "ZoneId": zone, "LocalName": zone })).collect();
    Ok(json!({ "Zones": zones }))
}
