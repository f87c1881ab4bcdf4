//! Which instances and pods stand behind a Service, and with which weight.
//!
//! Pure: Services, Nodes and EndpointSlices in, group members out. A node or endpoint that
//! cannot be used is left out and named; it never keeps the others out.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};

use super::{
    annotations::Requested,
    endpoints::{Endpoint, endpoints},
};
use crate::{
    cloud::{Member, MemberKind},
    kubernetes::provider_id::ProviderId,
};

/// Weight of every member unless the traffic policy says otherwise.
const DEFAULT_WEIGHT: u8 = 100;
/// Taint of nodes that the cluster autoscaler is about to remove.
const TO_BE_DELETED_TAINT: &str = "ToBeDeletedByClusterAutoscaler";

/// What stands behind a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backends {
    /// Instance id → weight. They are reached at node ports.
    pub instances: BTreeMap<String, u8>,
    /// Pods that are reached at their own addresses.
    pub pods: BTreeMap<IpAddr, PodBackend>,
    /// Why which node was left out although it should be a member.
    pub left_out: Vec<String>,
}

/// A pod that is reached at its own address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodBackend {
    /// The pod's UID.
    pub identity: String,
    /// Name of the Service's port → the pod's port.
    pub ports: BTreeMap<String, u16>,
    pub weight: u8,
}

/// Where the members of one group listen.
#[derive(Clone, Copy, Debug)]
pub struct Ports<'a> {
    /// On instances; `None` if only pods are members.
    pub node_port: Option<u16>,
    /// The name of the Service's port.
    pub name: &'a str,
}

/// Whether traffic only goes to nodes that have a pod of the Service.
pub fn is_local(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.external_traffic_policy.as_deref()) == Some("Local")
}

/// What stands behind `service`. With `eni` its pods. Otherwise instances: with the traffic policy
/// Cluster every node that takes traffic, with Local those that have one of its pods, weighted by
/// how many; and in both cases its pods on virtual nodes, which are no instances.
pub fn backends(
    service: &Service,
    requested: &Requested,
    eni: bool,
    nodes: &[Arc<Node>],
    slices: &[Arc<EndpointSlice>],
) -> Backends {
    let mut backends = Backends::default();
    let weight = requested.default_weight.unwrap_or(DEFAULT_WEIGHT);
    let endpoints = endpoints(slices);
    if eni {
        for endpoint in endpoints {
            backends.add_pod(endpoint, weight);
        }
        return backends;
    }
    let local = is_local(service);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in endpoints.iter().filter_map(|endpoint| endpoint.node.as_deref()) {
        *counts.entry(node).or_default() += 1;
    }
    let pods_on = |node: &Node| counts.get(node.metadata.name.as_deref()?).copied();
    // Nodes come in order of their names, which makes one map of all cheaper than one by one.
    let mut instances = Vec::new();
    for node in candidates(nodes, requested) {
        let weight = match pods_on(node) {
            _ if !local => weight,
            Some(count) => u8::try_from(count).unwrap_or(u8::MAX).min(DEFAULT_WEIGHT),
            None => continue,
        };
        match instance_of(node) {
            Ok(instance) => instances.extend(instance.map(|instance| (instance, weight))),
            Err(problem) => backends.left_out.push(problem),
        }
    }
    backends.instances = instances.into_iter().collect();
    let has_pods = |node: &&Arc<Node>| pods_on(node).is_some() && is_virtual(node) && is_asked_for(node, requested);
    let virtual_nodes: BTreeSet<&str> =
        nodes.iter().filter(has_pods).filter_map(|node| node.metadata.name.as_deref()).collect();
    for endpoint in endpoints.iter().filter(|e| e.node.as_deref().is_some_and(|node| virtual_nodes.contains(node))) {
        backends.add_pod(endpoint.clone(), if local { 1 } else { weight });
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

/// Nodes that may take traffic. Nodes that are not ready are left out as long as another one is
/// ready: when all turn unready together, it is more likely that their reports got lost.
fn candidates<'a>(nodes: &'a [Arc<Node>], requested: &Requested) -> Vec<&'a Node> {
    let chosen = |node: &&Node| is_eligible(node) && is_asked_for(node, requested);
    let eligible: Vec<&Node> = nodes.iter().map(AsRef::as_ref).filter(chosen).collect();
    let ready: Vec<&Node> = eligible.iter().copied().filter(|node| is_ready(node)).collect();
    if ready.is_empty() { eligible } else { ready }
}

/// Whether a node with this label takes no traffic. One walk over a node's labels asks for all of
/// them: it is done for every node and every Service.
fn keeps_out(key: &str, value: &str) -> bool {
    match key {
        "node-role.kubernetes.io/master"
        | "node-role.kubernetes.io/control-plane"
        | "node.kubernetes.io/exclude-from-external-load-balancers"
        | "alpha.service-controller.kubernetes.io/exclude-balancer"
        | "service.beta.kubernetes.io/exclude-node"
        | "service.alibabacloud.com/exclude-node" => true,
        "type" => value == "virtual-kubelet",
        _ => false,
    }
}

fn is_eligible(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    !node.metadata.labels.iter().flatten().any(|(key, value)| keeps_out(key, value))
        && !taints.is_some_and(|all| all.iter().any(|taint| taint.key == TO_BE_DELETED_TAINT))
        && node.metadata.deletion_timestamp.is_none()
}

/// Whether the annotations of a Service let the node be a member.
fn is_asked_for(node: &Node, requested: &Requested) -> bool {
    let labels = node.metadata.labels.as_ref();
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    requested.node_labels.iter().all(|(key, value)| labels.and_then(|all| all.get(key)) == Some(value))
        && !(requested.leaves_out_cordoned && cordoned)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
}

/// Whether two versions of a node may differ as members of any Service.
pub fn differ(old: &Node, new: &Node) -> bool {
    let spec = |node: &Node| {
        let spec = node.spec.clone().unwrap_or_default();
        (spec.provider_id, spec.unschedulable.unwrap_or(false))
    };
    is_eligible(old) != is_eligible(new)
        || is_ready(old) != is_ready(new)
        || spec(old) != spec(new)
        || old.metadata.labels != new.metadata.labels
}

/// Whether the node stands for elastic container instances, which have no node ports.
fn is_virtual(node: &Node) -> bool {
    node.metadata.labels.as_ref().and_then(|labels| labels.get("type")).map(String::as_str) == Some("virtual-kubelet")
}

/// The instance behind a node; `None` while that is not known yet or if it has none.
pub(super) fn instance_of(node: &Node) -> Result<Option<String>, String> {
    match ProviderId::of(node) {
        ProviderId::Ecs { instance, .. } => Ok(Some(instance)),
        // A node without one is not initialised yet; it comes back when it is.
        ProviderId::Hybrid | ProviderId::Missing => Ok(None),
        ProviderId::Foreign(id) => {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            Err(format!("node {name} has the provider id {id:?}, which is not <region>.<instance id>"))
        }
    }
}

// === impl Backends ===

impl Backends {
    fn add_pod(&mut self, endpoint: Endpoint, weight: u8) {
        let Endpoint { address, identity, ports, .. } = endpoint;
        self.pods.insert(address, PodBackend { identity, ports, weight });
    }
}

#[cfg(test)]
mod tests;
