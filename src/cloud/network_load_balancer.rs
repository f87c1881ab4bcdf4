//! Network load balancers (NLB) as the service controller needs them: the load balancer, its
//! listeners, and server groups with their members.
//!
//! Unlike those of a classic load balancer, groups stand by themselves: they can be made before
//! the load balancer is ready, and have to be deleted after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use ipnet::IpNet;

use super::{
    AddressType, AllocationId, JobId, ListenerId, LoadBalancerId, Member, NetworkGroupSettings,
    NetworkListenerSettings, SecurityGroupId, ServerGroupId, VSwitchId, VpcId, ZoneId,
};

/// A network load balancer without its listeners (NLB `ListLoadBalancers`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkLoadBalancer {
    pub id: LoadBalancerId,
    pub name: String,
    pub status: NetworkStatus,
    /// The name that clients connect to.
    pub dns_name: String,
    pub address_type: AddressType,
    /// `ipv4` or `DualStack`; `None` if the cloud did not say.
    pub ip_version: Option<String>,
    /// Where its IPv6 addresses are reachable from; only with `DualStack`.
    pub ipv6_address_type: Option<AddressType>,
    pub vpc: Option<VpcId>,
    pub zones: Vec<ZoneMapping>,
    pub security_groups: BTreeSet<SecurityGroupId>,
    /// The common bandwidth package that its public addresses share.
    pub bandwidth_package: Option<String>,
    pub cross_zone: Option<bool>,
    pub delete_protection: Option<bool>,
    /// `ConsoleProtection` or `NonProtection`.
    pub modification_protection: Option<String>,
    pub resource_group: Option<String>,
    pub tags: BTreeMap<String, String>,
}

/// `LoadBalancerStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkStatus {
    /// Being made; takes no changes yet, but groups can be made meanwhile.
    Provisioning,
    Active,
    /// `Configuring`: a job works on it, and it takes no other changes.
    Changing,
    Deleting,
    /// `Inactive` or `CreateFailed`.
    Unusable,
}

/// The place of a network load balancer in one zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZoneMapping {
    pub zone: ZoneId,
    pub vswitch: VSwitchId,
    /// In a wish, `None` is any free one.
    pub private_address: Option<IpAddr>,
    /// The elastic address behind the public one, if the user gave it.
    pub allocation: Option<AllocationId>,
}

/// A listener's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkProtocol {
    Tcp,
    Udp,
    /// TLS ends at the load balancer.
    TcpSsl,
}

/// The ports that a listener listens on, from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

/// A listener (NLB `ListListeners`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkListener {
    pub id: ListenerId,
    pub protocol: NetworkProtocol,
    pub ports: PortRange,
    pub status: NetworkListenerStatus,
    pub description: String,
    pub group: Option<ServerGroupId>,
    pub settings: NetworkListenerSettings,
    /// Certificates for further domains (NLB `ListListenerCertificates`); `None` if they were not
    /// read.
    pub additional_certificates: Option<BTreeSet<String>>,
}

/// `ListenerStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkListenerStatus {
    Running,
    Stopped,
    /// On its way to be one of the others, or away.
    Changing,
}

/// A network load balancer with its listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkLoadBalancerState {
    pub load_balancer: NetworkLoadBalancer,
    pub listeners: Vec<NetworkListener>,
}

/// A server group with its members (NLB `ListServerGroups`, `ListServerGroupServers`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkGroup {
    pub id: ServerGroupId,
    pub name: String,
    pub status: NetworkGroupStatus,
    pub kind: NetworkGroupKind,
    /// `TCP`, `UDP` or `TCP_UDP`.
    pub protocol: String,
    /// Whether members get traffic on the port that the client used; their own port is 0 then.
    pub any_port: bool,
    /// `ipv4` or `DualStack`; `None` if the cloud did not say.
    pub ip_version: Option<String>,
    pub resource_group: Option<String>,
    pub settings: NetworkGroupSettings,
    pub tags: BTreeMap<String, String>,
    pub members: Vec<Member>,
}

/// `ServerGroupStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkGroupStatus {
    /// Being made; no listener can use it yet.
    Creating,
    Available,
    /// `Configuring`: it takes no other changes.
    Changing,
}

/// What the members of a group are (`ServerGroupType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkGroupKind {
    /// Instances and network interfaces.
    #[default]
    Instance,
    /// Addresses.
    Ip,
}

/// Everything that belongs to one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkInventory {
    pub load_balancers: Vec<NetworkLoadBalancerState>,
    pub groups: Vec<NetworkGroup>,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    Processing,
    Succeeded,
    Failed,
    /// The cloud does not know the job (any more).
    Unknown,
}

/// A security group with its rules for traffic that comes in from address ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityGroup {
    pub id: SecurityGroupId,
    pub name: String,
    pub description: String,
    pub rules: Vec<SourceRule>,
    /// Rules about less than all traffic from one address range, by id (`sgr-…`): their descriptions.
    pub others: BTreeMap<String, String>,
}

/// What a security group does with traffic from an address range, whatever protocol and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceRule {
    /// `sgr-…`; empty in a wish.
    pub id: String,
    pub source: IpNet,
    pub policy: RulePolicy,
    /// 1 to 100; the smallest goes first.
    pub priority: u8,
    pub description: String,
}

/// What a rule does with the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RulePolicy {
    Accept,
    Drop,
}

/// What a network load balancer's change brought about, beyond having been accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkEffect {
    /// What is not in place before this job has succeeded; `None` if it is in place now.
    pub job: Option<JobId>,
    pub made: Made,
}

/// What a change made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    Nothing,
    LoadBalancer(LoadBalancerId),
    Group(ServerGroupId),
    Listener(ListenerId),
    SecurityGroup(SecurityGroupId),
}

// === impl NetworkProtocol ===

impl NetworkProtocol {
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::TcpSsl];

    /// The upper-case word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::TcpSsl => "TCPSSL",
        }
    }

    /// The protocol of the groups that such listeners send to.
    pub fn of_group(self) -> &'static str {
        match self {
            Self::Tcp | Self::TcpSsl => "TCP",
            Self::Udp => "UDP",
        }
    }

    /// Whether listeners of both cannot be on the same port: only UDP goes with the others.
    pub fn excludes(self, other: Self) -> bool {
        (self == Self::Udp) == (other == Self::Udp)
    }
}

impl fmt::Display for NetworkProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl PortRange ===

impl PortRange {
    /// One port.
    pub fn one(port: u16) -> Self {
        Self { first: port, last: port }
    }

    /// The port, if it is only one.
    pub fn single(self) -> Option<u16> {
        (self.first == self.last).then_some(self.first)
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.single() {
            Some(port) => port.fmt(f),
            None => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

// === impl NetworkGroupKind ===

impl NetworkGroupKind {
    /// The word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instance => "Instance",
            Self::Ip => "Ip",
        }
    }
}

// === impl RulePolicy ===

impl RulePolicy {
    /// The lower-case word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Drop => "drop",
        }
    }
}
