//! One batch of Nodes: what the cloud shows of them, and for each what follows from it.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use tokio::time::Instant;

use super::{
    Controller,
    desired::desired,
    kind::{self, Kind},
    observe::{Seen, name_of},
    plan::{
        Interface, Plan, SHUTDOWN_TAINT, has_taint, is_joining, is_ready, plan, plan_blind, plan_release, plan_taints,
    },
};
use crate::{
    cloud::{self, Class, Instance},
    controllers::queue::Priority,
    kubernetes::{events::reference_of, patch},
};

/// How many Nodes of a batch are written to at a time.
pub(super) const WRITES_AT_ONCE: usize = 8;
/// How soon a node that is not Ready is looked at again, to find that its instance was switched off
/// or released.
pub(super) const UNREADY_PERIOD: Duration = Duration::from_secs(30);
/// How soon a node is looked at again after the cloud asked for fewer calls. Short, because a batch
/// costs one call however many wait in it.
const THROTTLED_WAIT: Duration = Duration::from_secs(4);
/// When a node is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// When something wakes it.
    Woken,
    /// After a while, if it is not Ready by then.
    After(Duration),
    /// After a while, in any case.
    Again(Duration),
    /// With growing delays.
    Retry,
}

// === impl Controller ===

impl Controller {
    pub(super) async fn reconcile(&self, names: &[String]) {
        let mut batch = Vec::new();
        for name in names {
            let woken = self.woken.lock().remove(name);
            match self.cache.nodes.get(None, name) {
                Some(node) if is_joining(&node) && !self.options.initialise => self.settle(name, Next::Woken),
                Some(node) if woken || is_joining(&node) || !is_ready(&node) => match Kind::of(&node) {
                    Kind::Foreign(why) => {
                        if is_joining(&node) {
                            let message = format!("This node is left alone and keeps its taint, because {why}");
                            self.report(&node, "SyncNodeFailed", &message);
                        }
                        self.settle(name, Next::Woken);
                    }
                    Kind::Lingjun(_) if is_joining(&node) || is_ready(&node) => {
                        self.absences.lock().clear(name);
                        let next = self.write(&node, plan_release).await;
                        self.settle(name, next);
                    }
                    Kind::Lingjun(_) | Kind::Ecs(_) | Kind::Unnamed => batch.push(node),
                },
                Some(_) => self.settle(name, Next::Woken),
                None => {
                    self.absences.lock().clear(name);
                    self.reports.lock().clear(name);
                    self.openings.forget(name);
                    self.settle(name, Next::Woken);
                }
            }
        }
        if batch.is_empty() {
            return;
        }
        let all = self.cache.nodes.list();
        let closed = |node: &Node| self.options.initialise && self.may_be_closed(node);
        let seen = self.observer.observe(&batch, &all, |node| self.may_be_gone(node), closed).await;
        self.note_absences(&batch, &seen);
        let absent = seen.values().any(|seen| matches!(seen, Seen::Absent { .. }));
        let counts = |node: &Node| matches!(Kind::of(node), Kind::Ecs(_) | Kind::Lingjun(_));
        let known = all.iter().filter(|node| absent && counts(node)).count();
        stream::iter(&batch)
            .for_each_concurrent(WRITES_AT_ONCE, |node| {
                let seen = seen.get(&name_of(node));
                async move {
                    let next = self.reconcile_one(node, seen, known).await;
                    self.settle(&name_of(node), next);
                }
            })
            .await;
    }

    /// Gives the name back to the queue.
    fn settle(&self, name: &str, next: Next) {
        let name = name.to_owned();
        if next != Next::Retry {
            self.queue.forget(&name);
        }
        match next {
            Next::Woken => {}
            Next::After(delay) => self.queue.add_after(name.clone(), Priority::Audit, delay),
            Next::Again(delay) => {
                self.woken.lock().insert(name.clone());
                self.queue.add_after(name.clone(), Priority::Fresh, self.entropy.jitter(delay));
            }
            Next::Retry => {
                self.woken.lock().insert(name.clone());
                self.queue.retry(&name, Priority::Fresh);
            }
        }
        self.queue.done(&name);
    }

