//! Leader election on a Lease, with client-go's semantics and timing.
//!
//! Whether another's lease has run out is judged by how long this process has seen it unchanged, on
//! the monotonic clock: the machines' wall clocks need not agree. The holder for its part stops
//! writing when its last renewal is older than the renew deadline, which is shorter than the time
//! for which others wait.

mod lease;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{coordination::v1::Lease, core::v1::ObjectReference};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{
    clock::Clock,
    entropy::Entropy,
    kubernetes::{events::Recorder, failure},
};

/// client-go adds up to this multiple of the retry period between attempts to acquire, so that
/// standby replicas do not all ask at once.
const JITTER: f64 = 1.2;
/// client-go's default for how long an expired lease may stay unnoticed by its holder before the
/// health check fails.
pub const TOLERANCE: Duration = Duration::from_secs(20);

/// Which lease, who we are, and the times.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--leader-elect-resource-namespace`.
    pub namespace: String,
    /// `--leader-elect-resource-name`.
    pub name: String,
    /// `<hostname>_<uuid>`, unlike any other replica's.
    pub identity: String,
    /// How long others wait after the last renewal they saw.
    pub lease_duration: Duration,
    /// How long the holder keeps trying to renew. Shorter than `lease_duration`.
    pub renew_deadline: Duration,
    /// Between two attempts.
    pub retry_period: Duration,
}

/// The election of one process. Clones are the same candidate.
#[derive(Clone)]
pub struct Elector(Arc<Inner>);

struct Inner {
    api: Api<Lease>,
    options: Options,
    clock: Clock,
    entropy: Entropy,
    recorder: Option<Recorder>,
    status: Option<Gauge>,
    observed: Mutex<Observed>,
    term: Arc<Mutex<Term>>,
}

/// The lease as last seen, and since when it looks like this.
#[derive(Default)]
struct Observed {
    lease: Option<(Lease, Instant)>,
}

/// Our own term of office.
#[derive(Default)]
struct Term {
    leading: bool,
    /// When the last successful renewal was sent, which is no later than the API server took it.
    renewed: Option<Instant>,
}

/// Why a term of office ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Another has the lease, or it could not be renewed in time.
    Lost,
    /// We were told to stop, and gave the lease back if we could.
    Cancelled,
}

/// The candidate was told to stop before it became leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped before becoming leader")]
pub struct Cancelled;

/// What came of one attempt.
enum Attempt {
    Ours,
    HeldBy(String),
    Failed(String),
}

// === impl Elector ===

impl Elector {
    pub fn new(client: Client, options: Options, clock: Clock, entropy: Entropy) -> Self {
        Self(Arc::new(Inner {
            api: Api::namespaced(client, &options.namespace),
            options,
            clock,
            entropy,
            recorder: None,
            status: None,
            observed: Mutex::default(),
            term: Arc::default(),
        }))
    }

    /// The same candidate that also tells of changes on the lease. To be called before it is shared.
    #[must_use]
    pub fn with_recorder(self, recorder: Recorder) -> Self {
        self.with(|inner| inner.recorder = Some(recorder))
    }

