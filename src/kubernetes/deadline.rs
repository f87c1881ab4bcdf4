//! Bounds every call to the API server that is not a watch.
//!
//! kube sets no overall timeout: a server that accepts a connection and never answers would hold a
//! worker for ever. Watches are long by nature; kube detects their silence itself.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use tower::{BoxError, Layer, Service};

type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The error of a call that took too long.
#[derive(Debug, thiserror::Error)]
#[error("no complete answer from the API server within {0:?}")]
pub struct Elapsed(Duration);

/// Gives each call this long to be answered, body included. A watch has this long to begin.
#[derive(Clone, Copy, Debug)]
pub struct DeadlineLayer(Duration);

/// See [`DeadlineLayer`].
#[derive(Clone, Debug)]
pub struct Bounded<S> {
    inner: S,
    limit: Duration,
}

fn is_watch<B>(request: &Request<B>) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1"))
}

// === impl DeadlineLayer ===

impl DeadlineLayer {
    pub fn new(limit: Duration) -> Self {
        Self(limit)
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Bounded<S> {
        Bounded { inner, limit: self.0 }
    }
}

// === impl Bounded ===

impl<S, B, R> Service<Request<B>> for Bounded<S>
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>, Future: Send + 'static>,
    R: BodyExt<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (limit, watch) = (self.limit, is_watch(&request));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let complete = async {
                let response = answer.await.map_err(Into::into)?;
                let (parts, body) = response.into_parts();
                let body = if watch {
                    body.map_err(Into::into).boxed_unsync()
                } else {
                    let whole = body.collect().await.map_err(Into::into)?.to_bytes();
                    Full::new(whole).map_err(|never| match never {}).boxed_unsync()
                };
                Ok(Response::from_parts(parts, body))
            };
            tokio::time::timeout(limit, complete).await.unwrap_or_else(|_| Err(Elapsed(limit).into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, stream};
    use tower::{ServiceExt, service_fn};

    use super::*;

    /// Answers with a first byte at once and a second one after a minute.
    async fn slow(_: Request<()>) -> Result<Response<axum::body::Body>, BoxError> {
        let bytes = stream::iter([0u64, 60]).then(|seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok::<_, BoxError>("x")
        });
        Ok(Response::new(axum::body::Body::from_stream(bytes)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_bounded_to_its_last_byte_and_a_watch_to_its_beginning() {
        let bounded = DeadlineLayer::new(Duration::from_secs(10)).layer(service_fn(slow));
        let send = |uri: &'static str| bounded.clone().oneshot(Request::builder().uri(uri).body(()).unwrap());

        let late = send("/api/v1/nodes?limit=500").await.unwrap_err();
        assert!(late.is::<Elapsed>(), "{late}");
        let watch = send("/api/v1/nodes?&watch=true&timeoutSeconds=290").await.unwrap();
        assert_eq!(watch.into_body().collect().await.unwrap().to_bytes(), "xx");

        let silent = DeadlineLayer::new(Duration::from_secs(10))
            .layer(service_fn(|_: Request<()>| futures::future::pending::<Result<Response<Body>, BoxError>>()));
        let stuck = silent.oneshot(Request::builder().uri("/api/v1/nodes?watch=true").body(()).unwrap()).await;
        assert!(stuck.unwrap_err().is::<Elapsed>());
    }
}
