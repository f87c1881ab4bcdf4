//! The embedded Kubernetes API: enough of a kube-apiserver for kubectl, kube-rs and this
//! controller, in memory and without a socket.
//!
//! It keeps objects, versions and history, fills in what the real server fills in, and refuses
//! what that refuses. It runs no controllers: nobody schedules pods, makes endpoints or collects
//! garbage here. It knows nothing of clouds.

mod defaults;
mod discovery;
mod event;
mod failure;
mod fault;
mod form;
mod http;
mod list;
mod name;
mod object;
mod patch;
mod resource;
mod scale;
mod schema;
mod selector;
mod service;
mod store;
mod table;
mod typed;
mod watch;
mod write;

use std::{collections::VecDeque, fmt, sync::Arc};

use ::http::{Method, header, request::Parts};
use axum::Router;
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;

pub use self::{
    failure::Failure,
    fault::{Effect, Fault},
    typed::Kind,
};
use self::{resource::find, store::Store, write::Options};
use crate::{clock::Clock, entropy::Entropy};

/// How many requests the log keeps.
const LOGGED: usize = 10_000;

/// A handle to one embedded API. Clones share everything.
#[derive(Clone)]
pub struct Kube(Arc<Shared>);

struct Shared {
    store: Mutex<Store>,
    requests: Mutex<VecDeque<Request>>,
    faults: Mutex<Vec<Fault>>,
    memory: Mutex<typed::Memory>,
    /// Counts how often all watches were closed.
    closings: tokio::sync::watch::Sender<u64>,
    clock: Clock,
}

/// One answered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub method: Method,
    /// Path without the query.
    pub path: String,
    /// Query string, empty if there was none.
    pub query: String,
    /// Status code of the answer.
    pub status: u16,
    /// The client's User-Agent header.
    pub user_agent: String,
    /// When it was answered (a watch: opened).
    pub at: Timestamp,
}

// === impl Kube ===

impl Kube {
    /// An API with the namespaces and the `kubernetes` Service that every cluster has.
    pub fn new(clock: Clock, entropy: Entropy) -> Self {
        let store = Store::new(clock.clone(), entropy);
        let kube = Self(Arc::new(Shared {
            store: Mutex::new(store),
            requests: Mutex::default(),
            faults: Mutex::default(),
            memory: Mutex::default(),
            closings: tokio::sync::watch::Sender::new(0),
            clock,
        }));
        kube.seed();
        kube
    }

    fn seed(&self) {
        let mut store = self.store();
        let mut create = |plural: &str, namespace: &str, object| {
            if let Some(resource) = find("", plural) {
                let created = store.create(resource, namespace, object, Options::default());
                debug_assert!(created.is_ok(), "{created:?}");
            }
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            create("namespaces", "", json!({ "metadata": { "name": name } }));
        }
        create(
            "services",
            "default",
            json!({
                "metadata": {
                    "name": "kubernetes", "labels": { "component": "apiserver", "provider": "kubernetes" },
                },
                "spec": {
                    "clusterIP": "10.96.0.1",
                    "ports": [{ "name": "https", "port": 443, "targetPort": 6443 }],
                },
            }),
        );
    }

    /// The API as an HTTP service. Serve it on a socket, or call it directly.
    pub fn router(&self) -> Router {
        http::router(self.clone())
    }

    /// A client that calls [`Self::router`] without a socket. Its default namespace is `default`.
    pub fn client(&self) -> ::kube::Client {
        ::kube::Client::new(self.router(), "default")
    }

    /// The latest answered requests, oldest first (at most 10,000).
    pub fn requests(&self) -> Vec<Request> {
        self.0.requests.lock().iter().cloned().collect()
    }

    /// Empties the request log.
    pub fn clear_requests(&self) {
        self.0.requests.lock().clear();
    }

    /// Lets something happen to coming requests. Faults are looked at in the order they were injected.
    pub fn inject(&self, fault: Fault) {
        self.0.faults.lock().push(fault);
    }

    /// Ends every open watch, as a restart of the API server would.
    pub fn close_watches(&self) {
        self.0.closings.send_modify(|n| *n += 1);
    }

    /// Forgets all history: open watches end with 410 Gone, and so does every watch and page that
    /// starts at a version from before.
    pub fn expire_history(&self) {
        self.store().forget();
    }

    /// Waits until `look` finds something, looking again after every change: how a test or a
    /// player of another component waits for the cluster to get somewhere.
    pub async fn until<T>(&self, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.store().subscribe();
        loop {
            changes.borrow_and_update();
            if let Some(found) = look(self) {
                return found;
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Tells of every change of any object.
    pub fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.store().subscribe()
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.store.lock()
    }

    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    fn closings(&self) -> tokio::sync::watch::Receiver<u64> {
        self.0.closings.subscribe()
    }

    fn take_fault(&self, method: &Method, path: &str) -> Option<Effect> {
        fault::take(&mut self.0.faults.lock(), method, path)
    }

    fn record(&self, parts: &Parts, status: u16) {
        let agent = parts.headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok());
        let request = Request {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            status,
            user_agent: agent.unwrap_or_default().to_owned(),
            at: self.now(),
        };
        let mut requests = self.0.requests.lock();
        requests.push_back(request);
        while requests.len() > LOGGED {
            requests.pop_front();
        }
    }
}

impl fmt::Debug for Kube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kube").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
