//! Gives every Service of type LoadBalancer a load balancer: a classic one, or with [`nlb`] a
//! network load balancer. Each kind has a controller of its own, which share what is the same.
//!
//! A pass over one Service: [`known`] tells what is there, [`desired`] what should be there,
//! [`plan`] the way between the two, [`apply`] goes it, [`publish`] shows the outcome on the
//! Service. `desired` and `plan` are pure. [`ownership`] alone knows the marks on cloud objects,
//! [`annotations`] alone reads annotations, [`triggers`] alone decides when a pass is due,
//! [`readiness`] alone tells pods that they are registered.

pub mod access;
pub mod annotations;
pub mod apply;
pub mod checks;
pub mod class;
pub mod desired;
pub mod endpoints;
pub mod hash;
pub mod interfaces;
pub mod known;
pub mod members;
pub mod nlb;
pub mod observed;
pub mod ownership;
pub mod plan;
pub mod publish;
pub mod readiness;
mod reconcile;
mod record;
pub mod source_ranges;
mod triggers;

use std::{fmt, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Service;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::{
    access::KnownLists, class::Kind, interfaces::Interfaces, known::Known, members::ControlPlaneNodes,
    nlb::SharedMemory, readiness::Gates, record::Records,
};
use super::queue::{Priority, Queue};
use crate::{
    clock::Clock,
    cloud::{CloudProvider, VSwitchId, VpcId},
    entropy::Entropy,
    kubernetes::{cache::Cache, events::Recorder},
    metrics::{LoadBalancers, Metrics},
};

/// How long to wait at most where only a person can help: until quota is raised or a bill is paid.
const SLOW_RETRY: Duration = Duration::from_secs(300);
/// How long to wait at most where the cloud is at work and says that it will soon be done.
const SOON: Duration = Duration::from_secs(30);

/// How the service controller works.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of the user's by itself")]
#[derive(Clone, Debug)]
pub struct Options {
    pub cluster_id: String,
    /// The VPC of load balancers with an intranet address.
    pub vpc: Option<VpcId>,
    /// The vSwitches that load balancers with an intranet address are spread over.
    pub vswitches: Vec<VSwitchId>,
    pub resource_group: Option<String>,
    /// Refuse to make load balancers with an internet address.
    pub disable_public: bool,
    /// The feature gate `LoadBalancerTypeAnnotation`.
    pub type_annotation: bool,
    /// Whether pods are members at their own addresses unless a Service says otherwise.
    pub eni_by_default: bool,
    /// Whether pods may be members at IPv6 addresses: the feature gate `IPv6DualStack`.
    pub ipv6_members: bool,
    /// Whether nodes of the control plane are members.
    pub control_plane_nodes: ControlPlaneNodes,
    /// Whether nodes that are not ready are no members even where the load balancer checks its members.
    pub only_ready_nodes: bool,
    /// Number of Services worked on at once.
    pub workers: usize,
    /// How long changes of nodes and endpoints are collected before they are acted on.
    pub settle: Duration,
    /// How often each load balancer is read again to find what was changed by hand.
    pub audit_period: Duration,
    /// Whether to look for pods that wait in vain for a load balancer, of whichever kind: one controller that
    /// does is enough.
    pub looks_for_strays: bool,
}

/// A Service by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: String,
    pub name: String,
}

/// The service controller.
#[derive(Clone)]
pub struct Controller {
    kind: Kind,
    /// Changes are not sent, and count as in place at once.
    rehearses: bool,
    options: Options,
    cache: Cache,
    client: Client,
    cloud: Arc<dyn CloudProvider>,
    recorder: Recorder,
    clock: Clock,
    entropy: Entropy,
    known: Arc<Known>,
    network: SharedMemory,
    interfaces: Arc<Interfaces>,
    lists: Arc<KnownLists>,
    gates: Arc<Gates>,
    records: Arc<Records>,
    queue: Queue<Key>,
    latencies: LoadBalancers,
    /// Nodes or endpoints changed in a way that may concern a Service.
    members_changed: triggers::MembersChanged,
}

// === impl Options ===

impl Options {
    /// Plain options of a cluster `c1`.
    #[cfg(test)]
    pub(crate) fn for_test() -> Self {
        Self {
            cluster_id: "c1".into(),
            vpc: Some("vpc-1".into()),
            vswitches: vec!["vsw-1".into()],
            resource_group: None,
            disable_public: false,
            type_annotation: false,
            eni_by_default: false,
            ipv6_members: false,
            control_plane_nodes: ControlPlaneNodes::default(),
            only_ready_nodes: false,
            workers: 3,
            settle: Duration::from_secs(1),
            audit_period: Duration::from_hours(6),
            looks_for_strays: false,
        }
    }
}

// === impl Key ===

