//! A provider whose changes are judged before they are sent; reads pass.
//!
//! Whoever may not write ([`super::fence`]) and whoever only looks ([`super::dry_run`]) differ in
//! the judgement alone, so what passes through is written down once, here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
    sync::Arc,
};

use async_trait::async_trait;
use ipnet::IpNet;

use super::{
    AccessList, AccessListId, AccessLists, Action, Certificate, CloudProvider, DomainExtension, Effect, Error,
    Instance, InstanceId, Instances, JobId, JobState, ListenerId, LoadBalancer, LoadBalancerId, LoadBalancerState,
    LoadBalancers, Made, Member, NetworkAction, NetworkEffect, NetworkGroup, NetworkInterface, NetworkInterfaceId,
    NetworkInventory, NetworkListener, NetworkLoadBalancer, NetworkLoadBalancers, RegionId, Route, RouteChange,
    RouteOutcome, RouteTable, RouteTableId, Routes, SecurityGroup, SecurityGroupId, ServerGroup, ServerGroupId,
};

/// A change that a controller asks for. Its text tells it to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    LoadBalancer(Box<Action>),
    NetworkLoadBalancer(Box<NetworkAction>),
    DisableSourceDestinationCheck(NetworkInterfaceId),
    CreateRoute(RouteTableId, RouteChange),
    DeleteRoute(RouteTableId, RouteChange),
}

/// What becomes of changes that are asked for together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Send,
    Refuse(Error),
    /// Answer as if it had worked. The number makes placeholder ids unique.
    Pretend(usize),
}

/// Judges changes.
pub trait Guard: Send + Sync {
    fn judge(&self, changes: &[Change]) -> Verdict;
}

/// Wraps a provider in a guard.
pub struct Guarded {
    inner: Arc<dyn CloudProvider>,
    guard: Arc<dyn Guard>,
}

// === impl Guarded ===

impl Guarded {
    pub fn new(inner: Arc<dyn CloudProvider>, guard: Arc<dyn Guard>) -> Self {
        Self { inner, guard }
    }
}

#[async_trait]
impl Instances for Guarded {
    async fn instances(&self, region: &RegionId, ids: &[InstanceId]) -> Result<Vec<Instance>, Error> {
        self.inner.instances(region, ids).await
    }

    async fn instances_by_address(&self, addresses: &[IpAddr]) -> Result<Vec<Instance>, Error> {
        self.inner.instances_by_address(addresses).await
    }

    async fn instances_of_vpc(&self) -> Result<Vec<Instance>, Error> {
        self.inner.instances_of_vpc().await
    }

    async fn lingjun_machine_exists(&self, id: &InstanceId) -> Result<bool, Error> {
        self.inner.lingjun_machine_exists(id).await
    }

    async fn network_interfaces(
        &self,
        region: &RegionId,
        ids: &[NetworkInterfaceId],
    ) -> Result<Vec<NetworkInterface>, Error> {
        self.inner.network_interfaces(region, ids).await
    }

    async fn network_interfaces_by_address(&self, addresses: &[IpAddr]) -> Result<Vec<NetworkInterface>, Error> {
        self.inner.network_interfaces_by_address(addresses).await
    }

