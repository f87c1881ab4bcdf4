//! What the node controller counts, beside the latencies that the process's metrics hold.

use std::{sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// Bounds in seconds, as upstream's node controller has them.
const BUCKETS: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0];

/// Clones count into the same.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    /// `ccm_nodes_initialized_total`
    initialized: Counter,
    /// `node_controller_initial_node_sync_delay_seconds` and
    /// `node_controller_cloud_provider_taint_removal_delay_seconds`. Upstream takes the taint off first and
    /// sets addresses then; here the one write ends both, so they are the same.
    delays: [Histogram; 2],
    /// `ccm_nodes_deleted_total`
    pub(super) deleted: Counter,
    /// `ccm_node_deletions_withheld_total`
    pub(super) withheld: Counter,
    /// `ccm_node_instances_missing`
    pub(super) missing: Gauge<u64, AtomicU64>,
}

// === impl Counters ===

impl Counters {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let all = Self {
            initialized: Counter::default(),
            delays: [Histogram::new(BUCKETS), Histogram::new(BUCKETS)],
            deleted: Counter::default(),
            withheld: Counter::default(),
            missing: Gauge::default(),
        };
        let missing = "Nodes whose instance the cloud did not show, without those that the autoscaler takes away";
        let withheld = "Times that a node was not deleted because too many instances were missing at once";
        registry.register("ccm_nodes_initialized", "Nodes taken into service", all.initialized.clone());
        registry.register("ccm_nodes_deleted", "Nodes deleted because their instance is gone", all.deleted.clone());
        registry.register("ccm_node_deletions_withheld", withheld, all.withheld.clone());
        registry.register("ccm_node_instances_missing", missing, all.missing.clone());
        let [synced, freed] = all.delays.clone();
        let help = "From the creation of a Node to the end of its first synchronisation, in seconds";
        registry.register("node_controller_initial_node_sync_delay_seconds", help, synced);
        let help = "From the creation of a Node to the removal of its uninitialized taint, in seconds";
        registry.register("node_controller_cloud_provider_taint_removal_delay_seconds", help, freed);
        all
    }

    /// A node was taken into service at this age.
    pub(super) fn initialized(&self, age: Option<Duration>) {
        self.initialized.inc();
        let age = age.unwrap_or_default().as_secs_f64();
        self.delays.iter().for_each(|delay| delay.observe(age));
    }
}
