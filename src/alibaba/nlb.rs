//! NLB: network load balancers, listeners, server groups and jobs, and the ECS security groups
//! that go with them.

mod actions;
mod setting;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use futures::FutureExt;

use super::{
    Alibaba,
    lists::{by_load_balancer, join, side_by_side},
    rpc::{Product, Request},
};
use crate::cloud::{
    Class, Error, JobId, JobState, ListenerId, LoadBalancerId, Member, NetworkAction, NetworkEffect, NetworkGroup,
    NetworkInventory, NetworkListener, NetworkLoadBalancer, NetworkLoadBalancerState, NetworkLoadBalancers,
    SecurityGroup, ServerGroupId,
};

/// The page size of all lists but those of certificates.
const PAGE: usize = 100;
const PAGE_OF_CERTIFICATES: usize = 50;
/// The most ids that one call may name.
const IDS: usize = 20;

#[async_trait]
impl NetworkLoadBalancers for Alibaba {
    async fn network_inventory(&self, tag_key: &str, tag_value: &str) -> Result<NetworkInventory, Error> {
        let tag = BTreeMap::from([(tag_key.to_owned(), tag_value.to_owned())]);
        let load_balancers = self.network_load_balancers_by_tag(tag_key, tag_value).await?;
        let ids: BTreeSet<_> = load_balancers.iter().map(|lb| lb.id.clone()).collect();
        let mut listeners = self.listeners_of(&ids).await?;
        let groups = self.groups_without_members(with_tags(&tag), &tag).await?;
        let groups = self.all_members(groups).await?;
        let state = |load_balancer: NetworkLoadBalancer| NetworkLoadBalancerState {
            listeners: listeners.remove(&load_balancer.id).unwrap_or_default(),
            load_balancer,
        };
        Ok(NetworkInventory { load_balancers: load_balancers.into_iter().map(state).collect(), groups })
    }

    async fn network_load_balancers_by_tag(
        &self,
        tag_key: &str,
        tag_value: &str,
    ) -> Result<Vec<NetworkLoadBalancer>, Error> {
        let request = read("ListLoadBalancers")
            .about(format!("tag {tag_key}={tag_value}"))
            .param("Tag.1.Key", tag_key)
            .param("Tag.1.Value", tag_value);
        let mut found = self.client().read_by_token::<wire::load_balancer::LoadBalancers>(request).await?;
        // Were the filter ever ignored, other people's load balancers would pass for ours.
        found.retain(|lb| lb.may_have_tag(tag_key, tag_value));
        Ok(found.into_iter().map(wire::load_balancer::LoadBalancer::into_load_balancer).collect())
    }

    async fn network_load_balancers_by_name(&self, name: &str) -> Result<Vec<NetworkLoadBalancer>, Error> {
        let request = read("ListLoadBalancers").about(format!("name {name}")).list("LoadBalancerNames", [name]);
        let found = self.client().read_by_token::<wire::load_balancer::LoadBalancers>(request).await?;
        let mut found: Vec<_> = found.into_iter().map(wire::load_balancer::LoadBalancer::into_load_balancer).collect();
        found.retain(|lb| lb.name == name);
        Ok(found)
    }

    async fn network_load_balancers(&self, ids: &[LoadBalancerId]) -> Result<Vec<NetworkLoadBalancer>, Error> {
        let mut all = Vec::new();
        for some in ids.chunks(IDS) {
            let request = read("ListLoadBalancers").about(join(some)).list("LoadBalancerIds", some);
            let found = self.client().read_by_token::<wire::load_balancer::LoadBalancers>(request).await?;
            all.extend(found.into_iter().map(wire::load_balancer::LoadBalancer::into_load_balancer));
        }
        all.retain(|lb| ids.contains(&lb.id));
        Ok(all)
    }

    async fn network_listeners(&self, id: &LoadBalancerId) -> Result<Vec<NetworkListener>, Error> {
        Ok(self.listeners_of(&BTreeSet::from([id.clone()])).await?.remove(id).unwrap_or_default())
    }

    async fn network_groups_by_tags(&self, tags: &BTreeMap<String, String>) -> Result<Vec<NetworkGroup>, Error> {
        let groups = self.groups_without_members(with_tags(tags), tags).await?;
        self.members_of_each(groups).await
    }

    async fn network_groups(&self, ids: &[ServerGroupId]) -> Result<Vec<NetworkGroup>, Error> {
        let mut all = Vec::new();
        for some in ids.chunks(IDS) {
            let request = read("ListServerGroups").about(join(some)).list("ServerGroupIds", some);
            all.extend(self.groups_without_members(request, &BTreeMap::new()).await?);
        }
        all.retain(|(group, _)| ids.contains(&group.id));
        self.members_of_each(all).await
    }

    async fn network_members(&self) -> Result<BTreeMap<ServerGroupId, Vec<Member>>, Error> {
        let request = read("ListServerGroupServers").about("all groups");
        let mut members = BTreeMap::<ServerGroupId, Vec<Member>>::new();
        for server in self.client().read_by_token::<wire::group::Servers>(request).await? {
            let group = server.group();
            members.entry(group).or_default().extend(server.into_member());
        }
        Ok(members)
    }

    async fn additional_certificates(&self, listener: &ListenerId) -> Result<Vec<String>, Error> {
        let request = nlb("ListListenerCertificates")
            .about(listener)
            .param("ListenerId", listener)
            .param("CertType", "Server")
            .param("MaxResults", PAGE_OF_CERTIFICATES);
        let found = self.client().read_by_token::<wire::listener::Certificates>(request).await?;
        Ok(found.into_iter().filter_map(wire::listener::Certificate::into_additional).collect())
    }

