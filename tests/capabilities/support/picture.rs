//! All load balancers and Services as text without ids and addresses, so that two runs can be
//! compared that came to the same end in different ways.

pub mod network;

use std::collections::BTreeMap;

use ccm::sim::cloud::slb::{Group, Listener, LoadBalancer};
use k8s_openapi::api::core::v1::Service;

use super::Stage;

/// How a line about an access control list begins.
pub const ACCESS_LIST: &str = "Access list";

/// The picture of a stage, one thing a line.
pub fn picture(stage: &Stage) -> Vec<String> {
    let services: Vec<Service> =
        stage.world.kube.list::<Service>().into_iter().filter(|s| name_of(s) != "kubernetes").collect();
    let all = stage.cloud().load_balancers();
    let mut lines: Vec<String> = all.iter().map(|lb| load_balancer(stage, lb, &services)).collect();
    lines.extend(stage.cloud().with_state(|state| {
        let lists: Vec<String> = state
            .slb
            .acls
            .values()
            .map(|acl| {
                let owner =
                    services.iter().find(|s| acl.tags.get("kubernetes.do.not.delete") == Some(&default_name(s)));
                let entries: Vec<&String> = acl.entries.keys().collect();
                format!("{ACCESS_LIST} of {:?} {} {entries:?}", owner.map(name_of), acl.ip_version)
            })
            .collect();
        lists
    }));
    lines.extend(network::lines(stage, &services));
    lines.sort();
    lines.extend(services.iter().map(|service| shown(stage, service, &all)));
    lines
}

fn name_of(service: &Service) -> String {
    service.metadata.name.clone().unwrap_or_default()
}

/// The name that a load balancer of this Service has, and its tag.
fn default_name(service: &Service) -> String {
    let uid = service.metadata.uid.clone().unwrap_or_default();
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

/// The name of the Service in place of its mark, which has its UID in it.
fn readable(text: &str, services: &[Service]) -> String {
    services
        .iter()
        .fold(text.to_owned(), |text, service| text.replace(&default_name(service), &format!("<{}>", name_of(service))))
}

fn load_balancer(stage: &Stage, lb: &LoadBalancer, services: &[Service]) -> String {
    let readable = |text: &str| readable(text, services);
    let tags: BTreeMap<&String, String> = lb.tags.iter().map(|(key, value)| (key, readable(value))).collect();
    let groups = stage.cloud().groups(&lb.id);
    let mut lines: Vec<String> =
        lb.listeners.iter().map(|l| listener(l, &groups)).chain(groups.iter().map(group)).collect();
    lines.sort();
    format!(
        "{} {} {:?} {} {} {} {:?} {} tags {tags:?}\n  {}",
        readable(&lb.name),
        lb.address_type,
        lb.spec,
        lb.instance_charge_type,
        lb.bandwidth,
        lb.modification_protection,
        lb.modification_protection_reason,
        if lb.delete_protection { "protected" } else { "unprotected" },
        lines.join("\n  "),
    )
}

fn listener(listener: &Listener, groups: &[Group]) -> String {
    let group = groups.iter().find(|group| Some(group.id.as_str()) == listener.group()).map(|group| &group.name);
    let settings = serde_json::to_value(&listener.settings).unwrap();
    let settings: BTreeMap<&String, &str> = settings
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| !["VServerGroupId", "AclId"].contains(&name.as_str()))
        .map(|(name, value)| (name, value.as_str().unwrap()))
        .collect();
    format!("{}/{:?} {:?} to {group:?} {settings:?}", listener.port, listener.protocol, listener.status)
}

fn group(group: &Group) -> String {
    let mut servers: Vec<String> = group
        .servers
        .iter()
        .map(|s| format!("{} {} {}:{} *{} {}", s.kind, s.id, s.ip, s.port, s.weight, s.description))
        .collect();
    servers.sort();
    format!("group {} {servers:?}", group.name)
}

fn shown(stage: &Stage, service: &Service, all: &[LoadBalancer]) -> String {
    let id = service.metadata.labels.as_ref().and_then(|l| l.get("service.k8s.alibaba/loadbalancer-id"));
    let its = id.and_then(|id| {
        let classic = all.iter().find(|lb| lb.id == *id);
        let mark = |lb: &LoadBalancer| lb.tags.get("kubernetes.do.not.delete").cloned().unwrap_or_default();
        classic.map(|lb| (lb.address.to_string(), mark(lb))).or_else(|| network::address(stage, id))
    });
    let ingress = service.status.as_ref().and_then(|s| s.load_balancer.as_ref()?.ingress.clone()).unwrap_or_default();
    let ingress: Vec<&str> = ingress
        .iter()
        .map(|ingress| match (ingress.ip.as_ref().or(ingress.hostname.as_ref()), &its) {
            (Some(shown), Some((address, _))) if shown == address => "its address",
            _ => "something else",
        })
        .collect();
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.remove("service.k8s.alibaba/loadbalancer-id");
    if let Some(id) = labels.get_mut("service.k8s.alibaba/security-group-id") {
        "some".clone_into(id);
    }
    let owner = match (id, its) {
        (None, _) => "none",
        (Some(_), None) => "one that is gone",
        (Some(_), Some((_, mark))) if mark == default_name(service) => "its own",
        (Some(_), Some(_)) => "somebody's",
    };
    let finalizers = service.metadata.finalizers.clone().unwrap_or_default();
    format!("Service {}: load balancer {owner}, shows {ingress:?}, {labels:?} {finalizers:?}", name_of(service))
}
