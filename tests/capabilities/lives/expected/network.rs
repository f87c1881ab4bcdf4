//! The part for network load balancers.

use std::collections::{BTreeMap, BTreeSet};

use ccm::sim::cloud::{
    Cloud, State,
    ecs::SecurityGroup,
    nlb::{NetworkLoadBalancer, NlbListener, ServerGroup},
};
use k8s_openapi::api::core::v1::{Service, ServicePort};

use super::{
    super::{
        cluster::Backend,
        marks::{LEFT_TAG, OWNER_TAG, default_name, is_marked, ours, protocol_of, ranges},
    },
    Settings, Stand, There,
};

/// Annotation, the attribute it stands for, and whether only TCPSSL listeners have it.
const SETTINGS: &[(&str, &str, bool)] = &[
    ("idle-timeout", "IdleTimeout", false),
    ("cps", "Cps", false),
    ("proxy-protocol", "ProxyProtocolEnabled", false),
    ("alpn", "AlpnEnabled", true),
    ("tls-cipher-policy", "SecurityPolicyId", true),
    // Kept apart from the attributes, and put among them here.
    ("cert-id", CERTIFICATE, true),
    ("additional-cert-ids", MORE_CERTIFICATES, true),
];
const CERTIFICATE: &str = "certificate";
const MORE_CERTIFICATES: &str = "further certificates";
/// The same for groups; those of checks only count beside `health-check-flag`.
const GROUP_SETTINGS: &[(&str, &str)] = &[
    ("scheduler", "Scheduler"),
    ("connection-drain", "ConnectionDrainEnabled"),
    ("connection-drain-timeout", "ConnectionDrainTimeout"),
    ("preserve-client-ip", "PreserveClientIpEnabled"),
];
const CHECKS: &[(&str, &str)] = &[
    ("health-check-flag", "HealthCheckEnabled"),
    ("health-check-interval", "HealthCheckInterval"),
    ("healthy-threshold", "HealthyThreshold"),
    ("unhealthy-threshold", "UnhealthyThreshold"),
];

/// Protocol of the listener and name of the group of a port.
pub fn names(service: &Service, port: &ServicePort, behind: &str) -> (String, String) {
    let protocol = protocol_of(service, port).to_uppercase();
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let group = format!("k8s.{behind}.{protocol}.{name}.default.c1");
    (protocol, group)
}

/// A member as it should look.
pub fn member(service: &Service, backend: &Backend) -> String {
    let Backend { id, address, port, weight, .. } = backend;
    if ours(service, "server-group-type").is_some_and(|kind| kind == "Ip") {
        return format!("Ip {address} {address}:{port} *{weight}");
    }
    if backend.is_pod { format!("Eni {id} {address}:{port} *{weight}") } else { format!("Ecs {id} :{port} *{weight}") }
}

/// The listener's settings that are asked for.
pub fn settings(service: &Service, protocol: &str) -> Settings {
    let theirs = SETTINGS.iter().filter(|(_, _, ssl_only)| protocol == "TCPSSL" || !ssl_only);
    theirs.filter_map(|(suffix, name, _)| Some((*name, as_attribute(ours(service, suffix)?)))).collect()
}

/// The groups' settings that are asked for.
pub fn group_settings(service: &Service) -> Settings {
    let checks = CHECKS.iter().filter(|_| ours(service, "health-check-flag").is_some());
    let asked = GROUP_SETTINGS.iter().chain(checks);
    asked.filter_map(|(suffix, name)| Some((*name, as_attribute(ours(service, suffix)?)))).collect()
}

/// The API's spelling.
fn as_attribute(value: &str) -> String {
    match value {
        "on" => "true".to_owned(),
        "off" => "false".to_owned(),
        other => other.to_lowercase(),
    }
}

/// What there is of the load balancer that the Service shows, or what is wrong with that.
pub fn there(cloud: &Cloud, service: &Service, id: &str) -> Result<There, String> {
    let own = cloud.with_state(|state| own(state, service));
    let Some(lb) = cloud.with_state(|state| state.nlb.load_balancers.get(id).cloned()) else {
        return Err(format!("shows no load balancer that exists, its own: {own:?}"));
    };
    match ours(service, "id") {
        Some(asked) if asked != id => return Err(format!("is to use {asked} and shows {id}")),
        None if own.len() != 1 || own[0].id != id => return Err(format!("shows {id} and owns {own:?}")),
        _ => {}
    }
    let is_own = ours(service, "id").is_none();
    Ok(There { id: id.to_owned(), address: lb.dns_name, is_own, stand: stand(cloud, id, service) })
}

