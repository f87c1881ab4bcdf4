//! Which instances and pods stand behind a Service, and with which weight.
//!
//! Pure: Services, Nodes and EndpointSlices in, group members out. A node or endpoint that
//! cannot be used is left out and named; it never keeps the others out.

mod names;
mod nodes;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use k8s_openapi::api::core::v1::{Node, Service};

pub use self::{
    names::Names,
    nodes::{ControlPlaneNodes, differ, instance_of},
};

use self::nodes::{Rules, chosen, is_asked_for, is_virtual};
use super::{
    annotations::Requested,
    endpoints::{self, Endpoint, endpoints},
};
use crate::{
    cloud::{Member, MemberKind},
    kubernetes::slice::Slice,
};

/// Weight of every member unless the traffic policy says otherwise, and the most there is.
const DEFAULT_WEIGHT: u8 = 100;

/// What stands behind a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Backends {
    /// Instance id → weight. They are reached at node ports.
    pub instances: BTreeMap<String, u8>,
    /// Instance id → its node's address, if members are named by that.
    pub addresses: BTreeMap<String, IpAddr>,
    /// Pods that are reached at their own addresses.
    pub pods: BTreeMap<IpAddr, PodBackend>,
    /// UIDs of pods that are not ready, and whether they only wait to be members. Not members of
    /// themselves, but a reason to look again when they change.
    pub waiting: BTreeMap<String, bool>,
    /// Why which node was left out although it should be a member.
    pub left_out: Vec<String>,
}

/// A pod that is reached at its own address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodBackend {
    /// The pod's UID.
    pub identity: Arc<str>,
    /// Name of the Service's port → the pod's port.
    pub ports: Arc<BTreeMap<String, u16>>,
    pub weight: u8,
}

/// The cluster around a Service, and how members are chosen from it.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Whether pods are members at their own addresses.
    pub eni: bool,
    pub families: Families,
    pub control_plane: ControlPlaneNodes,
    /// Whether a node must be ready: because the user has it so, or because the load balancer does not find out
    /// by itself which of its members work.
    pub only_ready: bool,
    /// In order of their names.
    pub nodes: &'a [Arc<Node>],
    /// Those of the Service.
    pub slices: &'a [Arc<Slice>],
    /// UIDs of pods that are not ready only because they wait to be members.
    pub admitted: &'a BTreeSet<String>,
}

/// At which of their addresses pods are members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    #[default]
    V4,
    V6,
    /// At each.
    Both,
}

/// Where the members of one group listen.
#[derive(Clone, Copy, Debug)]
pub struct Ports<'a> {
    /// On instances; `None` if only pods are members.
    pub node_port: Option<u16>,
    /// The name of the Service's port.
    pub name: &'a str,
}

/// How weights come about.
#[derive(Clone, Copy)]
enum Weights {
    /// The same for each member; with the traffic policy Local the number of pods.
    Each(u8),
    /// This much in all, divided by pods or members.
    Divided(u8),
}

/// Whether traffic only goes to nodes that have a pod of the Service.
pub fn is_local(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.external_traffic_policy.as_deref()) == Some("Local")
}

