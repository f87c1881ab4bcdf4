//! The part about network load balancers, their groups, and the security groups that limit access.

use ccm::sim::cloud::{
    ecs::SecurityGroup,
    nlb::{NetworkLoadBalancer, Nlb, NlbListener, ServerGroup},
};
use k8s_openapi::api::core::v1::Service;

use super::{default_name, name_of, readable};
use crate::support::Stage;

/// How a line about a group begins.
pub const GROUP: &str = "Group";
/// How a line about a security group begins.
pub const SECURITY_GROUP: &str = "Security group";

/// One load balancer, group or security group a line.
pub fn lines(stage: &Stage, services: &[Service]) -> Vec<String> {
    stage.cloud().with_state(|state| {
        let sources = &state.ecs.security_groups;
        let own = |id: &String| sources.get(id).map_or("gone", |group| &group.name).to_owned();
        let balancers = state.nlb.load_balancers.values().map(|lb| load_balancer(&state.nlb, lb, services, &own));
        let groups = state.nlb.server_groups.values().map(|one| group(one, services));
        balancers.chain(groups).chain(sources.values().map(|one| security_group(one, services))).collect()
    })
}

/// The name that clients connect to.
pub fn address(stage: &Stage, id: &str) -> Option<(String, String)> {
    stage.cloud().with_state(|state| {
        let lb = state.nlb.load_balancers.get(id)?;
        Some((lb.dns_name.clone(), lb.tags.get("kubernetes.do.not.delete").cloned().unwrap_or_default()))
    })
}

fn load_balancer(
    nlb: &Nlb,
    lb: &NetworkLoadBalancer,
    services: &[Service],
    source: &dyn Fn(&String) -> String,
) -> String {
    let mut listeners: Vec<String> =
        nlb.listeners.values().filter(|one| one.load_balancer == lb.id).map(|one| listener(nlb, one)).collect();
    listeners.sort();
    let zones: Vec<&str> = lb.zones.iter().map(|mapping| mapping.zone.as_str()).collect();
    let sources: Vec<String> = lb.security_groups.iter().map(|id| readable(&source(id), services)).collect();
    format!(
        "Network {} {} {:?} zones {zones:?} {} cross zone {} {:?} {:?} {:?} {sources:?} tags {:?}\n  {}",
        readable(&lb.name, services),
        lb.address_type,
        lb.status,
        lb.ip_version,
        lb.cross_zone,
        lb.delete_protection,
        lb.modification_protection,
        lb.modification_protection_reason,
        lb.tags.iter().map(|(key, value)| format!("{key}={}", readable(value, services))).collect::<Vec<_>>(),
        listeners.join("\n  "),
    )
}

fn listener(nlb: &Nlb, listener: &NlbListener) -> String {
    let group = nlb.server_groups.get(&listener.server_group);
    let certificates: Vec<&str> = listener.certificates.iter().map(|one| one.id.as_str()).collect();
    format!(
        "{}/{} {:?} to {:?} {:?} {certificates:?}",
        listener.port,
        listener.protocol,
        listener.status,
        group.map(|group| (&group.name, &group.kind)),
        listener.attributes,
    )
}

fn group(group: &ServerGroup, services: &[Service]) -> String {
    let mut servers: Vec<String> = group
        .servers
        .iter()
        .map(|s| format!("{} {} {}:{} *{} {} {:?}", s.kind, s.id, s.ip, s.port, s.weight, s.description, s.status))
        .collect();
    servers.sort();
    let tags: Vec<String> =
        group.tags.iter().map(|(key, value)| format!("{key}={}", readable(value, services))).collect();
    format!(
        "{GROUP} {} {} {} {:?} {:?} {tags:?} {servers:?}",
        group.name, group.kind, group.protocol, group.status, group.attributes
    )
}

fn security_group(group: &SecurityGroup, services: &[Service]) -> String {
    let owner =
        services.iter().find(|one| group.tags.get("kubernetes.do.not.delete") == Some(&default_name(one))).map(name_of);
    let mut rules: Vec<String> =
        group.rules.iter().map(|r| format!("{} {}{} {}", r.policy, r.source, r.source_ipv6, r.priority)).collect();
    rules.sort();
    format!("{SECURITY_GROUP} of {owner:?} {rules:?}")
}
