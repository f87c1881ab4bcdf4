//! The VPC product: networks, vswitches, route tables and elastic addresses.

pub(crate) mod address;
pub(crate) mod bandwidth_package;
pub(crate) mod custom_table;
pub(crate) mod eip;
pub(crate) mod network;
pub(crate) mod route_batch;
pub(crate) mod route_entry;
pub(crate) mod route_table;
pub(crate) mod route_view;
pub(crate) mod router;
pub(crate) mod tagging;
pub(crate) mod vswitch;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use self::{
    bandwidth_package::BandwidthPackage,
    eip::{Eip, EipStatus},
    network::Vpc,
    route_entry::{RouteEntry, RouteStatus},
    route_table::RouteTable,
    vswitch::VSwitch,
};
use super::Handler;

/// All resources of the VPC product, by id.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Network {
    /// VPCs by id.
    pub vpcs: BTreeMap<String, Vpc>,
    /// VSwitches by id.
    pub vswitches: BTreeMap<String, VSwitch>,
    /// Route tables by id.
    pub route_tables: BTreeMap<String, RouteTable>,
    /// Elastic addresses by allocation id.
    pub eips: BTreeMap<String, Eip>,
    /// Common bandwidth packages by id.
    pub bandwidth_packages: BTreeMap<String, BandwidthPackage>,
    #[serde(skip)]
    pub(crate) addresses: BTreeMap<String, BTreeSet<std::net::Ipv4Addr>>,
    #[serde(skip)]
    pub(crate) public_addresses: u32,
}

/// A change that takes effect later.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    RouteAvailable { table: String, entry: String },
    RouteGone { table: String, entry: String },
    EipInUse(String),
    EipAvailable(String),
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    Some(match action {
        "DescribeVpcs" => network::describe,
        "DescribeVpcAttribute" => network::describe_attribute,
        "DescribeVSwitches" => vswitch::describe,
        "DescribeVSwitchAttributes" => vswitch::describe_attributes,
        "DescribeRouteTableList" => route_table::describe,
        "CreateRouteTable" => custom_table::create,
        "DeleteRouteTable" => custom_table::delete,
        "AssociateRouteTable" => custom_table::associate,
        "UnassociateRouteTable" => custom_table::unassociate,
        "DescribeVRouters" => router::describe,
        "DescribeRouteTables" => router::describe_tables,
        "CheckCanAllocateVpcPrivateIpAddress" => router::check_address,
        "TagResources" => tagging::tag,
        "UnTagResources" => tagging::untag,
        "ListTagResources" => tagging::list,
        "ModifyRouteEntry" => route_entry::modify,
        "ModifyEipAddressAttribute" => eip::modify,
        "DescribeRouteEntryList" => route_view::describe,
        "CreateRouteEntry" => route_entry::create,
        "DeleteRouteEntry" => route_entry::delete,
        "CreateRouteEntries" => route_batch::create,
        "DeleteRouteEntries" => route_batch::delete,
        "DescribeEipAddresses" => eip::describe,
        "AllocateEipAddress" => eip::allocate,
        "AssociateEipAddress" => eip::associate,
        "UnassociateEipAddress" => eip::unassociate,
        "ReleaseEipAddress" => eip::release,
        "DescribeCommonBandwidthPackages" => bandwidth_package::describe,
        "DescribeRegions" => super::region::describe_regions,
        "DescribeZones" => super::region::describe_zones,
        _ => return None,
    })
}

// === impl Network ===

impl Network {
    pub(crate) fn apply(&mut self, due: Due) {
        match due {
            Due::RouteAvailable { table, entry } => {
                if let Some(entry) = self.entry_mut(&table, &entry) {
                    entry.status = RouteStatus::Available;
                }
            }
            Due::RouteGone { table, entry } => {
                if let Some(table) = self.route_tables.get_mut(&table) {
                    table.entries.remove(&entry);
                }
            }
            Due::EipInUse(id) => {
                if let Some(eip) = self.eips.get_mut(&id) {
                    eip.status = EipStatus::InUse;
                }
            }
            Due::EipAvailable(id) => {
                if let Some(eip) = self.eips.get_mut(&id) {
                    eip.status = EipStatus::Available;
                    eip.instance = None;
                    eip.instance_type = None;
                }
            }
        }
    }

    fn entry_mut(&mut self, table: &str, entry: &str) -> Option<&mut RouteEntry> {
        self.route_tables.get_mut(table)?.entries.get_mut(entry)
    }
}
