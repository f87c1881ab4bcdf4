//! What the node controller counts, beside the latencies that the process's metrics hold.

use std::sync::atomic::AtomicU64;

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

/// Clones count into the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    /// `ccm_nodes_initialized_total`
    pub(super) initialized: Counter,
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
        let all = Self::default();
        let missing = "Nodes whose instance the cloud did not show, without those that the autoscaler takes away";
        let withheld = "Times that a node was not deleted because too many instances were missing at once";
        registry.register("ccm_nodes_initialized", "Nodes taken into service", all.initialized.clone());
        registry.register("ccm_nodes_deleted", "Nodes deleted because their instance is gone", all.deleted.clone());
        registry.register("ccm_node_deletions_withheld", withheld, all.withheld.clone());
        registry.register("ccm_node_instances_missing", missing, all.missing.clone());
        all
    }
}