impl Key {
    /// The key of a Service object.
    pub fn of(service: &Service) -> Self {
        Self {
            namespace: service.metadata.namespace.clone().unwrap_or_default(),
            name: service.metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl Controller ===

impl Controller {
    #[expect(clippy::too_many_arguments, reason = "the composition root hands over each part once")]
    pub fn new(
        kind: Kind,
        options: Options,
        cache: Cache,
        client: Client,
        cloud: Arc<dyn CloudProvider>,
        recorder: Recorder,
        clock: Clock,
        entropy: &Entropy,
        metrics: &Metrics,
    ) -> Self {
        let queue = Queue::with_metrics(entropy.fork(), metrics.queue(kind.name()));
        let latencies = metrics.load_balancers.clone();
        Self {
            kind,
            rehearses: false,
            options,
            cache,
            client,
            cloud,
            recorder,
            clock,
            entropy: entropy.fork(),
            known: Arc::new(Known::default()),
            network: SharedMemory::default(),
            interfaces: Arc::new(Interfaces::default()),
            lists: Arc::new(KnownLists::default()),
            gates: Arc::new(Gates::default()),
            records: Arc::new(Records::default()),
            queue,
            latencies,
            members_changed: triggers::MembersChanged::default(),
        }
    }

    /// Works until cancelled; then finishes the passes under way and returns.
    pub async fn run(self, cancel: CancellationToken) {
        // Not one write before everything is known: half a node list would empty groups.
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = self.cache.synced() => {}
        }
        self.watch();
        self.announce_pods();
        let mut tasks = JoinSet::new();
        for _ in 0..self.options.workers.max(1) {
            tasks.spawn(self.clone().work());
        }
        tasks.spawn(self.clone().collect_member_changes(cancel.clone()));
        tasks.spawn(self.clone().watch_gates(cancel.clone()));
        tasks.spawn(self.clone().audit(cancel.clone()));
        if self.options.looks_for_strays {
            tasks.spawn(self.clone().look_for_strays(cancel.clone()));
        }
        if self.kind == Kind::Nlb {
            tasks.spawn(self.clone().poll_jobs(cancel.clone()));
        }
        cancel.cancelled().await;
        self.queue.shut_down();
        while tasks.join_next().await.is_some() {}
    }

    /// One pass over every Service that there is, whatever it comes to; answers those that would
    /// need another.
    pub async fn run_once(mut self) -> Vec<Key> {
        self.rehearses = true;
        self.cache.synced().await;
        self.watch();
        let mut tasks = JoinSet::new();
        for _ in 0..self.options.workers.max(1) {
            tasks.spawn(self.clone().work());
        }
        self.queue.at_rest().await;
        self.queue.shut_down();
        while tasks.join_next().await.is_some() {}
        self.queue.delayed()
    }

    async fn work(self) {
        while let Some(key) = self.queue.next().await {
            let outcome = match self.kind {
                Kind::Clb => self.reconcile(&key).await,
                Kind::Nlb => self.reconcile_network(&key).await,
            };
            match outcome {
                reconcile::Outcome::Done => self.queue.forget(&key),
                reconcile::Outcome::Waiting => {}
                reconcile::Outcome::Retry => {
                    let delay = self.queue.retry(&key, Priority::Again);
                    tracing::debug!(service = %key, delay_seconds = delay.as_secs_f64(), "will try again");
                }
                reconcile::Outcome::RetrySoon => {
                    let delay = self.queue.retry_within(&key, Priority::Again, SOON);
                    tracing::debug!(service = %key, delay_seconds = delay.as_secs_f64(), "will try again soon");
                }
                reconcile::Outcome::RetryAfter(delay) => self.queue.add_after(key.clone(), Priority::Again, delay),
                reconcile::Outcome::RetrySlowly => {
                    // Apart from one another: they mostly fail together.
                    self.queue.add_after(key.clone(), Priority::Again, self.entropy.jitter(SLOW_RETRY));
                }
            }
            self.queue.done(&key);
        }
    }

    /// Wakes Services when the cloud is done with their changes.
    async fn poll_jobs(self, cancel: CancellationToken) {
        let wake = |key: &Key| self.queue.add(key.clone(), Priority::Fresh);
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = self.network.jobs.poll(&*self.cloud, &self.network.known, &wake) => {}
        }
    }

    /// Reads each load balancer again from time to time, spread over the period.
    async fn audit(self, cancel: CancellationToken) {
        loop {
            let pause = self.entropy.jitter(self.options.audit_period);
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            let services = self.cache.services.list();
            let keys: Vec<&Arc<Service>> = services.iter().filter(|service| self.kind.marks(service)).collect();
            let step = self.options.audit_period / 2 / u32::try_from(keys.len()).unwrap_or(u32::MAX).max(1);
            for (service, index) in keys.into_iter().zip(0..) {
                self.records.mark_for_audit(&Key::of(service));
                self.queue.add_after(Key::of(service), Priority::Audit, step * index);
            }
        }
    }
}
