//! Classic load balancers (CLB) as the service controller needs them: the load balancer, its
//! listeners, its vserver groups and their members.
//!
//! Settings come in pairs: what a Service asks for (`Option`: `None` leaves the cloud's value
//! alone) and what was observed (`Option`: `None` means not known).

use std::{collections::BTreeMap, fmt, net::IpAddr};

use jiff::Timestamp;

use super::{ListenerSettings, LoadBalancerId, ServerGroupId, VSwitchId, VpcId};

/// A classic load balancer without its listeners and groups (SLB `DescribeLoadBalancers`,
/// `DescribeLoadBalancerAttribute`, and the answer of `CreateLoadBalancer`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalancer {
    pub id: LoadBalancerId,
    pub name: String,
    /// The address clients connect to, of either family, as the cloud writes it.
    pub address: String,
    pub address_type: AddressType,
    pub vpc: Option<VpcId>,
    pub vswitch: Option<VSwitchId>,
    /// `PayBySpec` or `PayByCLCU`; `None` if the cloud did not say.
    pub instance_charge_type: Option<String>,
    /// Such as `slb.s1.small`; only with `PayBySpec`.
    pub spec: Option<String>,
    /// `paybytraffic` or `paybybandwidth`; only with an internet address.
    pub internet_charge_type: Option<String>,
    /// Peak bandwidth in Mbit/s.
    pub bandwidth: Option<u32>,
    pub delete_protection: Option<bool>,
    /// `ConsoleProtection` or `NonProtection`.
    pub modification_protection: Option<String>,
    pub ip_version: Option<String>,
    pub master_zone: Option<String>,
    pub slave_zone: Option<String>,
    pub resource_group: Option<String>,
    pub tags: BTreeMap<String, String>,
}

/// Where a load balancer's address is reachable from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressType {
    Internet,
    Intranet,
}

/// A load balancer with what hangs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalancerState {
    pub load_balancer: LoadBalancer,
    pub listeners: Vec<Listener>,
    pub groups: Vec<ServerGroup>,
    pub groups_view: GroupsView,
}

/// How much of a load balancer's groups a state shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupsView {
    /// Only those that a listener uses; more may exist.
    Referenced,
    /// All of them.
    Complete,
}

/// A listener's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
    Http,
    Https,
}

/// A listener (SLB `DescribeLoadBalancerListeners`). A port and a protocol identify it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    pub port: u16,
    pub protocol: Protocol,
    pub status: ListenerStatus,
    pub description: String,
    pub group: Option<ServerGroupId>,
    pub settings: ListenerSettings,
    /// Certificates for further domains (HTTPS); `None` if they were not read.
    pub domain_extensions: Option<Vec<DomainExtension>>,
}

/// A certificate for a further domain of an HTTPS listener (SLB `DescribeDomainExtensions`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DomainExtension {
    pub id: String,
    pub domain: String,
    pub certificate: String,
}

/// A server certificate (SLB `DescribeServerCertificates`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    pub id: String,
    /// `None` if the cloud did not say.
    pub expires: Option<Timestamp>,
}

/// `Status` of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerStatus {
    Running,
    Stopped,
    /// `starting`, `configuring` or `stopping`.
    Changing,
}

/// A vserver group with its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerGroup {
    pub id: ServerGroupId,
    pub name: String,
    pub members: Vec<Member>,
}

/// A member of a group. Everything but weight and description identifies it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    pub kind: MemberKind,
    /// The instance or network interface.
    pub server: String,
    /// The address on the interface; `None` for instances.
    pub address: Option<IpAddr>,
    pub port: u16,
    /// 0 to 100.
    pub weight: u8,
    pub description: String,
}

/// What a member is (`Type` of a backend server).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberKind {
    Ecs,
    Eni,
    Eci,
    /// Any address; only in groups of network load balancers made for addresses.
    Ip,
}

// === impl AddressType ===

impl AddressType {
    /// `internet` or `intranet`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Internet => "internet",
            Self::Intranet => "intranet",
        }
    }
}

// === impl Protocol ===

impl Protocol {
    pub const ALL: [Self; 4] = [Self::Tcp, Self::Udp, Self::Http, Self::Https];

    /// Whether a load balancer cannot have both on the same port. TCP and UDP go together.
    pub fn excludes(self, other: Self) -> bool {
        self != other && !matches!((self, other), (Self::Udp, _) | (_, Self::Udp))
    }

    /// Whether a load balancer can have both on the same port.
    pub fn goes_with(self, other: Self) -> bool {
        self != other && !self.excludes(other)
    }

    /// The lower-case word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl MemberKind ===

impl MemberKind {
    /// The lower-case word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ecs => "ecs",
            Self::Eni => "eni",
            Self::Eci => "eci",
            Self::Ip => "ip",
        }
    }
}
