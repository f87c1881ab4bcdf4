//! Decides what becomes of an event: a new one, a higher count of one that exists, or nothing.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::Recorded;

/// client-go's numbers: an object may be told about 25 times at once and then once in five minutes.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(300);
/// How many different events and objects are remembered.
const REMEMBERED: usize = 4096;

/// Namespace, kind, name and uid.
type ObjectKey = [String; 4];
/// An object, and type, reason and message.
type EventKey = (ObjectKey, &'static str, String, String);

/// What was told before.
#[derive(Default)]
pub(super) struct Correlator {
    written: BTreeMap<EventKey, Written>,
    budgets: BTreeMap<ObjectKey, Budget>,
}

/// An Event that exists in the cluster.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) count: i32,
    used: Instant,
}

struct Budget {
    tokens: u32,
    refilled: Instant,
    used: Instant,
}

/// What to do about an event.
#[derive(Debug)]
pub(super) enum Verdict {
    Create,
    /// It exists: its count goes one up.
    Raise(Written),
    /// Too much was said about this object.
    Drop,
}

fn object_key(object: &ObjectReference) -> ObjectKey {
    [&object.namespace, &object.kind, &object.name, &object.uid].map(|part| part.clone().unwrap_or_default())
}

fn event_key(event: &Recorded) -> EventKey {
    (object_key(&event.object), event.kind, event.reason.clone(), event.message.clone())
}

// === impl Correlator ===

impl Correlator {
    pub(super) fn judge(&mut self, event: &Recorded, now: Instant) -> Verdict {
        if !self.afford(object_key(&event.object), now) {
            return Verdict::Drop;
        }
        match self.written.get_mut(&event_key(event)) {
            Some(written) => {
                written.used = now;
                Verdict::Raise(written.clone())
            }
            None => Verdict::Create,
        }
    }

    /// Remembers what is in the cluster now.
    pub(super) fn remember(&mut self, event: &Recorded, name: String, count: i32, now: Instant) {
        make_room(&mut self.written, |written| written.used);
        self.written.insert(event_key(event), Written { name, count, used: now });
    }

    fn afford(&mut self, key: ObjectKey, now: Instant) -> bool {
        if !self.budgets.contains_key(&key) {
            make_room(&mut self.budgets, |budget| budget.used);
        }
        let budget = match self.budgets.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Budget { tokens: BURST, refilled: now, used: now }),
        };
        budget.used = now;
        while budget.tokens < BURST && now - budget.refilled >= REFILL {
            budget.tokens += 1;
            budget.refilled += REFILL;
        }
        if budget.tokens == BURST {
            budget.refilled = now;
        }
        let affordable = budget.tokens > 0;
        budget.tokens = budget.tokens.saturating_sub(1);
        affordable
    }
}

/// Forgets what was not used for longest, once there is no more room.
fn make_room<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, used: impl Fn(&V) -> Instant) {
    if map.len() < REMEMBERED {
        return;
    }
    if let Some(oldest) = map.iter().min_by_key(|(_, value)| used(value)).map(|(key, _)| key.clone()) {
        map.remove(&oldest);
    }
}
