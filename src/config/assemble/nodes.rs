//! Settings of the node controllers.

use std::time::Duration;

use super::{super::Node, Sources};

const LARGEST_BATCH: usize = 100;
const MOST_WORKERS: usize = 100;
const LONGEST_WAIT: u64 = 60;
/// Below it a check would not be over before the next one starts.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

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
            monitor_period: self.period("node-monitor-period", "nodeMonitorPeriod"),
            status_update_period: self.period("node-status-update-frequency", "nodeAddrSyncPeriod"),
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
    pub(super) fn aggregation_wait(&mut self) -> Duration {
        let flag = "node-event-aggregation-wait-seconds";
        let seconds = u64::try_from(self.flags.integer(flag)).unwrap_or(0);
        if seconds > LONGEST_WAIT {
            self.problems.warn(format!("--{flag} is {seconds}, above the maximum: {LONGEST_WAIT} is used"));
        }
        Duration::from_secs(seconds.min(LONGEST_WAIT))
    }

    /// The flag, else the key in seconds, else the flag's default.
    fn period(&mut self, flag: &str, key: &str) -> Duration {
        let given = self.file.integer(key).filter(|seconds| *seconds != 0 && !self.flags.has(flag));
        let (place, period) = match given {
            Some(seconds) => {
                (self.file.place(key), u64::try_from(seconds).map(Duration::from_secs).unwrap_or_default())
            }
            None => (format!("--{flag}"), self.flags.duration(flag)),
        };
        if period < SHORTEST_PERIOD {
            self.problems.fail(format!("{place} is too short: expected at least a second"));
        }
        period.max(SHORTEST_PERIOD)
    }
}
