//! How requests get to a server: one small trait, so that tests need no socket.

mod in_process;

use std::{error::Error as _, fmt::Write as _, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

pub use in_process::InProcess;

/// The longest time for one request and its answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The longest time for a connection to stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends one HTTP request. No redirects, no retries.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Any answer of the server is a success here, whatever its status.
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError>;
}

/// No answer came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// What went wrong, without any part of the URL or the body.
    pub message: String,
    pub reached: Reached,
}

/// Whether a failed request may have had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It never left: no connection stood.
    Never,
    /// It may have arrived and been carried out.
    Maybe,
}

/// HTTP(S) over the network. Honours the usual proxy variables; 20 s a request, 5 s to connect.
#[derive(Clone, Debug)]
pub struct Https(reqwest::Client);

// === impl TransportError ===

impl TransportError {
    pub fn new(message: impl Into<String>, reached: Reached) -> Self {
        Self { message: message.into(), reached }
    }
}

// === impl Https ===

impl Https {
    /// Needs the process-wide TLS provider to be installed.
    ///
    /// # Errors
    /// When the system offers no usable TLS configuration.
    pub fn new() -> Result<Self, TransportError> {
        Self::with_timeouts(TIMEOUT, CONNECT_TIMEOUT)
    }

    /// For the metadata server: plain HTTP, one hop away, never through a proxy.
    ///
    /// # Errors
    /// As [`Https::new`].
    pub fn direct() -> Result<Self, TransportError> {
        let builder = reqwest::Client::builder().no_proxy();
        Self::build(builder, Duration::from_secs(5), Duration::from_secs(2))
    }

    fn with_timeouts(total: Duration, connect: Duration) -> Result<Self, TransportError> {
        Self::build(reqwest::Client::builder(), total, connect)
    }

    fn build(builder: reqwest::ClientBuilder, total: Duration, connect: Duration) -> Result<Self, TransportError> {
        builder
            .timeout(total)
            .connect_timeout(connect)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map(Self)
            .map_err(|error| TransportError::new(describe(error), Reached::Never))
    }
}

#[async_trait]
impl Transport for Https {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let request = reqwest::Request::try_from(request)
            .map_err(|error| TransportError::new(describe(error), Reached::Never))?;
        let response = self.0.execute(request).await.map_err(|error| {
            let reached = if error.is_connect() || error.is_builder() { Reached::Never } else { Reached::Maybe };
            TransportError::new(describe(error), reached)
        })?;
        let mut answer = http::Response::builder().status(response.status());
        if let Some(headers) = answer.headers_mut() {
            *headers = response.headers().clone();
        }
        let body = response.bytes().await.map_err(|error| TransportError::new(describe(error), Reached::Maybe))?;
        answer.body(body).map_err(|error| TransportError::new(error.to_string(), Reached::Maybe))
    }
}

/// The error and its causes, without the URL: some of its callers' URLs carry secrets.
fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = if error.is_timeout() { "timed out: ".to_owned() } else { String::new() };
    let _ = write!(text, "{error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
