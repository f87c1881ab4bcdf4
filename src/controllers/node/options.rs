//! What the node controller is told at start.

use std::time::Duration;

use crate::cloud::RegionId;

/// How the node controller works.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of the user's by itself")]
#[derive(Clone, Debug)]
pub struct Options {
    /// The cluster's region, for nodes whose name is a bare instance id.
    pub region: RegionId,
    /// Pod routes are this program's task (`--configure-cloud-routes`).
    pub configure_routes: bool,
    /// IPv6 addresses belong into the status (feature gate `IPv6DualStack`).
    pub dual_stack: bool,
    /// Leave interfaces as they are (`--skip-disable-source-dest-check`).
    pub skip_source_destination_check: bool,
    /// Nodes a batch, 1 to 100 (`--node-reconcile-batch-size`).
    pub batch_size: usize,
    /// How long a batch waits for more nodes (`--node-event-aggregation-wait-seconds`).
    pub aggregation_wait: Duration,
    /// Batches at a time (`nodeMaxConcurrentReconciles`).
    pub workers: usize,
    /// Time between sweeps over all nodes (`--node-monitor-period`).
    pub period: Duration,
    /// Time between the two answers that prove an instance gone.
    pub absence_confirmation: Duration,
    /// Take new nodes into service, and keep addresses and labels true (`cloud-node`).
    pub initialise: bool,
    /// Mark nodes that are switched off and delete those that are gone (`cloud-node-lifecycle`).
    pub lifecycle: bool,
}

// === impl Options ===

impl Options {
    /// The released controller's defaults.
    pub fn new(region: RegionId) -> Self {
        Self {
            region,
            configure_routes: true,
            dual_stack: false,
            skip_source_destination_check: false,
            batch_size: 100,
            aggregation_wait: Duration::from_secs(1),
            workers: 1,
            period: Duration::from_secs(5 * 60),
            absence_confirmation: Duration::from_secs(10),
            initialise: true,
            lifecycle: true,
        }
    }
}
