//! A provider that changes something only while this process is known to lead.
//!
//! A leader that was stopped and woken again may believe in a lease that another replica holds
//! by now. So each change first asks whether the lease was renewed recently enough.

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;

use super::{
    Action, Certificate, Class, CloudProvider, DomainExtension, Effect, Error, Instance, InstanceId, Instances,
    LoadBalancer, LoadBalancerId, LoadBalancerState, LoadBalancers, NetworkInterface, NetworkInterfaceId, RegionId,
    Route, RouteChange, RouteOutcome, RouteTable, RouteTableId, Routes, ServerGroup,
};

/// Tells whether this process may write at this moment.
pub type MayWrite = Arc<dyn Fn() -> bool + Send + Sync>;

/// Wraps a provider; reads pass, changes pass only while `may_write` says so.
pub struct Fenced {
    inner: Arc<dyn CloudProvider>,
    may_write: MayWrite,
}

// === impl Fenced ===

impl Fenced {
    pub fn new(inner: Arc<dyn CloudProvider>, may_write: MayWrite) -> Self {
        Self { inner, may_write }
    }

    fn check(&self, action: impl Into<String>) -> Result<(), Error> {
        if (self.may_write)() {
            return Ok(());
        }
        Err(Error::new(Class::NotLeader, action, "", "not sent: this replica does not hold the leader lease any more"))
    }
}

#[async_trait]
impl Instances for Fenced {
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

    async fn disable_source_destination_check(&self, region: &RegionId, id: &NetworkInterfaceId) -> Result<(), Error> {
        self.check("ModifyNetworkInterfaceAttribute")?;
        self.inner.disable_source_destination_check(region, id).await
    }
}

#[async_trait]
impl Routes for Fenced {
    async fn route_tables(&self) -> Result<Vec<RouteTable>, Error> {
        self.inner.route_tables().await
    }

    async fn routes(&self, table: &RouteTableId) -> Result<Vec<Route>, Error> {
        self.inner.routes(table).await
    }

    async fn create_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        self.check("CreateRouteEntries")?;
        self.inner.create_routes(table, routes).await
    }

    async fn delete_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        self.check("DeleteRouteEntries")?;
        self.inner.delete_routes(table, routes).await
    }
}

#[async_trait]
impl LoadBalancers for Fenced {
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
        self.check(action.to_string())?;
        self.inner.execute(action).await
    }
}
