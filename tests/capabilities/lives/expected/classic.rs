//! The part for classic load balancers.

use std::collections::BTreeSet;

use ccm::sim::cloud::{
    Cloud,
    slb::{Listener, LoadBalancer, Server},
};
use k8s_openapi::api::core::v1::{Service, ServicePort};

use super::{
    super::{
        cluster::Backend,
        marks::{LEFT_TAG, OWNER_TAG, brings_no_listeners, default_name, is_marked, ours, protocol_of, ranges},
    },
    Settings, Stand, There,
};

/// Annotation, the setting it stands for, and whose listeners have it.
const SETTINGS: &[(&str, &str, &[&str])] = &[
    ("scheduler", "Scheduler", &["tcp", "udp", "http", "https"]),
    ("persistence-timeout", "PersistenceTimeout", &["tcp"]),
    ("established-timeout", "EstablishedTimeout", &["tcp"]),
    ("health-check-interval", "HealthCheckInterval", &["tcp", "udp", "http", "https"]),
    ("healthy-threshold", "HealthyThreshold", &["tcp", "udp", "http", "https"]),
    ("unhealthy-threshold", "UnhealthyThreshold", &["tcp", "udp", "http", "https"]),
    ("idle-timeout", "IdleTimeout", &["http", "https"]),
    ("request-timeout", "RequestTimeout", &["http", "https"]),
    ("xforwardedfor-proto", "XForwardedFor_proto", &["http", "https"]),
    ("cert-id", "ServerCertificateId", &["https"]),
    ("http2-enabled", "EnableHttp2", &["https"]),
    ("tls-cipher-policy", "TLSCipherPolicy", &["https"]),
    // Kept apart from the settings, and put among them here.
    ("domain-extensions", EXTENSIONS, &["https"]),
];
const EXTENSIONS: &str = "domain extensions";

/// Protocol of the listener and name of the group of a port.
pub fn names(service: &Service, port: &ServicePort, behind: &str) -> (String, String) {
    (protocol_of(service, port).to_lowercase(), mark(behind, service))
}

/// A member as it should look.
pub fn member(_: &Service, backend: &Backend) -> String {
    let Backend { id, address, port, weight, .. } = backend;
    if backend.is_pod { format!("eni {id} {address}:{port} *{weight}") } else { format!("ecs {id} :{port} *{weight}") }
}

/// The settings that are asked for.
pub fn settings(service: &Service, protocol: &str) -> Settings {
    let theirs = SETTINGS.iter().filter(|(_, _, protocols)| protocols.contains(&protocol));
    theirs.filter_map(|(suffix, name, _)| Some((*name, ours(service, suffix)?.to_owned()))).collect()
}

/// What there is of the load balancer that the Service shows, or what is wrong with that.
pub fn there(cloud: &Cloud, service: &Service, id: &str) -> Result<There, String> {
    let all = cloud.load_balancers();
    let own: Vec<&LoadBalancer> = all.iter().filter(|lb| is_own(lb, service)).collect();
    let Some(lb) = all.iter().find(|lb| lb.id == id) else {
        return Err(format!("shows no load balancer that exists, its own: {own:?}"));
    };
    match ours(service, "id") {
        Some(asked) if asked != id => return Err(format!("is to use {asked} and shows {id}")),
        None if own.len() != 1 || own[0].id != id => return Err(format!("shows {id} and owns {own:?}")),
        _ => {}
    }
    let is_own = ours(service, "id").is_none();
    Ok(There { id: id.to_owned(), address: lb.address.to_string(), is_own, stand: stand(cloud, id, service) })
}

/// What stands on a load balancer for `service`.
pub fn stand(cloud: &Cloud, load_balancer: &str, service: &Service) -> Stand {
    let groups = cloud.groups(load_balancer);
    let name_of = |id: Option<&str>| groups.iter().find(|g| Some(g.id.as_str()) == id).map(|g| g.name.clone());
    let mut stand = Stand::default();
    for listener in cloud.listeners(load_balancer).iter().filter(|listener| is_for(listener, service)) {
        let protocol = format!("{:?}", listener.protocol).to_lowercase();
        let named = SETTINGS.iter().filter_map(|(_, name, _)| Some((*name, listener.setting(name)?.to_owned())));
        let extensions = (EXTENSIONS, extensions(cloud, load_balancer, listener.port));
        let settings = named.chain([extensions]).collect();
        let key = match format!("{:?}", listener.status).as_str() {
            "Running" => format!("{}/{protocol}", listener.port),
            other => format!("{}/{protocol} {other}", listener.port),
        };
        stand.listeners.insert(key, (name_of(listener.group()).unwrap_or_default(), settings));
    }
    let tail = mark("", service);
    for group in groups.iter().filter(|g| g.name.starts_with("k8s/") && g.name.ends_with(&tail["k8s/".len()..])) {
        let by_us = |server: &&Server| server.description.starts_with("k8s/");
        let text = |s: &Server| format!("{} {} {}:{} *{}", s.kind, s.id, s.ip, s.port, s.weight);
        stand.groups.push((group.name.clone(), group.servers.iter().filter(by_us).map(text).collect()));
    }
    stand.groups.sort();
    stand
}

