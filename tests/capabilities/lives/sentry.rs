//! Stands on the way to the cloud and sees what each single call does.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::{
    alibaba::rpc::{InProcess, Transport, TransportError},
    sim::{
        cloud::{Cloud, State, nlb},
        kube::Kube,
    },
};
use k8s_openapi::api::core::v1::Service;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    cluster::Cluster,
    doors::{Doors, Permits, doors},
    expected::groups_with_members,
    marks::{LEFT_TAG, OWNER_TAG, default_name, preserves},
};

/// How long members must have been available before a listener with nobody behind it is held against the
/// controller: longer than a call waits that was decided on before.
const PATIENCE: Duration = Duration::from_secs(30);

/// The sentry. Clones are the same one.
#[derive(Clone)]
pub struct Sentry(Arc<Inner>);

struct Inner {
    way: InProcess,
    cloud: Cloud,
    kube: Kube,
    /// Group → since when there are members for it.
    available: Mutex<BTreeMap<String, Instant>>,
    /// What was behind each listener at the latest look.
    behind: Mutex<Behind>,
    /// Who could come in then, and whom users ever asked for.
    doors: Mutex<Doors>,
    permits: Mutex<Permits>,
    /// The marks of those Services that asked for it when they were last seen.
    preserving: Mutex<BTreeSet<String>>,
    seen: Mutex<Vec<String>>,
}

/// Listener of this cluster → the name of its group, and whether there are members in it.
type Behind = BTreeMap<String, (String, bool)>;

// === impl Sentry ===

impl Sentry {
    pub fn new(cloud: &Cloud, kube: &Kube) -> Self {
        Self(Arc::new(Inner {
            way: InProcess::new(cloud.router()),
            cloud: cloud.clone(),
            kube: kube.clone(),
            available: Mutex::default(),
            behind: Mutex::default(),
            doors: Mutex::default(),
            permits: Mutex::default(),
            preserving: Mutex::default(),
            seen: Mutex::default(),
        }))
    }

    /// To be told after each change of the cluster.
    pub fn look_around(&self) {
        let services = self.0.kube.list();
        self.0.permits.lock().hear(&services);
        for service in &services {
            let (mark, mut preserving) = (default_name(service), self.0.preserving.lock());
            if preserves(service) {
                preserving.insert(mark)
            } else {
                preserving.remove(&mark)
            };
        }
        let there = self.with_members();
        let mut available = self.0.available.lock();
        available.retain(|group, _| there.contains(group));
        for group in there {
            available.entry(group).or_insert_with(Instant::now);
        }
    }

    /// Holds what has happened since the latest look against the controller.
    pub fn judge(&self) {
        let (after, twice, open) = self.0.cloud.with_state(|state| (behind(state), marked_twice(state), doors(state)));
        let mut before = self.0.doors.lock();
        self.0.permits.lock().trespasses(&before, &open).into_iter().for_each(|one| self.report(one));
        *before = open;
        drop(before);
        let mut behind = self.0.behind.lock();
        for (listener, (group, filled)) in &after {
            if *filled || behind.get(listener).is_none_or(|(_, filled)| !filled) {
                continue;
            }
            let since = self.0.available.lock().get(group).copied();
            if since.is_some_and(|since| since.elapsed() > PATIENCE) && self.with_members().contains(group) {
                self.report(format!("nobody is behind {listener} any more while there are members for {group}"));
            }
        }
        *behind = after;
        for owner in twice {
            self.report(format!("there are two load balancers with the mark {owner}"));
        }
    }

    /// What has happened since the latest look is somebody else's doing.
    pub fn excuse(&self) {
        let (behind, open) = self.0.cloud.with_state(|state| (behind(state), doors(state)));
        (*self.0.behind.lock(), *self.0.doors.lock()) = (behind, open);
    }

    /// The marks of Services that are to leave their load balancers behind.
    pub fn preserving(&self) -> BTreeSet<String> {
        self.0.preserving.lock().clone()
    }

    /// What it has seen that must not be.
    pub fn seen(&self) -> Vec<String> {
        self.0.seen.lock().clone()
    }

    /// The groups for which the cluster has members.
    fn with_members(&self) -> BTreeSet<String> {
        let cluster = Cluster::of(&self.0.kube, &self.0.cloud);
        let services = self.0.kube.list::<Service>();
        services.iter().flat_map(|service| groups_with_members(&cluster, service)).collect()
    }

    fn report(&self, text: String) {
        let mut seen = self.0.seen.lock();
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
}

fn behind(state: &State) -> Behind {
    let mut behind = Behind::new();
    for lb in state.slb.load_balancers.values().filter(|lb| !lb.tags.contains_key(LEFT_TAG)) {
        for listener in &lb.listeners {
            if let Some(group) = listener.group().and_then(|id| state.slb.groups.get(id))
                && group.name.starts_with("k8s/")
                && group.name.ends_with("/c1")
            {
                let listener = format!("{} {}/{}", lb.id, listener.port, listener.protocol.as_str());
                behind.insert(listener, (group.name.clone(), !group.servers.is_empty()));
            }
        }
    }
    let is_left = |id: &str| state.nlb.load_balancers.get(id).is_some_and(|lb| lb.tags.contains_key(LEFT_TAG));
    let stays = |one: &&nlb::NlbListener| one.status != nlb::ListenerState::Deleting && !is_left(&one.load_balancer);
    for listener in state.nlb.listeners.values().filter(stays) {
        if let Some(group) = state.nlb.server_groups.get(&listener.server_group)
            && group.name.starts_with("k8s.")
            && group.name.split('.').next_back() == Some("c1")
        {
            let serves = |server: &nlb::NlbServer| {
                matches!(server.status, nlb::ServerState::Available | nlb::ServerState::Configuring)
            };
            behind.insert(listener.id.clone(), (group.name.clone(), group.servers.iter().any(serves)));
        }
    }
    behind
}

fn marked_twice(state: &State) -> Vec<String> {
    let mut owners = BTreeSet::new();
    let classic = state.slb.load_balancers.values().map(|lb| &lb.tags);
    let stays = |lb: &&nlb::NetworkLoadBalancer| lb.status != nlb::NlbStatus::Deleting;
    let network = state.nlb.load_balancers.values().filter(stays).map(|lb| &lb.tags);
    // Another cluster's Service has one of each kind.
    let ours = classic.chain(network).filter(|tags| super::marks::is_marked(tags));
    ours.filter_map(|tags| tags.get(OWNER_TAG)).filter(|owner| !owners.insert(*owner)).cloned().collect()
}

#[async_trait]
impl Transport for Sentry {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        self.judge();
        let answer = self.0.way.send(request).await;
        self.judge();
        answer
    }
}
