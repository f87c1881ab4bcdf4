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
    sim::{cloud::Cloud, kube::Kube},
};
use k8s_openapi::api::core::v1::Service;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::expected::Cluster;

/// How long members must have been available before a group without any is held against the
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
    seen: Mutex<Vec<String>>,
}

// === impl Sentry ===

impl Sentry {
    pub fn new(cloud: &Cloud, kube: &Kube) -> Self {
        Self(Arc::new(Inner {
            way: InProcess::new(cloud.router()),
            cloud: cloud.clone(),
            kube: kube.clone(),
            available: Mutex::default(),
            seen: Mutex::default(),
        }))
    }

    /// To be told after each change of the cluster.
    pub fn look_around(&self) {
        let there = self.with_members();
        let mut available = self.0.available.lock();
        available.retain(|group, _| there.contains(group));
        for group in there {
            available.entry(group).or_insert_with(Instant::now);
        }
    }

    /// What it has seen that must not be.
    pub fn seen(&self) -> Vec<String> {
        self.0.seen.lock().clone()
    }

    /// The groups for which the cluster has members.
    fn with_members(&self) -> BTreeSet<String> {
        let cluster = Cluster::of(&self.0.kube, &self.0.cloud);
        let services = self.0.kube.list::<Service>();
        let groups = services.iter().flat_map(|service| cluster.wants(service).groups);
        groups.filter(|(_, members)| !members.is_empty()).map(|(name, _)| name).collect()
    }

    /// Groups of this cluster that a listener sends traffic to: id → name, and whether there are members.
    fn in_use(&self) -> BTreeMap<String, (String, bool)> {
        self.0.cloud.with_state(|state| {
            let listeners = state.slb.load_balancers.values().flat_map(|lb| &lb.listeners);
            let used = listeners.filter_map(|listener| state.slb.groups.get(listener.group()?));
            let ours = used.filter(|group| group.name.starts_with("k8s/") && group.name.ends_with("/c1"));
            ours.map(|group| (group.id.clone(), (group.name.clone(), !group.servers.is_empty()))).collect()
        })
    }

    fn judge(&self, before: &BTreeMap<String, (String, bool)>) {
        let after = self.in_use();
        for (id, (name, filled)) in &after {
            if *filled || before.get(id).is_none_or(|(_, filled)| !filled) {
                continue;
            }
            let since = self.0.available.lock().get(name).copied();
            if since.is_some_and(|since| since.elapsed() > PATIENCE) && self.with_members().contains(name) {
                self.report(format!("the group {name} was emptied while there were members for it"));
            }
        }
        let twice = self.0.cloud.with_state(|state| {
            let mut owners = BTreeSet::new();
            let marks = state.slb.load_balancers.values().filter_map(|lb| lb.tags.get("kubernetes.do.not.delete"));
            marks.filter(|owner| !owners.insert(*owner)).cloned().collect::<Vec<_>>()
        });
        for owner in twice {
            self.report(format!("there are two load balancers with the mark {owner}"));
        }
    }

    fn report(&self, text: String) {
        let mut seen = self.0.seen.lock();
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
}

#[async_trait]
impl Transport for Sentry {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let before = self.in_use();
        let answer = self.0.way.send(request).await;
        self.judge(&before);
        answer
    }
}
