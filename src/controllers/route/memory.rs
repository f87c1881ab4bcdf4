//! What the route controller remembers from one pass to the next. None of it is needed to be right
//! after a restart: it saves calls, and lets leftovers of nodes that just went be told from
//! strangers' entries at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;

use super::hold::Holds;
use crate::{
    cloud::{Route, RouteChange, RouteStatus, RouteTableId},
    controllers::node::report::Reports,
    entropy::Entropy,
};

/// How long an entry to a stranger must have been one before it is taken for a leftover.
pub(super) const GRACE: Duration = Duration::from_secs(10);
/// How soon entries between two states are looked at again, at first and at most.
const SETTLE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// The same for tables that could not be read.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

pub(super) struct Memory {
    /// Which tables to keep, once that is known.
    pub(super) tables: Option<Vec<RouteTableId>>,
    /// What each table held when last read, and our changes since. Tables not in here are not known.
    pub(super) entries: BTreeMap<RouteTableId, Vec<Route>>,
    /// Entries that were wanted at some time.
    pub(super) ours: BTreeSet<RouteChange>,
    /// Entries to strangers, and since when they have been seen.
    pub(super) suspects: BTreeMap<(RouteTableId, RouteChange), Instant>,
    pub(super) holds: Holds,
    pub(super) reports: Reports,
    /// When the tables are to be read again.
    pub(super) next_reading: Instant,
    /// How often that was done.
    pub(super) readings: u64,
    /// Nodes that were reachable and then had a route missing, with the reading after which that was so.
    doubts: BTreeMap<String, u64>,
    settling: u32,
    failures: u32,
    entropy: Entropy,
}

// === impl Memory ===

impl Memory {
    pub(super) fn new(entropy: Entropy) -> Self {
        Self {
            tables: None,
            entries: BTreeMap::new(),
            ours: BTreeSet::new(),
            suspects: BTreeMap::new(),
            holds: Holds::new(entropy.fork()),
            reports: Reports::default(),
            next_reading: Instant::now(),
            readings: 0,
            doubts: BTreeMap::new(),
            settling: 0,
            failures: 0,
            entropy,
        }
    }

    /// Whether the last pass could not read or change something.
    pub(super) fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// A change was carried out. It is not repeated at once if the next reading does not show it yet.
    pub(super) fn created(&mut self, table: &RouteTableId, change: &RouteChange) {
        self.ours.insert(change.clone());
        self.holds.fail(table, &change.destination, false, Instant::now());
        let entry = Route {
            destination: change.destination,
            instance: Some(change.instance.clone()),
            next_hop: change.instance.to_string(),
            status: RouteStatus::Pending,
        };
        self.entries.entry(table.clone()).and_modify(|entries| entries.push(entry));
    }

    /// A change was carried out.
    pub(super) fn deleted(&mut self, table: &RouteTableId, change: &RouteChange) {
        self.holds.clear(table, &change.destination);
        self.holds.room(table, Instant::now());
        self.suspects.remove(&(table.clone(), change.clone()));
        if let Some(entries) = self.entries.get_mut(table) {
            entries.retain(|entry| {
                entry.destination != change.destination || entry.instance.as_ref() != Some(&change.instance)
            });
        }
    }

    /// A route of this node, which is called reachable, is missing. Tells whether a later reading than the
    /// first that lacked it did so, too: one that is empty or incomplete is no reason to keep pods away.
    pub(super) fn is_proven_missing(&mut self, node: &str) -> bool {
        *self.doubts.entry(node.to_owned()).or_insert(self.readings) < self.readings
    }

    /// Only these nodes have a route missing.
    pub(super) fn retain_doubts(&mut self, missing: impl Fn(&str) -> bool) {
        self.doubts.retain(|node, _| missing(node));
    }

    /// What a reading shows to be a stranger's, or a leftover; the rest of what was suspected in this
    /// table is not any more.
    pub(super) fn suspect(&mut self, table: &RouteTableId, found: &BTreeSet<RouteChange>, now: Instant) {
        self.suspects.retain(|(of, change), _| of != table || found.contains(change));
        for change in found {
            self.suspects.entry((table.clone(), change.clone())).or_insert(now);
        }
    }

    /// The entries of `table` that have been suspects for long enough.
    pub(super) fn leftovers(&self, table: &RouteTableId, now: Instant) -> BTreeSet<RouteChange> {
        let old = self.suspects.iter().filter(|((of, _), since)| of == table && now.duration_since(**since) >= GRACE);
        old.map(|((_, change), _)| change.clone()).collect()
    }

    /// Sets when to read next, after a pass that left entries `settling` or could not read or change
    /// something (`failed`).
    pub(super) fn schedule(&mut self, settling: bool, failed: bool, period: Duration, now: Instant) {
        self.settling = if settling { self.settling + 1 } else { 0 };
        self.failures = if failed { self.failures + 1 } else { 0 };
        let step = |(first, most): (Duration, Duration), times: u32| {
            (first * 2u32.saturating_pow(times.saturating_sub(1).min(10))).min(most)
        };
        // Spread, so that many clusters of one account do not read at the same time.
        let mut wait = period + period.mul_f64(self.entropy.fraction() / 10.0);
        if failed {
            wait = wait.min(self.entropy.jitter(step(RETRY, self.failures)));
        } else if settling {
            wait = wait.min(step(SETTLE, self.settling));
        }
        let ripe = self.suspects.values().map(|since| *since + GRACE).filter(|ripe| *ripe > now).min();
        self.next_reading = ripe.map_or(now + wait, |ripe| ripe.min(now + wait));
    }
}
