//! The queue's bookkeeping, without waiting or locking.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::Priority;

/// Everything known of the keys. Invariants: a key is in `ready` exactly if its entry says so and
/// then is not held; it is in `delayed` exactly if its entry has a delay; an entry that says nothing
/// does not exist.
pub(super) struct State<K> {
    entries: BTreeMap<K, Entry>,
    ready: BTreeSet<(Priority, u64, K)>,
    delayed: BTreeSet<(Instant, u64, K)>,
    /// Numbers places in line, so that equals go in the order in which they came.
    sequence: u64,
    pub(super) shut_down: bool,
}

#[derive(Default)]
struct Entry {
    /// In line: with which priority, and the place.
    ready: Option<(Priority, u64)>,
    /// A worker has it.
    held: bool,
    /// Added while held: goes in line when done.
    again: Option<Priority>,
    delay: Option<Delay>,
    failures: u32,
}

struct Delay {
    due: Instant,
    place: u64,
    priority: Priority,
    /// Nothing but a retry asked for it, so that success drops it.
    retry: bool,
}

// === impl State ===

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            ready: BTreeSet::new(),
            delayed: BTreeSet::new(),
            sequence: 0,
            shut_down: false,
        }
    }
}

impl<K: Ord + Clone> State<K> {
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn any_held(&self) -> bool {
        self.entries.values().any(|entry| entry.held)
    }

    pub(super) fn delayed(&self) -> Vec<K> {
        self.keys(|entry| entry.delay.is_some())
    }

    pub(super) fn failing(&self) -> Vec<K> {
        self.keys(|entry| entry.failures > 0)
    }

    fn keys(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<K> {
        self.entries.iter().filter(|(_, entry)| wanted(entry)).map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(due, ..)| *due)
    }

    pub(super) fn add(&mut self, key: K, priority: Priority) {
        self.sequence += 1;
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.held {
            entry.again = Some(entry.again.map_or(priority, |before| before.min(priority)));
            return;
        }
        match entry.ready {
            Some((before, _)) if before <= priority => return,
            Some((before, place)) => {
                self.ready.remove(&(before, place, key.clone()));
            }
            None => {}
        }
        entry.ready = Some((priority, self.sequence));
        self.ready.insert((priority, self.sequence, key));
    }

    pub(super) fn add_at(&mut self, key: K, priority: Priority, due: Instant, retry: bool) {
        self.sequence += 1;
        let entry = self.entries.entry(key.clone()).or_default();
        let mut wanted = Delay { due, place: self.sequence, priority, retry };
        if let Some(before) = entry.delay.take() {
            self.delayed.remove(&(before.due, before.place, key.clone()));
            wanted.priority = before.priority.min(priority);
            wanted.retry = before.retry && retry;
            if before.due <= due {
                (wanted.due, wanted.place) = (before.due, before.place);
            }
        }
        self.delayed.insert((wanted.due, wanted.place, key));
        entry.delay = Some(wanted);
    }

    /// Puts in line what is due.
    pub(super) fn promote(&mut self, now: Instant) {
        while self.delayed.first().is_some_and(|(due, ..)| *due <= now) {
            let Some((_, _, key)) = self.delayed.pop_first() else { return };
            if let Some(delay) = self.entries.get_mut(&key).and_then(|entry| entry.delay.take()) {
                self.add(key, delay.priority);
            }
        }
    }

    /// Hands out up to `max` keys.
    pub(super) fn take(&mut self, max: usize) -> Vec<K> {
        let mut taken = Vec::new();
        while taken.len() < max {
            let Some((_, _, key)) = self.ready.pop_first() else { break };
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.ready = None;
                entry.held = true;
            }
            taken.push(key);
        }
        taken
    }

    pub(super) fn done(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.held = false;
        match entry.again.take() {
            Some(priority) => self.add(key.clone(), priority),
            None => self.tidy(key),
        }
    }

    /// Counts a failure; the number of those before.
    pub(super) fn fail(&mut self, key: &K) -> u32 {
        let entry = self.entries.entry(key.clone()).or_default();
        let before = entry.failures;
        entry.failures = before.saturating_add(1);
        before
    }

    pub(super) fn forget(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.failures = 0;
        if let Some(delay) = entry.delay.take_if(|delay| delay.retry) {
            self.delayed.remove(&(delay.due, delay.place, key.clone()));
        }
        self.tidy(key);
    }

    /// Whether no key is remembered for any reason.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.entries.is_empty() && self.ready.is_empty() && self.delayed.is_empty()
    }

    fn tidy(&mut self, key: &K) {
        let idle = |entry: &Entry| entry.ready.is_none() && !entry.held && entry.delay.is_none() && entry.failures == 0;
        if self.entries.get(key).is_some_and(idle) {
            self.entries.remove(key);
        }
    }
}
