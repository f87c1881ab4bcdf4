//! Replies of VPC as they come.

use ipnet::IpNet;
use serde::Deserialize;

use crate::{
    alibaba::rpc::{
        decode::{self, List},
        paging::{Page, Paged},
    },
    cloud::{InstanceId, Route, RouteChange, RouteStatus, RouteTable, RouteTableKind},
};

/// `DescribeRouteTableList`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Tables {
    router_table_list: Option<List<Table>>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Table {
    route_table_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    route_table_type: String,
    #[serde(default, deserialize_with = "decode::text")]
    associate_type: String,
}

/// `DescribeRouteEntryList`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Entries {
    route_entrys: Option<List<Entry>>,
    #[serde(default, deserialize_with = "decode::optional_text")]
    next_token: Option<String>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Entry {
    destination_cidr_block: String,
    #[serde(default, deserialize_with = "decode::text")]
    route_entry_id: String,
    #[serde(default, rename = "Type", deserialize_with = "decode::text")]
    kind: String,
    #[serde(default, deserialize_with = "decode::text")]
    status: String,
    #[serde(default)]
    next_hops: List<NextHop>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NextHop {
    #[serde(default, deserialize_with = "decode::text")]
    next_hop_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    next_hop_type: String,
}

/// `CreateRouteEntries`, `DeleteRouteEntries`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Changed {
    #[serde(default)]
    pub(super) failed_route_entries: List<FailedEntry>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    pub(super) failed_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct FailedEntry {
    #[serde(default, deserialize_with = "decode::text")]
    dst_cidr_block: String,
    #[serde(default, deserialize_with = "decode::text")]
    next_hop: String,
    #[serde(default, deserialize_with = "decode::text")]
    pub(super) failed_code: String,
    #[serde(default, deserialize_with = "decode::text")]
    pub(super) failed_message: String,
}

// === impl Tables ===

impl Paged for Tables {
    type Item = Table;

    fn into_page(self) -> Option<Page<Table>> {
        Some(Page { items: self.router_table_list?.0, total: self.total_count, next_token: None })
    }

    fn key(item: &Table) -> String {
        item.route_table_id.clone()
    }
}

// === impl Table ===

impl Table {
    pub(super) fn into_table(self) -> RouteTable {
        let for_vswitches = self.associate_type.is_empty() || self.associate_type.eq_ignore_ascii_case("VSwitch");
        let kind = match self.route_table_type.to_ascii_lowercase().as_str() {
            "system" => RouteTableKind::System,
            "custom" if for_vswitches => RouteTableKind::Custom,
            _ => RouteTableKind::Other,
        };
        RouteTable { id: self.route_table_id.into(), kind }
    }
}

// === impl Entries ===

impl Paged for Entries {
    type Item = Entry;

    fn into_page(self) -> Option<Page<Entry>> {
        Some(Page { items: self.route_entrys?.0, total: self.total_count, next_token: self.next_token })
    }

    fn key(item: &Entry) -> String {
        // The destination is unique in a table; the id is there for entries in transition.
        format!("{} {}", item.destination_cidr_block, item.route_entry_id)
    }
}

// === impl Entry ===

impl Entry {
    /// `None` for entries of other kinds, and for destinations that are no CIDR block (prefix
    /// lists): neither can be a pod route.
    pub(super) fn into_route(self) -> Option<Route> {
        if !self.kind.is_empty() && !self.kind.eq_ignore_ascii_case("Custom") {
            return None;
        }
        let destination = self.destination_cidr_block.parse::<IpNet>().ok()?;
        let hops = &self.next_hops.0;
        let instance = match hops.as_slice() {
            [hop] if hop.next_hop_type.eq_ignore_ascii_case("Instance") => Some(InstanceId::new(&hop.next_hop_id)),
            _ => None,
        };
        let next_hop =
            hops.iter().map(|hop| format!("{} {}", hop.next_hop_type, hop.next_hop_id)).collect::<Vec<_>>().join(", ");
        let status = match self.status.to_ascii_lowercase().as_str() {
            "pending" | "creating" => RouteStatus::Pending,
            "modifying" => RouteStatus::Modifying,
            "deleting" => RouteStatus::Deleting,
            // `Created` in some of the texts.
            _ => RouteStatus::Available,
        };
        Some(Route { destination, instance, next_hop, status })
    }
}

// === impl FailedEntry ===

impl FailedEntry {
    /// The next hop may be left out; the destination never is.
    pub(super) fn is_about(&self, route: &RouteChange) -> bool {
        self.dst_cidr_block.parse::<IpNet>().is_ok_and(|destination| destination == route.destination)
            && (self.next_hop.is_empty() || self.next_hop == route.instance.as_str())
    }
}
