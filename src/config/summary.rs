//! The effective configuration in one line, for the first line of the log. No secrets: it names
//! where credentials come from and nothing of them.

use std::fmt::{self, Display};

use super::{BackendType, Config, ControlPlaneNodes, Credentials, Network, Scheme, go_duration::format};
use crate::telemetry::Format;

// === impl Config ===

impl Config {
    /// The same with a setting a line.
    pub fn lines(&self) -> String {
        self.to_string().replace(' ', "\n") + "\n"
    }
}

impl Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            controllers,
            cloud,
            credentials,
            service,
            node,
            route,
            leader,
            serving,
            kubernetes,
            logging,
            feature_gates,
            dry_run,
            warnings: _,
        } = self;
        write!(f, "controllers={} dry_run={dry_run}", joined(controllers))?;
        write!(f, " region={} vpc={}", known(cloud.region.as_ref()), known(cloud.vpc.as_ref()))?;
        write!(f, " zone={}", known(cloud.zone.as_ref()))?;
        let vswitches = cloud.vswitches.iter().map(|(zone, id)| match zone {
            Some(zone) => format!("{zone}:{id}"),
            None => id.to_string(),
        });
        write!(f, " vswitches={}", or("metadata", &joined(vswitches)))?;
        write!(f, " cluster_id={}", cloud.cluster_id)?;
        write!(f, " resource_group={}", cloud.resource_group.as_deref().unwrap_or("default"))?;
        write!(f, " network={} scheme={}", cloud.network, cloud.scheme)?;
        for (name, endpoint) in [
            ("ecs", &cloud.endpoints.ecs),
            ("vpc", &cloud.endpoints.vpc),
            ("slb", &cloud.endpoints.slb),
            ("nlb", &cloud.endpoints.nlb),
            ("sts", &cloud.endpoints.sts),
            ("eflo", &cloud.endpoints.eflo),
            ("metadata", &cloud.endpoints.metadata),
        ] {
            if let Some(endpoint) = endpoint {
                write!(f, " {name}_endpoint={endpoint}")?;
            }
        }
        write!(f, " metadata_token={} credentials={credentials}", cloud.metadata_token)?;
        write!(f, " service_workers={} backend_type={}", service.workers, service.backend_type)?;
        write!(
            f,
            " control_plane_nodes={} only_ready_nodes={}",
            service.control_plane_nodes, service.only_ready_nodes
        )?;
        write!(
            f,
            " disable_public_slb={} server_group_batch={}",
            service.disable_public_slb, service.server_group_batch
        )?;
        write!(f, " node_batch={} node_workers={}", node.batch_size, node.workers)?;
        write!(f, " aggregation_wait={}", format(node.aggregation_wait))?;
        write!(f, " node_period={}", format(node.period))?;
        write!(f, " skip_source_dest_check={}", node.skip_source_dest_check)?;
        write!(f, " configure_routes={} cluster_cidrs={}", route.configure, or("none", &joined(&route.cluster_cidrs)))?;
        write!(f, " route_period={} route_batch={}", format(route.period), route.batch_size)?;
        write!(f, " route_tables={}", or("discovered", &joined(&route.tables)))?;
        write!(f, " leader_elect={}", leader.elect)?;
        if leader.elect {
            write!(f, " lease={}/{}", leader.namespace, leader.name)?;
            write!(f, " lease_duration={}", format(leader.lease_duration))?;
            write!(f, " renew_deadline={}", format(leader.renew_deadline))?;
            write!(f, " retry_period={}", format(leader.retry_period))?;
        }
        write!(f, " health={}", or("off", &joined(serving.health)))?;
        write!(f, " metrics={}", or("off", &joined(serving.metrics)))?;
        write!(f, " secure={}", or("off", &joined(serving.secure.iter().map(|secure| secure.address))))?;
        let kubeconfig = kubernetes.kubeconfig.as_ref().map(|path| path.display().to_string());
        let kubeconfig = kubeconfig.or_else(|| kubernetes.kubeconfig_env.clone()).unwrap_or_default();
        write!(f, " kubeconfig={}", or("none", &kubeconfig))?;
        if let Some(master) = &kubernetes.master {
            write!(f, " master={master}")?;
        }
        write!(f, " kube_qps={} kube_burst={}", kubernetes.qps, kubernetes.burst)?;
        let log_format = match logging.format {
            Format::Text => "text",
            Format::Json => "json",
        };
        write!(f, " log_format={log_format} v={}", logging.verbosity)?;
        write!(f, " ipv6_dual_stack={}", feature_gates.ipv6_dual_stack)
    }
}

// === impl Network, Scheme, Credentials, BackendType ===

impl Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vpc => "vpc",
            Self::Public => "public",
        })
    }
}

impl Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Https => "https",
            Self::Http => "http",
        })
    }
}

impl Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddonToken(_) => "addon-token",
            Self::File(_) => "cloud-config",
            Self::Environment(_) => "environment",
            Self::Profile(_) => "cli-profile",
            Self::Oidc(_) => "oidc",
            Self::Uri(_) => "credentials-uri",
            Self::RamRole(_) => "ram-role",
            Self::AssumeRole { with, .. } => return write!(f, "assumed-role-with-{with}"),
        })
    }
}

impl Display for ControlPlaneNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "legacy",
            Self::Include => "include",
            Self::Exclude => "exclude",
        })
    }
}

impl Display for BackendType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ecs => "ecs",
            Self::Eni => "eni",
        })
    }
}

fn joined(parts: impl IntoIterator<Item = impl Display>) -> String {
    parts.into_iter().map(|part| part.to_string()).collect::<Vec<_>>().join(",")
}

/// What the file says, else who is asked.
fn known(value: Option<&impl Display>) -> String {
    value.map_or_else(|| "metadata".to_owned(), ToString::to_string)
}

fn or<'a>(fallback: &'a str, text: &'a str) -> &'a str {
    if text.is_empty() { fallback } else { text }
}
