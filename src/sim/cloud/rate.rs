//! Flow control: so many calls of an action in a window of time.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::Failure;

/// How often actions may be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Which actions: `slb.CreateLoadBalancer`, `slb.Describe*`, `slb.*`. The first rate
    /// that fits an action counts; each action counts for itself.
    pub actions: String,
    /// Calls in a window.
    pub calls: u32,
    /// The window's length. Windows begin at whole multiples of it.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub window: Duration,
}

/// Calls in the current windows, by action.
#[derive(Debug, Default)]
pub(crate) struct Windows(BTreeMap<String, (i64, u32)>);

// === impl Rate ===

impl Rate {
    fn new(actions: &str, calls: u32, seconds: u64) -> Self {
        Self { actions: actions.to_owned(), calls, window: Duration::from_secs(seconds) }
    }

    /// The limits that the products publish. ECS publishes none.
    pub fn published() -> Vec<Self> {
        vec![
            Self::new("slb.Describe*", 3000, 60),
            Self::new("slb.List*", 3000, 60),
            Self::new("slb.*", 90, 60),
            Self::new("nlb.UpdateLoadBalancerProtection", 300, 60),
            Self::new("nlb.GetListenerHealthStatus", 10, 1),
            Self::new("nlb.List*", 20, 1),
            Self::new("nlb.Get*", 20, 1),
            Self::new("nlb.*", 200, 60),
            Self::new("vpc.*", 300, 60),
            Self::new("sts.*", 100, 1),
        ]
    }

    fn fits(&self, action: &str) -> bool {
        match self.actions.strip_suffix('*') {
            Some(start) => action.starts_with(start),
            None => action == self.actions,
        }
    }
}

// === impl Windows ===

impl Windows {
    /// Counts a call, and refuses it if its action's window is full.
    pub(crate) fn admit(&mut self, rates: &[Rate], action: &str, now: Timestamp) -> Result<(), Failure> {
        let Some(rate) = rates.iter().find(|rate| rate.fits(action)) else { return Ok(()) };
        let length = i64::try_from(rate.window.as_millis()).unwrap_or(i64::MAX).max(1);
        let window = now.as_millisecond().div_euclid(length);
        let entry = self.0.entry(action.to_owned()).or_insert((window, 0));
        if entry.0 != window {
            *entry = (window, 0);
        }
        if entry.1 >= rate.calls {
            return Err(Failure::bad("Throttling.User", "Request was denied due to user flow control."));
        }
        entry.1 += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_refuses_until_the_next_one() {
        let rates = [Rate::new("slb.Describe*", 1, 60), Rate::new("slb.*", 2, 60)];
        let mut windows = Windows::default();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let mut call = |action: &str, time: &str| windows.admit(&rates, action, at(time)).is_ok();
        assert!(call("slb.SetLoadBalancerName", "2026-01-01T00:00:58Z"));
        assert!(call("slb.SetLoadBalancerName", "2026-01-01T00:00:59Z"));
        assert!(!call("slb.SetLoadBalancerName", "2026-01-01T00:00:59Z"));
        assert!(call("slb.DescribeZones", "2026-01-01T00:00:59Z"), "each action has its own window");
        assert!(!call("slb.DescribeZones", "2026-01-01T00:00:59Z"));
        assert!(call("slb.SetLoadBalancerName", "2026-01-01T00:01:00Z"));
        assert!(call("ecs.DescribeInstances", "2026-01-01T00:01:00Z"), "no rate, no limit");
    }
}
