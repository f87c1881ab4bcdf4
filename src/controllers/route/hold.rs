//! Destinations whose change failed, each left alone for a growing time, so that one entry that the
//! cloud refuses neither holds up the others nor is tried at every pass.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ipnet::IpNet;
use tokio::time::Instant;

use crate::{cloud::RouteTableId, entropy::Entropy};

const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);
const SOON: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Holds {
    entropy: Entropy,
    holds: BTreeMap<(RouteTableId, IpNet), Hold>,
}

#[derive(Debug)]
struct Hold {
    failures: u32,
    slow: bool,
    until: Instant,
}

// === impl Holds ===

impl Holds {
    pub(super) fn new(entropy: Entropy) -> Self {
        Self { entropy, holds: BTreeMap::new() }
    }

    /// A change failed. `slow`: it will not succeed soon (quota, permission). Tells how often it
    /// failed in a row.
    pub(super) fn fail(&mut self, table: &RouteTableId, destination: &IpNet, slow: bool, now: Instant) -> u32 {
        // What will not succeed soon is tried again together: one call for all that find no room.
        let others = self.holds.iter().filter(|((of, _), hold)| of == table && hold.slow).map(|(_, hold)| hold.until);
        let together = others.filter(|until| slow && *until > now + LONGEST / 2).max();
        let hold = self.holds.entry((table.clone(), *destination)).or_insert(Hold { failures: 0, slow, until: now });
        let wait = if slow { LONGEST } else { FIRST * 2u32.saturating_pow(hold.failures.min(6)) };
        hold.failures += 1;
        hold.slow = slow;
        hold.until = together.unwrap_or_else(|| now + self.entropy.jitter(wait.min(LONGEST)));
        hold.failures
    }

    pub(super) fn clear(&mut self, table: &RouteTableId, destination: &IpNet) {
        self.holds.remove(&(table.clone(), *destination));
    }

    /// An entry of `table` went: what found no room may find it now.
    pub(super) fn room(&mut self, table: &RouteTableId, now: Instant) {
        for (_, hold) in self.holds.iter_mut().filter(|((of, _), hold)| of == table && hold.slow) {
            hold.until = hold.until.min(now + SOON);
        }
    }

    /// Forgets destinations that nobody wants any more.
    pub(super) fn retain(&mut self, wanted: impl Fn(&IpNet) -> bool) {
        self.holds.retain(|(_, destination), _| wanted(destination));
    }

    /// The destinations of `table` that are to be left alone at this time.
    pub(super) fn held(&self, table: &RouteTableId, now: Instant) -> BTreeSet<IpNet> {
        let held = self.holds.iter().filter(|((of, _), hold)| of == table && hold.until > now);
        held.map(|((_, destination), _)| *destination).collect()
    }

    /// When the next of them may be tried.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        self.holds.values().map(|hold| hold.until).filter(|until| *until > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_until_success() {
        let mut holds = Holds::new(Entropy::seeded(1));
        let (table, to, now) = (RouteTableId::from("vtb-1"), "10.0.0.0/24".parse().unwrap(), Instant::now());
        let mut last = Duration::ZERO;
        for failures in 1..=8 {
            assert_eq!(holds.fail(&table, &to, false, now), failures);
            let wait = holds.next(now).unwrap() - now;
            assert!(wait <= LONGEST && (wait > last || wait >= LONGEST / 2), "{failures}: {wait:?}");
            last = wait;
        }
        assert_eq!(holds.held(&table, now), BTreeSet::from([to]));
        assert_eq!(holds.held(&"vtb-2".into(), now), BTreeSet::new());
        assert_eq!(holds.held(&table, now + LONGEST), BTreeSet::new());
        holds.clear(&table, &to);
        assert_eq!(holds.next(now), None);
        assert_eq!(holds.fail(&table, &to, true, now), 1);
        assert!(holds.next(now).unwrap() - now >= LONGEST / 2);
        let (both, other) = (holds.next(now), "10.0.1.0/24".parse().unwrap());
        holds.fail(&table, &other, true, now + SOON);
        assert_eq!(holds.held(&table, both.unwrap()), BTreeSet::new(), "tried again together");
        holds.room(&table, now);
        assert_eq!(holds.next(now), Some(now + SOON));
    }
}
