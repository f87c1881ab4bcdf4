//! How long passes over nodes, routes and load balancers take, in milliseconds and in the
//! released controller's buckets.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

/// Upper bounds in milliseconds.
const BUCKETS: [f64; 21] =
    [500.0, 700.0, 1e3, 1.5e3, 2e3, 3e3, 4e3, 5e3, 7e3, 8e3, 9e3, 1e4, 3e4, 6e4, 1e5, 1.5e5, 2e5, 3e5, 6e5, 7e5, 8e5];

type Latencies<L> = Family<L, Histogram, fn() -> Histogram>;

/// `ccm_node_latencies_duration_milliseconds{verb}`.
#[derive(Clone, Debug)]
pub struct Nodes(Latencies<Verb>);

/// `ccm_route_latencies_duration_milliseconds{verb}`, and upstream's `route_controller_route_sync_total`.
#[derive(Clone, Debug)]
pub struct Routes {
    latencies: Latencies<Verb>,
    passes: Counter,
}

/// `ccm_slb_latencies_duration_milliseconds{type,verb}` and
/// `ccm_slb_operation_result{type,verb,status}`.
#[derive(Clone, Debug)]
pub struct LoadBalancers {
    latencies: Latencies<TypeVerb>,
    results: Family<TypeVerbStatus, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verb {
    verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TypeVerb {
    r#type: &'static str,
    verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TypeVerbStatus {
    r#type: &'static str,
    verb: &'static str,
    status: &'static str,
}

fn latencies<L: Clone + Eq + std::hash::Hash>() -> Latencies<L> {
    Family::new_with_constructor(|| Histogram::new(BUCKETS))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

// === impl Nodes ===

impl Nodes {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let nodes = Self(latencies());
        registry.register(
            "ccm_node_latencies_duration_milliseconds",
            "Duration of node passes in milliseconds",
            nodes.0.clone(),
        );
        nodes
    }

    /// `verb`: `reconcile`.
    pub fn observe(&self, verb: &'static str, duration: Duration) {
        self.0.get_or_create(&Verb { verb }).observe(milliseconds(duration));
    }
}

// === impl Routes ===

impl Routes {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let routes = Self { latencies: latencies(), passes: Counter::default() };
        registry.register(
            "ccm_route_latencies_duration_milliseconds",
            "Duration of route passes in milliseconds",
            routes.latencies.clone(),
        );
        registry.register("route_controller_route_sync", "Passes over all routes", routes.passes.clone());
        routes
    }

    /// `verb`: `reconcile`, which is a pass, or `create`.
    pub fn observe(&self, verb: &'static str, duration: Duration) {
        self.latencies.get_or_create(&Verb { verb }).observe(milliseconds(duration));
        if verb == "reconcile" {
            self.passes.inc();
        }
    }
}

// === impl LoadBalancers ===

impl LoadBalancers {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let balancers = Self { latencies: latencies(), results: Family::default() };
        registry.register(
            "ccm_slb_latencies_duration_milliseconds",
            "Duration of load balancer passes in milliseconds",
            balancers.latencies.clone(),
        );
        registry.register("ccm_slb_operation_result", "Load balancer passes by outcome", balancers.results.clone());
        balancers
    }

    /// `kind`: `CLBType` or `NLBType`; `verb`: `Creation`, `Update` or `Deletion` (`reconcile` for NLB).
    pub fn observe(&self, kind: &'static str, verb: &'static str, duration: Duration, succeeded: bool) {
        self.latencies.get_or_create(&TypeVerb { r#type: kind, verb }).observe(milliseconds(duration));
        let status = if succeeded { "Success" } else { "Fail" };
        self.results.get_or_create(&TypeVerbStatus { r#type: kind, verb, status }).inc();
    }
}
