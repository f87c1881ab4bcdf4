//! Alibaba Cloud behind the [`crate::cloud`] seam.
//!
//! Typed calls and their wire types, one module a product, over [`rpc`]. Knows no Kubernetes
//! object.

mod ecs;
mod eflo;
mod lists;
pub mod metadata;
mod nlb;
pub mod rpc;
mod slb;
mod vpc;

use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell};

pub use metadata::Metadata;
pub use rpc::{EndpointOverrides, Limits, Network, Scheme};

use crate::{
    clock::Clock,
    cloud::{Class, Error, RegionId, VSwitchId, VpcId, ZoneId},
    entropy::Entropy,
};

/// Where the cluster is and how to reach the cloud.
#[derive(Clone, Debug)]
pub struct Options {
    pub region: RegionId,
    /// The cluster's VPC; if `None`, that of this machine.
    pub vpc: Option<VpcId>,
    /// The configured vSwitches; may be empty.
    pub vswitches: Vec<(Option<ZoneId>, VSwitchId)>,
    pub cluster_id: String,
    pub network: Network,
    pub endpoints: EndpointOverrides,
    pub scheme: Scheme,
    pub user_agent: String,
    pub limits: Limits,
    /// Answers what the options leave open; `None` where there is no metadata server.
    pub metadata: Option<Metadata>,
}

/// The cloud, as [`crate::cloud::CloudProvider`]. Cheap to clone.
#[derive(Clone)]
pub struct Alibaba(Arc<Inner>);

struct Inner {
    client: rpc::Client,
    vpc: OnceCell<VpcId>,
    vswitches: Vec<(Option<ZoneId>, VSwitchId)>,
    metadata: Option<Metadata>,
    /// The cloud takes one change of routes at a time in a VPC.
    route_changes: Arc<Mutex<()>>,
}

// === impl Options ===

impl Options {
    /// Defaults for everything but the region: the VPC-internal endpoints over HTTPS.
    pub fn new(region: impl Into<RegionId>) -> Self {
        Self {
            region: region.into(),
            vpc: None,
            vswitches: Vec::new(),
            cluster_id: String::new(),
            network: Network::default(),
            endpoints: EndpointOverrides::default(),
            scheme: Scheme::default(),
            user_agent: concat!("alibaba-cloud-controller-manager/", env!("CARGO_PKG_VERSION")).to_owned(),
            limits: Limits::default(),
            metadata: None,
        }
    }
}

// === impl Alibaba ===

impl Alibaba {
    pub fn new(
        options: Options,
        transport: Arc<dyn rpc::Transport>,
        credentials: Arc<dyn rpc::credentials::Source>,
        clock: Clock,
        entropy: Entropy,
        metrics: rpc::Metrics,
    ) -> Self {
        let user_agent = if options.cluster_id.is_empty() {
            options.user_agent
        } else {
            format!("{} ClusterId/{}", options.user_agent, options.cluster_id)
        };
        let client = rpc::Client::new(rpc::Parts {
            region: options.region,
            endpoints: rpc::Endpoints {
                network: options.network,
                scheme: options.scheme,
                overrides: options.endpoints,
            },
            user_agent,
            limits: options.limits,
            policy: rpc::Policy::default(),
            transport,
            credentials,
            clock,
            entropy,
            metrics,
        });
        Self::with_client(client, options.vpc, options.vswitches, options.metadata)
    }

    fn with_client(
        client: rpc::Client,
        vpc: Option<VpcId>,
        vswitches: Vec<(Option<ZoneId>, VSwitchId)>,
        metadata: Option<Metadata>,
    ) -> Self {
        Self(Arc::new(Inner {
            client,
            vpc: OnceCell::new_with(vpc),
            vswitches,
            metadata,
            route_changes: Arc::default(),
        }))
    }

    /// The cluster's VPC: as configured, or that of this machine.
    ///
    /// # Errors
    /// When it is not configured and the metadata server does not tell it.
    pub async fn vpc(&self) -> Result<VpcId, Error> {
        let ask = || async {
            let failed = |class, message| Error::new(class, "vpc-id", "the metadata server", message);
            let Some(metadata) = &self.0.metadata else {
                return Err(failed(Class::Invalid, "no VPC is configured, and there is no metadata server".to_owned()));
            };
            metadata.vpc().await.map_err(|error| failed(Class::Transient, error.to_string()))
        };
        self.0.vpc.get_or_try_init(ask).await.cloned()
    }

    /// The vSwitches to place load balancers in: as configured, or that of this machine.
    ///
    /// # Errors
    /// When none is configured and the metadata server does not tell one.
    pub async fn vswitches(&self) -> Result<Vec<(Option<ZoneId>, VSwitchId)>, Error> {
        if !self.0.vswitches.is_empty() {
            return Ok(self.0.vswitches.clone());
        }
        let failed = |class, message| Error::new(class, "vswitch-id", "the metadata server", message);
        let Some(metadata) = &self.0.metadata else {
            return Err(failed(Class::Invalid, "no vSwitch is configured, and there is no metadata server".to_owned()));
        };
        let unreached = |error: metadata::MetadataError| failed(Class::Transient, error.to_string());
        let vswitch = metadata.vswitch().await.map_err(unreached)?;
        let zone = metadata.zone().await.map_err(unreached)?;
        Ok(vec![(Some(zone), vswitch)])
    }

    fn client(&self) -> &rpc::Client {
        &self.0.client
    }
}

impl std::fmt::Debug for Alibaba {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alibaba").field("region", self.0.client.region()).finish_non_exhaustive()
    }
}
