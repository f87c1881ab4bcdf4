//! One pass over everything without changing anything, and a report of what would be changed.
//!
//! It needs no lease, since it writes nothing: it may run beside the controller at work, also
//! beside the released one.

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use serde::Serialize;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{
    Daemon,
    controllers::{Parts, SERVICE_CONTROLLERS},
};
use crate::{
    cloud::{
        dry_run::DryRun,
        guard::{self, Guarded},
    },
    config::Controller,
    kubernetes::{dry_run, events::Recorder},
};

/// What a dry run found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub result: Outcome,
    /// Calls to the cloud that would be made, in order.
    pub cloud_changes: Vec<CloudChange>,
    /// Writes to the cluster that would be made, in order.
    pub cluster_changes: Vec<dry_run::Change>,
    /// What users would be warned of.
    pub warnings: Vec<Warning>,
    /// What could not be looked at to the end; see the log for the reasons.
    pub unfinished: Vec<String>,
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Everything is as it should be.
    Unchanged,
    /// Something would be changed.
    Changes,
    /// Something could not be looked at.
    Unfinished,
}

/// A call to the cloud that would be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CloudChange {
    /// `loadBalancer`, `networkLoadBalancer`, `networkInterface` or `route`.
    pub kind: &'static str,
    /// In words.
    pub change: String,
}

/// A Warning event that would be written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Warning {
    /// Such as `Service default/web`.
    pub object: String,
    pub reason: String,
    pub message: String,
}

/// Where a dry run writes down what it would do.
#[derive(Clone)]
pub(super) struct Records {
    pub(super) cloud: DryRun,
    pub(super) cluster: dry_run::Record,
    pub(super) events: Recorder,
}

// === impl Records ===

impl Records {
    pub(super) fn new() -> Self {
        Self { cloud: DryRun::new(), cluster: dry_run::Record::default(), events: Recorder::in_memory() }
    }

    fn report(&self, unfinished: Vec<String>) -> Report {
        let cloud_changes: Vec<_> = self.cloud.changes().iter().map(CloudChange::from).collect();
        let cluster_changes = self.cluster.changes();
        let mut warnings: Vec<_> =
            self.events.recorded().iter().filter(|event| event.kind == "Warning").map(Warning::from).collect();
        warnings.sort();
        warnings.dedup();
        let result = if !unfinished.is_empty() {
            Outcome::Unfinished
        } else if cloud_changes.is_empty() && cluster_changes.is_empty() {
            Outcome::Unchanged
        } else {
            Outcome::Changes
        };
        Report { result, cloud_changes, cluster_changes, warnings, unfinished }
    }
}

impl From<&guard::Change> for CloudChange {
    fn from(change: &guard::Change) -> Self {
        Self {
            kind: match change {
                guard::Change::LoadBalancer(_) => "loadBalancer",
                guard::Change::NetworkLoadBalancer(_) => "networkLoadBalancer",
                guard::Change::DisableSourceDestinationCheck(_) => "networkInterface",
                guard::Change::CreateRoute(..) | guard::Change::DeleteRoute(..) => "route",
            },
            change: change.to_string(),
        }
    }
}

impl From<&crate::kubernetes::events::Recorded> for Warning {
    fn from(event: &crate::kubernetes::events::Recorded) -> Self {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let (kind, name) = (part(&event.object.kind), part(&event.object.name));
        let object = match event.object.namespace.as_deref() {
            Some(namespace) if !namespace.is_empty() => format!("{kind} {namespace}/{name}"),
            _ => format!("{kind} {name}"),
        };
        Self { object, reason: event.reason.clone(), message: event.message.clone() }
    }
}

// === impl Daemon ===

impl Daemon {
    /// Looks at everything once; `None` when asked to stop before.
    pub(super) async fn rehearse(&self, records: &Records, stop: &CancellationToken) -> super::Outcome {
        info!("dry run: looking at everything once, changing nothing");
        let Some(connected) = self.connect_cloud(&self.config, stop).await else { return Ok(None) };
        let parts = Parts {
            config: &self.config,
            facts: &connected.facts,
            cloud: Arc::new(Guarded::new(connected.cloud.clone(), Arc::new(records.cloud.clone()))),
            kube: records.cluster.client(&self.client),
            openings: None,
        };
        let nodes = async {
            let failed = if parts.enables_nodes() { self.node_controller(&parts).run_once().await } else { Vec::new() };
            failed.into_iter().map(|name| format!("Node {name}")).collect()
        };
        let routes = async {
            let done = !parts.enables(Controller::Route) || self.route_controller(&parts).run_once().await;
            if done { Vec::new() } else { vec!["routes".to_owned()] }
        };
        let services = async {
            let mut failed = std::collections::BTreeSet::new();
            for (enabled, kind) in SERVICE_CONTROLLERS {
                if parts.enables(enabled) {
                    failed.extend(self.service_controller(&parts, kind).run_once().await);
                }
            }
            failed.into_iter().map(|key| format!("Service {key}")).collect()
        };
        let all = async { tokio::join!(nodes, routes, services) };
        tokio::select! {
            biased;
            () = stop.cancelled() => Ok(None),
            (nodes, routes, services) = all => Ok(Some(records.report([nodes, routes, services].concat()))),
        }
    }
}

// === impl Report ===

impl Report {
    /// 0: nothing to change. 3: changes would be made. 1: not everything could be looked at.
    pub fn exit_code(&self) -> u8 {
        match self.result {
            Outcome::Unchanged => 0,
            Outcome::Changes => 3,
            Outcome::Unfinished => 1,
        }
    }

    /// For programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section = |f: &mut fmt::Formatter<'_>, title: &str, lines: Vec<String>| {
            if lines.is_empty() {
                return Ok(());
            }
            writeln!(f, "{title}:")?;
            lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
        };
        let texts = |changes: &[CloudChange]| changes.iter().map(|change| change.change.clone()).collect();
        section(f, "In the cloud", texts(&self.cloud_changes))?;
        section(f, "In the cluster", self.cluster_changes.iter().map(ToString::to_string).collect())?;
        let warning = |warning: &Warning| format!("{}: {}: {}", warning.object, warning.reason, warning.message);
        section(f, "Warnings", self.warnings.iter().map(warning).collect())?;
        section(f, "Not looked at to the end, see the log", self.unfinished.clone())?;
        let mut sum = String::new();
        match self.result {
            Outcome::Unchanged => sum.push_str("Nothing would be changed."),
            Outcome::Changes => {
                let (cloud, cluster) = (self.cloud_changes.len(), self.cluster_changes.len());
                let _ = write!(sum, "{cloud} changes would be made in the cloud, {cluster} in the cluster.");
            }
            Outcome::Unfinished => sum.push_str("Not everything could be looked at, so this is not all."),
        }
        writeln!(f, "Dry run: {sum} Nothing was changed.")
    }
}
