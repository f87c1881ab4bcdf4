//! What the process counts and measures, under the names that dashboards of the released
//! controller already use.
//!
//! One struct a component; each registers itself. [`Metrics`] holds them all. Nothing here knows
//! what the numbers mean for behaviour.

mod latency;
mod process;

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;
use prometheus_client::{
    encoding::{EncodeLabelSet, prometheus_text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

pub use latency::{LoadBalancers, Nodes, Routes};

/// The content type of what [`Metrics::encode`] writes.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// All metrics of the process. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    pub nodes: Nodes,
    pub routes: Routes,
    pub load_balancers: LoadBalancers,
    pub leader: Leader,
    queues: Queues,
    registry: Arc<Mutex<Registry>>,
    /// What components registered, by type, for when they are made anew.
    components: Arc<Mutex<BTreeMap<TypeId, Box<dyn Any + Send>>>>,
}

/// `leader_election_master_status{name}`: 1 while this replica leads.
#[derive(Clone, Debug, Default)]
pub struct Leader(Family<Name, Gauge>);

/// The work queues' numbers, named as controller-runtime names them.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    depth: Family<Name, Gauge>,
    adds: Family<Name, Counter>,
    retries: Family<Name, Counter>,
}

/// One queue's share of [`Queues`].
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// `workqueue_depth`: keys that could be handed out now.
    pub depth: Gauge,
    /// `workqueue_adds_total`.
    pub adds: Counter,
    /// `workqueue_retries_total`.
    pub retries: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    name: String,
}

// === impl Metrics ===

impl Metrics {
    /// With everything of this process registered. `version` and `commit` go into
    /// `ccm_build_info`.
    pub fn new(version: &str, commit: &str) -> Self {
        let mut registry = Registry::default();
        let build = [("version", version), ("commit", commit)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        registry.register("ccm_build", "Version and commit this binary was built from", Info::new(build.to_vec()));
        process::register(&mut registry);
        Self {
            nodes: Nodes::register(&mut registry),
            routes: Routes::register(&mut registry),
            load_balancers: LoadBalancers::register(&mut registry),
            leader: Leader::register(&mut registry),
            queues: Queues::register(&mut registry),
            registry: Arc::new(Mutex::new(registry)),
            components: Arc::default(),
        }
    }

    /// The numbers of the queue of this name.
    pub fn queue(&self, name: &str) -> Queue {
        self.queues.of(name)
    }

    /// Lets another component register its own metrics.
    pub fn register<T>(&self, component: impl FnOnce(&mut Registry) -> T) -> T {
        component(&mut self.registry.lock())
    }

    /// Lets a component that may be made more than once register its metrics the first time, and
    /// gives it the same ones later.
    pub fn register_once<T: Clone + Send + 'static>(&self, component: impl FnOnce(&mut Registry) -> T) -> T {
        let mut components = self.components.lock();
        let known = components.get(&TypeId::of::<T>()).and_then(|known| known.downcast_ref::<T>());
        if let Some(known) = known {
            return known.clone();
        }
        let made = self.register(component);
        components.insert(TypeId::of::<T>(), Box::new(made.clone()));
        made
    }

    /// Everything in Prometheus' text format 0.0.4.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry.lock())?;
        // The encoder ends every counter's name in `_total`. This one was released without.
        Ok(text.replace("ccm_slb_operation_result_total", "ccm_slb_operation_result"))
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// For tests and parts that run without an admin server.
impl Default for Metrics {
    fn default() -> Self {
        Self::new(env!("CARGO_PKG_VERSION"), "unknown")
    }
}

// === impl Leader ===

impl Leader {
    fn register(registry: &mut Registry) -> Self {
        let leader = Self::default();
        let help = "Whether this replica holds the lease of this name: 1 leader, 0 standby";
        registry.register("leader_election_master_status", help, leader.0.clone());
        leader
    }

    /// The gauge of the lease of this name.
    pub fn of(&self, lease: &str) -> Gauge {
        self.0.get_or_create_owned(&Name { name: lease.to_owned() })
    }
}

// === impl Queues ===

impl Queues {
    fn register(registry: &mut Registry) -> Self {
        let queues = Self::default();
        registry.register("workqueue_depth", "Keys waiting to be worked on", queues.depth.clone());
        registry.register("workqueue_adds", "Keys added", queues.adds.clone());
        registry.register("workqueue_retries", "Keys added again after a failure", queues.retries.clone());
        queues
    }

    fn of(&self, name: &str) -> Queue {
        let name = Name { name: name.to_owned() };
        Queue {
            depth: self.depth.get_or_create_owned(&name),
            adds: self.adds.get_or_create_owned(&name),
            retries: self.retries.get_or_create_owned(&name),
        }
    }
}

#[cfg(test)]
mod tests;
