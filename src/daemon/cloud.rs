//! Connects to the cloud: credentials, facts, client, decorators.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Daemon, credentials::Sources, facts, facts::Facts};
use crate::{
    alibaba::{
        self, Alibaba, Metadata,
        metadata::DEFAULT_ENDPOINT,
        rpc::{self, credentials::Replaceable},
    },
    cloud::CloudProvider,
    config::{self, Config, build_info},
};

/// The cloud and what is known of the cluster's place in it.
pub(super) struct Connected {
    pub(super) cloud: Arc<dyn CloudProvider>,
    pub(super) facts: Facts,
    credentials: Replaceable,
    sources: Sources,
}

// === impl Connected ===

impl Connected {
    /// Uses other credentials from the next call on.
    pub(super) fn replace_credentials(&self, credentials: &config::Credentials) {
        self.sources.metrics.forget();
        self.credentials.replace(self.sources.source(credentials));
    }
}

impl Connected {
    /// Returns when more is known of where the cluster is than at the start.
    pub(super) async fn more_facts(&self) {
        facts::missing_vswitch(&self.facts, &self.sources.metadata, &self.sources.entropy).await;
    }
}

// === impl Daemon ===

impl Daemon {
    /// Gets everything ready to call the cloud; `None` when asked to stop before.
    pub(super) async fn connect_cloud(&self, all: &Config, stop: &CancellationToken) -> Option<Connected> {
        let config = &all.cloud;
        let endpoint = config.endpoints.metadata.as_deref().unwrap_or(DEFAULT_ENDPOINT);
        let metadata = if config.metadata_token {
            Metadata::new(endpoint, self.metadata.clone())
        } else {
            Metadata::without_tokens(endpoint, self.metadata.clone())
        };
        let facts = facts::find(all, &metadata, &self.entropy, stop).await?;
        let endpoints = rpc::Endpoints {
            network: match config.network {
                config::Network::Vpc => rpc::Network::Vpc,
                config::Network::Public => rpc::Network::Public,
            },
            scheme: match config.scheme {
                config::Scheme::Https => rpc::Scheme::Https,
                config::Scheme::Http => rpc::Scheme::Http,
            },
            overrides: rpc::EndpointOverrides {
                ecs: config.endpoints.ecs.clone(),
                vpc: config.endpoints.vpc.clone(),
                slb: config.endpoints.slb.clone(),
                nlb: config.endpoints.nlb.clone(),
                sts: config.endpoints.sts.clone(),
                eflo: config.endpoints.eflo.clone(),
            },
        };
        let options = alibaba::Options {
            vpc: Some(facts.vpc.clone()),
            vswitches: config.vswitches.clone(),
            cluster_id: config.cluster_id.clone(),
            network: endpoints.network,
            endpoints: endpoints.overrides.clone(),
            scheme: endpoints.scheme,
            // The middle part is what the released controller is known by in the cloud's logs.
            user_agent: format!("alibaba-cloud-controller-manager/{0} ack.ccm/{0}", build_info::VERSION),
            limits: self.limits,
            metadata: Some(metadata.clone()),
            ..alibaba::Options::new(facts.region.clone())
        };
        let sources = Sources {
            region: facts.region.clone(),
            endpoints,
            user_agent: options.user_agent.clone(),
            transport: self.transport.clone(),
            metadata,
            clock: self.clock.clone(),
            entropy: self.entropy.fork(),
            calls: self.calls.clone(),
            metrics: self.keys.clone(),
        };
        let credentials = Replaceable::new(sources.source(&all.credentials));
        let (clock, entropy) = (self.clock.clone(), self.entropy.fork());
        let (transport, source) = (self.transport.clone(), Arc::new(credentials.clone()));
        let alibaba = Alibaba::new(options, transport, source, clock, entropy, self.calls.clone());
        Some(Connected { cloud: Arc::new(alibaba), facts, credentials, sources })
    }
}
