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
pub mod plan;
pub(in crate::controllers) mod report;
pub mod resolve;
mod wake;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::{
    absence::Absences,
    apply::Writer,
    desired::desired,
    kind::Kind,
    metrics::Counters,
    observe::{Observer, Seen, name_of},
    opening::{Opening, Openings},
    plan::{
        Interface, Plan, SHUTDOWN_TAINT, awaits_network, has_taint, is_joining, is_ready, plan, plan_blind,
        plan_release, plan_taints,
    },
    report::Reports,
};
use super::queue::{Priority, Queue};
use crate::{
    clock::Clock,
    cloud::{self, Class, CloudProvider, Instance, RegionId},
    entropy::Entropy,
    kubernetes::{
        cache::{Cache, Change},
        events::{Recorder, reference_of},
        patch,
    },
    metrics::{Metrics, Nodes},
};

/// How many Nodes of a batch are written to at a time.
const WRITES_AT_ONCE: usize = 8;
/// How soon a node that is not Ready is looked at again, to find that its instance was switched off
/// or released.
const UNREADY_PERIOD: Duration = Duration::from_secs(30);
/// How soon a node is looked at again after the cloud asked for fewer calls. Short, because a batch
/// costs one call however many wait in it.
const THROTTLED_WAIT: Duration = Duration::from_secs(4);
/// A node that never was in service may be younger than the cloud's answers: before this age a
/// missing instance says nothing.
const SETTLED_AGE: Duration = Duration::from_secs(5 * 60);

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
    openings: Arc<Openings>,
    /// Names that something woke, as opposed to those that only come up for another look.
    woken: Arc<Mutex<BTreeSet<String>>>,
}

