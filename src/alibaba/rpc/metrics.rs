//! What is counted about calls to the cloud.

use std::{sync::atomic::AtomicU64, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::Product;

/// Counters and times of all calls. Clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    requests: Family<Outcome, Counter>,
    latency: Family<Call, Histogram, fn() -> Histogram>,
    retries: Family<Call, Counter>,
    throttled: Family<Call, Counter<f64, AtomicU64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    product: &'static str,
    action: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    product: &'static str,
    action: String,
    result: &'static str,
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    pub fn new() -> Self {
        Self {
            requests: Family::default(),
            latency: Family::new_with_constructor(|| {
                Histogram::new([0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0])
            }),
            retries: Family::default(),
            throttled: Family::default(),
        }
    }

    /// Makes them visible as `ccm_openapi_…` in a registry without a prefix.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("ccm_openapi");
        registry.register("requests", "Calls to the cloud's API by outcome", self.requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time until the cloud's API answered one attempt",
            Unit::Seconds,
            self.latency.clone(),
        );
        registry.register("retries", "Attempts after the first", self.retries.clone());
        registry.register_with_unit(
            "throttle_wait",
            "Time that calls waited to stay below the rate limit",
            Unit::Seconds,
            self.throttled.clone(),
        );
    }

    pub(super) fn attempt(&self, product: Product, action: &str, result: &'static str, took: Duration) {
        let (product, action) = (product.name(), action.to_owned());
        self.requests.get_or_create(&Outcome { product, action: action.clone(), result }).inc();
        self.latency.get_or_create(&Call { product, action }).observe(took.as_secs_f64());
    }

    pub(super) fn retry(&self, product: Product, action: &str) {
        self.retries.get_or_create(&Call { product: product.name(), action: action.to_owned() }).inc();
    }

    pub(super) fn waited(&self, product: Product, action: &str, wait: Duration) {
        if !wait.is_zero() {
            let call = Call { product: product.name(), action: action.to_owned() };
            self.throttled.get_or_create(&call).inc_by(wait.as_secs_f64());
        }
    }
}
