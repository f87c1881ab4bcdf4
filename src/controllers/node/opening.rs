//! Opens the network interfaces of new nodes for the traffic of their pods.
//!
//! A new interface drops packets that are neither from nor for its own addresses. Opening it is one call
//! a node, and the cloud admits a few hundred of those a minute, so it is done beside the batches:
//! a thousand nodes that join together do not hold up anything else. Where pods wait for routes anyway
//! (`NetworkUnavailable`) the node is initialised meanwhile, and the route controller asks [`Openings`]
//! before it says that the network is there.
//!
//! Elsewhere the pod network is somebody else's, and hardly any needs an open interface: pods have addresses
//! of the interface itself, or their packets travel in those of their nodes. So the taint waits for a moment, which
//! is enough where few nodes join, and for as long as opening fails; but it does not wait in line.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    Controller,
    observe::name_of,
    plan::{Interface, awaits_network, has_pod_cidr, is_joining},
    reconcile::{Next, WRITES_AT_ONCE},
};
use crate::{
    cloud::{Class, Error, Instance, NetworkInterfaceId},
    controllers::queue::Priority,
};

/// Interfaces that are opened at a time.
const OPENED_AT_ONCE: usize = 8;
/// How long a taint waits for an interface whose turn has not come.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interfaces of nodes that are older than this were opened long ago, or somebody closed them again:
/// longer than it takes to open those of 5,000 nodes.
const YOUNG: Duration = Duration::from_secs(15 * 60);
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
    /// The last attempt failed, and not for lack of patience of the cloud.
    failed: bool,
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
    /// Whether the interface of this node has to be looked at. Of nodes that are in service this is so
    /// where a controller before this one may not have come to it: pods wait for it, or it is young.
    pub(super) fn may_be_closed(&self, node: &Node) -> bool {
        let awaited = || {
            if self.options.configure_routes && has_pod_cidr(node) {
                awaits_network(node)
            } else {
                node.creation_timestamp().is_some_and(|time| self.clock.since(time.0) < YOUNG)
            }
        };
        !self.openings.is_open(node) && (is_joining(node) || awaited())
    }

    /// `held`: the node's taint waits for it, and is taken off with it.
    pub(super) fn enqueue_opening(
        &self,
        node: &Arc<Node>,
        instance: &Instance,
        interface: &NetworkInterfaceId,
        held: bool,
    ) {
        let name = name_of(node);
        let mut closed = self.closed.lock();
        let before = closed.get(&name).filter(|before| before.node.uid() == node.uid());
        let (enqueued, failed) = (before.is_some(), before.is_some_and(|before| before.failed));
        let (node, instance, interface) = (node.clone(), instance.clone(), interface.clone());
        closed.insert(name.clone(), Opening { node, instance, interface, held, failed });
        // What waits for its next attempt already keeps its turn.
        if !enqueued {
            self.opener.add(name.clone(), Priority::Fresh);
            if held {
                self.overdue.add_after(name, Priority::Fresh, PATIENCE);
            }
        }
    }

    /// Opens what is enqueued, until shutdown.
    pub(super) async fn open_interfaces(&self) {
        let opener = async || {
            while let Some(name) = self.opener.next().await {
                self.open_interface(&name).await;
                self.opener.done(&name);
            }
        };
        let releaser = async || {
            while let Some(name) = self.overdue.next().await {
                self.release_overdue(&name).await;
                self.overdue.done(&name);
            }
        };
        let openers: stream::FuturesUnordered<_> = (0..OPENED_AT_ONCE).map(|_| opener()).collect();
        let releasers: stream::FuturesUnordered<_> = (0..WRITES_AT_ONCE).map(|_| releaser()).collect();
        tokio::join!(openers.for_each(|()| async {}), releasers.for_each(|()| async {}));
    }

    /// Takes the node into service although its interface is still in line.
    async fn release_overdue(&self, name: &str) {
        let waiting = self.closed.lock().get(name).filter(|opening| !opening.failed).cloned();
        let waiting = waiting.and_then(|opening| Some((self.current(name, &opening)?, opening)));
        match waiting.filter(|(node, _)| is_joining(node)) {
            Some((node, opening)) if self.initialise_open(&node, &opening).await == Next::Retry => {
                self.overdue.retry(&name.to_owned(), Priority::Fresh);
            }
            _ => self.overdue.forget(&name.to_owned()),
        }
    }

    /// What is left to do where the interface does not stand in the way any more.
    async fn initialise_open(&self, node: &Node, opening: &Opening) -> Next {
        self.write(node, |node| self.plan(node, &opening.instance, &Interface::Open)).await
    }

    /// The Node as it is now, if it is still the one whose interface is to be opened.
    fn current(&self, name: &str, opening: &Opening) -> Option<Arc<Node>> {
        self.cache.nodes.get(None, name).filter(|node| node.uid() == opening.node.uid())
    }

    async fn open_interface(&self, name: &str) {
        let Some(opening) = self.closed.lock().get(name).cloned() else { return };
        let Some(node) = self.current(name, &opening) else {
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
                let held = opening.held && is_joining(&node);
                if held && self.initialise_open(&node, &opening).await == Next::Retry {
                    self.woken.lock().insert(name.to_owned());
                    self.queue.add(name.to_owned(), Priority::Fresh);
                }
            }
            Err(error) if error.class == Class::NotLeader => {
                tracing::info!(node = name, "stopped: this replica does not lead any more");
            }
            Err(error) => {
                if let Some(opening) = self.closed.lock().get_mut(name) {
                    opening.failed |= error.class != Class::Throttled;
                }
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
