//! A key of another role, asked for with a key that is already there.

use async_trait::async_trait;
use serde::Deserialize;

use super::{Credentials, CredentialsError, Source, issued::Issued};
use crate::{
    alibaba::rpc::{Client, Product, Request},
    clock::Clock,
};

/// STS `AssumeRole`. Wrap it in [`super::Cached`].
#[derive(Clone)]
pub struct AssumeRole {
    /// Signs with the key that may assume the role.
    client: Client,
    role_arn: String,
    session_name: String,
    external_id: Option<String>,
    clock: Clock,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Reply {
    credentials: Issued,
}

// === impl AssumeRole ===

impl AssumeRole {
    /// `session_name` has 2 to 64 characters and shows up in the role's audit log.
    pub fn new(
        client: Client,
        role_arn: impl Into<String>,
        session_name: impl Into<String>,
        external_id: Option<String>,
        clock: Clock,
    ) -> Self {
        Self { client, role_arn: role_arn.into(), session_name: session_name.into(), external_id, clock }
    }
}

#[async_trait]
impl Source for AssumeRole {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let failure = |message| CredentialsError { origin: "an assumed role", message };
        // It changes nothing, so it may be repeated.
        let request = Request::read(Product::Sts, "AssumeRole")
            .about(&self.role_arn)
            .param("RoleArn", &self.role_arn)
            .param("RoleSessionName", &self.session_name)
            .param_if("ExternalId", self.external_id.as_ref());
        let reply: Reply = self.client.call(&request).await.map_err(|error| failure(error.to_string()))?;
        reply.credentials.into_credentials(&self.clock).map_err(failure)
    }
}
