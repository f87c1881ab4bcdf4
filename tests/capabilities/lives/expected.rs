//! What should stand in the cloud for a Service, by what the documentation promises, and what does.

use std::collections::{BTreeMap, BTreeSet};

use ccm::sim::{
    cloud::{
        Cloud,
        slb::{Group, LoadBalancer, Server},
    },
    kube::Kube,
};
use k8s_openapi::{
    api::{
        core::v1::{Node, Service, ServicePort},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::util::intstr::IntOrString,
};

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
const OWNER_TAG: &str = "kubernetes.do.not.delete";

/// What is or should be on a load balancer for one Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// `80/tcp` → the name of its group, and those settings that are asked for.
    pub listeners: BTreeMap<String, (String, Settings)>,
    /// Name → members; there may be two groups of a name where something is wrong.
    pub groups: Vec<(String, BTreeSet<String>)>,
}

type Settings = Vec<(&'static str, String)>;

/// All that members are chosen from.
pub struct Cluster {
    nodes: Vec<Node>,
    slices: Vec<EndpointSlice>,
    /// Address → interface.
    interfaces: BTreeMap<String, String>,
    /// Load balancer, port and protocol of each listener → the name of its group, and whether it checks members.
    checks: BTreeMap<(String, u16, String), (String, bool)>,
}

/// Annotation, the setting it stands for, and whose listeners have it.
const SETTINGS: &[(&str, &str, &[&str])] = &[
    ("scheduler", "Scheduler", &["tcp", "udp", "http"]),
    ("persistence-timeout", "PersistenceTimeout", &["tcp"]),
    ("established-timeout", "EstablishedTimeout", &["tcp"]),
    ("health-check-interval", "HealthCheckInterval", &["tcp", "udp", "http"]),
    ("unhealthy-threshold", "UnhealthyThreshold", &["tcp", "udp", "http"]),
    ("idle-timeout", "IdleTimeout", &["http"]),
];

// === impl Cluster ===

impl Cluster {
    pub fn of(kube: &Kube, cloud: &Cloud) -> Self {
        let interfaces = cloud.with_state(|state| {
            let all = state.ecs.interfaces.values();
            all.flat_map(|one| one.private_ips.iter().map(|ip| (ip.to_string(), one.id.clone()))).collect()
        });
        let checks = cloud.with_state(|state| {
            let mut checks = BTreeMap::new();
            for (id, lb) in &state.slb.load_balancers {
                for listener in &lb.listeners {
                    let group =
                        listener.group().and_then(|id| state.slb.groups.get(id)).map(|group| group.name.clone());
                    let protocol = format!("{:?}", listener.protocol).to_lowercase();
                    let is_on = listener.setting("HealthCheck") != Some("off");
                    checks.insert((id.clone(), listener.port, protocol), (group.unwrap_or_default(), is_on));
                }
            }
            checks
        });
        Self { nodes: kube.list(), slices: kube.list(), interfaces, checks }
    }

    /// What `service` should have; nothing unless it is of type LoadBalancer.
    pub fn wants(&self, service: &Service) -> Stand {
        let mut stand = Stand::default();
        let spec = service.spec.clone().unwrap_or_default();
        if spec.type_.as_deref() != Some("LoadBalancer") || service.metadata.deletion_timestamp.is_some() {
            return stand;
        }
        let eni = annotation(service, "service.beta.kubernetes.io/backend-type") == Some("eni");
        let mut groups = BTreeMap::new();
        for port in spec.ports.iter().flatten() {
            let behind = if eni { target(port) } else { port.node_port.unwrap_or_default().to_string() };
            let group = mark(&behind, service);
            groups.entry(group.clone()).or_insert_with(|| self.members(service, port, eni));
            let protocol = protocol_of(service, port);
            let settings = SETTINGS
                .iter()
                .filter(|(_, _, protocols)| protocols.contains(&protocol.as_str()))
                .filter_map(|(suffix, name, _)| Some((*name, ours(service, suffix)?.to_owned())))
                .collect();
            stand.listeners.insert(format!("{}/{protocol}", port.port), (group, settings));
        }
        stand.groups = groups.into_iter().collect();
        stand
    }

    fn members(&self, service: &Service, port: &ServicePort, eni: bool) -> BTreeSet<String> {
        let weight = ours(service, "default-weight").unwrap_or("100");
        let endpoints = self.endpoints(service, port);
        if eni {
            let member = |(address, number, _): &(String, i32, Option<String>)| {
                Some(format!("eni {} {address}:{number} *{weight}", self.interfaces.get(address)?))
            };
            return endpoints.iter().filter_map(member).collect();
        }
        let spec = service.spec.clone().unwrap_or_default();
        let local = spec.external_traffic_policy.as_deref() == Some("Local");
        let number = port.node_port.unwrap_or_default();
        let takes_cordoned = ours(service, "remove-unscheduled-backend") != Some("on");
        let mut nodes: Vec<&Node> = self.nodes.iter().filter(|node| may_serve(node, takes_cordoned)).collect();
        let pods_on = |node: &Node| {
            let name = node.metadata.name.as_deref();
            endpoints.iter().filter(|(_, _, on)| on.as_deref() == name).count()
        };
        nodes.retain(|node| !local || pods_on(node) > 0);
        // The best there are: a node that is not ready, or about to go, is better than none.
        if nodes.iter().any(|node| !is_leaving(node)) {
            nodes.retain(|node| !is_leaving(node));
            if !self.is_checked(service) && nodes.iter().any(|node| is_ready(node)) {
                nodes.retain(|node| is_ready(node));
            }
        }
        let member = |node: &&Node| {
            let name = node.metadata.name.as_deref()?;
            let weight = match (local, pods_on(node)) {
                (true, 0) => return None,
                (true, pods) => pods.to_string(),
                (false, _) => weight.to_owned(),
            };
            Some(format!("ecs {} :{number} *{weight}", name.split_once('.')?.1))
        };
        nodes.iter().filter_map(member).collect()
    }

    /// Whether the load balancer finds out by itself which members work. Listeners of HTTP are made without.
    fn is_checked(&self, service: &Service) -> bool {
        let id = service.metadata.labels.iter().flatten().find(|(key, _)| key.ends_with("/loadbalancer-id"));
        let id = id.map(|(_, id)| id.clone()).unwrap_or_default();
        let ours_to_make = ours(service, "id").is_none() || ours(service, "force-override-listeners") == Some("true");
        if !ours_to_make {
            let tail = mark("", service).trim_start_matches("k8s/").to_owned();
            let mut leading =
                self.checks.iter().filter(|((lb, ..), (group, _))| *lb == id && group.ends_with(&tail)).peekable();
            return leading.peek().is_some() && leading.all(|(_, (_, is_on))| *is_on);
        }
        let mut ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        ports.all(|port| {
            let protocol = protocol_of(service, port);
            let key = (id.clone(), u16::try_from(port.port).unwrap(), protocol.clone());
            self.checks.get(&key).map_or_else(|| !protocol.starts_with("http"), |(_, is_on)| *is_on)
        })
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

/// What stands on `load_balancer` for `service`.
pub fn stands(cloud: &Cloud, load_balancer: &LoadBalancer, service: &Service) -> Stand {
    let groups: Vec<Group> = cloud.groups(&load_balancer.id);
    let name_of = |id: Option<&str>| groups.iter().find(|g| Some(g.id.as_str()) == id).map(|g| g.name.clone());
    let ours = mark("", service);
    let tail = ours.trim_start_matches("k8s/");
    let mut stand = Stand::default();
    for listener in &load_balancer.listeners {
        if listener.setting("Description").is_some_and(|text| text.starts_with("k8s/") && text.ends_with(tail)) {
            let protocol = format!("{:?}", listener.protocol).to_lowercase();
            let settings = SETTINGS.iter().filter_map(|(_, name, _)| Some((*name, listener.setting(name)?.to_owned())));
            let key = match format!("{:?}", listener.status).as_str() {
                "Running" => format!("{}/{protocol}", listener.port),
                other => format!("{}/{protocol} {other}", listener.port),
            };
            stand.listeners.insert(key, (name_of(listener.group()).unwrap_or_default(), settings.collect()));
        }
    }
    for group in groups.iter().filter(|g| g.name.starts_with("k8s/") && g.name.ends_with(tail)) {
        let by_us = |server: &&Server| server.description.starts_with("k8s/");
        let text = |s: &Server| format!("{} {} {}:{} *{}", s.kind, s.id, s.ip, s.port, s.weight);
        stand.groups.push((group.name.clone(), group.servers.iter().filter(by_us).map(text).collect()));
    }
    stand.groups.sort();
    stand
}

/// Why `service` does not have what it should have, if so.
pub fn lacks(cluster: &Cluster, cloud: &Cloud, service: &Service) -> Option<String> {
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let all = cloud.load_balancers();
    let own: Vec<&LoadBalancer> =
        all.iter().filter(|lb| lb.tags.get(OWNER_TAG) == Some(&default_name(service))).collect();
    let wanted = cluster.wants(service);
    let labels = service.metadata.labels.clone().unwrap_or_default();
    let finalizers = service.metadata.finalizers.clone().unwrap_or_default();
    let shown = service.status.as_ref().and_then(|s| s.load_balancer.as_ref()?.ingress.clone()).unwrap_or_default();
    let shown: Vec<String> = shown.into_iter().filter_map(|ingress| ingress.ip).collect();
    if let Some(wrong) = access(cloud, service, &wanted) {
        return Some(format!("{name}: {wrong}"));
    }
    if wanted == Stand::default() {
        let on: Vec<&LoadBalancer> = all.iter().filter(|lb| stands(cloud, lb, service) != Stand::default()).collect();
        let clean = own.is_empty() && on.is_empty() && labels.is_empty() && finalizers.is_empty() && shown.is_empty();
        return (!clean)
            .then(|| format!("{name} is to have nothing, but: {own:?} {on:?} {labels:?} {finalizers:?} {shown:?}"));
    }
    let id = labels.get("service.k8s.alibaba/loadbalancer-id");
    let Some(lb) = all.iter().find(|lb| Some(&lb.id) == id) else {
        return Some(format!("{name} shows no load balancer that exists: {labels:?}, its own: {own:?}"));
    };
    match ours(service, "id") {
        Some(id) if id != lb.id => return Some(format!("{name} is to use {id} and shows {}", lb.id)),
        None if own.len() != 1 || own[0].id != lb.id => {
            return Some(format!("{name} shows {} and owns {own:?}", lb.id));
        }
        _ => {}
    }
    if shown != [lb.address.to_string()]
        || finalizers.len() != 1
        || !labels.contains_key("service.beta.kubernetes.io/hash")
    {
        return Some(format!("{name} shows {shown:?} {labels:?} {finalizers:?}, its address is {}", lb.address));
    }
    let there = asked_for(stands(cloud, lb, service), &wanted);
    if there != wanted {
        return Some(format!("{name} has\n{there:#?}\nand should have\n{wanted:#?}"));
    }
    attributes(service, lb)
}

/// What is wrong with who may reach the Service, if so.
fn access(cloud: &Cloud, service: &Service, wanted: &Stand) -> Option<String> {
    let spec = service.spec.clone().unwrap_or_default();
    let ranges: BTreeSet<String> = spec.load_balancer_source_ranges.unwrap_or_default().into_iter().collect();
    let lists: Vec<(String, BTreeSet<String>)> = cloud.with_state(|state| {
        let own = state.slb.acls.values().filter(|acl| acl.tags.get(OWNER_TAG) == Some(&default_name(service)));
        own.map(|acl| (acl.id.clone(), acl.entries.keys().cloned().collect())).collect()
    });
    if ranges.is_empty() || *wanted == Stand::default() {
        return (!lists.is_empty()).then(|| format!("limits nobody and has {lists:?}"));
    }
    let [(id, entries)] = &lists[..] else { return Some(format!("is to let in {ranges:?} and has {lists:?}")) };
    if *entries != ranges {
        return Some(format!("is to let in {ranges:?} and lets in {entries:?}"));
    }
    let tail = mark("", service);
    let ours = |listener: &ccm::sim::cloud::slb::Listener| {
        listener.setting("Description").is_some_and(|text| text.ends_with(tail.trim_start_matches("k8s/")))
    };
    let all = cloud.load_balancers();
    let mut open = all.iter().flat_map(|lb| &lb.listeners).filter(|listener| ours(listener));
    let is_open = |listener: &&ccm::sim::cloud::slb::Listener| {
        (listener.setting("AclStatus"), listener.setting("AclType"), listener.setting("AclId"))
            != (Some("on"), Some("white"), Some(id.as_str()))
    };
    open.find(is_open).map(|listener| format!("is to let in {ranges:?} only, but {listener:?}"))
}

/// The settings of `there` that `wanted` speaks of.
fn asked_for(mut there: Stand, wanted: &Stand) -> Stand {
    for (key, (_, settings)) in &mut there.listeners {
        let asked = wanted.listeners.get(key).map(|(_, asked)| asked.clone()).unwrap_or_default();
        settings.retain(|(name, _)| asked.iter().any(|(asked, _)| asked == name));
    }
    there
}

fn attributes(service: &Service, lb: &LoadBalancer) -> Option<String> {
    let there = [
        ("name", lb.name.clone()),
        ("delete-protection", if lb.delete_protection { "on" } else { "off" }.to_owned()),
        ("modification-protection", lb.modification_protection.clone()),
        ("address-type", lb.address_type.clone()),
    ];
    for (suffix, there) in there {
        if ours(service, suffix).is_some_and(|asked| asked != there) {
            return Some(format!("{suffix} of {} is {there}, not {:?}", lb.id, ours(service, suffix)));
        }
    }
    let tags = ours(service, "additional-resource-tags").unwrap_or_default();
    let missing = |pair: &&str| {
        pair.split_once('=').is_some_and(|(key, value)| lb.tags.get(key).map(String::as_str) != Some(value))
    };
    tags.split(',').find(missing).map(|pair| format!("{} lacks the tag {pair}: {:?}", lb.id, lb.tags))
}

/// The name of a Service's own load balancer, and its mark.
pub fn default_name(service: &Service) -> String {
    let uid = service.metadata.uid.clone().unwrap_or_default();
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

fn mark(port: &str, service: &Service) -> String {
    format!("k8s/{port}/{}/default/c1", service.metadata.name.as_deref().unwrap_or_default())
}

fn annotation<'a>(service: &'a Service, key: &str) -> Option<&'a str> {
    service.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn ours<'a>(service: &'a Service, suffix: &str) -> Option<&'a str> {
    annotation(service, &format!("{PREFIX}{suffix}"))
}

fn protocol_of(service: &Service, port: &ServicePort) -> String {
    let own = port.protocol.as_deref().unwrap_or("TCP").to_lowercase();
    let pairs = ours(service, "protocol-port").unwrap_or_default();
    let asked =
        pairs.split(',').filter_map(|pair| pair.split_once(':')).find(|(_, number)| *number == port.port.to_string());
    asked.filter(|_| own == "tcp").map_or_else(|| own.clone(), |(protocol, _)| protocol.to_owned())
}

fn target(port: &ServicePort) -> String {
    match &port.target_port {
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(name)) => name.clone(),
        None => port.port.to_string(),
    }
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
