//! Flags, environment and cloud-config file become one valid, typed [`Config`].
//!
//! This is the only room that reads the environment and the only one that knows a flag, a key
//! or a variable by name. Everything is checked here, before anything is opened or called, and
//! all that is wrong is reported together: behind this door no value needs checking again. It
//! may not know how the parts use what they are given.

pub mod address;
mod assemble;
pub mod build_info;
mod cli_profile;
pub mod controllers;
pub mod environment;
mod file;
mod flags;
pub mod gates;
mod go_duration;
mod help;
mod problems;
#[cfg(test)]
mod reference;
mod scan;
mod summary;
mod value;
mod variables;

use std::{collections::BTreeSet, ffi::OsString, path::PathBuf, time::Duration};

use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    cloud::{RegionId, RouteTableId, VSwitchId, VpcId, ZoneId},
    telemetry,
};

pub use address::BindAddress;
pub use controllers::Controller;
pub use environment::Environment;
pub use gates::FeatureGates;
pub use help::grouped_flags;
pub(crate) use scan::COMMANDS;

use problems::Problems;
use scan::Asked;

/// What the arguments of the daemon ask for.
#[derive(Debug)]
pub enum Request {
    Run(Box<Config>),
    /// `-h` is short and leaves out what has no effect.
    Help {
        all: bool,
    },
    Version,
}

/// All that is wrong with a configuration, one sentence each.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.0))]
pub struct Invalid(pub Vec<String>);

/// Reads the daemon's arguments (without the program's name), the environment and the
/// cloud-config file that they name.
pub fn read(arguments: impl IntoIterator<Item = OsString>, environment: &dyn Environment) -> Result<Request, Invalid> {
    let mut problems = Problems::default();
    match scan::scan(arguments, &mut problems) {
        Asked::Help { all } => Ok(Request::Help { all }),
        Asked::Version => Ok(Request::Version),
        Asked::Run(flags) => assemble::assemble(flags, environment, problems)
            .map(|config| Request::Run(Box::new(config)))
            .map_err(Invalid),
    }
}

/// Reads the same arguments again, after files may have changed.
pub fn reread(arguments: &[OsString], environment: &dyn Environment) -> Result<Config, Invalid> {
    match read(arguments.iter().cloned(), environment)? {
        Request::Run(config) => Ok(*config),
        Request::Help { .. } | Request::Version => {
            Err(Invalid(vec!["the arguments do not start the daemon".to_owned()]))
        }
    }
}

fn listed(problems: &[String]) -> String {
    match problems {
        [only] => only.clone(),
        all => format!("{} things are wrong with the configuration:\n  {}", all.len(), all.join("\n  ")),
    }
}

/// What the daemon is to do. Valid by construction when it comes from the command line.
#[derive(Clone, Debug)]
pub struct Config {
    /// The controllers to start; never empty.
    pub controllers: BTreeSet<Controller>,
    pub cloud: Cloud,
    pub credentials: Credentials,
    pub service: Service,
    pub node: Node,
    pub route: Route,
    pub leader: Leader,
    pub serving: Serving,
    pub kubernetes: Kubernetes,
    pub logging: telemetry::Options,
    pub feature_gates: FeatureGates,
    /// Look, plan and log, but change nothing, neither in the cloud nor in the cluster.
    pub dry_run: bool,
    /// What was accepted although it does nothing or looks wrong: one sentence each, to be
    /// logged once at start.
    pub warnings: Vec<String>,
}

/// Where the cluster lives and how the cloud's API is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloud {
    /// `None`: ask the metadata server.
    pub region: Option<RegionId>,
    /// `None`: ask the metadata server.
    pub vpc: Option<VpcId>,
    /// `None`: ask the metadata server.
    pub zone: Option<ZoneId>,
    /// The first one is the default for new internal load balancers; a zone picks another.
    /// Empty: ask the metadata server.
    pub vswitches: Vec<(Option<ZoneId>, VSwitchId)>,
    /// Tag value of everything this cluster owns, and part of the user agent.
    pub cluster_id: String,
    /// The resource group for new load balancers.
    pub resource_group: Option<String>,
    pub network: Network,
    pub scheme: Scheme,
    pub endpoints: Endpoints,
    /// Ask the metadata server with a token (IMDSv2).
    pub metadata_token: bool,
}

/// Which family of API endpoints to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Endpoints inside the VPC, such as `slb-vpc.cn-hangzhou.aliyuncs.com`.
    Vpc,
    /// Endpoints on the internet.
    Public,
}

/// How the cloud's API is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Https,
    Http,
}

/// Endpoints that replace the ones worked out from region and network: `host` or `host:port`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    pub ecs: Option<String>,
    pub vpc: Option<String>,
    pub slb: Option<String>,
    pub nlb: Option<String>,
    pub sts: Option<String>,
    pub eflo: Option<String>,
    /// Base URL of the metadata server without a trailing slash; `None` is
    /// `http://100.100.100.200`.
    pub metadata: Option<String>,
}

/// Where the credentials for the cloud's API come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// The token file that an add-on of managed clusters keeps up to date.
    AddonToken(PathBuf),
    /// `accessKeyID` and `accessKeySecret` of the cloud-config file, decoded.
    File(AccessKey),
    /// A key pair in variables and, for a temporary key, its token.
    Environment(AccessKey),
    /// A key pair, or a temporary key, in a profile of the aliyun command-line tool.
    Profile(AccessKey),
    /// A role that the pod's service account may have (RRSA).
    Oidc(OidcRole),
    /// A server of the user's own.
    Uri(SecretUri),
    /// The RAM role of the instance, through the metadata server. `None`: the one that it names.
    RamRole(Option<String>),
    /// A role that is assumed with other credentials.
    AssumeRole { role: AssumedRole, with: Box<Self> },
}

