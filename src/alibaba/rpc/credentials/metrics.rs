//! Which credentials are in use, until when, and whether they could be renewed.

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

/// Numbers of every source. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    until: Family<Name, Gauge>,
    renewals: Family<Renewal, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Renewal {
    source: String,
    result: &'static str,
}

// === impl Metrics ===

impl Metrics {
    /// Makes them visible as `ccm_credentials_…` in a registry without a prefix.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("ccm_credentials");
        let help = "When the key in use ends, by the source it came from; 0 if it has no end";
        registry.register_with_unit("expiration_timestamp", help, Unit::Seconds, self.until.clone());
        registry.register("renewals", "Attempts to get a key from its source", self.renewals.clone());
    }

    /// Other sources are in use from now on.
    pub fn forget(&self) {
        self.until.clear();
    }

    pub(super) fn in_use(&self, source: &str, until: Option<Timestamp>) {
        let until = until.map_or(0, Timestamp::as_second);
        self.until.get_or_create(&Name { source: source.to_owned() }).set(until);
    }

    pub(super) fn asked(&self, source: &str, result: &'static str) {
        self.renewals.get_or_create(&Renewal { source: source.to_owned(), result }).inc();
    }
}
