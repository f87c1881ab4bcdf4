//! What stands behind a Service on a network load balancer: its members, and the pods that wait to be
//! some.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;

use crate::{
    cloud::{Member, NetworkGroupKind, NetworkGroupStatus, NetworkLoadBalancerState},
    controllers::service::{
        Controller, Key, Options,
        annotations::NetworkRequested,
        checks,
        desired::GroupKey,
        members::{Backends, Families},
        nlb::{
            desired::{Around, Desired},
            observed::State,
            plan,
        },
        readiness::Waiting,
        reconcile::{about_gates, failure::Failure},
    },
};

/// What stands behind one Service.
pub(super) struct Behind {
    backends: Backends,
    /// Pod address → network interface.
    interfaces: BTreeMap<IpAddr, String>,
    by_address: bool,
    waiting: Vec<Waiting>,
}

// === impl Behind ===

impl Behind {
    /// What a wish is made from beside the Service and its annotations.
    pub(super) fn around<'a>(
        &'a self,
        ranges: &'a BTreeSet<IpNet>,
        families: Families,
        there: Option<&'a NetworkLoadBalancerState>,
        options: &'a Options,
    ) -> Around<'a> {
        let Self { backends, interfaces, .. } = self;
        let ip_version = there.and_then(|there| there.load_balancer.ip_version.as_deref());
        Around { backends, interfaces, addresses: &backends.addresses, ranges, families, ip_version, options }
    }

    /// Whether no interface has this address of a pod. Only pods that are members themselves need one.
    fn is_nowhere(&self, ip: &IpAddr) -> bool {
        !self.by_address && self.backends.pods.contains_key(ip) && !self.interfaces.contains_key(ip)
    }

    /// The addresses of pods that no interface has.
    pub(super) fn nowhere(&self) -> Vec<IpAddr> {
        self.backends.pods.keys().filter(|ip| self.is_nowhere(ip)).copied().collect()
    }

    /// The members for which waiting pods wait. What the cloud refuses is taken out of the wish on the
    /// way; a pod waits for it all the same.
    pub(super) fn wanted(&self, desired: &Desired) -> BTreeMap<GroupKey, Vec<Member>> {
        if self.waiting.is_empty() {
            return BTreeMap::new();
        }
        desired.groups.iter().map(|(group, wanted)| (group.clone(), wanted.members.clone())).collect()
    }
}

impl Controller {
    /// The pods that wait, and the members as far as the cluster alone tells.
    pub(super) async fn look_at_network_members(
        &self,
        key: &Key,
        service: &Service,
        requested: &NetworkRequested,
    ) -> Result<(Vec<Waiting>, Backends), Failure> {
        let (nodes, slices) = (self.cache.nodes.list(), self.slices(key));
        let waiting = self.look_at_pods(key, &slices).await.map_err(|error| about_gates(key, &error))?;
        let backends = self.compute_backends(key, service, &requested.members, &nodes, &slices);
        self.records.set_backends(key, &backends);
        Ok((waiting, backends))
    }

    /// The same with what the cloud adds.
    pub(super) async fn look_behind(
        &self,
        key: &Key,
        service: &Service,
        requested: &NetworkRequested,
        state: &State,
        waiting: Vec<Waiting>,
        backends: Backends,
    ) -> Result<Behind, Failure> {
        let checked = checks::are_checked_by_groups(requested, &state.groups);
        let backends = self.backends_if_checked(key, service, &requested.members, checked, backends);
        let by_address = requested.group_kind == NetworkGroupKind::Ip;
        if by_address {
            return Ok(Behind { backends, interfaces: BTreeMap::new(), by_address, waiting });
        }
        let there = state.groups.iter().flat_map(|group| &group.members);
        let interfaces = self.interfaces.resolve(&*self.cloud, &backends.pods, there).await?;
        Ok(Behind { backends, interfaces, by_address, waiting })
    }

    /// Tells the waiting pods whether they are registered.
    pub(super) async fn open_network_gates(
        &self,
        key: &Key,
        behind: &Behind,
        desired: &Desired,
        wanted: &BTreeMap<GroupKey, Vec<Member>>,
        state: &State,
    ) -> Result<(), Failure> {
        let there = |group: &GroupKey| {
            let group = plan::find_group(desired, state, group);
            // What was accepted is not in place before its job has succeeded.
            group.filter(|group| group.status == NetworkGroupStatus::Available).map(|group| group.members.clone())
        };
        let server_of = |instance: String| {
            if behind.by_address {
                behind.backends.addresses.get(&instance).map(ToString::to_string)
            } else {
                Some(instance)
            }
        };
        let nowhere = |ip: &IpAddr| behind.is_nowhere(ip);
        let opened = self.open_gates(key, &behind.waiting, wanted, there, nowhere, server_of).await;
        opened.map_err(|error| about_gates(key, &error))
    }
}
