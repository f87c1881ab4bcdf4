//! The metadata server of an ECS instance: who and where this machine is.
//!
//! Plain text over HTTP on a link-local address. A token is fetched first and kept (the hardened
//! mode demands one); where the server has no tokens, or they cannot be had from inside a
//! container, reads go without.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, sleep, timeout};

use super::rpc::Transport;
use crate::cloud::{InstanceId, RegionId, VSwitchId, VpcId, ZoneId};

/// Where the metadata server is, unless `METADATA_ENDPOINT` says otherwise.
pub const DEFAULT_ENDPOINT: &str = "http://100.100.100.200";

/// A client of the metadata server. Clones share what was learned.
#[derive(Clone)]
pub struct Metadata(Arc<Inner>);

struct Inner {
    endpoint: String,
    transport: Arc<dyn Transport>,
    use_tokens: bool,
    token: tokio::sync::Mutex<Option<Token>>,
    /// What cannot change while the machine runs.
    facts: Mutex<BTreeMap<&'static str, String>>,
}

/// What to send with reads, until when.
#[derive(Clone)]
struct Token {
    /// `None`: read without one.
    value: Option<SecretString>,
    until: Instant,
}

/// Why an item could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    #[error("the metadata server has no {item}")]
    NotFound { item: String },
    #[error("the metadata server answered {status} about {item}")]
    Status { item: String, status: StatusCode },
    #[error("what came from the metadata server as {item} is none")]
    Malformed { item: String },
    #[error("the metadata server did not answer about {item}: {message}")]
    Unreachable { item: String, message: String },
}

/// The life of a token, the longest allowed.
const TOKEN_TTL: Duration = Duration::from_secs(21600);
/// A token is replaced this long before its end.
const TOKEN_AHEAD: Duration = Duration::from_secs(5 * 60);
/// How long reads go without a token before one is asked for again.
const TOKENLESS: Duration = Duration::from_secs(10 * 60);
const TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(200);

// === impl Metadata ===

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata").field("endpoint", &self.0.endpoint).finish_non_exhaustive()
    }
}

impl Metadata {
    /// Talks to `endpoint` (a URL without path; [`DEFAULT_ENDPOINT`]).
    pub fn new(endpoint: &str, transport: Arc<dyn Transport>) -> Self {
        Self::build(endpoint, transport, true)
    }

    /// The same, but never asks for a token.
    pub fn without_tokens(endpoint: &str, transport: Arc<dyn Transport>) -> Self {
        Self::build(endpoint, transport, false)
    }

    fn build(endpoint: &str, transport: Arc<dyn Transport>, use_tokens: bool) -> Self {
        Self(Arc::new(Inner {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            transport,
            use_tokens,
            token: tokio::sync::Mutex::new(None),
            facts: Mutex::new(BTreeMap::new()),
        }))
    }

    /// The region of this machine.
    pub async fn region(&self) -> Result<RegionId, MetadataError> {
        self.fact("region-id").await.map(RegionId::new)
    }

    /// The zone of this machine.
    pub async fn zone(&self) -> Result<ZoneId, MetadataError> {
        self.fact("zone-id").await.map(ZoneId::new)
    }

    /// The VPC of this machine.
    pub async fn vpc(&self) -> Result<VpcId, MetadataError> {
        self.fact("vpc-id").await.map(VpcId::new)
    }

    /// The vSwitch of this machine's primary interface.
    pub async fn vswitch(&self) -> Result<VSwitchId, MetadataError> {
        self.fact("vswitch-id").await.map(VSwitchId::new)
    }

    /// This machine.
    pub async fn instance(&self) -> Result<InstanceId, MetadataError> {
        self.fact("instance-id").await.map(InstanceId::new)
    }

    /// An item that never changes; asked for once.
    async fn fact(&self, item: &'static str) -> Result<String, MetadataError> {
        if let Some(known) = self.0.facts.lock().get(item) {
            return Ok(known.clone());
        }
        let value = self.name(item).await?;
        self.0.facts.lock().insert(item, value.clone());
        Ok(value)
    }

    /// An item that is an id or a name, the first one if it lists several. What cannot be one is refused: something
    /// on the way, such as a proxy, may have answered in the server's place.
    pub(super) async fn name(&self, item: &str) -> Result<String, MetadataError> {
        let text = self.get(item).await?;
        let Some(name) = text.lines().map(str::trim).find(|line| !line.is_empty()) else {
            return Err(MetadataError::NotFound { item: item.to_owned() });
        };
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            Ok(name.to_owned())
        } else {
            Err(MetadataError::Malformed { item: item.to_owned() })
        }
    }

    /// An item below `/latest/meta-data/` as it stands now. Tries four times when the server does
    /// not answer or is out of order, two seconds each.
    pub async fn get(&self, item: &str) -> Result<String, MetadataError> {
        let path = format!("/latest/meta-data/{item}");
        let mut attempt = 0;
        loop {
            attempt += 1;
            let token = self.token().await;
            let header = token.as_ref().map(|token| ("X-aliyun-ecs-metadata-token", token.expose_secret()));
            let error = match self.send(Method::GET, &path, header).await {
                Ok((status, body)) if status.is_success() => return Ok(body),
                Ok((StatusCode::NOT_FOUND, _)) => return Err(MetadataError::NotFound { item: item.to_owned() }),
                Ok((status, _)) => {
                    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                        // The token ended early, or one is needed after all.
                        *self.0.token.lock().await = None;
                    } else if !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS {
                        return Err(MetadataError::Status { item: item.to_owned(), status });
                    }
                    MetadataError::Status { item: item.to_owned(), status }
                }
                Err(message) => MetadataError::Unreachable { item: item.to_owned(), message },
            };
            if attempt == ATTEMPTS {
                return Err(error);
            }
            sleep(PAUSE).await;
        }
    }

    async fn token(&self) -> Option<SecretString> {
        if !self.0.use_tokens {
            return None;
        }
        let mut token = self.0.token.lock().await;
        if let Some(Token { value, until }) = token.as_ref()
            && *until > Instant::now()
        {
            return value.clone();
        }
        let ttl = TOKEN_TTL.as_secs().to_string();
        let header = Some(("X-aliyun-ecs-metadata-token-ttl-seconds", ttl.as_str()));
        let fresh = match self.send(Method::PUT, "/latest/api/token", header).await {
            Ok((status, body)) if status.is_success() && is_token(body.trim()) => Token {
                value: Some(SecretString::from(body.trim())),
                until: Instant::now() + TOKEN_TTL.saturating_sub(TOKEN_AHEAD),
            },
            _ => Token { value: None, until: Instant::now() + TOKENLESS },
        };
        token.insert(fresh).value.clone()
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        header: Option<(&str, &str)>,
    ) -> Result<(StatusCode, String), String> {
        let mut request = http::Request::builder().method(method).uri(format!("{}{path}", self.0.endpoint));
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(Bytes::new()).map_err(|error| error.to_string())?;
        let response = timeout(TIMEOUT, self.0.transport.send(request))
            .await
            .map_err(|_| "timed out".to_owned())?
            .map_err(|error| error.to_string())?;
        Ok((response.status(), String::from_utf8_lossy(response.body()).into_owned()))
    }
}

/// Whether it can be sent back in a header.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

// === impl MetadataError ===

impl MetadataError {
    /// Whether the server answered that there is no such item.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

#[cfg(test)]
mod tests;
