//! Deletes Nodes whose instance is proven to be gone. See [`super::absence`] for what proves it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use tokio::time::Instant;

use super::{
    Controller,
    absence::{Missing, Verdict},
    kind::{self, Machine},
    observe::{Seen, name_of},
    plan::{has_taint, is_joining, is_ready, plan_blind},
    reconcile::{Next, UNREADY_PERIOD},
};
use crate::kubernetes::events::reference_of;

/// A node that never was in service may be younger than the cloud's answers: before this age a
/// missing instance says nothing.
const SETTLED_AGE: Duration = Duration::from_secs(5 * 60);
/// The autoscaler's mark on nodes that it is about to take away.
pub(super) const SCALE_IN_TAINT: &str = "ToBeDeletedByClusterAutoscaler";

impl Controller {
    pub(super) fn note_absences(&self, batch: &[Arc<Node>], seen: &BTreeMap<String, Seen>) {
        let mut absences = self.absences.lock();
        for node in batch {
            let name = name_of(node);
            match seen.get(&name) {
                Some(Seen::Present { .. } | Seen::There) => absences.clear(&name),
                Some(Seen::Absent { witnessed, .. }) if self.may_be_gone(node) => {
                    absences.note(missing(node, &name, *witnessed), Instant::now());
                }
                _ => {}
            }
        }
        self.counters.missing.set(u64::try_from(absences.count()).unwrap_or(u64::MAX));
    }

    /// Not for nodes that may be younger than what the cloud shows.
    pub(super) fn may_be_gone(&self, node: &Node) -> bool {
        let created = node.creation_timestamp().map(|time| self.clock.since(time.0));
        !is_joining(node) || created.is_some_and(|age| age >= SETTLED_AGE)
    }

    pub(super) async fn absent(&self, node: &Arc<Node>, machine: &Machine, witnessed: bool, known: usize) -> Next {
        let name = name_of(node);
        let ours = self.options.lifecycle && !kind::lives_by_others(node);
        if !ours && !is_joining(node) {
            return Next::Woken;
        }
        if !self.may_be_gone(node) {
            let id = &machine.instance;
            let message = format!("The cloud does not show instance {id} in region {} (yet)", machine.region);
            self.report(node, "SyncNodeFailed", &message);
            return Next::Retry;
        }
        if is_ready(node) {
            tracing::warn!(node = name, instance = %machine, "the cloud does not show the instance of a node that is Ready");
            return self.write(node, plan_blind).await;
        }
        if !ours {
            return Next::After(UNREADY_PERIOD);
        }
        let verdict = self.absences.lock().judge(missing(node, &name, witnessed), known, Instant::now());
        match verdict {
            Verdict::LookAgain(wait) => Next::After(wait),
            Verdict::Unproven => {
                tracing::debug!(node = name, instance = %machine, "not deleted: the answer shows no other instance either");
                Next::After(UNREADY_PERIOD)
            }
            Verdict::TooMany { missing, known } => {
                self.counters.withheld.inc();
                let message = format!(
                    "Not deleted although the cloud does not show instance {machine}: {missing} of {known} instances are \
                     missing at once, which rather means that the credentials or the region are wrong; delete the Node \
                     by hand if it is really gone"
                );
                self.report(node, "DeleteNodeFailed", &message);
                Next::After(UNREADY_PERIOD)
            }
            Verdict::Gone => self.delete(node, machine).await,
        }
    }

    async fn delete(&self, node: &Arc<Node>, machine: &Machine) -> Next {
        let name = name_of(node);
        let current = self.cache.nodes.get(None, &name);
        if !current.is_some_and(|current| current.uid() == node.uid() && !is_ready(&current)) {
            return Next::After(UNREADY_PERIOD);
        }
        match self.writer.delete(node).await {
            Ok(()) => {
                tracing::info!(node = name, instance = %machine, "deleted a node whose instance is gone");
                self.recorder.normal(&reference_of(node.as_ref()), "DeletedNode", name.clone());
                self.counters.deleted.inc();
                self.absences.lock().clear(&name);
                self.reports.lock().clear(&name);
                Next::Woken
            }
            Err(error) => {
                self.report(node, "DeleteNodeFailed", &format!("Error deleting node: {error}"));
                Next::Retry
            }
        }
    }
}

fn missing<'a>(node: &'a Node, name: &'a str, witnessed: bool) -> Missing<'a> {
    Missing {
        name,
        uid: node.metadata.uid.as_deref().unwrap_or_default(),
        witnessed,
        expected: has_taint(node, SCALE_IN_TAINT),
    }
}
