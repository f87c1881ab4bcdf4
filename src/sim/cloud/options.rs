//! How the simulated cloud behaves: delays, limits and strictness.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rate::Rate;

/// Behaviour of one simulated cloud.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Lets unsigned and wrongly signed requests pass.
    pub relaxed_signatures: bool,
    /// Checks each reply against the contract.
    pub check_replies: bool,
    /// Added to each API call before it takes effect.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub latency: Duration,
    /// How long changes of state take.
    pub delays: Delays,
    /// The largest number of calls that the log keeps; counters go on.
    pub call_log: usize,
    /// Limits on the number of resources.
    pub quotas: Quotas,
    /// Limits on the number of calls; none if empty.
    pub rates: Vec<Rate>,
}

/// How long resources stay in their transitional states.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delays {
    /// SLB listener: `starting` and `stopping`.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub listener: Duration,
    /// SLB listener: `configuring` after a change of its attributes.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub listener_change: Duration,
    /// SLB server group: busy after a change of its servers.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub group_change: Duration,
    /// VPC route entry: `Pending` and `Deleting`.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub route: Duration,
    /// ECS instance: `Pending`, `Starting`, `Stopping`.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub instance: Duration,
    /// EIP: `Associating` and `Unassociating`.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub eip: Duration,
    /// NLB: asynchronous jobs.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub job: Duration,
    /// NLB instance: `Provisioning`.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub provisioning: Duration,
}

/// Limits on the number of resources; absent means unlimited.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// CLB instances of the account.
    pub load_balancers: Option<usize>,
    /// Listeners of one CLB.
    pub listeners: Option<usize>,
    /// Backend servers of one CLB, over all its groups.
    pub backend_servers: Option<usize>,
    /// Additional domains of one HTTPS listener.
    pub domain_extensions: Option<usize>,
    /// Access lists of the account.
    pub acls: Option<usize>,
    /// NLB instances of the account.
    pub network_load_balancers: Option<usize>,
    /// Listeners of one NLB.
    pub network_listeners: Option<usize>,
    /// Servers of one NLB server group.
    pub network_servers: Option<usize>,
    /// Custom route tables of one VPC.
    pub route_tables: Option<usize>,
    /// Custom route entries of one table.
    pub route_entries: Option<usize>,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            relaxed_signatures: false,
            check_replies: cfg!(debug_assertions),
            latency: Duration::ZERO,
            delays: Delays::default(),
            call_log: 20_000,
            quotas: Quotas::default(),
            rates: Vec::new(),
        }
    }
}

// === impl Delays ===

impl Default for Delays {
    fn default() -> Self {
        Self {
            listener: Duration::from_millis(200),
            listener_change: Duration::ZERO,
            group_change: Duration::ZERO,
            route: Duration::from_millis(200),
            instance: Duration::from_secs(2),
            eip: Duration::from_millis(200),
            job: Duration::from_millis(500),
            provisioning: Duration::from_secs(1),
        }
    }
}

impl Delays {
    /// Every change is complete when its call answers.
    pub fn none() -> Self {
        Self {
            listener: Duration::ZERO,
            listener_change: Duration::ZERO,
            group_change: Duration::ZERO,
            route: Duration::ZERO,
            instance: Duration::ZERO,
            eip: Duration::ZERO,
            job: Duration::ZERO,
            provisioning: Duration::ZERO,
        }
    }
}

// === impl Quotas ===

impl Quotas {
    /// The limits that the products publish.
    pub fn published() -> Self {
        Self {
            load_balancers: Some(60),
            listeners: Some(50),
            backend_servers: Some(200),
            domain_extensions: Some(3),
            acls: Some(200),
            network_load_balancers: Some(60),
            network_listeners: Some(50),
            network_servers: Some(400),
            route_tables: Some(9),
            route_entries: Some(200),
        }
    }
}