    async fn reconcile_one(&self, node: &Arc<Node>, seen: Option<&Seen>, known: usize) -> Next {
        match seen {
            Some(Seen::Present { instance, interface }) => self.present(node, instance, interface).await,
            Some(Seen::There) => Next::After(UNREADY_PERIOD),
            Some(Seen::Absent { machine, witnessed }) => self.absent(node, machine, *witnessed, known).await,
            Some(Seen::Unmatched(tried)) => {
                self.report(node, "SyncNodeFailed", tried);
                if is_joining(node) { Next::Retry } else { Next::Woken }
            }
            Some(Seen::Failed(error)) => self.unanswered(node, error).await,
            None => Next::Woken,
        }
    }

    async fn present(&self, node: &Arc<Node>, instance: &Instance, interface: &Interface) -> Next {
        let plan = |node: &Node| self.plan(node, instance, interface);
        if !self.options.initialise {
            return self.write(node, plan).await;
        }
        let (next, initialized) = self.try_write(node, plan).await;
        match interface {
            Interface::Open => self.openings.opened(node),
            Interface::Closed(id) => self.enqueue_opening(node, instance, id, is_joining(node) && !initialized),
            // It is in service as far as it can be, but nobody opens an interface that was not seen.
            Interface::Unknown(_) => return Next::Retry,
        }
        next
    }

    pub(super) fn plan(&self, node: &Node, instance: &Instance, interface: &Interface) -> Plan {
        let mut desired = desired(node, instance, self.options.dual_stack);
        if !self.options.lifecycle || kind::lives_by_others(node) {
            desired.stopped = has_taint(node, SHUTDOWN_TAINT);
        }
        if self.options.initialise {
            plan(node, &desired, interface, self.options.configure_routes)
        } else {
            plan_taints(node, &desired)
        }
    }

    /// The cloud did not answer: that is no reason to do anything but to ask again.
    async fn unanswered(&self, node: &Node, error: &cloud::Error) -> Next {
        if !error.is_retryable() && is_joining(node) {
            self.report(node, "SyncNodeFailed", &error.stable_text());
        }
        let next = self.write(node, plan_blind).await;
        let waits = is_joining(node) || self.options.initialise && self.may_be_closed(node);
        match error.class {
            _ if is_ready(node) && !waits => next,
            Class::Throttled => Next::Again(error.retry_after.unwrap_or(THROTTLED_WAIT)),
            _ => Next::Retry,
        }
    }

    pub(super) async fn write(&self, node: &Node, plan: impl Fn(&Node) -> Plan) -> Next {
        self.try_write(node, plan).await.0
    }

    /// Tells also whether the node was taken into service.
    async fn try_write(&self, node: &Node, plan: impl Fn(&Node) -> Plan) -> (Next, bool) {
        let name = name_of(node);
        let problem = plan(node).problem;
        let applied = match self.writer.apply(node, plan).await {
            Ok(applied) => applied,
            Err(error) if error.is_not_found() => return (Next::Woken, false),
            Err(patch::Error::NotLeader { .. }) => {
                tracing::info!(node = name, "stopped: this replica does not lead any more");
                return (Next::Woken, false);
            }
            Err(error) => {
                self.report(node, "SyncNodeFailed", &error.to_string());
                return (Next::Retry, false);
            }
        };
        if applied.initialized {
            self.counters.initialized(node.creation_timestamp().map(|time| self.clock.since(time.0)));
            let message = format!("Initialized node {name} with cloud provider");
            tracing::info!(node = name, "{message}");
            self.recorder.normal(&reference_of(node), "InitializedNode", message);
        } else if applied.wrote {
            tracing::info!(node = name, "updated node {name}");
        }
        match problem {
            Some(problem) => {
                self.report(node, "SyncNodeFailed", &problem);
                if is_joining(node) {
                    return (Next::Retry, applied.initialized);
                }
            }
            None => self.reports.lock().clear(&name),
        }
        (if is_ready(node) { Next::Woken } else { Next::After(UNREADY_PERIOD) }, applied.initialized)
    }

    /// Tells the user once, not at every pass.
    pub(super) fn report(&self, node: &Node, reason: &str, message: &str) {
        let name = name_of(node);
        if self.reports.lock().is_news(&name, message, Instant::now()) {
            tracing::warn!(node = name, reason, "{message}");
            self.recorder.warning(&reference_of(node), reason, message);
        }
    }
}