    async fn security_groups_by_tag(&self, tag_key: &str, tag_value: &str) -> Result<Vec<SecurityGroup>, Error> {
        let request = Request::read(Product::Ecs, "DescribeSecurityGroups")
            .about(format!("tag {tag_key}={tag_value}"))
            .param("Tag.1.Key", tag_key)
            .param("Tag.1.Value", tag_value)
            .param("MaxResults", PAGE);
        let mut found = self.client().read_by_token::<wire::security_group::SecurityGroups>(request).await?;
        found.retain(|group| group.may_have_tag(tag_key, tag_value));
        let mut groups = Vec::new();
        for group in found {
            let request = Request::read(Product::Ecs, "DescribeSecurityGroupAttribute")
                .about(&group.id)
                .param("SecurityGroupId", &group.id)
                .param("Direction", "ingress");
            let reply = self.client().call::<wire::security_group::SecurityGroupAttribute>(&request).await?;
            groups.push(group.into_group(reply));
        }
        Ok(groups)
    }

    async fn jobs(&self, ids: &[JobId]) -> Result<BTreeMap<JobId, JobState>, Error> {
        let mut states = BTreeMap::new();
        // One job that the cloud has forgotten fails the call for all, which is then divided.
        let mut batches: Vec<&[JobId]> = ids.chunks(IDS).rev().collect();
        while let Some(some) = batches.pop() {
            let request = nlb("ListAsynJobs").about(join(some)).list("JobIds", some);
            match (self.client().call::<wire::job::Jobs>(&request).await, some) {
                (Ok(reply), _) => {
                    let found = reply.into_states();
                    let state = |id: &JobId| found.get(id.as_str()).copied().unwrap_or(JobState::Unknown);
                    states.extend(some.iter().map(|id| (id.clone(), state(id))));
                }
                (Err(error), [only]) if error.class == Class::NotFound => {
                    states.insert(only.clone(), JobState::Unknown);
                }
                (Err(error), several) if error.class == Class::NotFound => {
                    let (left, right) = several.split_at(several.len() / 2);
                    batches.extend([right, left]);
                }
                (Err(error), _) => return Err(error),
            }
        }
        Ok(states)
    }

    async fn execute_network(&self, action: &NetworkAction) -> Result<NetworkEffect, Error> {
        actions::execute(self.client(), action).await
    }
}

impl Alibaba {
    /// The listeners of these load balancers. A query can name twenty; for more, all listeners of
    /// the region are read and the others dropped.
    async fn listeners_of(
        &self,
        ids: &BTreeSet<LoadBalancerId>,
    ) -> Result<BTreeMap<LoadBalancerId, Vec<NetworkListener>>, Error> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut request = read("ListListeners");
        if ids.len() <= IDS {
            request = request.about(join(ids)).list("LoadBalancerIds", ids);
        } else {
            request = request.about(format!("{} load balancers", ids.len()));
        }
        let found = self.client().read_by_token::<wire::listener::Listeners>(request).await?;
        Ok(by_load_balancer(
            ids,
            found.into_iter().map(|listener| (listener.load_balancer(), listener.into_listener())),
        ))
    }

    /// Groups with the number of their members.
    async fn groups_without_members(
        &self,
        request: Request,
        tags: &BTreeMap<String, String>,
    ) -> Result<Vec<(NetworkGroup, usize)>, Error> {
        let mut found = self.client().read_by_token::<wire::group::Groups>(request).await?;
        found.retain(|group| tags.iter().all(|(key, value)| group.may_have_tag(key, value)));
        Ok(found.into_iter().map(wire::group::Group::into_group).collect())
    }

    /// Reads the members of many groups together: all members of the region, which takes fewer
    /// calls than one a group.
    async fn all_members(&self, groups: Vec<(NetworkGroup, usize)>) -> Result<Vec<NetworkGroup>, Error> {
        if groups.iter().filter(|(_, members)| *members > 0).count() <= 1 {
            return self.members_of_each(groups).await;
        }
        let mut members = self.network_members().await?;
        let with_members = |(group, _): (NetworkGroup, usize)| NetworkGroup {
            members: members.remove(&group.id).unwrap_or_default(),
            ..group
        };
        Ok(groups.into_iter().map(with_members).collect())
    }

    async fn members_of_each(&self, groups: Vec<(NetworkGroup, usize)>) -> Result<Vec<NetworkGroup>, Error> {
        side_by_side(groups.into_iter().map(|(group, members)| self.with_members(group, members).boxed())).await
    }

    /// `None` if the group is gone by now.
    async fn with_members(&self, group: NetworkGroup, members: usize) -> Result<Option<NetworkGroup>, Error> {
        if members == 0 {
            return Ok(Some(group));
        }
        let request = read("ListServerGroupServers").about(&group.id).param("ServerGroupId", &group.id);
        match self.client().read_by_token::<wire::group::Servers>(request).await {
            Ok(servers) => {
                let members = servers.into_iter().filter_map(wire::group::Server::into_member).collect();
                Ok(Some(NetworkGroup { members, ..group }))
            }
            Err(error) if error.class == Class::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn nlb(action: &str) -> Request {
    Request::read(Product::Nlb, action)
}

/// A list in pages.
fn read(action: &str) -> Request {
    nlb(action).param("MaxResults", PAGE)
}

fn with_tags(tags: &BTreeMap<String, String>) -> Request {
    let words: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    read("ListServerGroups").about(format!("tags {}", words.join(", "))).tags(tags)
}

#[cfg(test)]
mod tests;
