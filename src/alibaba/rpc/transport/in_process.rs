//! Requests to a server in the same process, without a socket.

use async_trait::async_trait;
use axum::{Router, body::Body};
use bytes::Bytes;
use http::header::HOST;
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::{Reached, Transport, TransportError};

/// Hands requests to a router. An answer whose body breaks off stands for a broken connection.
#[derive(Clone, Debug)]
pub struct InProcess(Router);

// === impl InProcess ===

impl InProcess {
    pub fn new(router: Router) -> Self {
        Self(router)
    }
}

#[async_trait]
impl Transport for InProcess {
    async fn send(&self, mut request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        // As a client on a connection would.
        let host = request.uri().authority().and_then(|authority| authority.as_str().parse().ok());
        if let Some(host) = host {
            request.headers_mut().insert(HOST, host);
        }
        let response = match self.0.clone().oneshot(request.map(Body::from)).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let (head, body) = response.into_parts();
        match body.collect().await {
            Ok(body) => Ok(http::Response::from_parts(head, body.to_bytes())),
            Err(error) => Err(TransportError::new(format!("the answer broke off: {error}"), Reached::Maybe)),
        }
    }
}
