//! What should stand in the cloud for a Service, by what the documentation promises, and what does.

mod classic;
mod network;

use std::collections::{BTreeMap, BTreeSet};

use ccm::sim::cloud::Cloud;
use k8s_openapi::api::core::v1::Service;

use super::{
    cluster::{Cluster, takes_pods},
    marks::{Kind, brings_no_listeners, default_name, kind_of, target},
};

/// What is or should be on a load balancer for one Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// `80/tcp` → the name of its group, and those settings that are asked for.
    pub listeners: BTreeMap<String, (String, Settings)>,
    /// Name → members; there may be two groups of a name where something is wrong.
    pub groups: Vec<(String, BTreeSet<String>)>,
    /// Settings of groups that are asked for, by the group's name.
    pub group_settings: BTreeMap<String, Settings>,
}

pub type Settings = Vec<(&'static str, String)>;

/// What there is of one kind of load balancer for a Service.
struct There {
    id: String,
    /// What the Service's status should show.
    address: String,
    is_own: bool,
    stand: Stand,
}

/// What a Service shows of itself.
#[derive(Debug)]
struct Shown {
    labels: BTreeMap<String, String>,
    finalizers: Vec<String>,
    /// Addresses and host names.
    ingress: Vec<String>,
}

// === impl Stand ===

impl Stand {
    /// What `service` should have; nothing unless it is of type LoadBalancer.
    pub fn wanted(cluster: &Cluster, service: &Service) -> Self {
        let mut stand = Self::default();
        let Some(kind) = kind_of(service) else { return stand };
        let mut groups = BTreeMap::new();
        for port in service.spec.iter().flat_map(|spec| spec.ports.iter().flatten()) {
            let behind =
                if takes_pods(service) { target(port) } else { port.node_port.unwrap_or_default().to_string() };
            let (protocol, group) = match kind {
                Kind::Classic => classic::names(service, port, &behind),
                Kind::Network => network::names(service, port, &behind),
            };
            let backends = cluster.backends(service, port);
            let (member, settings): (fn(&_, &_) -> String, Settings) = match kind {
                Kind::Classic => (classic::member, classic::settings(service, &protocol)),
                Kind::Network => (network::member, network::settings(service, &protocol)),
            };
            let members = backends.iter().map(|backend| member(service, backend)).collect();
            groups.entry(group.clone()).or_insert(members);
            if kind == Kind::Network {
                stand.group_settings.insert(group.clone(), network::group_settings(service));
            }
            stand.listeners.insert(format!("{}/{protocol}", port.port), (group, settings));
        }
        if brings_no_listeners(service) {
            stand.listeners.clear();
        }
        stand.groups = groups.into_iter().collect();
        stand
    }

    /// Without what `wanted` does not speak of.
    fn limited_to(mut self, wanted: &Self) -> Self {
        let keep = |settings: &mut Settings, asked: Option<&Settings>| {
            settings.retain(|(name, _)| asked.is_some_and(|asked| asked.iter().any(|(asked, _)| asked == name)));
        };
        for (key, (_, settings)) in &mut self.listeners {
            keep(settings, wanted.listeners.get(key).map(|(_, asked)| asked));
        }
        for (group, settings) in &mut self.group_settings {
            keep(settings, wanted.group_settings.get(group));
        }
        self
    }
}

/// Why `service` does not have what it should have, if so. `all` are the Services there are.
pub fn lacks(cluster: &Cluster, cloud: &Cloud, service: &Service, all: &[Service]) -> Option<String> {
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let kind = kind_of(service);
    let shown = Shown::of(service);
    for other in [Kind::Classic, Kind::Network] {
        if Some(other) != kind
            && let Some(left) = left(cloud, service, other)
        {
            return Some(format!("{name} is to have nothing of the kind {other:?}, but {left}"));
        }
    }
    let Some(kind) = kind else {
        let clean = shown.labels.is_empty() && shown.finalizers.is_empty() && shown.ingress.is_empty();
        return (!clean).then(|| format!("{name} is to have nothing, but {shown:?}"));
    };
    let wrong = match kind {
        Kind::Classic => classic::access(cloud, service),
        Kind::Network => network::access(cloud, service),
    };
    if let Some(wrong) = wrong {
        return Some(format!("{name} {wrong}"));
    }
    let id = shown.labels.get("service.k8s.alibaba/loadbalancer-id").cloned().unwrap_or_default();
    let there = match kind {
        Kind::Classic => classic::there(cloud, service, &id),
        Kind::Network => network::there(cloud, service, &id),
    };
    let there = match there {
        Ok(there) => there,
        Err(wrong) => return Some(format!("{name} {wrong}; it shows {shown:?}")),
    };
    let mut wanted = Stand::wanted(cluster, service);
    let rivals = if there.is_own { BTreeSet::new() } else { held_by_others(cloud, service, all, &there.id, &wanted) };
    let mut stand = there.stand.limited_to(&wanted);
    if !rivals.is_empty() {
        wanted.listeners.retain(|key, _| !rivals.contains(key));
        // Whose group is whose is not told while ports are missing: old ones stay.
        stand.groups.retain(|(group, _)| wanted.groups.iter().any(|(wanted, _)| wanted == group));
        stand.group_settings.retain(|group, _| wanted.group_settings.contains_key(group));
    }
    if let Some(wrong) = shown.lacks(kind, &there.address, rivals.is_empty()) {
        return Some(format!("{name} {wrong}"));
    }
    if stand != wanted {
        return Some(format!("{name} has\n{stand:#?}\nand should have\n{wanted:#?}"));
    }
    match kind {
        Kind::Classic => classic::attributes(cloud, service, &there.id),
        Kind::Network => network::attributes(cloud, service, &there.id),
    }
}

/// What is there of a kind that should not be, if anything.
fn left(cloud: &Cloud, service: &Service, kind: Kind) -> Option<String> {
    match kind {
        Kind::Classic => classic::left(cloud, service),
        Kind::Network => network::left(cloud, service),
    }
}

/// The listeners that a Service lacks because another one that wants them, too, has them.
fn held_by_others(
    cloud: &Cloud,
    service: &Service,
    all: &[Service],
    load_balancer: &str,
    wanted: &Stand,
) -> BTreeSet<String> {
    let mut held = BTreeSet::new();
    for other in all.iter().filter(|other| other.metadata.uid != service.metadata.uid) {
        let stand = match kind_of(other) {
            Some(Kind::Classic) => classic::stand(cloud, load_balancer, other),
            Some(Kind::Network) => network::stand(cloud, load_balancer, other),
            None => continue,
        };
        held.extend(stand.listeners.into_keys().filter(|key| wanted.listeners.contains_key(key)));
    }
    held
}

/// The groups that a Service wants members for: those names for which the cluster has any.
pub fn groups_with_members(cluster: &Cluster, service: &Service) -> BTreeSet<String> {
    let groups = Stand::wanted(cluster, service).groups;
    groups.into_iter().filter(|(_, members)| !members.is_empty()).map(|(name, _)| name).collect()
}

/// The marks of all that this cluster's controller made and that is still there, without its Services' load balancers.
pub fn marks_left(cloud: &Cloud, services: &[&Service]) -> Vec<String> {
    let owners: Vec<String> = services.iter().map(|service| default_name(service)).collect();
    let mut marks = classic::marks(cloud);
    marks.extend(network::marks(cloud));
    marks.retain(|(owner, _)| !owners.contains(owner));
    marks.into_iter().map(|(owner, what)| format!("{what} of {owner}")).collect()
}

// === impl Shown ===

impl Shown {
    fn of(service: &Service) -> Self {
        let ingress = service.status.as_ref().and_then(|s| s.load_balancer.as_ref()?.ingress.clone());
        Self {
            labels: service.metadata.labels.clone().unwrap_or_default(),
            finalizers: service.metadata.finalizers.clone().unwrap_or_default(),
            ingress: ingress.unwrap_or_default().into_iter().filter_map(|one| one.ip.or(one.hostname)).collect(),
        }
    }

    fn lacks(&self, kind: Kind, address: &str, complete: bool) -> Option<String> {
        let finalizer = match kind {
            Kind::Classic => "service.k8s.alibaba/resources",
            Kind::Network => "service.k8s.alibaba/nlb",
        };
        let fits = self.ingress == [address]
            && self.finalizers == [finalizer]
            && (!complete || self.labels.contains_key("service.beta.kubernetes.io/hash"));
        (!fits).then(|| format!("shows {self:?}, its address is {address}"))
    }
}
