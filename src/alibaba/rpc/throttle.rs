//! Keeps each action below the rate the cloud allows it.
//!
//! Limits are per action and minute: see [`Limits`]. Each action has its own pace: a third of the
//! minute's calls may go at once, the others follow evenly, and no minute sees more than the limit.
//! So what is urgent seldom waits, and long work uses all that the cloud admits. When the cloud throttles all the same (others share the account), the action
//! pauses and its pace halves, to recover slowly.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use super::{Kind, Product, limits::Limits};

/// The pace of all actions.
#[derive(Debug)]
pub struct Throttle {
    limits: Limits,
    paces: Mutex<BTreeMap<(Product, String), Pace>>,
}

/// The pace of one action.
#[derive(Debug)]
struct Pace {
    /// What one call takes when the burst is used up.
    base: Duration,
    /// The same now; longer after the cloud throttled.
    interval: Duration,
    burst: u32,
    /// Calls that a window may see, and those that it has seen or will see.
    limit: usize,
    turns: VecDeque<Instant>,
    /// A call got through since the cloud last throttled.
    flowing: bool,
    /// When the bucket will be full again: each call moves it by `interval`.
    full_at: Instant,
    paused_until: Option<Instant>,
}

/// The time in which the limit counts, and a little for calls that are late on their way.
const WINDOW: Duration = Duration::from_secs(61);

/// The pace never falls below this part of the normal one.
const SLOWEST: u32 = 16;

/// A call that would have to wait longer than this is refused at once.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

// === impl Throttle ===

impl Throttle {
    pub fn new(limits: Limits) -> Self {
        Self { limits, paces: Mutex::new(BTreeMap::new()) }
    }

    /// Waits until the action may be called and returns how long that took.
    ///
    /// # Errors
    /// With the wait that would be needed, when that is too long.
    pub async fn acquire(&self, product: Product, action: &str, kind: Kind) -> Result<Duration, Duration> {
        let start = Instant::now();
        loop {
            let turn = self.reserve(product, action, kind)?;
            sleep_until(turn).await;
            // If the action was paused meanwhile, all who wait line up anew behind the pause.
            let paused = |pace: &mut Pace| pace.paused_until.is_some_and(|until| until > Instant::now());
            if !self.with(product, action, kind, paused) {
                return Ok(start.elapsed());
            }
        }
    }

    /// The cloud refused a call for its rate: nothing of this action goes out for `wait`.
    pub fn throttled(&self, product: Product, action: &str, kind: Kind, wait: Duration) {
        self.with(product, action, kind, |pace| {
            let until = Instant::now() + wait;
            pace.paused_until = Some(pace.paused_until.map_or(until, |already| already.max(until)));
            // Calls that were under way together, and probes after a pause, say nothing new of the pace.
            if std::mem::take(&mut pace.flowing) {
                pace.interval = (pace.interval * 2).min(pace.base * SLOWEST);
            }
            // Who waits lines up anew.
            pace.turns.retain(|turn| *turn <= Instant::now());
            // No burst after the pause.
            pace.full_at = until + pace.interval * pace.burst.saturating_sub(1);
        });
    }

    /// A call went through.
    pub fn succeeded(&self, product: Product, action: &str, kind: Kind) {
        self.with(product, action, kind, |pace| {
            pace.flowing = true;
            let interval = pace.base.max(pace.interval.mul_f64(0.95));
            // What is used up of the bucket is so many calls, not so much time.
            let now = Instant::now();
            let used = pace.full_at.saturating_duration_since(now);
            pace.full_at = now + used.mul_f64(interval.div_duration_f64(pace.interval));
            pace.interval = interval;
        });
    }

    fn reserve(&self, product: Product, action: &str, kind: Kind) -> Result<Instant, Duration> {
        self.with(product, action, kind, |pace| {
            let now = Instant::now();
            let full_at = pace.full_at.max(now);
            let room = pace.interval * pace.burst.saturating_sub(1);
            let turn = full_at.checked_sub(room).unwrap_or(now).max(now).max(pace.paused_until.unwrap_or(now));
            let turn = turn.max(pace.room_in_window(now));
            let wait = turn - now;
            if wait > LONGEST_WAIT {
                return Err(wait);
            }
            pace.full_at = full_at + pace.interval;
            pace.turns.push_back(turn);
            Ok(turn)
        })
    }

    fn with<T>(&self, product: Product, action: &str, kind: Kind, f: impl FnOnce(&mut Pace) -> T) -> T {
        let mut paces = self.paces.lock();
        let pace = paces
            .entry((product, action.to_owned()))
            .or_insert_with(|| Pace::new(self.limits.of(product, action, kind)));
        f(pace)
    }
}

