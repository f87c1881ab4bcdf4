//! Route entries, one at a time. A VPC takes one change at a time; while an entry is
//! `Pending` or `Deleting`, other changes to tables of that VPC conflict.

use ipnet::{IpNet, Ipv4Net};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Due, Network, RouteTable};
use crate::sim::cloud::{Context, State, error::Failure, params::Params};

/// Carrier-grade addresses that the cloud's own services live at.
const CLOUD_SERVICES: &str = "100.64.0.0/10";

/// A route entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteEntry {
    /// `rte-…`.
    pub id: String,
    /// Destination range, of either family.
    pub destination: IpNet,
    /// Id of the next hop; empty for System entries.
    #[serde(default)]
    pub next_hop: String,
    /// `Instance`, `NetworkInterface`, …; `local` for System entries.
    #[serde(default = "instance")]
    pub next_hop_type: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Text.
    #[serde(default)]
    pub description: String,
    /// A System entry, which callers cannot change.
    #[serde(default)]
    pub system: bool,
    /// Where it is in its life.
    #[serde(default)]
    pub status: RouteStatus,
}

/// Where a route entry is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RouteStatus {
    /// Being created.
    Pending,
    /// In effect.
    #[default]
    Available,
    /// Being deleted.
    Deleting,
}

/// A wanted route, from either form of the create actions.
pub(super) struct Wanted {
    pub(super) table: String,
    pub(super) destination: String,
    pub(super) next_hop: String,
    pub(super) next_hop_type: String,
    pub(super) name: String,
    pub(super) description: String,
    /// `IpVersion`, which a batch has to name for IPv6; the single call takes it from the destination.
    pub(super) version: Option<String>,
}

fn instance() -> String {
    "Instance".to_owned()
}

// === impl RouteEntry ===

impl RouteEntry {
    /// `System` or `Custom`.
    pub fn kind(&self) -> &'static str {
        if self.system { "System" } else { "Custom" }
    }

    /// `ipv4` or `ipv6`.
    pub(super) fn version(&self) -> &'static str {
        if self.destination.addr().is_ipv6() { "ipv6" } else { "ipv4" }
    }
}

// === impl RouteStatus ===

impl RouteStatus {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Available => "Available",
            Self::Deleting => "Deleting",
        }
    }
}

// === impl Network ===

impl Network {
    /// Refuses a change while another one in the VPC is in progress.
    pub(super) fn check_idle(&self, vpc: &str) -> Result<(), Failure> {
        let tables = self.route_tables.values().filter(|table| table.vpc == vpc);
        let busy = tables.flat_map(|table| table.entries.values()).any(|entry| entry.status != RouteStatus::Available);
        if busy {
            return Err(Failure::bad("TaskConflict", "The operation is too frequent. Please try again later."));
        }
        Ok(())
    }

    /// Checks a wanted route against the table, and returns it as an entry that is `Pending`.
    pub(super) fn admit(&self, wanted: &Wanted, state: &State, cx: &Context<'_>) -> Result<RouteEntry, Failure> {
        let table = self.table(&wanted.table)?;
        let destination = parse_cidr(&wanted.destination)?;
        let family = if destination.addr().is_ipv6() { "6" } else { "4" };
        if wanted.version.as_ref().is_some_and(|version| version != family) {
            let text = format!("The CIDR block {destination} does not belong to the given IpVersion.");
            return Err(Failure::bad("InvalidCidrBlock.Malformed", text));
        }
        if table.entries.values().any(|entry| entry.destination == destination) {
            return Err(Failure::bad("InvalidCIDRBlock.Duplicate", "Specified CIDR block is already exists."));
        }
        let cloud: Option<IpNet> = CLOUD_SERVICES.parse().ok();
        if cloud.is_some_and(|cloud| cloud.contains(&destination)) {
            return Err(Failure::bad(
                "InvalidDestinationCidrBlock",
                "The destination lies in 100.64.0.0/10, which the cloud uses itself.",
            ));
        }
        let vswitches = self.vswitches.values().filter(|vswitch| vswitch.vpc == table.vpc);
        let local = |cidr: Ipv4Net| IpNet::V4(cidr).contains(&destination);
        if vswitches.into_iter().any(|vswitch| local(vswitch.cidr)) {
            return Err(Failure::bad(
                "OperationUnsupported.DestinationCidrBlockOverlapWithVSwitch",
                "The destination equals or lies inside the CIDR block of a vSwitch.",
            ));
        }
        check_next_hop(state, table, &wanted.next_hop, &wanted.next_hop_type)?;
        let custom = table.entries.values().filter(|entry| !entry.system).count();
        if cx.options.quotas.route_entries.is_some_and(|limit| custom >= limit) {
            return Err(Failure::bad(
                "QuotaExceeded",
                "The number of route entries in the route table exceeds the quota.",
            ));
        }
        Ok(RouteEntry {
            id: cx.id("rte-bp1"),
            destination,
            next_hop: wanted.next_hop.clone(),
            next_hop_type: wanted.next_hop_type.clone(),
            name: wanted.name.clone(),
            description: wanted.description.clone(),
            system: false,
            status: RouteStatus::Pending,
        })
    }

    /// The custom entry to that destination over that next hop.
    pub(super) fn find_entry(
        &self,
        table: &str,
        destination: &str,
        next_hop: Option<&str>,
    ) -> Result<Option<&RouteEntry>, Failure> {
        let destination = parse_cidr(destination)?;
        let entries = self.table(table)?.entries.values();
        Ok(entries
            .filter(|entry| !entry.system && entry.destination == destination)
            .find(|entry| next_hop.is_none_or(|next_hop| entry.next_hop == next_hop)))
    }
}

