//! The cloud's own time, which can be stepped and scaled against the clock it was given.

use std::time::Duration;

use jiff::Timestamp;

/// How the cloud's time follows the clock.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    /// The clock's time from which on the scale holds.
    since: Timestamp,
    /// The cloud's time at that moment.
    base: Timestamp,
    scale: f64,
}

// === impl Warp ===

impl Warp {
    /// The clock's own time.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { since: now, base: now, scale: 1.0 }
    }

    /// The cloud's time when the clock shows `clock`.
    pub(crate) fn time(&self, clock: Timestamp) -> Timestamp {
        let elapsed = Duration::try_from(clock.duration_since(self.since)).unwrap_or_default();
        // Exact while nobody scales, so that simulated time stays in whole units.
        let elapsed = if (self.scale - 1.0).abs() < f64::EPSILON { elapsed } else { elapsed.mul_f64(self.scale) };
        self.base.checked_add(elapsed).unwrap_or(self.base)
    }

    pub(crate) fn step(&mut self, by: Duration) {
        self.base = self.base.checked_add(by).unwrap_or(self.base);
    }

    pub(crate) fn scale(&mut self, scale: f64, now: Timestamp) {
        self.base = self.time(now);
        self.since = now;
        self.scale = if scale.is_finite() { scale.clamp(0.0, 1e6) } else { 1.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_scales_add_up() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut warp = Warp::new(start);
        warp.step(Duration::from_mins(1));
        assert_eq!(warp.time(start).to_string(), "2026-01-01T00:01:00Z");
        warp.scale(10.0, start + Duration::from_secs(5));
        assert_eq!(warp.time(start + Duration::from_secs(7)).to_string(), "2026-01-01T00:01:25Z");
        warp.scale(0.0, start + Duration::from_secs(7));
        assert_eq!(warp.time(start + Duration::from_hours(9)).to_string(), "2026-01-01T00:01:25Z");
    }
}
