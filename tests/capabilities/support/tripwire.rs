//! Stands between a controller and both APIs, counts its calls, and makes one of them the last, or
//! the one whose answer nobody hears.
//!
//! Reads and writes of the cloud count, and writes of Services; events, leases and what the
//! cluster's watches bring do not.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::{
    alibaba::rpc::{InProcess, Reached, Transport, TransportError},
    sim::kube::Kube,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tower::ServiceExt;

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The process dies before the call has an effect.
    DiesBefore,
    /// The call has its effect, and the process dies before it hears of it.
    DiesAfter,
    /// The call has its effect, and its answer is lost; the process lives.
    GoesUnheard,
}

/// The wire. Clones are the same one.
#[derive(Clone)]
pub struct Tripwire(Arc<Inner>);

struct Inner {
    cloud: InProcess,
    kube: Kube,
    fate: Mutex<Option<(usize, Fate)>>,
    /// The action of the cloud that is the last one, once it had its effect.
    last: Mutex<Option<String>>,
    calls: AtomicUsize,
    dead: AtomicBool,
    died: Notify,
}

// === impl Tripwire ===

impl Tripwire {
    pub fn new(cloud: axum::Router, kube: Kube) -> Self {
        Self(Arc::new(Inner {
            cloud: InProcess::new(cloud),
            kube,
            fate: Mutex::default(),
            last: Mutex::default(),
            calls: AtomicUsize::default(),
            dead: AtomicBool::default(),
            died: Notify::new(),
        }))
    }

    /// Counts from now on; the call with this number, from 0, meets its fate.
    pub fn arm(&self, fate: Option<(usize, Fate)>) {
        *self.0.fate.lock() = fate;
        self.0.calls.store(0, Ordering::Relaxed);
    }

    /// The process dies after its first call with this action, such as `CreateSecurityGroup`, had its effect.
    pub fn dies_after(&self, action: &str) {
        *self.0.last.lock() = Some(format!("Action={action}&"));
    }

    /// The calls since it was armed.
    pub fn calls(&self) -> usize {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// Waits until the process has to be killed.
    pub async fn died(&self) {
        self.0.died.notified().await;
    }

    /// The way to the API server.
    pub fn client(&self) -> kube::Client {
        let (this, router) = (self.clone(), self.0.kube.router());
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (this, router) = (this.clone(), router.clone());
            async move {
                let counts = *request.method() != http::Method::GET && request.uri().path().contains("/services/");
                let fate = if counts { this.arrives().await } else { None };
                let Ok(answer) = router.oneshot(request).await;
                if this.has_effect(fate).await {
                    return Err(std::io::Error::new(std::io::ErrorKind::ConnectionReset, "the answer was lost"));
                }
                Ok(answer)
            }
        });
        kube::Client::new(service, "default")
    }

    /// Before a call has an effect.
    async fn arrives(&self) -> Option<Fate> {
        self.end_if_dead().await;
        let number = self.0.calls.fetch_add(1, Ordering::Relaxed);
        let fate = self.0.fate.lock().filter(|(at, _)| *at == number).map(|(_, fate)| fate);
        if fate == Some(Fate::DiesBefore) {
            self.die().await;
        }
        fate
    }

    /// After a call had its effect; whether its answer is lost.
    async fn has_effect(&self, fate: Option<Fate>) -> bool {
        if fate == Some(Fate::DiesAfter) {
            self.die().await;
        }
        self.end_if_dead().await;
        fate == Some(Fate::GoesUnheard)
    }

    async fn die(&self) {
        self.0.dead.store(true, Ordering::Relaxed);
        self.0.died.notify_one();
        std::future::pending::<()>().await;
    }

    /// A dead process calls nobody.
    async fn end_if_dead(&self) {
        if self.0.dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl Transport for Tripwire {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let mut fate = self.arrives().await;
        let body = String::from_utf8_lossy(request.body()).into_owned() + "&";
        if self.0.last.lock().as_ref().is_some_and(|action| body.contains(action)) {
            fate = Some(Fate::DiesAfter);
        }
        let answer = self.0.cloud.send(request).await;
        if self.has_effect(fate).await {
            return Err(TransportError::new("the answer was lost", Reached::Maybe));
        }
        answer
    }
}