/// What stands behind `service`. With `eni` its pods. Otherwise instances: with the traffic policy
/// Cluster every node that takes traffic, with Local those that have one of its pods, weighted by
/// how many; and in both cases its pods on virtual nodes, which are no instances.
pub fn backends(service: &Service, requested: &Requested, around: &Around<'_>) -> Backends {
    let mut backends = Backends::default();
    let waiting = endpoints::unready(around.slices).into_iter().map(|endpoint| endpoint.identity);
    backends.waiting = waiting.map(|uid| (uid.to_string(), around.admitted.contains(&*uid))).collect();
    let weights = Weights::of(requested);
    let endpoints = endpoints(around.slices, around.families == Families::V6, around.admitted);
    if around.eni {
        let pods: Vec<(IpAddr, &Endpoint)> = endpoints.iter().flat_map(|e| around.families.of(e)).collect();
        let weight = weights.among(pods.len());
        for (address, pod) in pods {
            backends.add_pod(address, pod, weight);
        }
        return backends;
    }
    let local = is_local(service);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in endpoints.iter().filter_map(|endpoint| endpoint.node.as_deref()) {
        *counts.entry(node).or_default() += 1;
    }
    let pods_on = |node: &Node| counts.get(node.metadata.name.as_deref()?).copied();
    let may_be_member = |node: &&Node| is_asked_for(node, requested) && (!local || pods_on(node).is_some());
    let nodes = around.nodes.iter().map(AsRef::as_ref);
    let rules = Rules { control_plane: around.control_plane, only_ready: around.only_ready };
    let instances = chosen(nodes.filter(may_be_member), rules, &mut backends.left_out);
    let has_pods = |node: &&Arc<Node>| pods_on(node).is_some() && is_virtual(node) && is_asked_for(node, requested);
    let virtual_nodes: BTreeSet<&str> =
        around.nodes.iter().filter(has_pods).filter_map(|node| node.metadata.name.as_deref()).collect();
    let on_virtual_nodes = |e: &&Endpoint| e.node.as_deref().is_some_and(|node| virtual_nodes.contains(node));
    let pods: Vec<(IpAddr, &Endpoint)> =
        endpoints.iter().filter(on_virtual_nodes).flat_map(|e| around.families.of(e)).collect();
    if local {
        let counted = |(node, instance): (&Node, String)| (instance, pods_on(node).unwrap_or_default());
        let instances: Vec<(String, usize)> = instances.into_iter().map(counted).collect();
        let all = instances.iter().map(|(_, count)| count).sum::<usize>() + pods.len();
        let weighted = instances.into_iter().map(|(instance, count)| (instance, weights.of_pods(count, all)));
        // Nodes come in order of their names, which makes one map of all cheaper than one by one.
        backends.instances = weighted.collect();
        for (address, pod) in pods {
            backends.add_pod(address, pod, weights.of_pods(1, all));
        }
    } else {
        let weight = weights.among(instances.len() + pods.len());
        backends.instances = instances.into_iter().map(|(_, instance)| (instance, weight)).collect();
        for (address, pod) in pods {
            backends.add_pod(address, pod, weight);
        }
    }
    if requested.by_address {
        let address = |node: &Arc<Node>| Some((instance_of(node).ok().flatten()?, nodes::address_of(node)?));
        let known = around.nodes.iter().filter_map(address);
        backends.addresses = known.filter(|(instance, _)| backends.instances.contains_key(instance)).collect();
    }
    backends
}

/// The members of the group for one port. A pod whose interface is not known is left out.
pub fn members(
    backends: &Backends,
    interfaces: &BTreeMap<IpAddr, String>,
    ports: Ports<'_>,
    description: &str,
) -> Vec<Member> {
    let instance = |port: u16| {
        backends.instances.iter().map(move |(instance, weight)| Member {
            kind: MemberKind::Ecs,
            server: instance.clone(),
            address: None,
            port,
            weight: *weight,
            description: description.to_owned(),
        })
    };
    let pods = backends.pods.iter().filter_map(|(address, pod)| {
        Some(Member {
            kind: MemberKind::Eni,
            server: interfaces.get(address)?.clone(),
            address: Some(*address),
            port: *pod.ports.get(ports.name)?,
            weight: pod.weight,
            description: description.to_owned(),
        })
    });
    ports.node_port.into_iter().flat_map(instance).chain(pods).collect()
}

// === impl Families ===

impl Families {
    /// The addresses of an endpoint at which it is a member.
    fn of(self, endpoint: &Endpoint) -> impl Iterator<Item = (IpAddr, &Endpoint)> {
        let takes = move |address: &IpAddr| match self {
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
            Self::Both => true,
        };
        let all = [Some(endpoint.address), endpoint.other];
        all.into_iter().flatten().filter(takes).map(move |address| (address, endpoint))
    }
}

// === impl Weights ===

impl Weights {
    fn of(requested: &Requested) -> Self {
        match requested.divided_weight() {
            Some(total) => Self::Divided(total),
            None => Self::Each(requested.default_weight.unwrap_or(DEFAULT_WEIGHT)),
        }
    }

    /// Of each of so many members.
    fn among(self, members: usize) -> u8 {
        match self {
            Self::Each(weight) => weight,
            Self::Divided(total) => share(total, 1, members),
        }
    }

    /// Of a member that stands for `pods` of `all` pods, with the traffic policy Local.
    fn of_pods(self, pods: usize, all: usize) -> u8 {
        match self {
            Self::Each(_) => u8::try_from(pods).unwrap_or(u8::MAX).min(DEFAULT_WEIGHT),
            Self::Divided(total) => share(total, pods, all),
        }
    }
}

/// The part of `total` for `part` of `all`, rounded down. A member that is to have traffic gets at least 1.
fn share(total: u8, part: usize, all: usize) -> u8 {
    if total == 0 {
        return 0;
    }
    let share = usize::from(total) * part / all.max(1);
    u8::try_from(share).unwrap_or(u8::MAX).clamp(1, DEFAULT_WEIGHT)
}

// === impl Backends ===

impl Backends {
    fn add_pod(&mut self, address: IpAddr, endpoint: &Endpoint, weight: u8) {
        let (identity, ports) = (endpoint.identity.clone(), endpoint.ports.clone());
        self.pods.insert(address, PodBackend { identity, ports, weight });
    }
}

#[cfg(test)]
mod tests;
