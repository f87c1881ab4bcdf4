//! Settings of the node controllers.

use std::time::Duration;

use super::{
    super::{Node, go_duration},
    Sources,
};

const LARGEST_BATCH: usize = 100;
const MOST_WORKERS: usize = 100;
const LONGEST_WAIT: u64 = 60;
/// The library's default of 5 s is for a check that asks about few nodes; this one asks about
/// all of them, in calls that the cloud counts.
const SHORTEST_PERIOD: Duration = Duration::from_secs(10);
/// Longer than one answer of the cloud is commonly behind another.
const ABSENCE_CONFIRMATION: Duration = Duration::from_secs(10);

impl Sources<'_> {
    pub(super) fn node(&mut self) -> Node {
        Node {
            // 0 is the default, as in the released controller.
            batch_size: match self.flag_within("node-reconcile-batch-size", 0, LARGEST_BATCH) {
                0 => LARGEST_BATCH,
                size => size,
            },
            workers: self.node_workers(),
            aggregation_wait: self.aggregation_wait(),
            period: self.node_period(),
            absence_confirmation: ABSENCE_CONFIRMATION,
            skip_source_dest_check: self.flags.bool("skip-disable-source-dest-check"),
        }
    }

    fn node_workers(&mut self) -> usize {
        let flag = "concurrent-node-syncs";
        match self.file.integer("nodeMaxConcurrentReconciles") {
            Some(number) if !self.flags.has(flag) && number != 0 => {
                let place = self.file.place("nodeMaxConcurrentReconciles");
                self.within(&place, number, 1, MOST_WORKERS)
            }
            _ => self.flag_within(flag, 1, MOST_WORKERS),
        }
    }

    /// A negative number is none at all, as in the released controller.
    fn aggregation_wait(&mut self) -> Duration {
        let flag = "node-event-aggregation-wait-seconds";
        let seconds = u64::try_from(self.flags.integer(flag)).unwrap_or(0);
        if seconds > LONGEST_WAIT {
            self.problems.warn(format!("--{flag} is {seconds}, above the maximum: {LONGEST_WAIT} is used"));
        }
        Duration::from_secs(seconds.min(LONGEST_WAIT))
    }

    /// One sweep does what the library does in two, so the shorter of the two periods counts, if
    /// only one is set that one.
    fn node_period(&mut self) -> Duration {
        let (monitor, update) = ("node-monitor-period", "node-status-update-frequency");
        let set = [self.period(monitor, "nodeMonitorPeriod"), self.period(update, "nodeAddrSyncPeriod")];
        set.into_iter().flatten().min().unwrap_or_else(|| self.flags.duration(monitor))
    }

    /// The flag, else the key in seconds, if set.
    fn period(&mut self, flag: &str, key: &str) -> Option<Duration> {
        let (place, period) = if self.flags.has(flag) {
            (format!("--{flag}"), self.flags.duration(flag))
        } else {
            let seconds = self.file.integer(key).filter(|seconds| *seconds != 0)?;
            let place = self.file.place(key);
            let Ok(seconds) = u64::try_from(seconds) else {
                self.problems.fail(format!("{place} is {seconds}: expected a number of seconds, or 0 for the default"));
                return None;
            };
            (place, Duration::from_secs(seconds))
        };
        if period < SHORTEST_PERIOD {
            self.problems.warn(format!(
                "{place} is {}, below the minimum: {} is used",
                go_duration::format(period),
                go_duration::format(SHORTEST_PERIOD)
            ));
        }
        Some(period.max(SHORTEST_PERIOD))
    }
}
