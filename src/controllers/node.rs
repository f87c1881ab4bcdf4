//! Takes new Nodes into service, keeps their addresses and labels true, marks those whose instance
//! is switched off, and deletes those whose instance is proven to be gone.
//!
//! There is one path for all of it. Whatever wakes a node (it joined, kubelet lost or found it, the
//! sweep came by) puts its name into the queue; names are taken in batches, so that a batch costs one
//! `DescribeInstances`; then each node goes on by itself, with its own retries.
//!
//! What is left alone and why: see [`kind`]. The released controller freed nodes with an exclusion
//! label of their taint if they happened to join while it ran; here they are left alone always.

pub mod absence;
pub mod address;
pub mod apply;
mod departure;
pub mod desired;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod kind;
mod metrics;
pub mod observe;
pub mod opening;
mod options;
pub mod plan;
mod reconcile;
pub(in crate::controllers) mod report;
pub mod resolve;
mod wake;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::{StreamExt, stream};
use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::{
    absence::Absences,
    apply::Writer,
    metrics::Counters,
    observe::{Observer, name_of},
    opening::{Opening, Openings},
    report::Reports,
};
use super::queue::{Priority, Queue};
use crate::{
    clock::Clock,
    cloud::CloudProvider,
    entropy::Entropy,
    kubernetes::{
        cache::{Cache, Change},
        events::Recorder,
    },
    metrics::{Metrics, Nodes},
};

pub use options::Options;

/// The node controller.
pub struct Controller {
    options: Options,
    cache: Cache,
    queue: Queue<String>,
    observer: Observer,
    writer: Writer,
    recorder: Recorder,
    clock: Clock,
    entropy: Entropy,
    latencies: Nodes,
    counters: Counters,
    absences: Mutex<Absences>,
    reports: Mutex<Reports>,
    /// Interfaces that are to be opened, by node name, and the order in which that is done.
    closed: Mutex<BTreeMap<String, Opening>>,
    opener: Queue<String>,
    /// Nodes whose taint waits for their interface, due when it is not to wait any longer.
    overdue: Queue<String>,
    openings: Arc<Openings>,
    /// Names that something woke, as opposed to those that only come up for another look.
    woken: Arc<Mutex<BTreeSet<String>>>,
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
            cache,
            queue: Queue::with_metrics(entropy.fork(), metrics.queue("node")),
            observer: Observer {
                cloud: cloud.clone(),
                region: options.region.clone(),
                interfaces: !options.skip_source_destination_check,
            },
            writer: Writer::new(client, cloud, clock.clone()),
            recorder,
            clock,
            latencies: metrics.nodes.clone(),
            counters: metrics.register_once(Counters::register),
            absences: Mutex::new(Absences::new(options.absence_confirmation)),
            reports: Mutex::new(Reports::default()),
            closed: Mutex::default(),
            opener: Queue::new(entropy.fork()),
            overdue: Queue::new(entropy.fork()),
            openings: Arc::default(),
            woken: Arc::default(),
            entropy,
            options,
        }
    }

    /// Tells the route controller there which nodes' interfaces are open.
    pub(crate) fn sharing(mut self, openings: Arc<Openings>) -> Self {
        self.openings = openings;
        self
    }

    /// Works until cancelled; a batch in hand is finished.
    pub async fn run(self, cancel: CancellationToken) {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = self.cache.synced() => {}
        }
        let (queue, woken) = (self.queue.clone(), self.woken.clone());
        self.cache.nodes.on_change(move |Change { old, new }| {
            let Some(new) = new else {
                // Known things about the node are dropped when its turn comes.
                return old.into_iter().for_each(|old| queue.add(name_of(old), Priority::Audit));
            };
            if let Some(priority) = wake::wakes(old.map(AsRef::as_ref), new) {
                woken.lock().insert(name_of(new));
                queue.add(name_of(new), priority);
            }
        });
        let stop = async {
            cancel.cancelled().await;
            self.shut_down();
        };
        let workers: stream::FuturesUnordered<_> = (0..self.options.workers.max(1)).map(|_| self.work()).collect();
        let sweep = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = self.sweep() => {}
            }
        };
        tokio::join!(stop, workers.for_each(|()| async {}), self.open_interfaces(), sweep);
    }

    /// One pass over all nodes, and a second one over instances that the first did not find; answers
    /// the nodes that failed.
    pub async fn run_once(self) -> Vec<String> {
        self.cache.synced().await;
        self.wake_all();
        let workers: stream::FuturesUnordered<_> = (0..self.options.workers.max(1)).map(|_| self.work()).collect();
        let passes = async {
            self.at_rest().await;
            if self.absences.lock().count() > 0 {
                tokio::time::sleep(self.options.absence_confirmation).await;
                self.wake_all();
                self.at_rest().await;
            }
            self.shut_down();
        };
        tokio::join!(passes, workers.for_each(|()| async {}), self.open_interfaces());
        let failing: BTreeSet<String> = self.queue.failing().into_iter().chain(self.opener.failing()).collect();
        failing.into_iter().collect()
    }

    /// Waits until no node is in hand, nor an interface that opening it takes.
    async fn at_rest(&self) {
        self.queue.at_rest().await;
        self.opener.at_rest().await;
        // An interface that was opened may have woken its node.
        self.queue.at_rest().await;
    }

    fn shut_down(&self) {
        self.queue.shut_down();
        self.opener.shut_down();
        self.overdue.shut_down();
    }

    fn wake_all(&self) {
        for node in self.cache.nodes.list() {
            self.woken.lock().insert(name_of(&node));
            self.queue.add(name_of(&node), Priority::Audit);
        }
    }

    async fn sweep(&self) {
        loop {
            // Spread, so that many clusters of one account do not sweep at the same time.
            let spread = self.options.period.mul_f64(self.entropy.fraction() / 10.0);
            tokio::time::sleep(self.options.period + spread).await;
            self.wake_all();
        }
    }

    async fn work(&self) {
        while let Some(names) = self.queue.next_batch(self.options.batch_size, self.options.aggregation_wait).await {
            let started = Instant::now();
            self.reconcile(&names).await;
            self.latencies.observe("reconcile", started.elapsed());
        }
    }
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests;