fn extensions(cloud: &Cloud, load_balancer: &str, port: u16) -> String {
    let mut pairs: Vec<String> = cloud.with_state(|state| {
        let there = state.slb.domain_extensions.values();
        let there = there.filter(|one| one.load_balancer == load_balancer && one.port == port);
        there.map(|one| format!("{}:{}", one.domain, one.certificate)).collect()
    });
    pairs.sort();
    pairs.join(",")
}

/// What is there for a Service that should have nothing, if anything.
pub fn left(cloud: &Cloud, service: &Service) -> Option<String> {
    let has = |lb: &LoadBalancer| is_own(lb, service) || stand(cloud, &lb.id, service) != Stand::default();
    let mut all = cloud.load_balancers().into_iter().filter(|lb| !lb.tags.contains_key(LEFT_TAG));
    let lb = all.find(has);
    let lists = lists(cloud, service);
    (lb.is_some() || !lists.is_empty()).then(|| format!("there are {lb:?} {lists:?}"))
}

/// What is wrong with who may reach the Service, if so.
pub fn access(cloud: &Cloud, service: &Service) -> Option<String> {
    let (ranges, lists) = (ranges(service), lists(cloud, service));
    if ranges.is_empty() || brings_no_listeners(service) {
        return (!lists.is_empty()).then(|| format!("limits nobody and has {lists:?}"));
    }
    let [(id, entries)] = &lists[..] else { return Some(format!("is to let in {ranges:?} and has {lists:?}")) };
    if *entries != ranges {
        return Some(format!("is to let in {ranges:?} and lets in {entries:?}"));
    }
    let all = cloud.load_balancers();
    let mut theirs = all
        .iter()
        .filter(|lb| !lb.tags.contains_key(LEFT_TAG))
        .flat_map(|lb| &lb.listeners)
        .filter(|listener| is_for(listener, service));
    let is_open = |listener: &&Listener| {
        (listener.setting("AclStatus"), listener.setting("AclType"), listener.setting("AclId"))
            != (Some("on"), Some("white"), Some(id.as_str()))
    };
    theirs.find(is_open).map(|listener| format!("is to let in {ranges:?} only, but {listener:?}"))
}

/// The access control lists that were made for the Service.
fn lists(cloud: &Cloud, service: &Service) -> Vec<(String, BTreeSet<String>)> {
    cloud.with_state(|state| {
        let own = state.slb.acls.values().filter(|acl| acl.tags.get(OWNER_TAG) == Some(&default_name(service)));
        own.map(|acl| (acl.id.clone(), acl.entries.keys().cloned().collect())).collect()
    })
}

pub fn attributes(cloud: &Cloud, service: &Service, id: &str) -> Option<String> {
    let lb = cloud.load_balancers().into_iter().find(|lb| lb.id == id)?;
    let there = [
        ("name", lb.name.clone()),
        ("delete-protection", if lb.delete_protection { "on" } else { "off" }.to_owned()),
        ("modification-protection", lb.modification_protection.clone()),
        ("address-type", lb.address_type.clone()),
    ];
    let by_bandwidth = ours(service, "charge-type") == Some("paybybandwidth") && lb.address_type == "internet";
    let charged = [("charge-type", lb.internet_charge_type.clone()), ("bandwidth", lb.bandwidth.to_string())];
    let charged = charged.into_iter().filter(|_| by_bandwidth).chain([("spec", lb.spec.clone())]);
    for (suffix, there) in there.into_iter().chain(charged) {
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

/// Owner and name of all that the controller made.
pub fn marks(cloud: &Cloud) -> Vec<(String, String)> {
    cloud.with_state(|state| {
        let balancers = state.slb.load_balancers.values().map(|lb| (&lb.tags, &lb.id));
        let lists = state.slb.acls.values().map(|acl| (&acl.tags, &acl.id));
        let marked = balancers.chain(lists).filter(|(tags, _)| is_marked(tags));
        marked.map(|(tags, id)| (tags[OWNER_TAG].clone(), id.clone())).collect()
    })
}

fn is_own(lb: &LoadBalancer, service: &Service) -> bool {
    lb.tags.get(OWNER_TAG) == Some(&default_name(service))
}

fn is_for(listener: &Listener, service: &Service) -> bool {
    let tail = mark("", service);
    listener
        .setting("Description")
        .is_some_and(|text| text.starts_with("k8s/") && text.ends_with(&tail["k8s/".len()..]))
}

fn mark(port: &str, service: &Service) -> String {
    format!("k8s/{port}/{}/default/c1", service.metadata.name.as_deref().unwrap_or_default())
}