/// What stands on a load balancer for `service`, with the Service's groups.
pub fn stand(cloud: &Cloud, load_balancer: &str, service: &Service) -> Stand {
    let mut stand = Stand::default();
    let (listeners, groups) = cloud.with_state(|state| {
        let on = state.nlb.listeners.values().filter(|one| one.load_balancer == load_balancer);
        (on.filter(|one| is_for(one, service)).cloned().collect::<Vec<_>>(), groups(state, service))
    });
    let name_of = |id: &str| groups.iter().find(|group| group.id == id).map(|group| group.name.clone());
    for listener in listeners {
        let key = match format!("{:?}", listener.status).as_str() {
            "Running" => format!("{}/{}", listener.port, listener.protocol),
            other => format!("{}/{} {other}", listener.port, listener.protocol),
        };
        let group = name_of(&listener.server_group).unwrap_or_default();
        stand.listeners.insert(key, (group, listener_settings(&listener)));
    }
    for group in groups {
        let member = |server: &ccm::sim::cloud::nlb::NlbServer| {
            let address = if server.kind == "Ecs" { "" } else { &server.ip };
            format!("{} {} {address}:{} *{}", server.kind, server.id, server.port, server.weight)
        };
        let by_us = group.servers.iter().filter(|server| server.description.starts_with("k8s."));
        stand.groups.push((group.name.clone(), by_us.map(member).collect()));
        let all = GROUP_SETTINGS.iter().map(|one| (one, &group.attributes));
        let all = all.chain(CHECKS.iter().map(|one| (one, &group.health_check)));
        let settings = all.filter_map(|((_, name), from)| Some((*name, from.get(*name)?.to_lowercase())));
        stand.group_settings.insert(group.name, settings.collect());
    }
    stand.groups.sort();
    stand
}

fn listener_settings(listener: &NlbListener) -> Settings {
    let certificates = |default: bool| {
        let mut ids: Vec<&str> =
            listener.certificates.iter().filter(|one| one.is_default == default).map(|one| one.id.as_str()).collect();
        ids.sort_unstable();
        ids.join(",")
    };
    let value = |name: &str| match name {
        CERTIFICATE => Some(certificates(true)),
        MORE_CERTIFICATES => Some(certificates(false)),
        name => listener.attributes.get(name).map(|value| value.to_lowercase()),
    };
    SETTINGS.iter().filter_map(|(_, name, _)| Some((*name, value(name)?))).collect()
}

/// What is there for a Service that should have nothing, if anything.
pub fn left(cloud: &Cloud, service: &Service) -> Option<String> {
    cloud.with_state(|state| {
        let is_left = |id: &str| state.nlb.load_balancers.get(id).is_some_and(|lb| lb.tags.contains_key(LEFT_TAG));
        let listeners: Vec<&NlbListener> = state
            .nlb
            .listeners
            .values()
            .filter(|listener| is_for(listener, service) && !is_left(&listener.load_balancer))
            .collect();
        let (own, groups, sources) = (own(state, service), groups(state, service), sources(state, service));
        let clean = listeners.is_empty() && own.is_empty() && groups.is_empty() && sources.is_empty();
        (!clean).then(|| format!("there are {own:?} {listeners:?} {groups:?} {sources:?}"))
    })
}

/// What is wrong with who may reach the Service, if so. On a load balancer of the user's, that is the user's business.
pub fn access(cloud: &Cloud, service: &Service) -> Option<String> {
    let ranges = if ours(service, "id").is_some() { BTreeSet::new() } else { ranges(service) };
    let (sources, own) = cloud.with_state(|state| (sources(state, service), own(state, service)));
    let label = service.metadata.labels.as_ref().and_then(|all| all.get("service.k8s.alibaba/security-group-id"));
    if ranges.is_empty() {
        let clean = sources.is_empty() && label.is_none();
        return (!clean).then(|| format!("limits nobody and has {sources:?}, label {label:?}"));
    }
    let [group] = &sources[..] else { return Some(format!("is to let in {ranges:?} and has {sources:?}")) };
    let mut wanted: Vec<(String, &str)> = ranges.iter().map(|range| (range.clone(), "accept")).collect();
    wanted.push(("0.0.0.0/0".to_owned(), "drop"));
    wanted.sort();
    let mut rules: Vec<(String, String)> =
        group.rules.iter().map(|rule| (rule.source.clone(), rule.policy.to_lowercase())).collect();
    rules.sort();
    let same = rules.iter().map(|(source, policy)| (source.clone(), policy.as_str())).eq(wanted);
    let joined = own.iter().all(|lb| lb.security_groups.contains(&group.id));
    let fits = same && joined && label == Some(&group.id);
    (!fits).then(|| format!("is to let in {ranges:?}, but {group:?}, label {label:?}, {own:?}"))
}

