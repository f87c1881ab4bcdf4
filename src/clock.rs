//! Wall-clock time, handed to whatever needs a timestamp.
//!
//! Durations and timers use tokio's clock, which tests can pause. Timestamps that leave the
//! process (signatures, leases, conditions, events) come from here, so that under a paused
//! clock they follow the simulated time too.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the wall-clock time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Simulated { epoch: Timestamp, start: Instant },
}

// === impl Clock ===

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that shows `epoch` now and advances with tokio's (pausable) time.
    pub fn simulated(epoch: Timestamp) -> Self {
        Self(Source::Simulated { epoch, start: Instant::now() })
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the machine's clock")]
            Source::System => Timestamp::now(),
            Source::Simulated { epoch, start } => *epoch + start.elapsed(),
        }
    }

    /// The time since `then`, zero if `then` lies ahead.
    pub fn since(&self, then: Timestamp) -> Duration {
        Duration::try_from(self.now().duration_since(then)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_simulated_clock_follows_tokio_time() {
        let epoch: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let clock = Clock::simulated(epoch);
        assert_eq!(clock.now(), epoch);
        tokio::time::sleep(Duration::from_mins(10)).await;
        assert_eq!(clock.now().to_string(), "2026-01-02T03:14:05Z");
        assert_eq!(clock.since(epoch), Duration::from_mins(10));
        assert_eq!(clock.since(epoch + Duration::from_hours(1)), Duration::ZERO);
    }
}