/// When a node is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// When something wakes it.
    Woken,
    /// After a while, if it is not Ready by then.
    After(Duration),
    /// After a while, in any case.
    Again(Duration),
    /// With growing delays.
    Retry,
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
            self.queue.shut_down();
            self.opener.shut_down();
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
            self.queue.shut_down();
            self.opener.shut_down();
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

    async fn reconcile(&self, names: &[String]) {
        let mut batch = Vec::new();
        for name in names {
            let woken = self.woken.lock().remove(name);
            match self.cache.nodes.get(None, name) {
                Some(node) if is_joining(&node) && !self.options.initialise => self.settle(name, Next::Woken),
                Some(node) if woken || is_joining(&node) || !is_ready(&node) => match Kind::of(&node) {
                    Kind::Foreign(why) => {
                        if is_joining(&node) {
                            let message = format!("This node is left alone and keeps its taint, because {why}");
                            self.report(&node, "SyncNodeFailed", &message);
                        }
                        self.settle(name, Next::Woken);
                    }
                    Kind::Lingjun => {
                        let next = self.write(&node, plan_release).await;
                        self.settle(name, next);
                    }
                    Kind::Ecs(_) | Kind::Unnamed => batch.push(node),
                },
                Some(_) => self.settle(name, Next::Woken),
                None => {
                    self.absences.lock().clear(name);
                    self.reports.lock().clear(name);
                    self.openings.forget(name);
                    self.settle(name, Next::Woken);
                }
            }
        }
        if batch.is_empty() {
            return;
        }
        let all = self.cache.nodes.list();
        let closed = |node: &Node| self.options.initialise && (is_joining(node) || self.awaits_opening(node));
        let closed = |node: &Node| closed(node) && !self.openings.is_open(node);
        let seen = self.observer.observe(&batch, &all, |node| self.may_be_gone(node), closed).await;
        self.note_absences(&batch, &seen);
        let absent = seen.values().any(|seen| matches!(seen, Seen::Absent { .. }));
        let counted = all.iter().filter(|node| absent && Kind::of(node).machine().is_some());
        let known = counted.count();
        stream::iter(&batch)
            .for_each_concurrent(WRITES_AT_ONCE, |node| {
                let seen = seen.get(&name_of(node));
                async move {
                    let next = self.reconcile_one(node, seen, known).await;
                    self.settle(&name_of(node), next);
                }
            })
            .await;
    }

    /// Gives the name back to the queue.
    fn settle(&self, name: &str, next: Next) {
        let name = name.to_owned();
        if next != Next::Retry {
            self.queue.forget(&name);
        }
        match next {
            Next::Woken => {}
            Next::After(delay) => self.queue.add_after(name.clone(), Priority::Audit, delay),
            Next::Again(delay) => {
                self.woken.lock().insert(name.clone());
                self.queue.add_after(name.clone(), Priority::Fresh, self.entropy.jitter(delay));
            }
            Next::Retry => {
                self.woken.lock().insert(name.clone());
                self.queue.retry(&name, Priority::Fresh);
            }
        }
        self.queue.done(&name);
    }

    async fn reconcile_one(&self, node: &Arc<Node>, seen: Option<&Seen>, known: usize) -> Next {
        match seen {
            Some(Seen::Present { instance, interface }) => self.present(node, instance, interface).await,
            Some(Seen::Absent { machine, witnessed }) => self.absent(node, machine, *witnessed, known).await,
            Some(Seen::Unmatched(tried)) => {
                self.report(node, "SyncNodeFailed", tried);
                if is_joining(node) { Next::Retry } else { Next::Woken }
            }
            Some(Seen::Failed(error)) => self.unanswered(node, error).await,
            None => Next::Woken,
        }
    }

    async fn present(&self, node: &Arc<Node>, instance: &Instance, interface: &Interface) -> Next {
        let plan = |node: &Node| self.plan(node, instance, interface);
        if !self.options.initialise {
            return self.write(node, plan).await;
        }
        let (next, initialized) = self.try_write(node, plan).await;
        match interface {
            Interface::Open => self.openings.opened(node),
            Interface::Closed(id) => self.enqueue_opening(node, instance, id, is_joining(node) && !initialized),
            // It is in service as far as it can be, but nobody opens an interface that was not seen.
            Interface::Unknown(_) => return Next::Retry,
        }
        next
    }

    fn plan(&self, node: &Node, instance: &Instance, interface: &Interface) -> Plan {
        let mut desired = desired(node, instance, self.options.dual_stack);
        if !self.options.lifecycle || kind::lives_by_others(node) {
            desired.stopped = has_taint(node, SHUTDOWN_TAINT);
        }
        if self.options.initialise {
            plan(node, &desired, interface, self.options.configure_routes)
        } else {
            plan_taints(node, &desired)
        }
    }

    /// Whether the node's pods wait for its interface, beside their route.
    fn awaits_opening(&self, node: &Node) -> bool {
        self.options.configure_routes && awaits_network(node) && !self.openings.is_open(node)
    }

    /// The cloud did not answer: that is no reason to do anything but to ask again.
    async fn unanswered(&self, node: &Node, error: &cloud::Error) -> Next {
        if !error.is_retryable() && is_joining(node) {
            self.report(node, "SyncNodeFailed", &error.stable_text());
        }
        let next = self.write(node, plan_blind).await;
        let waits = is_joining(node) || self.options.initialise && self.awaits_opening(node);
        match error.class {
            _ if is_ready(node) && !waits => next,
            Class::Throttled => Next::Again(error.retry_after.unwrap_or(THROTTLED_WAIT)),
            _ => Next::Retry,
        }
    }

    async fn write(&self, node: &Node, plan: impl Fn(&Node) -> Plan) -> Next {
        self.try_write(node, plan).await.0
    }

    /// Tells also whether the node was taken into service.
    async fn try_write(&self, node: &Node, plan: impl Fn(&Node) -> Plan) -> (Next, bool) {
        let name = name_of(node);
        let problem = plan(node).problem;
        let applied = match self.writer.apply(node, plan).await {
            Ok(applied) => applied,
            Err(error) if error.is_not_found() => return (Next::Woken, false),
            Err(patch::Error::NotLeader { .. }) => {
                tracing::info!(node = name, "stopped: this replica does not lead any more");
                return (Next::Woken, false);
            }
            Err(error) => {
                self.report(node, "SyncNodeFailed", &error.to_string());
                return (Next::Retry, false);
            }
        };
        if applied.initialized {
            self.counters.initialized.inc();
            let message = format!("Initialized node {name} with cloud provider");
            tracing::info!(node = name, "{message}");
            self.recorder.normal(&reference_of(node), "InitializedNode", message);
        } else if applied.wrote {
            tracing::info!(node = name, "updated node {name}");
        }
        match problem {
            Some(problem) => {
                self.report(node, "SyncNodeFailed", &problem);
                if is_joining(node) {
                    return (Next::Retry, applied.initialized);
                }
            }
            None => self.reports.lock().clear(&name),
        }
        (if is_ready(node) { Next::Woken } else { Next::After(UNREADY_PERIOD) }, applied.initialized)
    }

    /// Tells the user once, not at every pass.
    fn report(&self, node: &Node, reason: &str, message: &str) {
        let name = name_of(node);
        if self.reports.lock().is_news(&name, message, Instant::now()) {
            tracing::warn!(node = name, reason, "{message}");
            self.recorder.warning(&reference_of(node), reason, message);
        }
    }
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests;
