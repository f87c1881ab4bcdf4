//! The seam between the controllers and Alibaba Cloud.
//!
//! Domain types, the [`CloudProvider`] trait, the [`Action`]s that change something and the
//! one [`Error`] type. Nothing here knows Kubernetes objects or the wire: no JSON, no
//! parameter maps. The one decorator of the trait ([`guard`]) lives here too, with
//! its two uses ([`dry_run`], [`fence`]).

pub mod access_list;
pub mod action;
pub mod dry_run;
pub mod error;
pub mod fence;
pub mod guard;
pub mod id;
pub mod instance;
pub mod listener_setting;
pub mod load_balancer;
pub mod network_action;
pub mod network_load_balancer;
pub mod network_setting;
pub mod route;
pub mod settings;

use std::{collections::BTreeMap, net::IpAddr};

use async_trait::async_trait;

pub use access_list::{AccessList, AccessLists};
pub use action::{Action, Effect};
pub use error::{Class, Error};
pub use id::{
    AccessListId, AllocationId, InstanceId, JobId, ListenerId, LoadBalancerId, NetworkInterfaceId, RegionId,
    RouteTableId, SecurityGroupId, ServerGroupId, VSwitchId, VpcId, ZoneId,
};
pub use instance::{Instance, InstanceStatus, NetworkInterface};
pub use listener_setting::{ListenerSettings, Setting};
pub use load_balancer::{
    AddressType, Certificate, DomainExtension, GroupsView, Listener, ListenerStatus, LoadBalancer, LoadBalancerState,
    Member, MemberKind, Protocol, ServerGroup,
};
pub use network_action::NetworkAction;
pub use network_load_balancer::{
    JobState, Made, NetworkEffect, NetworkGroup, NetworkGroupKind, NetworkGroupStatus, NetworkInventory,
    NetworkListener, NetworkListenerStatus, NetworkLoadBalancer, NetworkLoadBalancerState, NetworkProtocol,
    NetworkStatus, PortRange, RulePolicy, SecurityGroup, SourceRule, ZoneMapping,
};
pub use network_setting::{NetworkGroupSetting, NetworkGroupSettings, NetworkListenerSetting, NetworkListenerSettings};
pub use route::{Route, RouteChange, RouteOutcome, RouteStatus, RouteTable, RouteTableKind};
pub use settings::Settings;

/// What the cloud offers the controllers. Every method is one question or one change; paging,
/// batching to the API's limits, signing, retries and throttling happen behind it.
pub trait CloudProvider: Instances + Routes + LoadBalancers + NetworkLoadBalancers + AccessLists {}

impl<T: Instances + Routes + LoadBalancers + NetworkLoadBalancers + AccessLists + ?Sized> CloudProvider for T {}

/// ECS instances and their network interfaces.
#[async_trait]
pub trait Instances: Send + Sync {
    /// The instances with these ids in `region`, in any order. An id that the cloud does not
    /// know is simply not in the answer, so an empty answer to a full question proves little:
    /// see the node controller's deletion rule. At most ⌈n/100⌉ calls (ECS `DescribeInstances`).
    async fn instances(&self, region: &RegionId, ids: &[InstanceId]) -> Result<Vec<Instance>, Error>;

    /// The instances of the cluster's VPC that have one of these primary private addresses
    /// (ECS `DescribeInstances` with `PrivateIpAddresses`).
    async fn instances_by_address(&self, addresses: &[IpAddr]) -> Result<Vec<Instance>, Error>;

    /// All instances of the cluster's VPC, ⌈n/100⌉ calls: for nodes that have neither provider id nor
    /// address (ECS `DescribeInstances` knows no filter for host names).
    async fn instances_of_vpc(&self) -> Result<Vec<Instance>, Error>;

    /// Whether the account has this Lingjun machine in the cluster's region (eflo-controller `DescribeNode`). An
    /// error is no answer; that there is none proves as little as an instance that is not in an answer.
    async fn lingjun_machine_exists(&self, id: &InstanceId) -> Result<bool, Error>;

    /// The network interfaces with these ids in `region` (ECS `DescribeNetworkInterfaces`).
    async fn network_interfaces(
        &self,
        region: &RegionId,
        ids: &[NetworkInterfaceId],
    ) -> Result<Vec<NetworkInterface>, Error>;

    /// The network interfaces in the cluster's VPC that hold one of these addresses, of either
    /// family (ECS `DescribeNetworkInterfaces`, 100 addresses a call).
    async fn network_interfaces_by_address(&self, addresses: &[IpAddr]) -> Result<Vec<NetworkInterface>, Error>;

    /// Lets an interface forward packets that are neither from nor for its own addresses, which
    /// pod routes need (ECS `ModifyNetworkInterfaceAttribute`, `SourceDestCheck=false`).
    async fn disable_source_destination_check(&self, region: &RegionId, id: &NetworkInterfaceId) -> Result<(), Error>;
}

/// VPC route tables and their entries.
#[async_trait]
pub trait Routes: Send + Sync {
    /// The route tables of the cluster's VPC (VPC `DescribeRouteTableList`, all pages).
    async fn route_tables(&self) -> Result<Vec<RouteTable>, Error>;

    /// The custom entries of one table, whatever they point at (VPC `DescribeRouteEntryList`,
    /// all pages).
    async fn routes(&self, table: &RouteTableId) -> Result<Vec<Route>, Error>;

    /// Creates entries that point at instances (VPC `CreateRouteEntries`, 50 a call). The call as
    /// a whole may fail, or some entries of it: the answer has one outcome an entry, in order.
    async fn create_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error>;

