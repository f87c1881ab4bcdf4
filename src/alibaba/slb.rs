//! SLB: classic load balancers, listeners and vserver groups.

mod access_list;
mod actions;
mod setting;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use futures::FutureExt;
use serde_json::json;

use super::{
    Alibaba,
    lists::{by_load_balancer, join, side_by_side},
    rpc::{Product, Request},
};
use crate::cloud::{
    Action, Certificate, Class, DomainExtension, Effect, Error, GroupsView, Listener, LoadBalancer, LoadBalancerId,
    LoadBalancerState, LoadBalancers, ServerGroup, ServerGroupId,
};

/// The page size of load balancers and of listeners.
const PAGE: usize = 100;
/// The most load balancers that one listener query may name; beyond that it names none.
const LISTENERS_OF: usize = 10;

#[async_trait]
impl LoadBalancers for Alibaba {
    async fn inventory(&self, tag_key: &str, tag_value: &str) -> Result<Vec<LoadBalancerState>, Error> {
        let load_balancers = self.find_by_tag(tag_key, tag_value).await?;
        let ids: BTreeSet<_> = load_balancers.iter().map(|lb| lb.id.clone()).collect();
        let mut listeners = self.listeners(&ids).await?;
        let referenced: BTreeSet<_> =
            listeners.values().flatten().filter_map(|listener| listener.group.clone()).collect();
        let referenced = referenced.into_iter().collect();
        let mut groups: BTreeMap<_, _> =
            self.groups(referenced).await?.into_iter().map(|g| (g.id.clone(), g)).collect();
        let state = |load_balancer: LoadBalancer| {
            let listeners = listeners.remove(&load_balancer.id).unwrap_or_default();
            let used: BTreeSet<_> = listeners.iter().filter_map(|listener| listener.group.as_ref()).collect();
            let groups = used.into_iter().filter_map(|id| groups.remove(id)).collect();
            LoadBalancerState { load_balancer, listeners, groups, groups_view: GroupsView::Referenced }
        };
        Ok(load_balancers.into_iter().map(state).collect())
    }

    async fn find_by_tag(&self, tag_key: &str, tag_value: &str) -> Result<Vec<LoadBalancer>, Error> {
        let request = Request::read(Product::Slb, "DescribeLoadBalancers")
            .about(format!("tag {tag_key}={tag_value}"))
            .param("Tags", json!([{ "TagKey": tag_key, "TagValue": tag_value }]));
        let mut found = self.client().read_numbered::<wire::LoadBalancers>(request, PAGE).await?;
        // Were the filter ever ignored, other people's load balancers would pass for ours.
        found.retain(|lb| lb.may_have_tag(tag_key, tag_value));
        Ok(found.into_iter().map(wire::LoadBalancer::into_load_balancer).collect())
    }

    async fn find_by_name(&self, name: &str) -> Result<Vec<LoadBalancer>, Error> {
        let request = Request::read(Product::Slb, "DescribeLoadBalancers")
            .about(format!("name {name}"))
            .param("LoadBalancerName", name);
        let found = self.client().read_numbered::<wire::LoadBalancers>(request, PAGE).await?;
        let mut found: Vec<_> = found.into_iter().map(wire::LoadBalancer::into_load_balancer).collect();
        found.retain(|lb| lb.name == name);
        Ok(found)
    }

    async fn observe(&self, id: &LoadBalancerId) -> Result<Option<LoadBalancerState>, Error> {
        let request =
            Request::read(Product::Slb, "DescribeLoadBalancerAttribute").about(id).param("LoadBalancerId", id);
        let load_balancer = match self.client().call::<wire::LoadBalancer>(&request).await {
            Ok(reply) => reply.into_load_balancer(),
            Err(error) if error.class == Class::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if load_balancer.id != *id {
            let message = format!("the answer is about {}", load_balancer.id);
            return Err(Error::new(Class::Malformed, request.action, request.subject, message));
        }
        let listeners = self.listeners(&BTreeSet::from([id.clone()])).await?.remove(id).unwrap_or_default();
        let groups = self.server_groups(id).await?;
        Ok(Some(LoadBalancerState { load_balancer, listeners, groups, groups_view: GroupsView::Complete }))
    }

    async fn server_groups(&self, id: &LoadBalancerId) -> Result<Vec<ServerGroup>, Error> {
        let request = Request::read(Product::Slb, "DescribeVServerGroups").about(id).param("LoadBalancerId", id);
        let reply = self.client().call::<wire::ServerGroups>(&request).await?;
        self.groups(reply.ids()).await
    }

    async fn domain_extensions(&self, id: &LoadBalancerId, port: u16) -> Result<Vec<DomainExtension>, Error> {
        let request = Request::read(Product::Slb, "DescribeDomainExtensions")
            .about(format!("{port}/https of {id}"))
            .param("LoadBalancerId", id)
            .param("ListenerPort", port);
        Ok(self.client().call::<wire::DomainExtensions>(&request).await?.into_extensions())
    }

    async fn certificate(&self, id: &str) -> Result<Option<Certificate>, Error> {
        let request =
            Request::read(Product::Slb, "DescribeServerCertificates").about(id).param("ServerCertificateId", id);
        match self.client().call::<wire::Certificates>(&request).await {
            Ok(reply) => Ok(reply.find(id)),
            Err(error) if error.class == Class::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn elastic_addresses(&self, id: &LoadBalancerId) -> Result<Vec<String>, Error> {
        let request = Request::read(Product::Vpc, "DescribeEipAddresses")
            .about(id)
            .param("AssociatedInstanceType", "SlbInstance")
            .param("AssociatedInstanceId", id);
        let found = self.client().read_numbered::<wire::ElasticAddresses>(request, PAGE).await?;
        Ok(found.into_iter().map(|item| item.ip_address).collect())
    }

    async fn execute(&self, action: &Action) -> Result<Effect, Error> {
        actions::execute(self.client(), action).await
    }
}

impl Alibaba {
    /// The listeners of these load balancers. A query can name ten; for more, all listeners of
    /// the region are read and the others dropped, which takes fewer calls.
    async fn listeners(
        &self,
        ids: &BTreeSet<LoadBalancerId>,
    ) -> Result<BTreeMap<LoadBalancerId, Vec<Listener>>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut request = Request::read(Product::Slb, "DescribeLoadBalancerListeners").param("MaxResults", PAGE);
        if ids.len() <= LISTENERS_OF {
            request = request.about(join(ids)).list("LoadBalancerId", ids);
        } else {
            request = request.about(format!("{} load balancers", ids.len()));
        }
        let found = self.client().read_by_token::<wire::Listeners>(request).await?;
        Ok(by_load_balancer(
            ids,
            found.into_iter().map(|listener| (listener.load_balancer(), listener.into_listener())),
        ))
    }

    /// These groups with their members; one that is gone by now is left out.
    async fn groups(&self, ids: Vec<ServerGroupId>) -> Result<Vec<ServerGroup>, Error> {
        side_by_side(ids.into_iter().map(|id| self.group(id).boxed())).await
    }

    async fn group(&self, id: ServerGroupId) -> Result<Option<ServerGroup>, Error> {
        let request =
            Request::read(Product::Slb, "DescribeVServerGroupAttribute").about(&id).param("VServerGroupId", &id);
        match self.client().call::<wire::ServerGroup>(&request).await {
            Ok(reply) => reply
                .into_group()
                .map(Some)
                .map_err(|message| Error::new(Class::Malformed, request.action, request.subject, message)),
            Err(error) if error.class == Class::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
