//! The cluster as this process knows it: one cache of Services, Nodes and EndpointSlices, kept
//! current by a watch each.
//!
//! Controllers read from it and register handlers that turn changes into queue keys. It never
//! writes, and it knows nothing of what the objects are used for.

mod store;
mod trim;
mod watch;

use k8s_openapi::api::core::v1::{Node, Service};
use kube::{Api, Client, runtime::watcher};
use tokio_util::sync::CancellationToken;

use super::slice::{SERVICE_NAME_LABEL, Slice};
use crate::entropy::Entropy;

pub use store::{Change, Store};
pub use trim::Trim;

/// Objects in one answer to a list. What is parsed is there whole until it is trimmed, and a Node is some 20 KB
/// in a cluster of some age.
const PAGE: u32 = 100;

/// A watch is begun anew after this time, so that one whose connection died in silence is noticed
/// not long after.
const WATCH_SECONDS: u32 = 120;

/// The informers. Clones share the stores.
#[derive(Clone, Default)]
pub struct Cache {
    pub services: Store<Service>,
    pub nodes: Store<Node>,
    /// Only those with the label `kubernetes.io/service-name`: others belong to no Service.
    pub slices: Store<Slice>,
}

// === impl Cache ===

impl Cache {
    /// Empty and not synced.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lists and watches until cancelled. A server that is away is waited for, with one log line a
    /// backoff step and kind.
    pub async fn run(&self, client: Client, entropy: Entropy, cancel: CancellationToken) {
        let all = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE);
        let of_services = all.clone().labels(SERVICE_NAME_LABEL);
        tokio::join!(
            watch::follow(Api::all(client.clone()), all.clone(), &self.nodes, entropy.fork(), &cancel),
            watch::follow(Api::all(client.clone()), all, &self.services, entropy.fork(), &cancel),
            watch::follow(Api::all(client), of_services, &self.slices, entropy.fork(), &cancel),
        );
    }

    /// Calls no handler any more: whoever registered them has ended.
    pub fn forget_handlers(&self) {
        self.nodes.forget_handlers();
        self.services.forget_handlers();
        self.slices.forget_handlers();
    }

    /// Waits until every store holds a complete first list and its handlers have seen it.
    pub async fn synced(&self) {
        self.nodes.synced().await;
        self.services.synced().await;
        self.slices.synced().await;
    }

    /// Whether [`Cache::synced`] would return at once.
    pub fn is_synced(&self) -> bool {
        self.nodes.is_synced() && self.services.is_synced() && self.slices.is_synced()
    }
}

#[cfg(test)]
mod tests;