    /// Deletes entries (VPC `DeleteRouteEntries`, 50 a call). An entry that is gone is a success.
    async fn delete_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error>;
}

/// Classic load balancers (CLB, API name SLB) with their listeners and vserver groups.
#[async_trait]
pub trait LoadBalancers: Send + Sync {
    /// Every load balancer that carries the tag `key=value`, with listeners and the groups that
    /// those listeners use, but not groups that no listener uses
    /// ([`GroupsView::Referenced`]). ⌈N/100⌉ + ⌈L/100⌉ + V calls.
    async fn inventory(&self, tag_key: &str, tag_value: &str) -> Result<Vec<LoadBalancerState>, Error>;

    /// The load balancers with this tag, without listeners and groups (one call for up to 100).
    async fn find_by_tag(&self, tag_key: &str, tag_value: &str) -> Result<Vec<LoadBalancer>, Error>;

    /// The load balancers with exactly this name, without listeners and groups.
    async fn find_by_name(&self, name: &str) -> Result<Vec<LoadBalancer>, Error>;

    /// One load balancer in depth: attributes, all listeners, all groups with members
    /// ([`GroupsView::Complete`]). `None` if the cloud says that it does not exist.
    async fn observe(&self, id: &LoadBalancerId) -> Result<Option<LoadBalancerState>, Error>;

    /// All vserver groups of a load balancer with their members (SLB `DescribeVServerGroups` and
    /// one `DescribeVServerGroupAttribute` a group).
    async fn server_groups(&self, id: &LoadBalancerId) -> Result<Vec<ServerGroup>, Error>;

    /// The domain extensions of an HTTPS listener (SLB `DescribeDomainExtensions`).
    async fn domain_extensions(&self, id: &LoadBalancerId, port: u16) -> Result<Vec<DomainExtension>, Error>;

    /// A server certificate of the region; `None` if there is none with this id (SLB
    /// `DescribeServerCertificates`).
    async fn certificate(&self, id: &str) -> Result<Option<Certificate>, Error>;

    /// The elastic addresses bound to a load balancer, in the cloud's order (VPC
    /// `DescribeEipAddresses` with `AssociatedInstanceType=SlbInstance`).
    async fn elastic_addresses(&self, id: &LoadBalancerId) -> Result<Vec<String>, Error>;

    /// Carries out one change and tells what came of it. A change whose answer was lost ends in an
    /// error with [`Class::Unknown`]: look again before repeating it.
    async fn execute(&self, action: &Action) -> Result<Effect, Error>;
}

/// Network load balancers (NLB) with their listeners and server groups, and the security groups
/// that limit who reaches them.
#[async_trait]
pub trait NetworkLoadBalancers: Send + Sync {
    /// Every load balancer and every group that carries the tag `key=value`, with all that hangs
    /// on them but additional certificates. ⌈N/100⌉ + ⌈L/100⌉ + ⌈V/100⌉ + ⌈M/100⌉ calls.
    async fn network_inventory(&self, tag_key: &str, tag_value: &str) -> Result<NetworkInventory, Error>;

    /// The load balancers with this tag, without listeners (NLB `ListLoadBalancers`).
    async fn network_load_balancers_by_tag(
        &self,
        tag_key: &str,
        tag_value: &str,
    ) -> Result<Vec<NetworkLoadBalancer>, Error>;

    /// The load balancers with exactly this name, without listeners.
    async fn network_load_balancers_by_name(&self, name: &str) -> Result<Vec<NetworkLoadBalancer>, Error>;

    /// The load balancers with these ids, without listeners, 20 a call. One that the cloud does
    /// not know is not in the answer.
    async fn network_load_balancers(&self, ids: &[LoadBalancerId]) -> Result<Vec<NetworkLoadBalancer>, Error>;

    /// All listeners of one load balancer (NLB `ListListeners`).
    async fn network_listeners(&self, id: &LoadBalancerId) -> Result<Vec<NetworkListener>, Error>;

    /// The groups that carry all of these tags, with their members (NLB `ListServerGroups` and one
    /// `ListServerGroupServers` a group).
    async fn network_groups_by_tags(&self, tags: &BTreeMap<String, String>) -> Result<Vec<NetworkGroup>, Error>;

    /// The groups with these ids, with their members. One that the cloud does not know is not in
    /// the answer.
    async fn network_groups(&self, ids: &[ServerGroupId]) -> Result<Vec<NetworkGroup>, Error>;

    /// The members of all groups of the region (NLB `ListServerGroupServers`, ⌈M/100⌉ calls).
    async fn network_members(&self) -> Result<BTreeMap<ServerGroupId, Vec<Member>>, Error>;

    /// The certificates for further domains of a TCPSSL listener (NLB `ListListenerCertificates`).
    async fn additional_certificates(&self, listener: &ListenerId) -> Result<Vec<String>, Error>;

    /// The security groups with this tag, with their rules (ECS `DescribeSecurityGroups` and one
    /// `DescribeSecurityGroupAttribute` a group).
    async fn security_groups_by_tag(&self, tag_key: &str, tag_value: &str) -> Result<Vec<SecurityGroup>, Error>;

    /// Where these jobs are, 20 a call (NLB `ListAsynJobs`).
    async fn jobs(&self, ids: &[JobId]) -> Result<BTreeMap<JobId, JobState>, Error>;

    /// Begins one change and tells what came of it. A change whose answer was lost ends in an
    /// error with [`Class::Unknown`]: look again before repeating it. What is busy is not waited
    /// for: [`Class::Busy`] comes back at once.
    async fn execute_network(&self, action: &NetworkAction) -> Result<NetworkEffect, Error>;
}