    async fn disable_source_destination_check(&self, region: &RegionId, id: &NetworkInterfaceId) -> Result<(), Error> {
        match self.guard.judge(&[Change::DisableSourceDestinationCheck(id.clone())]) {
            Verdict::Send => self.inner.disable_source_destination_check(region, id).await,
            Verdict::Refuse(error) => Err(error),
            Verdict::Pretend(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Routes for Guarded {
    async fn route_tables(&self) -> Result<Vec<RouteTable>, Error> {
        self.inner.route_tables().await
    }

    async fn routes(&self, table: &RouteTableId) -> Result<Vec<Route>, Error> {
        self.inner.routes(table).await
    }

    async fn create_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        let changes: Vec<_> = routes.iter().map(|route| Change::CreateRoute(table.clone(), route.clone())).collect();
        match self.guard.judge(&changes) {
            Verdict::Send => self.inner.create_routes(table, routes).await,
            Verdict::Refuse(error) => Err(error),
            Verdict::Pretend(_) => Ok(vec![RouteOutcome::Done; routes.len()]),
        }
    }

    async fn delete_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        let changes: Vec<_> = routes.iter().map(|route| Change::DeleteRoute(table.clone(), route.clone())).collect();
        match self.guard.judge(&changes) {
            Verdict::Send => self.inner.delete_routes(table, routes).await,
            Verdict::Refuse(error) => Err(error),
            Verdict::Pretend(_) => Ok(vec![RouteOutcome::Done; routes.len()]),
        }
    }
}

#[async_trait]
impl LoadBalancers for Guarded {
    async fn inventory(&self, tag_key: &str, tag_value: &str) -> Result<Vec<LoadBalancerState>, Error> {
        self.inner.inventory(tag_key, tag_value).await
    }

    async fn find_by_tag(&self, tag_key: &str, tag_value: &str) -> Result<Vec<LoadBalancer>, Error> {
        self.inner.find_by_tag(tag_key, tag_value).await
    }

    async fn find_by_name(&self, name: &str) -> Result<Vec<LoadBalancer>, Error> {
        self.inner.find_by_name(name).await
    }

    async fn observe(&self, id: &LoadBalancerId) -> Result<Option<LoadBalancerState>, Error> {
        self.inner.observe(id).await
    }

    async fn server_groups(&self, id: &LoadBalancerId) -> Result<Vec<ServerGroup>, Error> {
        self.inner.server_groups(id).await
    }

    async fn domain_extensions(&self, id: &LoadBalancerId, port: u16) -> Result<Vec<DomainExtension>, Error> {
        self.inner.domain_extensions(id, port).await
    }

    async fn certificate(&self, id: &str) -> Result<Option<Certificate>, Error> {
        self.inner.certificate(id).await
    }

    async fn elastic_addresses(&self, id: &LoadBalancerId) -> Result<Vec<String>, Error> {
        self.inner.elastic_addresses(id).await
    }

    async fn execute(&self, action: &Action) -> Result<Effect, Error> {
        match self.guard.judge(&[Change::LoadBalancer(Box::new(action.clone()))]) {
            Verdict::Send => self.inner.execute(action).await,
            Verdict::Refuse(error) => Err(error),
            Verdict::Pretend(number) => Ok(pretended(action, number)),
        }
    }
}

#[async_trait]
impl AccessLists for Guarded {
    async fn access_lists(&self, tag_key: &str, tag_value: &str) -> Result<Vec<AccessList>, Error> {
        self.inner.access_lists(tag_key, tag_value).await
    }

    async fn access_entries(&self, list: &AccessListId) -> Result<Option<BTreeSet<IpNet>>, Error> {
        self.inner.access_entries(list).await
    }
}

/// What the cloud would have answered, with placeholders for what only it can give.
fn pretended(action: &Action, number: usize) -> Effect {
    match action {
        Action::CreateLoadBalancer(create) => Effect::LoadBalancerCreated(Box::new(
            create.created(LoadBalancerId::new(format!("(new load balancer {number})")), "(not yet known)"),
        )),
        Action::CreateServerGroup { .. } => {
            Effect::ServerGroupCreated(ServerGroupId::new(format!("(new group {number})")))
        }
        Action::CreateDomainExtension { .. } => {
            Effect::DomainExtensionCreated(format!("(new domain extension {number})"))
        }
        Action::CreateAccessList(_) => {
            Effect::AccessListCreated(AccessListId::new(format!("(new access control list {number})")))
        }
        _ => Effect::Done,
    }
}

#[async_trait]
impl NetworkLoadBalancers for Guarded {
    async fn network_inventory(&self, tag_key: &str, tag_value: &str) -> Result<NetworkInventory, Error> {
        self.inner.network_inventory(tag_key, tag_value).await
    }

    async fn network_load_balancers_by_tag(
        &self,
        tag_key: &str,
        tag_value: &str,
    ) -> Result<Vec<NetworkLoadBalancer>, Error> {
        self.inner.network_load_balancers_by_tag(tag_key, tag_value).await
    }

    async fn network_load_balancers_by_name(&self, name: &str) -> Result<Vec<NetworkLoadBalancer>, Error> {
        self.inner.network_load_balancers_by_name(name).await
    }

    async fn network_load_balancers(&self, ids: &[LoadBalancerId]) -> Result<Vec<NetworkLoadBalancer>, Error> {
        self.inner.network_load_balancers(ids).await
    }

    async fn network_listeners(&self, id: &LoadBalancerId) -> Result<Vec<NetworkListener>, Error> {
        self.inner.network_listeners(id).await
    }

    async fn network_groups_by_tags(&self, tags: &BTreeMap<String, String>) -> Result<Vec<NetworkGroup>, Error> {
        self.inner.network_groups_by_tags(tags).await
    }

    async fn network_groups(&self, ids: &[ServerGroupId]) -> Result<Vec<NetworkGroup>, Error> {
        self.inner.network_groups(ids).await
    }

    async fn network_members(&self) -> Result<BTreeMap<ServerGroupId, Vec<Member>>, Error> {
        self.inner.network_members().await
    }

    async fn additional_certificates(&self, listener: &ListenerId) -> Result<Vec<String>, Error> {
        self.inner.additional_certificates(listener).await
    }

    async fn security_groups_by_tag(&self, tag_key: &str, tag_value: &str) -> Result<Vec<SecurityGroup>, Error> {
        self.inner.security_groups_by_tag(tag_key, tag_value).await
    }

    async fn jobs(&self, ids: &[JobId]) -> Result<BTreeMap<JobId, JobState>, Error> {
        self.inner.jobs(ids).await
    }

    async fn execute_network(&self, action: &NetworkAction) -> Result<NetworkEffect, Error> {
        match self.guard.judge(&[Change::NetworkLoadBalancer(Box::new(action.clone()))]) {
            Verdict::Send => self.inner.execute_network(action).await,
            Verdict::Refuse(error) => Err(error),
            Verdict::Pretend(number) => Ok(NetworkEffect { job: None, made: pretended_network(action, number) }),
        }
    }
}

/// The same for network load balancers; without a job, so that the change counts as in place.
fn pretended_network(action: &NetworkAction, number: usize) -> Made {
    match action {
        NetworkAction::CreateLoadBalancer(_) => {
            Made::LoadBalancer(LoadBalancerId::new(format!("(new network load balancer {number})")))
        }
        NetworkAction::CreateGroup(_) => Made::Group(ServerGroupId::new(format!("(new group {number})"))),
        NetworkAction::CreateListener(_) => Made::Listener(ListenerId::new(format!("(new listener {number})"))),
        NetworkAction::CreateSecurityGroup(_) => {
            Made::SecurityGroup(SecurityGroupId::new(format!("(new security group {number})")))
        }
        _ => Made::Nothing,
    }
}

// === impl Change ===

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LoadBalancer(action) => action.fmt(f),
            Self::NetworkLoadBalancer(action) => action.fmt(f),
            Self::DisableSourceDestinationCheck(id) => write!(f, "turn source/destination check of {id} off"),
            Self::CreateRoute(table, r) => write!(f, "create route {} to {} in {table}", r.destination, r.instance),
            Self::DeleteRoute(table, r) => write!(f, "delete route {} to {} from {table}", r.destination, r.instance),
        }
    }
}
