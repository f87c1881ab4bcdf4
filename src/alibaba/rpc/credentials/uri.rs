//! A key from a server of the user's own.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use serde::Deserialize;
use tokio::time::timeout;

use super::{Credentials, CredentialsError, Source, issued::Issued};
use crate::{alibaba::rpc::Transport, clock::Clock};

/// Reads a URL (`ALIBABA_CLOUD_CREDENTIALS_URI`) that answers as the metadata server does about
/// a role. Wrap it in [`super::Cached`].
#[derive(Clone)]
pub struct CredentialsUri {
    url: String,
    transport: Arc<dyn Transport>,
    clock: Clock,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default, rename = "Code")]
    code: String,
    #[serde(flatten)]
    key: Issued,
}

const TIMEOUT: Duration = Duration::from_secs(10);

// === impl CredentialsUri ===

impl CredentialsUri {
    pub fn new(url: impl Into<String>, transport: Arc<dyn Transport>, clock: Clock) -> Self {
        Self { url: url.into(), transport, clock }
    }
}

#[async_trait]
impl Source for CredentialsUri {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let request =
            http::Request::get(&self.url).body(Bytes::new()).map_err(|_| failure("the URI is not valid".to_owned()))?;
        let response = timeout(TIMEOUT, self.transport.send(request))
            .await
            .map_err(|_| failure("it did not answer in time".to_owned()))?
            .map_err(|error| failure(error.to_string()))?;
        if !response.status().is_success() {
            return Err(failure(format!("it answers {}", response.status())));
        }
        // The error of the parser would quote parts of the key.
        let answer: Answer =
            serde_json::from_slice(response.body()).map_err(|_| failure("its answer is not understood".to_owned()))?;
        if answer.code != "Success" {
            return Err(failure(format!("it answers with the code {:?}", answer.code)));
        }
        answer.key.into_credentials(&self.clock).map_err(failure)
    }
}

// The URI itself may hold a secret and is not shown.
fn failure(message: String) -> CredentialsError {
    CredentialsError { origin: "the credentials URI", message }
}
