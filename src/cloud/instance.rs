//! ECS instances and network interfaces as the node controller needs them.

use std::{collections::BTreeMap, net::IpAddr};

use super::{InstanceId, NetworkInterfaceId, RegionId, ZoneId};

/// An ECS instance (ECS `DescribeInstances`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: InstanceId,
    pub region: RegionId,
    /// Empty if the cloud did not say.
    pub zone: Option<ZoneId>,
    pub status: InstanceStatus,
    /// The display name (`InstanceName`).
    pub name: String,
    /// The host name inside the instance (`HostName`).
    pub host_name: String,
    /// Such as `ecs.g7.large`; empty if unknown.
    pub instance_type: String,
    /// `PostPaid` or `PrePaid`; empty if unknown.
    pub charge_type: String,
    /// `NoSpot`, `SpotWithPriceLimit`, `SpotAsPriceGo`; empty if unknown.
    pub spot_strategy: String,
    /// Public addresses, then the elastic IP, in the cloud's order.
    pub public_addresses: Vec<IpAddr>,
    /// Classic-network inner addresses, then the primary VPC addresses.
    pub private_addresses: Vec<IpAddr>,
    /// IPv6 addresses of the primary network interface.
    pub ipv6_addresses: Vec<IpAddr>,
    pub primary_interface: Option<NetworkInterfaceId>,
    pub tags: BTreeMap<String, String>,
}

/// `Status` of an ECS instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceStatus {
    Pending,
    Starting,
    Running,
    Stopping,
    Stopped,
    /// A word this program does not know; treated as running.
    Other(String),
}

/// An elastic network interface (ECS `DescribeNetworkInterfaces`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkInterface {
    pub id: NetworkInterfaceId,
    /// The instance it is attached to.
    pub instance: Option<InstanceId>,
    /// Whether it is the instance's primary interface.
    pub primary: bool,
    /// `SourceDestCheck`; `None` if the cloud did not say.
    pub source_destination_check: Option<bool>,
    /// All addresses of both families.
    pub addresses: Vec<IpAddr>,
}