// === impl Pace ===

impl Pace {
    fn new(per_minute: u32) -> Self {
        let burst = (per_minute / 3).max(1);
        let base = Duration::from_secs(60) / per_minute.max(1);
        Self {
            base,
            interval: base,
            burst,
            limit: usize::try_from(per_minute).unwrap_or(usize::MAX).max(1),
            turns: VecDeque::new(),
            flowing: true,
            full_at: Instant::now(),
            paused_until: None,
        }
    }

    /// When one more call makes no window see more than the limit.
    fn room_in_window(&mut self, now: Instant) -> Instant {
        while self.turns.front().is_some_and(|turn| *turn + WINDOW <= now) {
            self.turns.pop_front();
        }
        let before = self.turns.len().checked_sub(self.limit).and_then(|at| self.turns.get(at));
        before.map_or(now, |turn| *turn + WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn acquire(throttle: &Throttle) -> Duration {
        throttle.acquire(Product::Slb, "CreateLoadBalancer", Kind::Write).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_sees_more_than_the_limit() {
        let throttle = Throttle::new(Limits::default());
        let start = Instant::now();
        let mut at = Vec::new();
        for _ in 0..300 {
            acquire(&throttle).await;
            at.push(start.elapsed());
        }
        assert_eq!(at[29], Duration::ZERO, "a burst goes at once");
        assert_eq!(at[30].as_millis(), 667);
        for window in at.windows(91) {
            assert!(window[90] > window[0] + Duration::from_mins(1), "{window:?}");
        }
        assert!(at[299] <= Duration::from_secs(300 * 60 / 90 + 5), "the limit is used: {:?}", at[299]);
    }

    #[tokio::test(start_paused = true)]
    async fn actions_do_not_hold_one_another_back() {
        let throttle = Throttle::new(Limits::Each(3));
        assert_eq!(acquire(&throttle).await, Duration::ZERO);
        let other = throttle.acquire(Product::Slb, "DeleteLoadBalancer", Kind::Write).await.unwrap();
        assert_eq!(other, Duration::ZERO);
        assert_eq!(acquire(&throttle).await, Duration::from_secs(20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_throttled_action_pauses_then_goes_slower_and_recovers() {
        let throttle = Throttle::new(Limits::default());
        acquire(&throttle).await;
        throttle.throttled(Product::Slb, "CreateLoadBalancer", Kind::Write, Duration::from_secs(20));
        assert_eq!(acquire(&throttle).await, Duration::from_secs(20));
        assert_eq!(acquire(&throttle).await.as_millis(), 1334, "half the pace, and no burst");
        for _ in 0..100 {
            throttle.succeeded(Product::Slb, "CreateLoadBalancer", Kind::Write);
        }
        acquire(&throttle).await;
        assert_eq!(acquire(&throttle).await.as_millis(), 666);
    }

    #[tokio::test(start_paused = true)]
    async fn a_storm_slows_an_action_down_once() {
        let throttle = Throttle::new(Limits::default());
        let pause = || throttle.throttled(Product::Slb, "CreateLoadBalancer", Kind::Write, Duration::from_secs(5));
        acquire(&throttle).await;
        (0..8).for_each(|_| pause());
        for _ in 0..8 {
            assert_eq!(acquire(&throttle).await, Duration::from_secs(5));
            pause();
        }
        assert_eq!(acquire(&throttle).await, Duration::from_secs(5));
        throttle.succeeded(Product::Slb, "CreateLoadBalancer", Kind::Write);
        assert_eq!(acquire(&throttle).await.as_millis(), 1267, "slower once, and a little less so already");
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_out_a_pause_do_not_leave_together() {
        let throttle = Throttle::new(Limits::Each(60));
        let start = Instant::now();
        let calls = (0..30).map(|_| async {
            acquire(&throttle).await;
            start.elapsed().as_secs()
        });
        let all = futures::future::join_all(calls);
        let storm = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            throttle.throttled(Product::Slb, "CreateLoadBalancer", Kind::Write, Duration::from_secs(60));
        };
        let (at, ()) = tokio::join!(all, storm);
        let late: Vec<_> = at.into_iter().filter(|at| *at >= 60).collect();
        assert_eq!(late, [60, 62, 64, 66, 68, 70, 72, 74, 76, 78]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_without_end_is_refused() {
        let throttle = Throttle::new(Limits::default());
        throttle.throttled(Product::Slb, "CreateLoadBalancer", Kind::Write, Duration::from_hours(1));
        let wait = throttle.acquire(Product::Slb, "CreateLoadBalancer", Kind::Write).await.unwrap_err();
        assert_eq!(wait, Duration::from_hours(1));
    }
}
