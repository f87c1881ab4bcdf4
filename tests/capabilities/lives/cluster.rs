//! All that members are chosen from, and who should be one, by what the documentation promises.

use std::collections::{BTreeMap, BTreeSet};

use ccm::sim::{
    cloud::{Cloud, nlb::ServerGroup},
    kube::Kube,
};
use k8s_openapi::api::{
    core::v1::{Node, Service, ServicePort},
    discovery::v1::EndpointSlice,
};

use super::marks::{Kind, OWNER_TAG, annotation, brings_no_listeners, default_name, kind_of, ours, protocol_of};

/// Nodes, endpoints, and the interfaces that addresses belong to.
pub struct Cluster {
    nodes: Vec<Node>,
    slices: Vec<EndpointSlice>,
    /// Address → interface.
    interfaces: BTreeMap<String, String>,
    /// Instances that exist. A node may outlive its own for a while, and nobody can be behind it then.
    instances: BTreeSet<String>,
    /// Marks of Services that have groups of network load balancers which do not check their members.
    unchecked: BTreeSet<String>,
}

/// Who should stand behind a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// An instance, or the interface of a pod.
    pub id: String,
    /// The node's address, or the pod's.
    pub address: String,
    pub is_pod: bool,
    pub port: i32,
    pub weight: String,
}

// === impl Cluster ===

impl Cluster {
    pub fn of(kube: &Kube, cloud: &Cloud) -> Self {
        let interfaces = cloud.with_state(|state| {
            let all = state.ecs.interfaces.values();
            all.flat_map(|one| one.private_ips.iter().map(|ip| (ip.to_string(), one.id.clone()))).collect()
        });
        let unchecked = cloud.with_state(|state| {
            let is_off =
                |group: &&ServerGroup| group.health_check.get("HealthCheckEnabled").is_some_and(|on| on == "false");
            let groups = state.nlb.server_groups.values().filter(is_off);
            groups.filter_map(|group| group.tags.get(OWNER_TAG).cloned()).collect()
        });
        let instances = cloud.with_state(|state| state.ecs.instances.keys().cloned().collect());
        Self { nodes: kube.list(), slices: kube.list(), interfaces, instances, unchecked }
    }

    /// Who should stand behind that port.
    pub fn backends(&self, service: &Service, port: &ServicePort) -> Vec<Backend> {
        let weight = ours(service, "default-weight").unwrap_or("100");
        let endpoints = self.endpoints(service, port);
        if takes_pods(service) {
            let backend = |(address, port, _): &(String, i32, Option<String>)| {
                let (id, address, weight) = (self.interfaces.get(address)?.clone(), address.clone(), weight.to_owned());
                Some(Backend { id, address, is_pod: true, port: *port, weight })
            };
            return endpoints.iter().filter_map(backend).collect();
        }
        let spec = service.spec.clone().unwrap_or_default();
        let local = spec.external_traffic_policy.as_deref() == Some("Local");
        let takes_cordoned = ours(service, "remove-unscheduled-backend") != Some("on");
        let mut nodes: Vec<&Node> = self.nodes.iter().filter(|node| may_serve(node, takes_cordoned)).collect();
        let pods_on = |node: &Node| {
            let name = node.metadata.name.as_deref();
            endpoints.iter().filter(|(_, _, on)| on.as_deref() == name).count()
        };
        let instance_of = |node: &Node| Some(node.metadata.name.as_deref()?.split_once('.')?.1.to_owned());
        nodes.retain(|node| instance_of(node).is_some_and(|id| self.instances.contains(&id)));
        nodes.retain(|node| !local || pods_on(node) > 0);
        // The best there are: a node that is not ready, or about to go, is better than none.
        if nodes.iter().any(|node| !is_leaving(node)) {
            nodes.retain(|node| !is_leaving(node));
            if !self.is_checked(service) && nodes.iter().any(|node| is_ready(node)) {
                nodes.retain(|node| is_ready(node));
            }
        }
        let backend = |node: &&Node| {
            let weight = if local { pods_on(node).to_string() } else { weight.to_owned() };
            Some(Backend {
                id: instance_of(node)?,
                address: address_of(node).unwrap_or_default(),
                is_pod: false,
                port: port.node_port.unwrap_or_default(),
                weight,
            })
        };
        nodes.iter().filter_map(backend).collect()
    }

    /// Whether the load balancer finds out by itself which members work. Classic listeners of HTTP are made without,
    /// and where there are none, nobody looks.
    fn is_checked(&self, service: &Service) -> bool {
        if kind_of(service) == Some(Kind::Network) {
            let asked = ours(service, "health-check-flag").map(|flag| flag == "on");
            return asked.unwrap_or_else(|| !self.unchecked.contains(&default_name(service)));
        }
        if brings_no_listeners(service) {
            return false;
        }
        let mut ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        ports.all(|port| !protocol_of(service, port).starts_with("http"))
    }

    /// Address, port and node of the ready endpoints.
    fn endpoints(&self, service: &Service, port: &ServicePort) -> Vec<(String, i32, Option<String>)> {
        let name = service.metadata.name.as_ref();
        let of = |slice: &&EndpointSlice| {
            slice.metadata.labels.as_ref().and_then(|labels| labels.get("kubernetes.io/service-name")) == name
        };
        let mut found = Vec::new();
        for slice in self.slices.iter().filter(of) {
            let number =
                slice.ports.iter().flatten().find(|p| p.name.as_deref() == Some(port.name.as_deref().unwrap_or("")));
            let Some(number) = number.and_then(|port| port.port) else { continue };
            for endpoint in &slice.endpoints {
                if endpoint.conditions.as_ref().and_then(|c| c.ready).unwrap_or(true) {
                    found.push((endpoint.addresses[0].clone(), number, endpoint.node_name.clone()));
                }
            }
        }
        found
    }
}

/// Whether pods are members at their own addresses.
pub fn takes_pods(service: &Service) -> bool {
    annotation(service, "service.beta.kubernetes.io/backend-type") == Some("eni")
}

fn may_serve(node: &Node, takes_cordoned: bool) -> bool {
    let spec = node.spec.clone().unwrap_or_default();
    let excluded =
        node.metadata.labels.iter().flatten().any(|(key, _)| key.ends_with("exclude-from-external-load-balancers"));
    !excluded && (takes_cordoned || !spec.unschedulable.unwrap_or(false))
}

fn is_leaving(node: &Node) -> bool {
    let mut taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    node.metadata.deletion_timestamp.is_some() || taints.any(|taint| taint.key == "ToBeDeletedByClusterAutoscaler")
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn address_of(node: &Node) -> Option<String> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    addresses.iter().find(|address| address.type_ == "InternalIP").map(|address| address.address.clone())
}
