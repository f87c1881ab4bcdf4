//! What is known of pods that are not ready: which of them have the gate of a Service, whether their
//! containers are ready, and when to look again.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::controllers::service::Key;

/// How soon a pod is looked at again at the least, and at the most.
const SOONEST: Duration = Duration::from_secs(1);
const LATEST: Duration = Duration::from_secs(10);

/// The pods of all Services that an EndpointSlice shows as not ready.
#[derive(Default)]
pub struct Gates {
    pods: Mutex<BTreeMap<Key, BTreeMap<String, Seen>>>,
    changed: Notify,
}

/// What a pod was seen to be. By its UID, so what is said of its gates stays true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It does not wait for this Service.
    WithoutGate,
    Gated {
        name: String,
        containers_ready: bool,
        /// When to look again.
        due: Instant,
    },
}

// === impl Gates ===

impl Gates {
    /// The pods of a Service that are not ready only because they wait to be members.
    pub fn admitted(&self, key: &Key) -> BTreeSet<String> {
        let ready = |seen: &Seen| matches!(seen, Seen::Gated { containers_ready: true, .. });
        let pods = self.pods.lock();
        let pods = pods.get(key).into_iter().flatten();
        pods.filter(|(_, seen)| ready(seen)).map(|(uid, _)| uid.clone()).collect()
    }

    /// What is known of one pod.
    pub(super) fn seen(&self, key: &Key, uid: &str) -> Option<Seen> {
        self.pods.lock().get(key)?.get(uid).cloned()
    }

    /// Notes all pods of a Service that are not ready, in place of those noted before.
    pub(super) fn note_all(&self, key: &Key, pods: BTreeMap<String, Seen>) {
        let mut all = self.pods.lock();
        if pods.is_empty() {
            all.remove(key);
        } else {
            all.insert(key.clone(), pods);
        }
        drop(all);
        self.changed.notify_one();
    }

    /// Notes one pod, if it is still among those of the Service; `None` drops it.
    pub(super) fn note(&self, key: &Key, uid: &str, seen: Option<Seen>) {
        let mut all = self.pods.lock();
        let Some(pods) = all.get_mut(key).filter(|pods| pods.contains_key(uid)) else { return };
        match seen {
            Some(seen) => drop(pods.insert(uid.to_owned(), seen)),
            None => drop(pods.remove(uid)),
        }
    }

    /// Forgets a Service.
    pub fn remove(&self, key: &Key) {
        self.pods.lock().remove(key);
    }

    /// Waits until pods are due to be looked at again: Service, UID, and what was seen.
    pub(super) async fn due(&self) -> Vec<(Key, String, Seen)> {
        loop {
            let next = {
                let all = self.pods.lock();
                let now = Instant::now();
                let dues = all.iter().flat_map(|(key, pods)| pods.iter().map(move |(uid, seen)| (key, uid, seen)));
                let due: Vec<_> = dues
                    .clone()
                    .filter(|(_, _, seen)| seen.due().is_some_and(|due| due <= now))
                    .map(|(key, uid, seen)| (key.clone(), uid.clone(), seen.clone()))
                    .collect();
                if !due.is_empty() {
                    return due;
                }
                dues.filter_map(|(_, _, seen)| seen.due()).min()
            };
            let sleep = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                () = sleep => {}
            }
        }
    }
}

// === impl Seen ===

impl Seen {
    fn due(&self) -> Option<Instant> {
        match self {
            Self::WithoutGate => None,
            Self::Gated { due, .. } => Some(*due),
        }
    }

    /// A pod of this age that has the gate. One that was just made is looked at often, because its
    /// rollout waits for it; one that has been unready for long probably stays so.
    pub(super) fn gated(name: String, containers_ready: bool, age: Duration) -> Self {
        Self::Gated { name, containers_ready, due: Instant::now() + (age / 8).clamp(SOONEST, LATEST) }
    }
}
