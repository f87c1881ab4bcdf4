//! Keeps a route in the VPC for every node's pod CIDR, and tells Kubernetes which nodes have theirs.
//!
//! One pass looks at all nodes and all tables together; passes are started by changes of nodes
//! (gathered for a moment), by the period, and by what an earlier pass left open. What a table was
//! last seen to hold is kept in memory, with our own changes entered, so that a pass that changes
//! nothing asks nothing: a joining node costs one `CreateRouteEntries` and then one
//! `DescribeRouteEntryList` a table, which proves the route available before the node's condition
//! says so. Each period reads every table again.

pub mod apply;
pub mod availability;
mod conditions;
pub mod desired;
mod hold;
mod memory;
mod pass;
pub mod plan;
mod wake;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use self::{desired::Scope, memory::Memory, pass::Pass};
use crate::{
    clock::Clock,
    cloud::{CloudProvider, RouteTableId},
    controllers::node::opening::Openings,
    entropy::Entropy,
    kubernetes::{
        cache::{Cache, Change},
        events::Recorder,
    },
    metrics::Metrics,
};

/// How the route controller works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Make routes at all (`--configure-cloud-routes`). If not, all that is done is to take back
    /// conditions that say a route is missing.
    pub configure: bool,
    /// Where routes may be ours (`--cluster-cidr`).
    pub scope: Scope,
    /// The tables to keep (`routeTableIDs`); the VPC's system table if there are none.
    pub tables: Vec<RouteTableId>,
    /// Entries a call, 1 to 50 (`--route-reconcile-batch-size`).
    pub batch_size: usize,
    /// How long changes of nodes are gathered (`--node-event-aggregation-wait-seconds`).
    pub aggregation_wait: Duration,
    /// Time between two readings of every table (`--route-reconciliation-period`).
    pub period: Duration,
}

/// The route controller.
pub struct Controller {
    cache: Cache,
    aggregation_wait: Duration,
    memory: Memory,
    pass: Pass,
}

// === impl Options ===

impl Options {
    /// The released controller's defaults.
    pub fn new(scope: Scope) -> Self {
        Self {
            configure: true,
            scope,
            tables: Vec::new(),
            batch_size: 50,
            aggregation_wait: Duration::from_secs(1),
            period: Duration::from_secs(5 * 60),
        }
    }
}

// === impl Controller ===

impl Controller {
    #[expect(clippy::too_many_arguments, reason = "the composition root hands over each part once")]
    pub fn new(
        options: Options,
        cache: Cache,
        client: Client,
        cloud: Arc<dyn CloudProvider>,
        recorder: Recorder,
        clock: Clock,
        entropy: Entropy,
        metrics: &Metrics,
    ) -> Self {
        Self {
            aggregation_wait: options.aggregation_wait,
            memory: Memory::new(entropy),
            pass: Pass {
                options,
                nodes: cache.nodes.clone(),
                api: Api::<Node>::all(client),
                cloud,
                recorder,
                clock,
                latencies: metrics.routes.clone(),
                openings: None,
            },
            cache,
        }
    }

    /// Says that a node's network is there only when its interface is open, too.
    pub(crate) fn after(mut self, openings: Arc<Openings>) -> Self {
        self.pass.openings = Some(openings);
        self
    }

    /// Works until cancelled; a pass in hand is finished.
    pub async fn run(mut self, cancel: CancellationToken) {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = self.cache.synced() => {}
        }
        let changed = Arc::new(Notify::new());
        let notify = changed.clone();
        self.cache.nodes.on_change(move |Change { old, new }| {
            if wake::wakes(old.map(AsRef::as_ref), new.map(AsRef::as_ref)) {
                notify.notify_one();
            }
        });
        let openings = self.pass.openings.clone();
        loop {
            let due = self.pass.run(&mut self.memory).await;
            let wait = async {
                tokio::select! {
                    biased;
                    () = changed.notified() => tokio::time::sleep(self.aggregation_wait).await,
                    () = opened(openings.as_deref()) => tokio::time::sleep(self.aggregation_wait).await,
                    () = at(due) => {}
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = wait => {}
            }
        }
    }
}

/// Waits until an interface was opened, forever if nobody tells.
async fn opened(openings: Option<&Openings>) {
    match openings {
        Some(openings) => openings.changed().await,
        None => std::future::pending().await,
    }
}

impl Controller {
    /// Passes until leftovers are told from strangers' entries; answers whether all could be read
    /// and changed.
    pub async fn run_once(mut self) -> bool {
        self.cache.synced().await;
        let end = Instant::now() + memory::GRACE * 2;
        while let Some(due) = self.pass.run(&mut self.memory).await.filter(|due| *due <= end) {
            tokio::time::sleep_until(due).await;
        }
        !self.memory.is_failing()
    }
}

/// Sleeps until then, forever if there is no then.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests;
