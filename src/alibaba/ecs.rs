//! ECS: instances and their network interfaces.

mod wire;

use std::{collections::BTreeMap, net::IpAddr};

use async_trait::async_trait;
use futures::future::BoxFuture;
use tracing::warn;

use super::{
    Alibaba,
    rpc::{Product, Request},
};
use crate::cloud::{Class, Error, Instance, InstanceId, Instances, NetworkInterface, NetworkInterfaceId, RegionId};

/// The most ids or addresses in one call, and the page size.
const BATCH: usize = 100;

#[async_trait]
impl Instances for Alibaba {
    async fn instances(&self, region: &RegionId, ids: &[InstanceId]) -> Result<Vec<Instance>, Error> {
        let mut found = Vec::new();
        for batch in ids.chunks(BATCH) {
            found.extend(self.instances_batch(region, batch).await?);
        }
        Ok(found)
    }

    async fn instances_by_address(&self, addresses: &[IpAddr]) -> Result<Vec<Instance>, Error> {
        let (v4, v6) = split(addresses);
        let vpc = self.vpc().await?;
        let by_address =
            |count: usize| describe_instances().about(format!("{count} addresses in {vpc}")).param("VpcId", &vpc);
        let mut requests = Vec::new();
        for batch in v4.chunks(BATCH) {
            requests.push(
                by_address(batch.len())
                    .param("InstanceNetworkType", "vpc")
                    .param("PrivateIpAddresses", serde_json::json!(batch)),
            );
        }
        for batch in v6.chunks(BATCH) {
            requests.push(by_address(batch.len()).list("Ipv6Address", batch));
        }
        let mut found = BTreeMap::new();
        for request in requests {
            for instance in self.client().read_by_token::<wire::Instances>(request).await? {
                let instance = instance.into_instance(self.client().region());
                found.insert(instance.id.clone(), instance);
            }
        }
        Ok(found.into_values().collect())
    }

    async fn instances_of_vpc(&self) -> Result<Vec<Instance>, Error> {
        let vpc = self.vpc().await?;
        let request = describe_instances().about(format!("all instances in {vpc}")).param("VpcId", &vpc);
        let found = self.client().read_by_token::<wire::Instances>(request).await?;
        Ok(found.into_iter().map(|instance| instance.into_instance(self.client().region())).collect())
    }

    async fn lingjun_machine_exists(&self, id: &InstanceId) -> Result<bool, Error> {
        super::eflo::machine_exists(self.client(), id).await
    }

    async fn network_interfaces(
        &self,
        region: &RegionId,
        ids: &[NetworkInterfaceId],
    ) -> Result<Vec<NetworkInterface>, Error> {
        let mut found = Vec::new();
        for batch in ids.chunks(BATCH) {
            let request = describe_interfaces()
                .about(count(batch, "network interfaces", region))
                .in_region(region)
                .list("NetworkInterfaceId", batch);
            found.extend(self.interfaces(request).await?);
        }
        Ok(found)
    }

    async fn network_interfaces_by_address(&self, addresses: &[IpAddr]) -> Result<Vec<NetworkInterface>, Error> {
        let (v4, v6) = split(addresses);
        let vpc = self.vpc().await?;
        let mut found = BTreeMap::new();
        for (name, addresses) in [("PrivateIpAddress", v4), ("Ipv6Address", v6)] {
            for batch in addresses.chunks(BATCH) {
                let request = describe_interfaces()
                    .about(format!("{} addresses in {vpc}", batch.len()))
                    .param("VpcId", &vpc)
                    .param("Status", "InUse")
                    .list(name, batch);
                for interface in self.interfaces(request).await? {
                    found.insert(interface.id.clone(), interface);
                }
            }
        }
        Ok(found.into_values().collect())
    }

    async fn disable_source_destination_check(&self, region: &RegionId, id: &NetworkInterfaceId) -> Result<(), Error> {
        let request = Request::write(Product::Ecs, "ModifyNetworkInterfaceAttribute")
            .about(id)
            .in_region(region)
            .param("NetworkInterfaceId", id)
            .param("SourceDestCheck", false);
        self.client().run(&request).await
    }
}

impl Alibaba {
    /// Up to [`BATCH`] instances. The API refuses the whole call for one id it finds malformed, so
    /// a refused batch is halved until the bad id stands alone; that one is then left out. Asked
    /// for alone it is an error, since then nothing else would tell the caller.
    fn instances_batch<'a>(
        &'a self,
        region: &'a RegionId,
        ids: &'a [InstanceId],
    ) -> BoxFuture<'a, Result<Vec<Instance>, Error>> {
        Box::pin(async move {
            let json: Vec<_> = ids.iter().map(InstanceId::as_str).collect();
            let request = describe_instances()
                .about(count(ids, "instances", region))
                .in_region(region)
                .param("InstanceIds", serde_json::json!(json));
            match self.client().read_by_token::<wire::Instances>(request).await {
                Ok(instances) => Ok(instances.into_iter().map(|instance| instance.into_instance(region)).collect()),
                Err(error) if error.class == Class::Invalid && ids.len() > 1 => {
                    let mut found = Vec::new();
                    let (left, right) = ids.split_at(ids.len() / 2);
                    for half in [left, right] {
                        match self.instances_batch(region, half).await {
                            Ok(instances) => found.extend(instances),
                            Err(error) if error.class == Class::Invalid && half.len() == 1 => {
                                warn!(%error, instance.id = %half[0], "the cloud refuses this instance id; it is left out");
                            }
                            Err(error) => return Err(error),
                        }
                    }
                    Ok(found)
                }
                Err(error) => Err(error),
            }
        })
    }

    async fn interfaces(&self, request: Request) -> Result<Vec<NetworkInterface>, Error> {
        let interfaces = self.client().read_by_token::<wire::Interfaces>(request).await?;
        Ok(interfaces.into_iter().map(wire::Interface::into_interface).collect())
    }
}

fn describe_instances() -> Request {
    Request::read(Product::Ecs, "DescribeInstances")
        .param("MaxResults", BATCH)
        .param("AdditionalAttributes.1", "NETWORK_PRIMARY_ENI_IP")
}

fn describe_interfaces() -> Request {
    Request::read(Product::Ecs, "DescribeNetworkInterfaces").param("MaxResults", BATCH)
}

fn count<T: std::fmt::Display>(items: &[T], what: &str, region: &RegionId) -> String {
    match items {
        [one] => one.to_string(),
        many => format!("{} {what} in {region}", many.len()),
    }
}

fn split(addresses: &[IpAddr]) -> (Vec<IpAddr>, Vec<IpAddr>) {
    addresses.iter().partition(|address| address.is_ipv4())
}

#[cfg(test)]
mod tests;
