//! Makes the sources of keys that the configuration names.

use std::sync::Arc;

use secrecy::ExposeSecret;

use crate::{
    alibaba::{
        Metadata,
        rpc::{
            self, Endpoints, Limits, Policy, Transport,
            credentials::{
                AddonToken, AssumeRole, Cached, CredentialsUri, Fixed, Metrics, Oidc, OidcRole, RamRole, Source,
            },
        },
    },
    clock::Clock,
    cloud::RegionId,
    config::{AccessKey, Credentials},
    entropy::Entropy,
};

/// What sources of keys are made from.
#[derive(Clone)]
pub(super) struct Sources {
    pub(super) region: RegionId,
    pub(super) endpoints: Endpoints,
    pub(super) user_agent: String,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) metadata: Metadata,
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) calls: rpc::Metrics,
    pub(super) metrics: Metrics,
}

// === impl Sources ===

impl Sources {
    /// The source for these credentials, which says of itself what it hands out.
    pub(super) fn source(&self, credentials: &Credentials) -> Arc<dyn Source> {
        let name = credentials.to_string();
        let clock = self.clock.clone();
        let source: Arc<dyn Source> = match credentials {
            Credentials::AddonToken(path) => Arc::new(AddonToken::new(path.clone(), clock)),
            Credentials::File(key) | Credentials::Environment(key) | Credentials::Profile(key) => Arc::new(fixed(key)),
            Credentials::Oidc(oidc) => {
                let role = OidcRole {
                    role_arn: oidc.role.arn.clone(),
                    provider_arn: oidc.provider_arn.clone(),
                    token_file: oidc.token_file.clone(),
                    session_name: oidc.role.session_name.clone(),
                };
                let (region, endpoints) = (self.region.clone(), self.endpoints.clone());
                Arc::new(Oidc::new(role, region, endpoints, self.transport.clone(), clock))
            }
            Credentials::Uri(uri) => {
                Arc::new(CredentialsUri::new(uri.0.expose_secret(), self.transport.clone(), clock))
            }
            Credentials::RamRole(role) => Arc::new(RamRole::new(self.metadata.clone(), role.clone(), clock)),
            Credentials::AssumeRole { role, with } => {
                let client = self.client(self.source(with));
                let (arn, session, id) = (&role.arn, &role.session_name, role.external_id.clone());
                Arc::new(AssumeRole::new(client, arn, session, id, clock))
            }
        };
        Arc::new(Cached::new(source, self.clock.clone(), self.entropy.fork()).named(name, &self.metrics))
    }

    /// A client for STS that signs with these keys.
    fn client(&self, credentials: Arc<dyn Source>) -> rpc::Client {
        rpc::Client::new(rpc::Parts {
            region: self.region.clone(),
            endpoints: self.endpoints.clone(),
            user_agent: self.user_agent.clone(),
            limits: Limits::default(),
            policy: Policy::default(),
            transport: self.transport.clone(),
            credentials,
            clock: self.clock.clone(),
            entropy: self.entropy.fork(),
            metrics: self.calls.clone(),
        })
    }
}

fn fixed(key: &AccessKey) -> Fixed {
    let id = key.id.expose_secret();
    match &key.token {
        None => Fixed::access_key(id, key.secret.clone()),
        Some(token) => Fixed::sts(id, key.secret.clone(), token.clone()),
    }
}