/// A key pair for the cloud's API.
#[derive(Clone, Debug)]
pub struct AccessKey {
    pub id: SecretString,
    pub secret: SecretString,
    /// Only with a temporary (STS) key.
    pub token: Option<SecretString>,
}

/// A URL that may hold a secret.
#[derive(Clone, Debug)]
pub struct SecretUri(pub SecretString);

/// A RAM role and how to call the session in its audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedRole {
    /// `acs:ram::<account>:role/<name>`
    pub arn: String,
    /// 2 to 64 letters, digits and `.@-_`.
    pub session_name: String,
    /// What roles of other accounts may ask for.
    pub external_id: Option<String>,
}

/// A RAM role that a token of Kubernetes entitles to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcRole {
    pub role: AssumedRole,
    /// `acs:ram::<account>:oidc-provider/<name>`
    pub provider_arn: String,
    /// The token, which the kubelet renews.
    pub token_file: PathBuf,
}

/// Settings of the service controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Services worked on side by side, at least 1.
    pub workers: usize,
    /// What a Service without the backend-type annotation gets.
    pub backend_type: BackendType,
    /// Whether nodes of the control plane are backends.
    pub control_plane_nodes: ControlPlaneNodes,
    /// Whether nodes that are not ready are no backends even where the load balancer checks its backends.
    pub only_ready_nodes: bool,
    /// Refuse Services that ask for a classic load balancer on the internet.
    pub disable_public_slb: bool,
    /// Members changed in one call, 1..=40 (the API may allow fewer).
    pub server_group_batch: usize,
}

/// What stands behind a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendType {
    /// Instances, reached at the Service's node ports.
    Ecs,
    /// The pods' own network interfaces.
    Eni,
}

/// Whether nodes of the control plane are backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPlaneNodes {
    /// All but those with the label `node-role.kubernetes.io/master`.
    Legacy,
    /// The role makes no difference.
    Include,
    /// Those with a label of either role are none.
    Exclude,
}

/// Settings of the node controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Nodes initialised together, 1..=100.
    pub batch_size: usize,
    /// Batches worked on side by side, at least 1.
    pub workers: usize,
    /// How long to wait for more nodes after the first one of a batch.
    pub aggregation_wait: Duration,
    /// How often all nodes are looked up in the cloud: addresses, labels, shut down, gone.
    pub period: Duration,
    /// Time between the two answers of the cloud that prove an instance gone, 10 s unless a demonstration
    /// has less time.
    pub absence_confirmation: Duration,
    /// Leave the source/destination check of new nodes' network interfaces on.
    pub skip_source_dest_check: bool,
}

/// Settings of the route controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Whether pod routes are wanted at all; also decides whether a new node starts out with
    /// the condition `NetworkUnavailable=True`.
    pub configure: bool,
    /// The pods' networks: none when `configure` is off, else one, or one of each family.
    pub cluster_cidrs: Vec<IpNet>,
    /// Time between two full passes, at least a minute.
    pub period: Duration,
    /// Routes changed in one call, 1..=50.
    pub batch_size: usize,
    /// How long to wait for more nodes after the first change.
    pub aggregation_wait: Duration,
    /// The tables to keep. Empty: find the VPC's table.
    pub tables: Vec<RouteTableId>,
}

/// Leader election on a Lease, with client-go's meaning of the three times:
/// `lease_duration > renew_deadline > 1.2 × retry_period`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Without election the process acts as if it always led.
    pub elect: bool,
    pub lease_duration: Duration,
    pub renew_deadline: Duration,
    pub retry_period: Duration,
    pub namespace: String,
    pub name: String,
    /// The machine's name, first half of the identity `<hostname>_<uuid>`.
    pub hostname: String,
}

/// Plain HTTP servers, and one over TLS; `None` is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// `/healthz`, `/livez`, `/readyz`.
    pub health: Option<BindAddress>,
    /// `/metrics`.
    pub metrics: Option<BindAddress>,
    /// All of these over TLS, for callers that the API server vouches for.
    pub secure: Option<Secure>,
}

/// A server over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secure {
    pub address: BindAddress,
    /// PEM files with the chain and with the private key; `None` makes a certificate up.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Paths that are for everybody; with `*` at the end, all that begin so.
    pub open: Vec<String>,
    /// How long the API server's answers count: who calls, that they may, that they may not.
    pub identity_ttl: Duration,
    pub allowed_ttl: Duration,
    pub denied_ttl: Duration,
}

/// How the cluster's API server is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Kubernetes {
    pub kubeconfig: Option<PathBuf>,
    /// The variable `KUBECONFIG`: a path, or several joined by `:`.
    pub kubeconfig_env: Option<String>,
    /// The variable `HOME`, below which `.kube/config` is the last resort.
    pub home: Option<PathBuf>,
    /// Address of the API server in place of the one that was found.
    pub master: Option<String>,
    /// Requests a second; 0 or less is without limit.
    pub qps: f64,
    /// Requests that may go at once, at least 1.
    pub burst: u32,
}

// === impl AccessKey, SecretUri ===

// To notice that one was replaced. Who could measure the time it takes is no attacker.

impl PartialEq for AccessKey {
    fn eq(&self, other: &Self) -> bool {
        same(&self.id, &other.id)
            && same(&self.secret, &other.secret)
            && match (&self.token, &other.token) {
                (Some(token), Some(other)) => same(token, other),
                (token, other) => token.is_none() && other.is_none(),
            }
    }
}

impl Eq for AccessKey {}

impl PartialEq for SecretUri {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl Eq for SecretUri {}

fn same(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret() == other.expose_secret()
}
