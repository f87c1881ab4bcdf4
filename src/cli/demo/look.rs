//! What a user would look at, read from the cluster and the cloud.

use std::collections::BTreeSet;

use k8s_openapi::api::{
    core::v1::{Event, Node, Pod, Service},
    discovery::v1::EndpointSlice,
};

use super::sight::Found;
use crate::sim::{cloud::slb::LoadBalancer, world::World};

/// The table of the VPC that the story plays in.
const ROUTE_TABLE: &str = "vtb-bp1sim";
pub(super) const NAMESPACE: &str = "default";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
const LABELS: [(&str, &str); 3] = [
    ("zone", "topology.kubernetes.io/zone"),
    ("region", "topology.kubernetes.io/region"),
    ("type", "node.kubernetes.io/instance-type"),
];

/// Answers a closure's `Ok`, or says what `thing` lacks.
fn some<T>(found: Option<T>, thing: impl FnOnce() -> String) -> Result<T, String> {
    found.ok_or_else(thing)
}

// Nodes

pub(super) fn instance_of(node: &str) -> &str {
    node.split_once('.').map_or(node, |(_, instance)| instance)
}

fn node(world: &World, name: &str) -> Result<Node, String> {
    some(world.kube.get::<Node>("", name), || format!("there is no Node {name}"))
}

fn taints(node: &Node) -> Vec<String> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).map(|taint| taint.key.clone()).collect()
}

/// A Node as kubelet registered it.
pub(super) fn registered(world: &World, name: &str) -> Found {
    let taints = taints(&node(world, name)?);
    let first = some(taints.first(), || format!("{name} has no taint"))?;
    Ok(vec![name.to_owned(), format!("tainted {first}")])
}

/// A Node that may be used: untainted, with an address that the cloud agrees to, and labels.
pub(super) fn initialized(world: &World, name: &str) -> Found {
    let node = node(world, name)?;
    let taints = taints(&node);
    if !taints.is_empty() {
        return Err(format!("{name} is still tainted {}", taints.join(", ")));
    }
    let status = node.status.unwrap_or_default();
    let addresses = status.addresses.unwrap_or_default();
    let address = addresses.into_iter().find(|address| address.type_ == "InternalIP");
    let address = some(address, || format!("{name} has no InternalIP"))?.address;
    let instances = world.cloud.instances();
    let instance =
        some(instances.iter().find(|one| one.id == instance_of(name)), || format!("{name} has no instance"))?;
    if instance.private_ip.map(|ip| ip.to_string()) != Some(address.clone()) {
        return Err(format!("{name} has InternalIP {address}, its instance {:?}", instance.private_ip));
    }
    let labels = node.metadata.labels.unwrap_or_default();
    let mut told = vec![format!("{name}  taint gone, InternalIP {address}")];
    let mut line = Vec::new();
    for (short, label) in LABELS {
        let value = some(labels.get(label), || format!("{name} lacks the label {label}"))?;
        line.push(format!("{short} {value}"));
    }
    told.push(format!("labels: {}", line.join(", ")));
    Ok(told)
}

/// The route of a Node's pods, and the Node's word that its network is there.
pub(super) fn routed(world: &World, name: &str) -> Found {
    let node = node(world, name)?;
    let cidr = some(node.spec.and_then(|spec| spec.pod_cidr), || format!("{name} has no pod CIDR"))?;
    let routes = world.cloud.routes(ROUTE_TABLE);
    let route = routes.into_iter().find(|route| route.destination.to_string() == cidr);
    let route = some(route, || format!("{ROUTE_TABLE} has no entry for {cidr}"))?;
    if route.next_hop != instance_of(name) {
        return Err(format!("{cidr} leads to {}, not to {name}", route.next_hop));
    }
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    let network = conditions.into_iter().find(|condition| condition.type_ == "NetworkUnavailable");
    if network.is_none_or(|network| network.status != "False") {
        return Err(format!("{name} does not say that its network is available"));
    }
    Ok(vec![format!("{cidr} -> {}  {:?}", route.next_hop, route.status)])
}

/// That nothing is left of a Node.
pub(super) fn node_gone(world: &World, name: &str) -> Found {
    match world.kube.get::<Node>("", name) {
        Some(_) => Err(format!("{name} is still there")),
        None => Ok(vec![format!("{name}  deleted")]),
    }
}

pub(super) fn routes_gone(world: &World, name: &str) -> Found {
    let routes = world.cloud.routes(ROUTE_TABLE);
    match routes.iter().find(|route| route.next_hop == instance_of(name)) {
        Some(route) => Err(format!("{} still leads to {name}", route.destination)),
        None => Ok(vec![format!("none to {}, {} in all", instance_of(name), routes.len())]),
    }
}

// Pods

/// The nodes that have ready pods of a Service, by its endpoints.
pub(super) fn endpoint_nodes(world: &World, service: &str) -> BTreeSet<String> {
    let slices = world.kube.list::<EndpointSlice>().into_iter().filter(|slice| {
        let labels = slice.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(SERVICE_NAME)).is_some_and(|name| name == service)
    });
    slices.flat_map(|slice| slice.endpoints).filter_map(|endpoint| endpoint.node_name).collect()
}

/// Pods by name with their nodes.
pub(super) fn pods(world: &World) -> Vec<(String, String)> {
    let pods = world.kube.list::<Pod>().into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    pods.filter_map(|pod| Some((pod.metadata.name?, pod.spec?.node_name?))).collect()
}

/// So many running pods.
pub(super) fn running(world: &World, count: usize) -> Found {
    let pods = pods(world);
    if pods.len() != count {
        return Err(format!("{} of {count} pods run", pods.len()));
    }
    Ok(pods.into_iter().map(|(pod, node)| format!("{pod}  on {node}")).collect())
}

