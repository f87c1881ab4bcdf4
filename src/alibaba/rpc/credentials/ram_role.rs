//! The key of the RAM role attached to this machine.

use async_trait::async_trait;
use serde::Deserialize;

use super::{Credentials, CredentialsError, Source, issued::Issued};
use crate::{alibaba::metadata::Metadata, clock::Clock};

/// Asks the metadata server (`ram/security-credentials/<role>`). Wrap it in [`super::Cached`].
#[derive(Clone, Debug)]
pub struct RamRole {
    metadata: Metadata,
    /// `None`: the one that the metadata server names.
    role: Option<String>,
    clock: Clock,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default, rename = "Code")]
    code: String,
    #[serde(flatten)]
    key: Issued,
}

const ORIGIN: &str = "the RAM role of this instance";

// === impl RamRole ===

impl RamRole {
    pub fn new(metadata: Metadata, role: Option<String>, clock: Clock) -> Self {
        Self { metadata, role, clock }
    }

    async fn role(&self) -> Result<String, CredentialsError> {
        if let Some(role) = &self.role {
            return Ok(role.clone());
        }
        self.metadata.name("ram/security-credentials/").await.map_err(|error| {
            if error.is_not_found() {
                failure("no RAM role is attached to it; attach one, or configure an access key")
            } else {
                failure(error.to_string())
            }
        })
    }
}

#[async_trait]
impl Source for RamRole {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let role = self.role().await?;
        let text = self
            .metadata
            .get(&format!("ram/security-credentials/{role}"))
            .await
            .map_err(|error| failure(error.to_string()))?;
        // The error of the parser would quote parts of the key.
        let answer: Answer = serde_json::from_str(&text)
            .map_err(|_| failure(format!("the answer about role {role} is not understood")))?;
        if answer.code != "Success" {
            return Err(failure(format!("the metadata server answers {:?} about role {role}", answer.code)));
        }
        answer.key.into_credentials(&self.clock).map_err(|message| failure(format!("role {role}: {message}")))
    }
}

fn failure(message: impl Into<String>) -> CredentialsError {
    CredentialsError { origin: ORIGIN, message: message.into() }
}
