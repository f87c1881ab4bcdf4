//! A provider that looks but does not touch: reads pass, changes are recorded and never sent.
//!
//! Each recorded change answers as if it had worked, with placeholder ids, so that a whole
//! plan becomes visible and not only its first step.

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::{
    Action, Certificate, CloudProvider, DomainExtension, Effect, Error, Instance, InstanceId, Instances, LoadBalancer,
    LoadBalancerId, LoadBalancerState, LoadBalancers, NetworkInterface, NetworkInterfaceId, RegionId, Route,
    RouteChange, RouteOutcome, RouteTable, RouteTableId, Routes, ServerGroup, ServerGroupId,
};

/// A change that would have been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planned {
    LoadBalancer(Box<Action>),
    DisableSourceDestinationCheck(NetworkInterfaceId),
    CreateRoute(RouteTableId, RouteChange),
    DeleteRoute(RouteTableId, RouteChange),
}

/// Wraps a provider and records what would have been changed.
pub struct DryRun {
    inner: Arc<dyn CloudProvider>,
    planned: Mutex<Vec<Planned>>,
}

// === impl DryRun ===

impl DryRun {
    pub fn new(inner: Arc<dyn CloudProvider>) -> Self {
        Self { inner, planned: Mutex::new(Vec::new()) }
    }

    /// Everything recorded so far, in order.
    pub fn planned(&self) -> Vec<Planned> {
        self.planned.lock().clone()
    }

    fn record(&self, planned: Planned) -> usize {
        let mut all = self.planned.lock();
        tracing::info!(change = %planned, "dry run: not sent");
        all.push(planned);
        all.len()
    }
}

#[async_trait]
impl Instances for DryRun {
    async fn instances(&self, region: &RegionId, ids: &[InstanceId]) -> Result<Vec<Instance>, Error> {
        self.inner.instances(region, ids).await
    }

    async fn instances_by_address(&self, addresses: &[IpAddr]) -> Result<Vec<Instance>, Error> {
        self.inner.instances_by_address(addresses).await
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

    async fn disable_source_destination_check(&self, _: &RegionId, id: &NetworkInterfaceId) -> Result<(), Error> {
        self.record(Planned::DisableSourceDestinationCheck(id.clone()));
        Ok(())
    }
}

#[async_trait]
impl Routes for DryRun {
    async fn route_tables(&self) -> Result<Vec<RouteTable>, Error> {
        self.inner.route_tables().await
    }

    async fn routes(&self, table: &RouteTableId) -> Result<Vec<Route>, Error> {
        self.inner.routes(table).await
    }

    async fn create_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        for route in routes {
            self.record(Planned::CreateRoute(table.clone(), route.clone()));
        }
        Ok(vec![RouteOutcome::Done; routes.len()])
    }

    async fn delete_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        for route in routes {
            self.record(Planned::DeleteRoute(table.clone(), route.clone()));
        }
        Ok(vec![RouteOutcome::Done; routes.len()])
    }
}

#[async_trait]
impl LoadBalancers for DryRun {
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
        let number = self.record(Planned::LoadBalancer(Box::new(action.clone())));
        Ok(match action {
            Action::CreateLoadBalancer(create) => Effect::LoadBalancerCreated(Box::new(
                create.created(LoadBalancerId::new(format!("(new load balancer {number})")), "(not yet known)"),
            )),
            Action::CreateServerGroup { .. } => {
                Effect::ServerGroupCreated(ServerGroupId::new(format!("(new group {number})")))
            }
            Action::CreateDomainExtension { .. } => {
                Effect::DomainExtensionCreated(format!("(new domain extension {number})"))
            }
            _ => Effect::Done,
        })
    }
}

// === impl Planned ===

impl std::fmt::Display for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LoadBalancer(action) => action.fmt(f),
            Self::DisableSourceDestinationCheck(id) => write!(f, "turn source/destination check of {id} off"),
            Self::CreateRoute(table, r) => write!(f, "create route {} to {} in {table}", r.destination, r.instance),
            Self::DeleteRoute(table, r) => write!(f, "delete route {} to {} from {table}", r.destination, r.instance),
        }
    }
}
