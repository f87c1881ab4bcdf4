//! A layer for the Kubernetes client that lets changes through only while this process leads.
//!
//! A leader that was stopped and woken again may still hold work in its hands when another replica
//! has taken over. Leases pass, because renewing is how one finds out; events pass, because they
//! only tell what happened.

use std::{
    future::ready,
    sync::Arc,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use http::{Method, Request};
use tower::{BoxError, Layer, Service};

/// Tells whether this process may write at this moment.
pub type MayWrite = Arc<dyn Fn() -> bool + Send + Sync>;

/// The error of a change that was not sent.
#[derive(Debug, thiserror::Error)]
#[error("{method} {path} was not sent: this replica does not hold the leader lease any more")]
pub struct NotLeader {
    method: Method,
    path: String,
}

/// Makes [`Fenced`] services.
#[derive(Clone)]
pub struct FenceLayer(MayWrite);

/// A service that refuses changes while it may not write.
#[derive(Clone)]
pub struct Fenced<S> {
    inner: S,
    may_write: MayWrite,
}

/// Whether a request changes something that only the leader may change.
fn is_fenced<B>(request: &Request<B>) -> bool {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
        return false;
    }
    let path = request.uri().path();
    // /apis/coordination.k8s.io/v1/namespaces/<ns>/leases/<name>, /api/v1/namespaces/<ns>/events/<name>
    let resource = path.split('/').nth(if path.starts_with("/apis/") { 6 } else { 5 });
    let exempt = (path.starts_with("/apis/coordination.k8s.io/") && resource == Some("leases"))
        || (path.starts_with("/api/v1/") && resource == Some("events"));
    !exempt
}

// === impl FenceLayer ===

impl FenceLayer {
    pub fn new(may_write: MayWrite) -> Self {
        Self(may_write)
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = Fenced<S>;

    fn layer(&self, inner: S) -> Fenced<S> {
        Fenced { inner, may_write: self.0.clone() }
    }
}

// === impl Fenced ===

impl<S, B> Service<Request<B>> for Fenced<S>
where
    S: Service<Request<B>>,
    S::Response: Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if is_fenced(&request) && !(self.may_write)() {
            let refused = NotLeader { method: request.method().clone(), path: request.uri().path().to_owned() };
            return Box::pin(ready(Err(refused.into())));
        }
        let answer = self.inner.call(request);
        Box::pin(async move { answer.await.map_err(Into::into) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test]
    async fn only_reads_leases_and_events_pass_without_the_lease() {
        let leads = Arc::new(AtomicBool::new(false));
        let passed = Arc::new(AtomicUsize::new(0));
        let (leads_now, counted) = (leads.clone(), passed.clone());
        let fenced = FenceLayer::new(Arc::new(move || leads_now.load(Ordering::Relaxed))).layer(service_fn(
            move |_: Request<()>| {
                counted.fetch_add(1, Ordering::Relaxed);
                ready(Ok::<_, BoxError>(()))
            },
        ));
        let send = |method: Method, path: &'static str| {
            fenced.clone().oneshot(Request::builder().method(method).uri(path).body(()).unwrap())
        };
        let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ccm";
        let node = "/api/v1/nodes/n1";

        send(Method::GET, node).await.unwrap();
        send(Method::PUT, lease).await.unwrap();
        send(Method::POST, "/api/v1/namespaces/default/events").await.unwrap();
        assert_eq!(passed.load(Ordering::Relaxed), 3);

        for (method, path) in [
            (Method::PATCH, node),
            (Method::DELETE, node),
            (Method::PATCH, "/api/v1/namespaces/leases/services/leases/status"),
            (Method::PUT, "/api/v1/namespaces/default/services/event"),
        ] {
            let refused = send(method, path).await.unwrap_err();
            assert!(refused.to_string().contains("does not hold the leader lease"), "{path}: {refused}");
        }
        assert_eq!(passed.load(Ordering::Relaxed), 3, "a refused change is not sent");

        leads.store(true, Ordering::Relaxed);
        send(Method::PATCH, node).await.unwrap();
        assert_eq!(passed.load(Ordering::Relaxed), 4);
    }
}
