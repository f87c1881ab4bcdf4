//! Which instances stand behind a Service, and with which weight.
//!
//! Pure: Services, Nodes and EndpointSlices in, group members out. A node or endpoint that
//! cannot be used is left out and named; it never keeps the others out.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};

use super::annotations::Requested;
use crate::{
    cloud::{Member, MemberKind},
    kubernetes::provider_id::{self, ProviderId},
};

/// Weight of every member unless the traffic policy says otherwise.
const DEFAULT_WEIGHT: u8 = 100;
const MASTER_LABELS: [&str; 2] = ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"];
const EXCLUDE_LABELS: [&str; 4] = [
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "alpha.service-controller.kubernetes.io/exclude-balancer",
    "service.beta.kubernetes.io/exclude-node",
    "service.alibabacloud.com/exclude-node",
];
/// Taint of nodes that the cluster autoscaler is about to remove.
const TO_BE_DELETED_TAINT: &str = "ToBeDeletedByClusterAutoscaler";

/// An instance that can take traffic, by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backends {
    /// Instance id → weight.
    pub instances: BTreeMap<String, u8>,
    /// Why which node was left out although it should be a member.
    pub left_out: Vec<String>,
}

/// Whether traffic only goes to nodes that have a pod of the Service.
pub fn is_local(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.external_traffic_policy.as_deref()) == Some("Local")
}

/// The instances behind `service`: with the traffic policy Cluster every node that takes
/// traffic, with Local those that have one of its pods, weighted by how many.
pub fn backends(
    service: &Service,
    requested: &Requested,
    nodes: &[Arc<Node>],
    slices: &[Arc<EndpointSlice>],
) -> Backends {
    let mut backends = Backends { instances: BTreeMap::new(), left_out: Vec::new() };
    let candidates = candidates(nodes, requested);
    if is_local(service) {
        let pods = endpoints_by_node(slices);
        for node in candidates {
            if let Some(count) = node.metadata.name.as_ref().and_then(|name| pods.get(name)) {
                backends.add(node, u8::try_from(*count).unwrap_or(u8::MAX).min(DEFAULT_WEIGHT));
            }
        }
    } else {
        for node in candidates {
            backends.add(node, requested.default_weight.unwrap_or(DEFAULT_WEIGHT));
        }
    }
    backends
}

/// The members of the group for one port.
pub fn members(backends: &Backends, port: u16, description: &str) -> Vec<Member> {
    backends
        .instances
        .iter()
        .map(|(instance, weight)| Member {
            kind: MemberKind::Ecs,
            server: instance.clone(),
            address: None,
            port,
            weight: *weight,
            description: description.to_owned(),
        })
        .collect()
}

/// Nodes that may take traffic. Nodes that are not ready are left out as long as another one is
/// ready: when all turn unready together, it is more likely that their reports got lost.
fn candidates<'a>(nodes: &'a [Arc<Node>], requested: &Requested) -> Vec<&'a Node> {
    let chosen = |node: &&Node| is_eligible(node) && is_asked_for(node, requested);
    let eligible: Vec<&Node> = nodes.iter().map(AsRef::as_ref).filter(chosen).collect();
    let ready: Vec<&Node> = eligible.iter().copied().filter(|node| is_ready(node)).collect();
    if ready.is_empty() { eligible } else { ready }
}

fn is_eligible(node: &Node) -> bool {
    // One walk over the labels: this is asked of every node for every Service.
    let keeps_out = |(key, value): (&String, &String)| {
        MASTER_LABELS.contains(&key.as_str())
            || EXCLUDE_LABELS.contains(&key.as_str())
            || (key == "type" && value == "virtual-kubelet")
    };
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    !node.metadata.labels.iter().flatten().any(keeps_out)
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

/// How many endpoints of the slices each node has: the ready ones, or if no endpoint at all is
/// ready, those that are terminating but still serve.
fn endpoints_by_node(slices: &[Arc<EndpointSlice>]) -> BTreeMap<String, usize> {
    let endpoints = || slices.iter().flat_map(|slice| &slice.endpoints);
    let count = |filter: fn(bool, bool, bool) -> bool| {
        // A pod with addresses of both families is in two slices; it counts once.
        let mut seen = std::collections::BTreeSet::new();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for endpoint in endpoints() {
            let conditions = endpoint.conditions.clone().unwrap_or_default();
            let ready = conditions.ready.unwrap_or(true);
            let terminating = conditions.terminating.unwrap_or(false);
            let serving = conditions.serving.unwrap_or(ready);
            let Some(node) = &endpoint.node_name else { continue };
            let pod = endpoint.target_ref.as_ref().and_then(|target| target.uid.clone());
            let identity = pod.unwrap_or_else(|| endpoint.addresses.join(","));
            if filter(ready, serving, terminating) && seen.insert(identity) {
                *counts.entry(node.clone()).or_default() += 1;
            }
        }
        counts
    };
    let ready = count(|ready, _, terminating| ready && !terminating);
    if ready.is_empty() { count(|_, serving, terminating| serving && terminating) } else { ready }
}

// === impl Backends ===

impl Backends {
    fn add(&mut self, node: &Node, weight: u8) {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let provider_id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
        match provider_id::parse(provider_id) {
            ProviderId::Ecs { instance, .. } => {
                self.instances.insert(instance, weight);
            }
            // A node without one is not initialised yet; it comes back when it is.
            ProviderId::Hybrid | ProviderId::Missing => {}
            ProviderId::Foreign(id) => {
                self.left_out
                    .push(format!("node {name} has the provider id {id:?}, which is not <region>.<instance id>"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