pub fn attributes(cloud: &Cloud, service: &Service, id: &str) -> Option<String> {
    let lb = cloud.with_state(|state| state.nlb.load_balancers.get(id).cloned())?;
    let there = [
        ("name", lb.name.clone()),
        ("address-type", lb.address_type.to_lowercase()),
        ("cross-zone-enabled", if lb.cross_zone { "on" } else { "off" }.to_owned()),
        ("zone-maps", lb.zones.iter().map(|one| format!("{}:{}", one.zone, one.vswitch)).collect::<Vec<_>>().join(",")),
    ];
    for (suffix, there) in there {
        if ours(service, suffix).is_some_and(|asked| asked != there) {
            return Some(format!("{suffix} of {} is {there}, not {:?}", lb.id, ours(service, suffix)));
        }
    }
    if let Some(asked) = ours(service, "security-group-ids") {
        let source = cloud.with_state(|state| sources(state, service));
        let theirs = lb.security_groups.iter().filter(|id| source.iter().all(|own| own.id != **id));
        let (there, asked): (BTreeSet<&str>, BTreeSet<&str>) =
            (theirs.map(String::as_str).collect(), asked.split(',').filter(|id| !id.is_empty()).collect());
        if there != asked {
            return Some(format!("{} is in the security groups {there:?}, not {asked:?}", lb.id));
        }
    }
    let (asked, there) = (ours(service, "bandwidth-package-id"), lb.bandwidth_package.as_deref().unwrap_or_default());
    if asked.is_some_and(|asked| asked != there) && lb.address_type == "Internet" {
        return Some(format!("{} is in the bandwidth package {there:?}, not {asked:?}", lb.id));
    }
    let tags = ours(service, "additional-resource-tags").unwrap_or_default();
    let missing = |pair: &&str| {
        pair.split_once('=').is_some_and(|(key, value)| lb.tags.get(key).map(String::as_str) != Some(value))
    };
    tags.split(',').find(missing).map(|pair| format!("{} lacks the tag {pair}: {:?}", lb.id, lb.tags))
}

/// Owner and name of all that the controller made.
pub fn marks(cloud: &Cloud) -> Vec<(String, String)> {
    fn marked<'a>(
        all: impl Iterator<Item = (&'a BTreeMap<String, String>, &'a String)>,
    ) -> impl Iterator<Item = (String, String)> {
        all.filter(|(tags, _)| is_marked(tags)).map(|(tags, id)| (tags[OWNER_TAG].clone(), id.clone()))
    }
    cloud.with_state(|state| {
        let balancers = marked(state.nlb.load_balancers.values().map(|one| (&one.tags, &one.id)));
        let groups = marked(state.nlb.server_groups.values().map(|one| (&one.tags, &one.id)));
        // One that a load balancer which was left behind is in works on with it, and bears its mark.
        let stays = |one: &&SecurityGroup| !is_of_left(state, &one.id);
        let sources = marked(state.ecs.security_groups.values().filter(stays).map(|one| (&one.tags, &one.id)));
        balancers.chain(groups).chain(sources).collect()
    })
}

fn own(state: &State, service: &Service) -> Vec<NetworkLoadBalancer> {
    let mark = default_name(service);
    state.nlb.load_balancers.values().filter(|lb| lb.tags.get(OWNER_TAG) == Some(&mark)).cloned().collect()
}

fn groups(state: &State, service: &Service) -> Vec<ServerGroup> {
    let mark = default_name(service);
    state.nlb.server_groups.values().filter(|one| one.tags.get(OWNER_TAG) == Some(&mark)).cloned().collect()
}

fn sources(state: &State, service: &Service) -> Vec<SecurityGroup> {
    let mark = default_name(service);
    let own = state.ecs.security_groups.values().filter(|one| one.tags.get(OWNER_TAG) == Some(&mark));
    own.filter(|one| !is_of_left(state, &one.id)).cloned().collect()
}

fn is_of_left(state: &State, group: &String) -> bool {
    let mut left = state.nlb.load_balancers.values().filter(|lb| lb.tags.contains_key(LEFT_TAG));
    left.any(|lb| lb.security_groups.contains(group))
}

fn is_for(listener: &NlbListener, service: &Service) -> bool {
    let tail = format!(".{}.default.c1", service.metadata.name.as_deref().unwrap_or_default());
    let description = listener.attributes.get("ListenerDescription");
    description.is_some_and(|text| text.starts_with("k8s.") && text.ends_with(&tail))
}
