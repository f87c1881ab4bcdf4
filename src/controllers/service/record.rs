//! What is remembered of each Service between passes, so as not to say or do things twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use k8s_openapi::api::core::v1::LoadBalancerIngress;
use parking_lot::Mutex;

use super::{Key, members::Backends, publish};
use crate::cloud::LoadBalancerId;

/// What is remembered of every Service.
#[derive(Default)]
pub(super) struct Records(Mutex<BTreeMap<Key, Record>>);

/// What is remembered of one Service.
#[expect(clippy::struct_excessive_bools, reason = "each is remembered by itself")]
#[derive(Default)]
struct Record {
    /// The hash of the members of the last pass: all of them are too many to keep.
    backends: Option<u64>,
    /// Whether the traffic policy changed since this process began.
    policy_changed: bool,
    /// Whether the load balancer checks its members, as far as is known.
    checked: bool,
    /// The failure last told: what it is compared by, and the full text.
    failure: Option<(String, String)>,
    /// What was told, by topic.
    notices: BTreeMap<&'static str, BTreeSet<String>>,
    had_no_members: bool,
    audit: bool,
    /// A pass of this process has reached its end.
    settled: bool,
    /// What the Service was made to show: the load balancer, and the status.
    id: Option<LoadBalancerId>,
    shown: Vec<LoadBalancerIngress>,
    /// Something was changed since the Service was last found in order.
    changed: bool,
    /// How often in a row what is busy was waited for.
    waited: u32,
}

/// Differs for members that differ, but once in 2⁶⁴ times; then the audit finds out.
fn hash_of(backends: &Backends) -> u64 {
    let mut hasher = DefaultHasher::new();
    backends.hash(&mut hasher);
    hasher.finish()
}

// === impl Records ===

impl Records {
    fn with<T>(&self, key: &Key, change: impl FnOnce(&mut Record) -> T) -> T {
        change(self.0.lock().entry(key.clone()).or_default())
    }

    /// Notes the members that a pass works with.
    pub(super) fn set_backends(&self, key: &Key, backends: &Backends) {
        self.with(key, |record| record.backends = Some(hash_of(backends)));
    }

    /// Whether the members differ from those of the last pass; also if there was none.
    pub(super) fn backends_changed(&self, key: &Key, backends: &Backends) -> bool {
        self.with(key, |record| record.backends != Some(hash_of(backends)))
    }

    /// Notes that the traffic policy has changed.
    pub(super) fn note_policy_change(&self, key: &Key) {
        self.with(key, |record| record.policy_changed = true);
    }

    /// Whether the traffic policy has changed since this process began.
    pub(super) fn policy_changed(&self, key: &Key) -> bool {
        self.with(key, |record| record.policy_changed)
    }

    /// Notes whether the load balancer checks its members; tells whether that is news.
    pub(super) fn set_checked(&self, key: &Key, checked: bool) -> bool {
        self.with(key, |record| std::mem::replace(&mut record.checked, checked) != checked)
    }

    /// Whether the load balancer checks its members; not before a pass has seen that it does.
    pub(super) fn is_checked(&self, key: &Key) -> bool {
        self.with(key, |record| record.checked)
    }

    /// Whether the Service has lost all members since the last pass.
    pub(super) fn lost_all_members(&self, key: &Key, none: bool) -> bool {
        self.with(key, |record| !std::mem::replace(&mut record.had_no_members, none) && none)
    }

    /// The text to tell about a failure. For the same failure as before, it is the same text, so
    /// that events are counted and not multiplied by request ids.
    pub(super) fn failure_text(&self, key: &Key, stable: String, full: String) -> String {
        self.with(key, |record| match &record.failure {
            Some((before, text)) if *before == stable => text.clone(),
            _ => {
                record.failure = Some((stable, full.clone()));
                full
            }
        })
    }

    /// Notes a pass without failure; tells whether the one before had failed.
    pub(super) fn succeeded(&self, key: &Key) -> bool {
        self.with(key, |record| record.failure.take().is_some())
    }

    /// Whether the last pass failed.
    pub(super) fn has_failed(&self, key: &Key) -> bool {
        self.with(key, |record| record.failure.is_some())
    }

    /// Notes what the Service is made to show: the load balancer, and the status.
    pub(super) fn show(&self, key: &Key, id: &LoadBalancerId, ingress: &[LoadBalancerIngress]) {
        self.with(key, |record| {
            record.id = Some(id.clone());
            record.shown = ingress.to_vec();
        });
    }

    /// The load balancer that the Service was made to show by this process.
    pub(super) fn id(&self, key: &Key) -> Option<LoadBalancerId> {
        self.with(key, |record| record.id.clone())
    }

    /// Whether `ingress` is what the status was made to show.
    pub(super) fn shows(&self, key: &Key, ingress: &[LoadBalancerIngress]) -> bool {
        self.with(key, |record| publish::is_same(&record.shown, ingress))
    }

    /// Those of `notices` on a topic that were not told by the last pass.
    pub(super) fn new_notices(
        &self,
        key: &Key,
        topic: &'static str,
        notices: impl IntoIterator<Item = String>,
    ) -> Vec<String> {
        let notices: BTreeSet<String> = notices.into_iter().collect();
        self.with(key, |record| {
            let before = record.notices.remove(topic).unwrap_or_default();
            if !notices.is_empty() {
                record.notices.insert(topic, notices.clone());
            }
            notices.into_iter().filter(|notice| !before.contains(notice)).collect()
        })
    }

    /// Notes whether a pass changed anything; tells whether it or one before it did, since the
    /// Service was last found in order.
    pub(super) fn note_changes(&self, key: &Key, changed: bool) -> bool {
        self.with(key, |record| {
            record.changed |= changed;
            record.changed
        })
    }

    /// The Service is in order.
    pub(super) fn forget_changes(&self, key: &Key) {
        self.with(key, |record| record.changed = false);
    }

    /// Notes that something is busy once more; tells how often it was so in a row.
    pub(super) fn wait_longer(&self, key: &Key) -> u32 {
        self.with(key, |record| {
            record.waited += 1;
            record.waited - 1
        })
    }

    /// Nothing is busy any more.
    pub(super) fn stop_waiting(&self, key: &Key) {
        self.with(key, |record| record.waited = 0);
    }

    /// Asks the next pass to read the load balancer again.
    pub(super) fn mark_for_audit(&self, key: &Key) {
        self.with(key, |record| record.audit = true);
    }

    /// Whether this pass is to read the load balancer again.
    pub(super) fn take_audit(&self, key: &Key) -> bool {
        self.with(key, |record| std::mem::take(&mut record.audit))
    }

    /// Notes that a pass has reached its end.
    pub(super) fn settle(&self, key: &Key) {
        self.with(key, |record| record.settled = true);
    }

    /// Whether a pass of this process has reached its end.
    pub(super) fn is_settled(&self, key: &Key) -> bool {
        self.with(key, |record| record.settled)
    }

    /// Forgets a Service that is gone.
    pub(super) fn remove(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}
