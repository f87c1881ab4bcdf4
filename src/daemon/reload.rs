//! Follows changes of the configuration while the program runs.
//!
//! The files are read again every few seconds, by content: that notices a mounted ConfigMap whose
//! link was switched as well as a file that was rewritten in place. A changed configuration is checked
//! like the first one, and then applied as a whole or not at all. A refusal is told once.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use tokio::sync::watch;
use tracing::{info, warn};

use crate::config::{Config, Invalid};

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(10);

/// Reads the configuration again, from the same flags, variables and files.
pub type Reread = Arc<dyn Fn() -> Result<Config, Invalid> + Send + Sync>;

/// `ccm_config_…`
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    reloads: Family<Outcome, Counter>,
    in_force: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    result: &'static str,
}

/// Looks at the files for as long as it is awaited, and hands on what is to be applied.
pub(super) async fn follow(reread: Reread, current: watch::Sender<Arc<Config>>, metrics: Metrics) {
    let mut refused = None;
    loop {
        tokio::time::sleep(PERIOD).await;
        let old = current.borrow().clone();
        let outcome = match reread() {
            Ok(new) => judge(&old, &new).map(|changes| (changes, new)),
            Err(invalid) => Err(invalid.to_string()),
        };
        match outcome {
            Ok((changes, _)) if changes.is_empty() => {
                if refused.take().is_some() {
                    info!("the configuration is again the one that is in force");
                    metrics.in_force.set(1);
                }
            }
            Ok((changes, new)) => {
                refused = None;
                info!("the configuration changed ({}) and is applied: {new}", changes.join(", "));
                for warning in new.warnings.iter().filter(|warning| !old.warnings.contains(warning)) {
                    warn!("{warning}");
                }
                metrics.count("applied", true);
                current.send_replace(Arc::new(new));
            }
            Err(reason) => {
                if refused.as_ref() != Some(&reason) {
                    warn!(
                        "the configuration changed and is refused as a whole; the one before stays in force: {reason}"
                    );
                    metrics.count("refused", false);
                    refused = Some(reason);
                }
            }
        }
    }
}

/// What differs, by name; an error if something of it cannot be applied without a restart.
fn judge(old: &Config, new: &Config) -> Result<Vec<&'static str>, String> {
    let fixed: Vec<_> = [
        ("clusterID", old.cloud.cluster_id == new.cloud.cluster_id),
        ("region", old.cloud.region == new.cloud.region),
        ("vpcid", old.cloud.vpc == new.cloud.vpc),
    ]
    .into_iter()
    .filter_map(|(key, same)| (!same).then_some(key))
    .collect();
    if !fixed.is_empty() {
        return Err(format!(
            "{}: where the cluster is and what belongs to it is read at start only; restart to apply it",
            fixed.join(", ")
        ));
    }
    let differs = [
        (CREDENTIALS, old.credentials != new.credentials),
        ("placement of load balancers", old.cloud != new.cloud),
        ("services", old.service != new.service),
        ("nodes", old.node != new.node),
        ("routes", old.route != new.route),
        ("feature gates", old.feature_gates != new.feature_gates),
    ];
    Ok(differs.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect())
}

const CREDENTIALS: &str = "credentials";

/// Whether the controllers can go on as they are.
pub(super) fn only_credentials_differ(old: &Config, new: &Config) -> bool {
    judge(old, new).is_ok_and(|changes| changes.iter().all(|change| *change == CREDENTIALS))
}

// === impl Metrics ===

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        self.in_force.set(1);
        let registry = registry.sub_registry_with_prefix("ccm_config");
        registry.register("reloads", "Changes of the configuration by what became of them", self.reloads.clone());
        let help = "Whether the configuration in force is the one that the files hold: 1 yes, 0 it was refused";
        registry.register("in_force", help, self.in_force.clone());
    }

    fn count(&self, result: &'static str, in_force: bool) {
        self.reloads.get_or_create(&Outcome { result }).inc();
        self.in_force.set(i64::from(in_force));
    }
}