// Services

pub(super) fn service(world: &World, name: &str) -> Result<Service, String> {
    some(world.kube.get::<Service>(NAMESPACE, name), || format!("there is no Service {name}"))
}

/// The load balancer that bears the Service's mark.
pub(super) fn load_balancer(world: &World, name: &str) -> Result<LoadBalancer, String> {
    let uid = service(world, name)?.metadata.uid.unwrap_or_default();
    let mark: String = format!("a{}", uid.replace('-', "")).chars().take(32).collect();
    let all = world.cloud.load_balancers();
    some(all.into_iter().find(|one| one.name == mark), || format!("no load balancer is named {mark}"))
}

pub(super) fn balanced(world: &World, name: &str) -> Found {
    let found = load_balancer(world, name)?;
    Ok(vec![format!("{name}  {}  {} {}", found.id, found.address_type, found.address)])
}

/// All ports of the Service have a listener that runs.
pub(super) fn listening(world: &World, name: &str) -> Found {
    let ports = service(world, name)?.spec.and_then(|spec| spec.ports).unwrap_or_default();
    let found = load_balancer(world, name)?;
    let line = |port: i32| {
        let listener = found.listeners.iter().find(|listener| i32::from(listener.port) == port);
        let listener = some(listener, || format!("{} has no listener at {port}", found.id))?;
        let state = format!("{:?}", listener.status).to_lowercase();
        if state != "running" {
            return Err(format!("the listener at {port} of {} is {state}", found.id));
        }
        let groups = world.cloud.groups(&found.id);
        let group = groups.into_iter().find(|group| Some(group.id.as_str()) == listener.group());
        let group = some(group, || format!("the listener at {port} leads to no server group"))?;
        let protocol = format!("{:?}", listener.protocol).to_lowercase();
        Ok(format!("{name}  {protocol}:{port} {state} -> group {}", group.name))
    };
    ports.iter().map(|port| line(port.port)).collect()
}

/// The members are the nodes that the Service's traffic policy asks for.
pub(super) fn members(world: &World, name: &str) -> Found {
    let local = service(world, name)?.spec.and_then(|spec| spec.external_traffic_policy).is_some_and(|p| p == "Local");
    let nodes = if local {
        endpoint_nodes(world, name)
    } else {
        let usable = world.kube.list::<Node>().into_iter().filter(|node| taints(node).is_empty());
        usable.filter_map(|node| node.metadata.name).collect()
    };
    let wanted: BTreeSet<&str> = nodes.iter().map(|node| instance_of(node)).collect();
    let groups = world.cloud.groups(&load_balancer(world, name)?.id);
    let group = some(groups.first(), || format!("the load balancer of {name} has no server group"))?;
    let there: BTreeSet<&str> = group.servers.iter().map(|server| server.id.as_str()).collect();
    if there != wanted {
        return Err(format!("the members of {name} are {there:?}, should be {wanted:?}"));
    }
    let (count, policy) = (there.len(), if local { "Local: nodes with pods" } else { "Cluster: all nodes" });
    let mut told = vec![format!("{name}  {count} ({policy})")];
    told.extend(
        group.servers.iter().map(|server| format!("  {}:{}  weight {}", server.id, server.port, server.weight)),
    );
    Ok(told)
}

/// The Service shows the load balancer's address and carries its marks.
pub(super) fn published(world: &World, name: &str) -> Found {
    let service = service(world, name)?;
    let ingress = service.status.and_then(|status| status.load_balancer?.ingress).unwrap_or_default();
    let shown = ingress.into_iter().find_map(|ingress| ingress.ip);
    let shown = some(shown, || format!("{name} has no address in its status"))?;
    let balancer = load_balancer(world, name)?;
    if shown != balancer.address.to_string() {
        return Err(format!("{name} shows {shown}, its load balancer has {}", balancer.address));
    }
    let labels = service.metadata.labels.unwrap_or_default();
    if !labels.values().any(|value| *value == balancer.id) {
        return Err(format!("{name} has no label with its load balancer's id"));
    }
    let finalizers = service.metadata.finalizers.unwrap_or_default();
    let finalizer = some(finalizers.first(), || format!("{name} has no finalizer"))?;
    Ok(vec![format!("{name}  EXTERNAL-IP {shown}, finalizer {finalizer}")])
}

/// Neither the Service nor a load balancer `id` is left.
pub(super) fn service_gone(world: &World, name: &str) -> Found {
    match world.kube.get::<Service>(NAMESPACE, name) {
        Some(_) => Err(format!("{name} is still there")),
        None => Ok(vec![format!("{name}  deleted")]),
    }
}

pub(super) fn balancer_gone(world: &World, id: &str) -> Found {
    let all = world.cloud.load_balancers();
    if all.iter().any(|one| one.id == id) {
        Err(format!("{id} is still there"))
    } else {
        Ok(vec![format!("{id}  deleted")])
    }
}

// Events

/// An event of this reason about that object.
pub(super) fn event(world: &World, object: &str, reason: &str) -> Found {
    let events = world.kube.list::<Event>().into_iter();
    let about = |event: &Event| event.involved_object.name.as_deref() == Some(object);
    let event = events.filter(about).find(|event| event.reason.as_deref() == Some(reason));
    let event = some(event, || format!("{object} has no event {reason}"))?;
    let kind = event.involved_object.kind.unwrap_or_default();
    Ok(vec![format!("{kind} {object}"), format!("{reason}: {}", event.message.unwrap_or_default())])
}