    /// The same candidate that also shows in this gauge whether it leads. To be called before it is
    /// shared.
    #[must_use]
    pub fn with_status(self, status: Gauge) -> Self {
        status.set(0);
        self.with(|inner| inner.status = Some(status))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            change(inner);
        }
        self
    }

    /// Tells whether this process may write at this moment: it leads, and its last renewal is
    /// younger than the renew deadline.
    pub fn may_write(&self) -> Arc<dyn Fn() -> bool + Send + Sync> {
        let (term, deadline) = (self.0.term.clone(), self.0.options.renew_deadline);
        Arc::new(move || {
            let term = term.lock();
            term.leading && term.renewed.is_some_and(|renewed| renewed.elapsed() < deadline)
        })
    }

    pub fn is_leader(&self) -> bool {
        self.0.term.lock().leading
    }

    /// Who holds the lease, as far as was seen.
    pub fn holder(&self) -> Option<String> {
        let observed = self.0.observed.lock();
        observed.lease.as_ref().map(|(lease, _)| lease::holder(lease).to_owned()).filter(|holder| !holder.is_empty())
    }

    /// For the liveness check: an error if this process believes to lead, but has not renewed for
    /// longer than the lease lasts and [`TOLERANCE`] besides, so that its election must be stuck.
    pub fn health(&self) -> Result<(), String> {
        let term = self.0.term.lock();
        let allowed = self.0.options.lease_duration + TOLERANCE;
        match term.renewed.filter(|_| term.leading).map(|renewed| renewed.elapsed()) {
            Some(age) if age > allowed => Err(format!("leading, but the lease was last renewed {age:.0?} ago")),
            _ => Ok(()),
        }
    }

    /// Waits until this process leads. An API server that is away is waited for.
    pub async fn acquire(&self, cancel: &CancellationToken) -> Result<(), Cancelled> {
        let Inner { options, entropy, .. } = &*self.0;
        info!(lease = self.label(), identity = options.identity, "waiting for the leader lease {}", self.label());
        let mut told = None;
        loop {
            let attempt = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Cancelled),
                attempt = self.attempt() => attempt,
            };
            let (state, failed) = match attempt {
                Attempt::Ours => {
                    self.lead(true);
                    return Ok(());
                }
                Attempt::HeldBy(holder) => (format!("the leader lease {} is held by {holder}", self.label()), false),
                Attempt::Failed(reason) => (format!("cannot get the leader lease {}: {reason}", self.label()), true),
            };
            // Once for each new state: a standby asks for days.
            if told.as_ref() != Some(&state) {
                if failed {
                    warn!("{state}; trying again");
                } else {
                    info!("{state}");
                }
                told = Some(state);
            }
            let pause = options.retry_period.mul_f64(1.0 + JITTER * entropy.fraction());
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Cancelled),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Renews the lease until it is lost or `cancel` asks to stop; then gives it back, so that a
    /// standby need not wait for it to run out. Whoever writes must have stopped before `cancel`.
    pub async fn hold(&self, cancel: &CancellationToken) -> Ended {
        let ended = self.renew(cancel).await;
        self.lead(false);
        if ended == Ended::Cancelled {
            self.release().await;
        }
        ended
    }

    async fn renew(&self, cancel: &CancellationToken) -> Ended {
        let options = &self.0.options;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ended::Cancelled,
                () = tokio::time::sleep(options.retry_period) => {}
            }
            let Some(renewed) = self.0.term.lock().renewed else { return Ended::Lost };
            let deadline = renewed + options.renew_deadline;
            let attempt = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ended::Cancelled,
                () = tokio::time::sleep_until(deadline) => {
                    Attempt::Failed(format!("not renewed within {:?}", options.renew_deadline))
                }
                attempt = self.attempt() => attempt,
            };
            match attempt {
                Attempt::Ours => {}
                Attempt::HeldBy(holder) => {
                    warn!(holder, "lost the leader lease {} to {holder}", self.label());
                    return Ended::Lost;
                }
                Attempt::Failed(reason) if Instant::now() >= deadline => {
                    warn!(reason, "lost the leader lease {}: {reason}", self.label());
                    return Ended::Lost;
                }
                Attempt::Failed(reason) => {
                    warn!(reason, "cannot renew the leader lease {}: {reason}; trying again", self.label());
                }
            }
        }
    }

    /// One attempt to acquire or renew.
    async fn attempt(&self) -> Attempt {
        let Inner { api, options, clock, term, .. } = &*self.0;
        let sent = Instant::now();
        // A leader knows what it wrote last, version included, and need not read it again.
        let known = self.0.observed.lock().lease.as_ref().map(|(lease, _)| lease.clone());
        let current = match known.filter(|lease| self.is_leader() && lease::holder(lease) == options.identity) {
            Some(lease) => Some(lease),
            None => match self.bounded(api.get_opt(&options.name)).await {
                Ok(found) => found,
                Err(reason) => return Attempt::Failed(reason),
            },
        };
        let Some(current) = current else {
            let fresh = Lease {
                metadata: ObjectMeta {
                    name: Some(options.name.clone()),
                    namespace: Some(options.namespace.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(lease::taken(None, options, clock.now())),
            };
            return self.write(api.create(&PostParams::default(), &fresh), sent).await;
        };
        let unchanged_since = self.observe(&current);
        let holder = lease::holder(&current);
        if holder != options.identity && !holder.is_empty() && unchanged_since + lease::duration(&current) > sent {
            return Attempt::HeldBy(holder.to_owned());
        }
        let wanted = Lease { spec: Some(lease::taken(current.spec.as_ref(), options, clock.now())), ..current.clone() };
        let attempt = self.write(api.replace(&options.name, &PostParams::default(), &wanted), sent).await;
        if matches!(attempt, Attempt::Failed(_)) && term.lock().leading {
            // Our knowledge of its version may be out of date: read it next time.
            self.forget();
        }
        attempt
    }

    async fn write(&self, call: impl Future<Output = kube::Result<Lease>>, sent: Instant) -> Attempt {
        match self.bounded(call).await {
            Ok(lease) => {
                self.observe(&lease);
                self.0.term.lock().renewed = Some(sent);
                Attempt::Ours
            }
            Err(reason) => Attempt::Failed(reason),
        }
    }

    /// Notes the lease as seen; since when it has looked like this.
    fn observe(&self, seen: &Lease) -> Instant {
        let mut observed = self.0.observed.lock();
        let since = match &observed.lease {
            Some((before, since)) if before.spec == seen.spec => *since,
            _ => Instant::now(),
        };
        observed.lease = Some((seen.clone(), since));
        since
    }

    fn forget(&self) {
        self.0.observed.lock().lease = None;
    }

    /// No call may take longer than until the deadline would be missed with another attempt.
    async fn bounded<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
        let limit = (self.0.options.renew_deadline / 2).max(Duration::from_secs(1));
        match tokio::time::timeout(limit, call).await {
            Ok(outcome) => outcome.map_err(|error| failure::describe(&error)),
            Err(_) => Err(format!("no answer from the API server within {limit:?}")),
        }
    }

    fn lead(&self, leading: bool) {
        let Inner { options, recorder, status, term, .. } = &*self.0;
        {
            let mut term = term.lock();
            term.leading = leading;
            if !leading {
                term.renewed = None;
            }
        }
        if let Some(status) = status {
            status.set(i64::from(leading));
        }
        let did = if leading { "became leader" } else { "stopped leading" };
        info!(lease = self.label(), identity = options.identity, "{} {did}", options.identity);
        if let Some(recorder) = recorder {
            recorder.normal(&self.reference(), "LeaderElection", format!("{} {did}", options.identity));
        }
    }

    async fn release(&self) {
        // A renewal that was cut short may have changed the version that we know: then read it.
        let known = self.0.observed.lock().lease.as_ref().map(|(lease, _)| lease.clone());
        let outcome = match known {
            Some(lease) => self.give_back(lease).await,
            None => Err("its version is not known".to_owned()),
        };
        let outcome = match outcome {
            Err(_) => match self.bounded(self.0.api.get_opt(&self.0.options.name)).await {
                Ok(Some(lease)) => self.give_back(lease).await,
                Ok(None) => Ok(()),
                Err(reason) => Err(reason),
            },
            done => done,
        };
        match outcome {
            Ok(()) => debug!("gave back the leader lease {}", self.label()),
            Err(reason) => warn!(reason, "could not give back the leader lease {}: {reason}", self.label()),
        }
    }

    /// Does nothing to a lease that is another's by now.
    async fn give_back(&self, lease: Lease) -> Result<(), String> {
        let Inner { api, options, clock, .. } = &*self.0;
        if lease::holder(&lease) != options.identity {
            return Ok(());
        }
        let released = Lease { spec: Some(lease::released(lease.spec.as_ref(), clock.now())), ..lease };
        let written = self.bounded(api.replace(&options.name, &PostParams::default(), &released)).await?;
        self.observe(&written);
        Ok(())
    }

    fn label(&self) -> String {
        format!("{}/{}", self.0.options.namespace, self.0.options.name)
    }

    fn reference(&self) -> ObjectReference {
        let observed = self.0.observed.lock();
        ObjectReference {
            api_version: Some("coordination.k8s.io/v1".to_owned()),
            kind: Some("Lease".to_owned()),
            namespace: Some(self.0.options.namespace.clone()),
            name: Some(self.0.options.name.clone()),
            uid: observed.lease.as_ref().and_then(|(lease, _)| lease.metadata.uid.clone()),
            ..ObjectReference::default()
        }
    }
}

#[cfg(test)]
mod tests;
