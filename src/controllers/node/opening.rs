//! Opens the network interfaces of new nodes for the traffic of their pods.
//!
//! A new interface drops packets that are neither from nor for its own addresses. Opening it is one call
//! a node, and the cloud admits a few hundred of those a minute, so it is done beside the batches:
//! a thousand nodes that join together do not hold up anything else. Where pods wait for routes anyway
//! (`NetworkUnavailable`) the node is initialised meanwhile, and the route controller asks [`Openings`]
//! before it says that the network is there; elsewhere the taint stays until the interface is open.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    Controller,
    observe::name_of,
    plan::{Interface, is_joining},
};
use crate::{
    cloud::{Class, Error, Instance, NetworkInterfaceId},
    controllers::queue::Priority,
};

/// Interfaces that are opened at a time.
const OPENED_AT_ONCE: usize = 8;
/// A failure that will probably pass is told to users only when the next attempt is as far away.
const LASTING: Duration = Duration::from_secs(20);

/// Which nodes' interfaces are known to let pod traffic through. Two controllers share it: one finds out,
/// the other waits for it.
#[derive(Debug, Default)]
pub struct Openings {
    /// Node names, with the uid of the Node that was seen.
    opened: Mutex<BTreeMap<String, String>>,
    changed: Notify,
}

/// An interface that is to be opened.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    node: Arc<Node>,
    instance: Instance,
    interface: NetworkInterfaceId,
    /// The node's taint waits for it.
    held: bool,
}

// === impl Openings ===

impl Openings {
    pub fn is_open(&self, node: &Node) -> bool {
        self.opened.lock().get(&name_of(node)).is_some_and(|uid| Some(uid) == node.metadata.uid.as_ref())
    }

    /// Waits until another interface was opened.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn opened(&self, node: &Node) {
        let uid = node.uid().unwrap_or_default();
        if self.opened.lock().insert(name_of(node), uid.clone()).is_none_or(|before| before != uid) {
            self.changed.notify_one();
        }
    }

    pub(super) fn forget(&self, name: &str) {
        self.opened.lock().remove(name);
    }
}

// === impl Controller ===

impl Controller {
    /// `held`: the node's taint waits for it, and is taken off with it.
    pub(super) fn enqueue_opening(
        &self,
        node: &Arc<Node>,
        instance: &Instance,
        interface: &NetworkInterfaceId,
        held: bool,
    ) {
        let name = name_of(node);
        let opening = Opening { node: node.clone(), instance: instance.clone(), interface: interface.clone(), held };
        // What waits for its next attempt already keeps its turn.
        if self.closed.lock().insert(name.clone(), opening).is_none() {
            self.opener.add(name, Priority::Fresh);
        }
    }

    /// Opens what is enqueued, until shutdown.
    pub(super) async fn open_interfaces(&self) {
        let worker = async || {
            while let Some(name) = self.opener.next().await {
                self.open_interface(&name).await;
                self.opener.done(&name);
            }
        };
        let workers: stream::FuturesUnordered<_> = (0..OPENED_AT_ONCE).map(|_| worker()).collect();
        workers.for_each(|()| async {}).await;
    }

    async fn open_interface(&self, name: &str) {
        let Some(opening) = self.closed.lock().get(name).cloned() else { return };
        let current = self.cache.nodes.get(None, name).filter(|node| node.uid() == opening.node.uid());
        let Some(node) = current else {
            // Deleted meanwhile; one made anew is looked at by itself.
            self.closed.lock().remove(name);
            self.opener.forget(&name.to_owned());
            return;
        };
        match self.writer.open(&opening.instance.region, &opening.interface).await {
            Ok(()) => {
                tracing::info!(node = name, interface = %opening.interface, "opened the interface of node {name} for its pods");
                self.closed.lock().remove(name);
                self.opener.forget(&name.to_owned());
                self.openings.opened(&node);
                if opening.held && is_joining(&node) {
                    let plan = |node: &Node| self.plan(node, &opening.instance, &Interface::Open);
                    let next = self.write(&node, plan).await;
                    if next == super::Next::Retry {
                        self.woken.lock().insert(name.to_owned());
                        self.queue.add(name.to_owned(), Priority::Fresh);
                    }
                }
            }
            Err(error) if error.class == Class::NotLeader => {
                tracing::info!(node = name, "stopped: this replica does not lead any more");
            }
            Err(error) => {
                let next = self.opener.retry(&name.to_owned(), Priority::Fresh);
                self.report_closed(&node, &error, next);
            }
        }
    }

    fn report_closed(&self, node: &Node, error: &Error, next: Duration) {
        if !error.is_retryable() || next >= LASTING {
            let message = format!("Failed to disable source dest check for node: {}", error.stable_text());
            self.report(node, "SyncNodeFailed", &message);
        }
    }
}
