//! When to try again, and how long to wait first.

use std::time::Duration;

use tokio::time::Instant;

use super::{Kind, Request};
use crate::{
    cloud::{Class, Error},
    entropy::Entropy,
};

/// The budget of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Attempts in all.
    pub attempts: u32,
    /// No attempt starts later than this after the first.
    pub elapsed: Duration,
    /// The shortest wait between attempts.
    pub shortest: Duration,
    /// The longest wait between attempts, unless the cloud asks for more.
    pub longest: Duration,
}

/// The state of one call's retries.
#[derive(Debug)]
pub(super) struct Retries {
    policy: Policy,
    start: Instant,
    attempts: u32,
    previous: Duration,
}

// === impl Policy ===

impl Default for Policy {
    fn default() -> Self {
        Self {
            attempts: 6,
            elapsed: Duration::from_secs(45),
            shortest: Duration::from_millis(300),
            longest: Duration::from_secs(10),
        }
    }
}

impl Policy {
    /// Every call gets one attempt.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }
}

// === impl Retries ===

impl Retries {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, start: Instant::now(), attempts: 0, previous: policy.shortest }
    }

    /// How long to wait before the next attempt; `None` if there is to be none.
    pub(super) fn next(&mut self, request: &Request, error: &Error, entropy: &Entropy) -> Option<Duration> {
        self.attempts += 1;
        if self.attempts >= self.policy.attempts || !may_repeat(request, error) {
            return None;
        }
        let wait = match error.class {
            // The pace of the action already holds it back, and everybody else who calls it.
            Class::Throttled => entropy.jitter(self.policy.shortest).max(error.retry_after.unwrap_or_default()),
            _ => self.backoff(entropy).max(error.retry_after.unwrap_or_default()),
        };
        (self.start.elapsed() + wait <= self.policy.elapsed).then_some(wait)
    }

    /// Decorrelated jitter: between the shortest wait and three times the previous one.
    fn backoff(&mut self, entropy: &Entropy) -> Duration {
        let Policy { shortest, longest, .. } = self.policy;
        let span = (self.previous * 3).saturating_sub(shortest);
        self.previous = (shortest + span.mul_f64(entropy.fraction())).min(longest);
        self.previous
    }
}

/// Whether a second attempt can do no harm and may do some good.
fn may_repeat(request: &Request, error: &Error) -> bool {
    match error.class {
        Class::Throttled | Class::Transient => true,
        Class::Busy => !request.fails_when_busy,
        Class::Unknown => request.kind == Kind::Read || request.has_token(),
        Class::NotFound | Class::Denied | Class::Invalid | Class::Quota | Class::Malformed | Class::NotLeader => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alibaba::rpc::Product;

    fn read() -> Request {
        Request::read(Product::Slb, "DescribeLoadBalancers")
    }

    fn write() -> Request {
        Request::write(Product::Slb, "CreateLoadBalancer")
    }

    fn error(class: Class) -> Error {
        Error::new(class, "", "", "")
    }

    #[test]
    fn only_what_is_safe_is_repeated() {
        for class in [Class::Throttled, Class::Busy, Class::Transient] {
            assert!(may_repeat(&read(), &error(class)));
            assert!(may_repeat(&write(), &error(class)));
        }
        assert!(may_repeat(&read(), &error(Class::Unknown)));
        assert!(!may_repeat(&write(), &error(Class::Unknown)));
        assert!(may_repeat(&write().param("ClientToken", "t"), &error(Class::Unknown)));
        assert!(!may_repeat(&write().fails_when_busy(), &error(Class::Busy)));
        for class in [Class::NotFound, Class::Denied, Class::Invalid, Class::Quota, Class::Malformed] {
            assert!(!may_repeat(&read(), &error(class)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_within_bounds_and_attempts_end() {
        let policy = Policy { attempts: 5, elapsed: Duration::from_hours(1), ..Policy::default() };
        let entropy = Entropy::seeded(1);
        let mut retries = Retries::new(policy);
        let mut previous = policy.shortest;
        for _ in 1..5 {
            let wait = retries.next(&read(), &error(Class::Busy), &entropy).unwrap();
            assert!(wait >= policy.shortest && wait <= policy.longest && wait <= previous * 3);
            previous = wait;
        }
        assert_eq!(retries.next(&read(), &error(Class::Busy), &entropy), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_asked_for_is_kept_or_the_call_ends() {
        let entropy = Entropy::seeded(1);
        let mut throttled = error(Class::Throttled);
        throttled.retry_after = Some(Duration::from_secs(30));
        let mut retries = Retries::new(Policy::default());
        assert!(retries.next(&read(), &throttled, &entropy).unwrap() >= Duration::from_secs(30));
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(retries.next(&read(), &throttled, &entropy), None, "would end after the budget");
    }
}
