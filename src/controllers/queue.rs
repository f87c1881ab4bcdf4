//! The keyed work queue between what changes and who acts on it.
//!
//! A key waits at most once, however often it is added. It is held by one worker at a time: added
//! again meanwhile, it is handed out again once that worker is done. Changes of what is in use go
//! before what is new, that before what failed, that before the start-up backlog, and that before the
//! audit. Failed keys come back after a growing delay.
//!
//! The queue knows keys, not what they stand for.

mod state;

use std::{fmt::Display, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tracing::trace;

use crate::{entropy::Entropy, metrics};
use state::State;

/// The delay after the first failure of a key; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_secs(300);

/// What goes first. A key that waits with two priorities has the more urgent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Something changed just now.
    Fresh,
    /// Something came that nobody uses yet: however many come at once, what is in use goes before them.
    New,
    /// Tried before, in vain: however many fail, what works does not stand in line behind them.
    Again,
    /// Found at start; probably in order.
    Backlog,
    /// Looked at again to find drift.
    Audit,
}

/// A shared work queue. Clones are the same queue.
pub struct Queue<K>(Arc<Inner<K>>);

struct Inner<K> {
    state: Mutex<State<K>>,
    /// Woken whenever a key may have become ready, or on shutdown. Every waiting worker looks for
    /// itself, so that no wake-up is lost to one that gave up waiting.
    changed: Notify,
    entropy: Entropy,
    metrics: metrics::Queue,
}

// === impl Queue ===

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Ord + Clone + Send + Display> Queue<K> {
    /// `entropy` spreads the retries of keys that failed together.
    pub fn new(entropy: Entropy) -> Self {
        Self::with_metrics(entropy, metrics::Queue::default())
    }

    /// A queue that counts.
    pub fn with_metrics(entropy: Entropy, metrics: metrics::Queue) -> Self {
        Self(Arc::new(Inner { state: Mutex::default(), changed: Notify::new(), entropy, metrics }))
    }

    /// Hands the key out as soon as its turn comes.
    pub fn add(&self, key: K, priority: Priority) {
        self.0.metrics.adds.inc();
        self.change(|state| state.add(key, priority));
    }

    /// Hands the key out no sooner than after `delay`. A key that is due earlier already stays so.
    /// It does not keep the key from being added, and handed out, before that.
    pub fn add_after(&self, key: K, priority: Priority, delay: Duration) {
        self.0.metrics.adds.inc();
        let due = Instant::now() + delay;
        self.change(|state| state.add_at(key, priority, due, false));
    }

    /// Hands the key out again after a failure and tells after how long: about 5, 10, 20 … s, at
    /// most 300 s. [`Queue::forget`] takes this back.
    pub fn retry(&self, key: &K, priority: Priority) -> Duration {
        self.retry_within(key, priority, LONGEST_RETRY)
    }

    /// The same with another longest delay.
    pub fn retry_within(&self, key: &K, priority: Priority, longest: Duration) -> Duration {
        self.0.metrics.adds.inc();
        self.0.metrics.retries.inc();
        let spread = 1.0 + self.0.entropy.fraction() / 5.0;
        self.change(|state| {
            let doubled = FIRST_RETRY * 2u32.saturating_pow(state.fail(key).min(10));
            let delay = doubled.mul_f64(spread).min(longest.mul_f64(spread / 1.2));
            state.add_at(key.clone(), priority, Instant::now() + delay, true);
            trace!(%key, ?delay, "queued {key} to try again in {delay:?}");
            delay
        })
    }

    /// The key succeeded, or is not wanted any more: its failures are forgotten and a pending retry
    /// is dropped. What was added otherwise stays.
    pub fn forget(&self, key: &K) {
        self.change(|state| state.forget(key));
    }

    /// The worker that holds the key gives it back.
    pub fn done(&self, key: &K) {
        self.change(|state| state.done(key));
    }

    /// Waits for a key and hands it out; the caller holds it until [`Queue::done`]. `None` after
    /// shutdown.
    pub async fn next(&self) -> Option<K> {
        self.wait(1, None).await?.pop()
    }

    /// Waits for a key and then up to `linger` for more, until `max` keys are ready, and hands out
    /// up to `max` of them, most urgent first. Never empty; `None` after shutdown.
    pub async fn next_batch(&self, max: usize, linger: Duration) -> Option<Vec<K>> {
        self.wait(max.max(1), Some(linger)).await
    }

    /// The number of keys that could be handed out now.
    pub fn len(&self) -> usize {
        let mut state = self.0.state.lock();
        state.promote(Instant::now());
        state.ready()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until no key is in line or in hand. Keys that come back later do not count.
    pub async fn at_rest(&self) {
        loop {
            // Made before looking: what changes after the look wakes it.
            let changed = self.0.changed.notified();
            {
                let mut state = self.0.state.lock();
                state.promote(Instant::now());
                if state.ready() == 0 && !state.any_held() {
                    return;
                }
            }
            changed.await;
        }
    }

    /// The keys that come back later, in order.
    pub fn delayed(&self) -> Vec<K> {
        self.0.state.lock().delayed()
    }

    /// The keys whose last try failed, in order.
    pub fn failing(&self) -> Vec<K> {
        self.0.state.lock().failing()
    }

    /// Ends the waiting of all workers, now and for good. Keys in hand may still be worked on.
    pub fn shut_down(&self) {
        self.change(|state| state.shut_down = true);
    }

    fn change<T>(&self, change: impl FnOnce(&mut State<K>) -> T) -> T {
        let outcome = {
            let mut state = self.0.state.lock();
            let outcome = change(&mut state);
            self.measure(&state);
            outcome
        };
        self.0.changed.notify_waiters();
        outcome
    }

    fn measure(&self, state: &State<K>) {
        self.0.metrics.depth.set(i64::try_from(state.ready()).unwrap_or(i64::MAX));
    }

    async fn wait(&self, max: usize, linger: Option<Duration>) -> Option<Vec<K>> {
        // Set when the first key is ready.
        let mut until: Option<Instant> = None;
        loop {
            // Made before looking: what changes after the look wakes it.
            let changed = self.0.changed.notified();
            let wake = {
                let mut state = self.0.state.lock();
                if state.shut_down {
                    return None;
                }
                let now = Instant::now();
                state.promote(now);
                self.measure(&state);
                let mut wake = state.next_due();
                match (state.ready(), linger) {
                    (0, _) => until = None,
                    (ready, Some(linger)) if ready < max => {
                        let end = *until.get_or_insert(now + linger);
                        if now >= end {
                            return Some(self.take(&mut state, max));
                        }
                        wake = Some(wake.map_or(end, |due| due.min(end)));
                    }
                    _ => return Some(self.take(&mut state, max)),
                }
                wake
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = sleep_until(wake) => {}
            }
        }
    }

    fn take(&self, state: &mut State<K>, max: usize) -> Vec<K> {
        let taken = state.take(max);
        self.measure(state);
        taken
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
