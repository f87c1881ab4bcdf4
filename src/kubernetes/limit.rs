//! Paces the calls to the API server, as client-go's QPS and burst do.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use http::Request;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};
use tower::{BoxError, Layer, Service};

/// A token bucket: `burst` calls at once, then `rate` a second. Clones share it.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// The moment at which the bucket would be full, given what was taken so far. A reservation
    /// moves it on, so that waiting calls leave in the order in which they came.
    full_at: Arc<Mutex<Instant>>,
    interval: Duration,
    burst: u32,
}

/// Lets calls through at the pace of a [`Bucket`]. Leases are never held back, because a renewal
/// that waits behind a backlog of work may come too late.
#[derive(Clone, Debug)]
pub struct LimitLayer(Bucket);

/// See [`LimitLayer`].
#[derive(Clone, Debug)]
pub struct Limited<S> {
    inner: S,
    bucket: Bucket,
}

// === impl Bucket ===

impl Bucket {
    /// `rate` in calls a second; zero or less means no limit. `burst` is at least 1.
    pub fn new(rate: f64, burst: u32) -> Self {
        let interval = if rate > 0.0 { Duration::from_secs_f64(1.0 / rate) } else { Duration::ZERO };
        Self { full_at: Arc::new(Mutex::new(Instant::now())), interval, burst: burst.max(1) }
    }

    /// Takes one token and tells when it may be used.
    fn reserve(&self) -> Instant {
        let now = Instant::now();
        let mut full_at = self.full_at.lock();
        *full_at = (*full_at).max(now) + self.interval;
        let ahead = self.interval * self.burst;
        full_at.checked_sub(ahead).map_or(now, |due| due.max(now))
    }
}

// === impl LimitLayer ===

impl LimitLayer {
    pub fn new(bucket: Bucket) -> Self {
        Self(bucket)
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited { inner, bucket: self.0.clone() }
    }
}

// === impl Limited ===

impl<S, B> Service<Request<B>> for Limited<S>
where
    S: Service<Request<B>, Error: Into<BoxError>, Response: Send + 'static, Future: Send + 'static>
        + Clone
        + Send
        + 'static,
    B: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The instance that was polled ready makes the call; its clone stays behind.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        if request.uri().path().starts_with("/apis/coordination.k8s.io/") {
            let answer = inner.call(request);
            return Box::pin(async move { answer.await.map_err(Into::into) });
        }
        let due = self.bucket.reserve();
        Box::pin(async move {
            if due > Instant::now() {
                sleep_until(due).await;
            }
            inner.call(request).await.map_err(Into::into)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let start = Instant::now();
        let limited = LimitLayer::new(Bucket::new(10.0, 3))
            .layer(service_fn(|_: Request<()>| ready(Ok::<_, BoxError>(Instant::now()))));
        let send = |path: &'static str| limited.clone().oneshot(Request::builder().uri(path).body(()).unwrap());

        let mut times = vec![];
        for answer in futures::future::join_all((0..5).map(|_| send("/api/v1/nodes"))).await {
            times.push((answer.unwrap() - start).as_millis());
        }
        assert_eq!(times, [0, 0, 0, 100, 200]);

        let lease = send("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ccm").await.unwrap();
        assert_eq!((lease - start).as_millis(), 200, "leases do not wait");

        tokio::time::sleep(Duration::from_secs(10)).await;
        let idle = Instant::now();
        for answer in futures::future::join_all((0..4).map(|_| send("/api/v1/nodes"))).await {
            times.push((answer.unwrap() - idle).as_millis());
        }
        assert_eq!(times[5..], [0, 0, 0, 100], "a long pause saves up no more than the burst");
    }
}
