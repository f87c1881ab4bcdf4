//! What is under way: changes with the time at which they take effect.
//!
//! Nothing runs in the background. Whoever looks at the state first settles what is due, in
//! the order of time, so that the same calls at the same times always find the same state.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{ecs, nlb, slb, vpc};

/// A change that takes effect later.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    Slb(slb::Due),
    Nlb(nlb::Due),
    Ecs(ecs::Due),
    Vpc(vpc::Due),
}

/// Changes in the order in which they take effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    queue: BTreeMap<(Timestamp, u64), Due>,
    sequence: u64,
}

// === impl Agenda ===

impl Agenda {
    pub(crate) fn push(&mut self, at: Timestamp, due: Due) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), due);
    }

    /// Takes the next change that is due by `now`.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Due> {
        let entry = self.queue.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