/// A CIDR without a mask means one address.
pub(super) fn parse_cidr(text: &str) -> Result<IpNet, Failure> {
    let text = text.trim();
    let whole = if text.contains(':') { 128 } else { 32 };
    let parsed = if text.contains('/') { text.parse() } else { format!("{text}/{whole}").parse() };
    let cidr: IpNet = parsed
        .map_err(|_| Failure::bad("InvalidCidrBlock.Malformed", format!("The CIDR block {text} is malformed.")))?;
    if cidr.trunc() == cidr {
        Ok(cidr)
    } else {
        Err(Failure::bad("InvalidCidrBlock.Malformed", format!("The CIDR block {text} has host bits set.")))
    }
}

fn check_next_hop(state: &State, table: &RouteTable, id: &str, kind: &str) -> Result<(), Failure> {
    let missing =
        || Failure::not_found("InvalidNextHopId.NotFound", format!("The next hop {id} does not exist in the VPC."));
    let vpc = match kind {
        "Instance" => state.ecs.instances.get(id).map(|instance| &instance.vpc),
        "NetworkInterface" => state.ecs.interfaces.get(id).map(|interface| &interface.vpc),
        _ => {
            return Err(Failure::bad(
                "OperationFailed.InvalidNextHopType",
                format!("Next hops of type {kind} are not simulated; use Instance or NetworkInterface."),
            ));
        }
    };
    if vpc == Some(&table.vpc) { Ok(()) } else { Err(missing()) }
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    if !cx.params.objects("NextHopList").is_empty() {
        return Err(Failure::bad("UnsupportedOperation", "Equal-cost routes (NextHopList) are not simulated."));
    }
    let wanted = Wanted {
        table: cx.params.required("RouteTableId")?.to_owned(),
        destination: cx.params.required("DestinationCidrBlock")?.to_owned(),
        next_hop: cx.params.get("NextHopId").map(str::to_owned).ok_or_else(|| {
            Failure::bad("InvalidNexthopTypeAndList.BothNull", "Either NextHopId or NextHopList must be given.")
        })?,
        next_hop_type: cx.params.get("NextHopType").unwrap_or("Instance").to_owned(),
        name: cx.params.text("RouteEntryName"),
        description: cx.params.text("Description"),
        version: None,
    };
    state.network.check_idle(&state.network.table(&wanted.table)?.vpc)?;
    let entry = state.network.admit(&wanted, state, cx)?;
    let id = entry.id.clone();
    insert(cx, state, &wanted.table, entry);
    Ok(json!({ "RouteEntryId": id }))
}

/// Puts a `Pending` entry into its table.
pub(super) fn insert(cx: &mut Context<'_>, state: &mut State, table: &str, entry: RouteEntry) {
    cx.change();
    let due = Due::RouteAvailable { table: table.to_owned(), entry: entry.id.clone() };
    if let Some(table) = state.network.route_tables.get_mut(table) {
        table.entries.insert(entry.id.clone(), entry);
    }
    state.later(cx, cx.options.delays.route, super::super::agenda::Due::Vpc(due));
}

/// Starts the deletion of an entry.
pub(super) fn remove(cx: &mut Context<'_>, state: &mut State, table: &str, entry: &str) {
    cx.change();
    if let Some(entry) = state.network.entry_mut(table, entry) {
        entry.status = RouteStatus::Deleting;
    }
    let due = Due::RouteGone { table: table.to_owned(), entry: entry.to_owned() };
    state.later(cx, cx.options.delays.route, super::super::agenda::Due::Vpc(due));
}

/// Changes name, description or next hop of an entry.
pub(super) fn modify(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (table, entry) = target(cx.params, &state.network)?;
    let vpc = state.network.table(&table)?.vpc.clone();
    state.network.check_idle(&vpc)?;
    let hop = cx.params.get("NewNextHopId").map(str::to_owned);
    let kind = cx.params.get("NewNextHopType").unwrap_or("Instance").to_owned();
    if let Some(hop) = &hop {
        check_next_hop(state, state.network.table(&table)?, hop, &kind)?;
    }
    let Some(found) = state.network.entry_mut(&table, &entry) else { return Ok(json!({})) };
    if let Some(name) = cx.params.get("RouteEntryName") {
        cx.set(&mut found.name, name.to_owned());
    }
    if let Some(description) = cx.params.get("Description") {
        cx.set(&mut found.description, description.to_owned());
    }
    if let Some(hop) = hop {
        cx.set(&mut found.next_hop, hop);
        cx.set(&mut found.next_hop_type, kind);
    }
    Ok(json!({}))
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (table, entry) = target(cx.params, &state.network)?;
    let vpc = state.network.table(&table)?.vpc.clone();
    state.network.check_idle(&vpc)?;
    remove(cx, state, &table, &entry);
    Ok(json!({}))
}

/// The entry that a delete names, by its id or by table, destination and next hop.
fn target(params: &Params, network: &Network) -> Result<(String, String), Failure> {
    let missing = || Failure::bad("InvalidRouteEntry.NotFound", "Specified route entry does not exist.");
    if let Some(id) = params.get("RouteEntryId") {
        let mut tables = network.route_tables.values();
        let table = tables.find(|table| table.entries.get(id).is_some_and(|entry| !entry.system));
        let table = table.ok_or_else(|| {
            Failure::bad("InvalidRouteEntryId.NotFound", format!("The route entry {id} does not exist."))
        })?;
        return Ok((table.id.clone(), id.to_owned()));
    }
    let table = params.required("RouteTableId")?;
    let destination = params.required("DestinationCidrBlock")?;
    let entry = network.find_entry(table, destination, params.get("NextHopId"))?.ok_or_else(missing)?;
    Ok((table.to_owned(), entry.id.clone()))
}
