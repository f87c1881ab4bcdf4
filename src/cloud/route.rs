//! VPC route tables and route entries as the route controller needs them.

use ipnet::IpNet;

use super::{Error, InstanceId, RouteTableId};

/// A route table of the VPC (VPC `DescribeRouteTableList`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteTable {
    pub id: RouteTableId,
    pub kind: RouteTableKind,
}

/// `RouteTableType`, and for custom tables what they are associated with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteTableKind {
    /// The table that the VPC came with; vSwitches use it unless told otherwise.
    System,
    Custom,
    /// Tables of gateways and the like, of no use for pod routes.
    Other,
}

/// A custom route entry (VPC `DescribeRouteEntryList`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub destination: IpNet,
    /// The instance it points at, if it has exactly one next hop and that is an instance.
    pub instance: Option<InstanceId>,
    /// The next hops as text, for messages about entries that are not ours.
    pub next_hop: String,
    pub status: RouteStatus,
}

/// `Status` of a route entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteStatus {
    Pending,
    Available,
    Modifying,
    Deleting,
}

/// An entry to create or delete: a destination and the instance it points at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteChange {
    pub destination: IpNet,
    pub instance: InstanceId,
}

/// What became of one entry of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteOutcome {
    /// Created, or deleted, or already gone when it was to be deleted.
    Done,
    /// An entry with this destination exists already (`VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE`);
    /// where it points has to be read.
    Duplicate,
    /// The entry is between two states (`VPC_ROUTE_ENTRY_STATUS_ERROR`); look again shortly.
    Busy,
    /// The entry was refused.
    Failed(Error),
}
