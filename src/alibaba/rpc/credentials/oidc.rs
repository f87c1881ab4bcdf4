//! A key of a role, asked for with a token that Kubernetes issued to the pod (RRSA).

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::time::timeout;

use super::{Credentials, CredentialsError, Source, issued::Issued};
use crate::{
    alibaba::rpc::{Endpoints, Params, Product, Transport, signature},
    clock::Clock,
    cloud::RegionId,
};

/// STS `AssumeRoleWithOIDC`, which is not signed: the token is the proof. Wrap it in
/// [`super::Cached`].
#[derive(Clone)]
pub struct Oidc {
    role: OidcRole,
    region: RegionId,
    endpoints: Endpoints,
    transport: Arc<dyn Transport>,
    clock: Clock,
}

/// Which role, and where the token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcRole {
    /// `ALIBABA_CLOUD_ROLE_ARN`
    pub role_arn: String,
    /// `ALIBABA_CLOUD_OIDC_PROVIDER_ARN`
    pub provider_arn: String,
    /// `ALIBABA_CLOUD_OIDC_TOKEN_FILE`; read each time, since the kubelet renews it.
    pub token_file: PathBuf,
    /// 2 to 64 characters; shows up in the role's audit log.
    pub session_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Reply {
    credentials: Option<Issued>,
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    request_id: String,
}

const TIMEOUT: Duration = Duration::from_secs(20);

// === impl Oidc ===

impl Oidc {
    pub fn new(
        role: OidcRole,
        region: RegionId,
        endpoints: Endpoints,
        transport: Arc<dyn Transport>,
        clock: Clock,
    ) -> Self {
        Self { role, region, endpoints, transport, clock }
    }

    fn request(&self, token: &SecretString) -> http::Result<http::Request<Bytes>> {
        let mut params = Params::default();
        params.set("Action", "AssumeRoleWithOIDC");
        params.set("Version", Product::Sts.version());
        params.set("Format", "JSON");
        params.set("Timestamp", self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"));
        params.set("RoleArn", &self.role.role_arn);
        params.set("OIDCProviderArn", &self.role.provider_arn);
        params.set("OIDCToken", token.expose_secret());
        params.set("RoleSessionName", &self.role.session_name);
        http::Request::post(format!("{}/", self.endpoints.url(Product::Sts, &self.region)))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(signature::encode(&params).into())
    }
}

#[async_trait]
impl Source for Oidc {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let file = self.role.token_file.display();
        let token = tokio::fs::read_to_string(&self.role.token_file)
            .await
            .map_err(|error| failure(format!("the token cannot be read from {file}: {error}")))?;
        let request = self.request(&SecretString::from(token.trim())).map_err(|error| failure(error.to_string()))?;
        let response = timeout(TIMEOUT, self.transport.send(request))
            .await
            .map_err(|_| failure("STS did not answer in time".to_owned()))?
            .map_err(|error| failure(format!("no answer from STS: {error}")))?;
        // The error of the parser would quote parts of the key.
        let reply: Reply = serde_json::from_slice(response.body())
            .map_err(|_| failure(format!("the answer of STS is not understood (status {})", response.status())))?;
        match reply.credentials {
            Some(key) => key.into_credentials(&self.clock).map_err(failure),
            None => Err(failure(format!(
                "STS refuses to hand out {}: {} (code {}, request id {})",
                self.role.role_arn, reply.message, reply.code, reply.request_id
            ))),
        }
    }
}

fn failure(message: String) -> CredentialsError {
    CredentialsError { origin: "the pod's OIDC token", message }
}
