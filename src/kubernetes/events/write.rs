//! Writes events to the API server, one after the other.

use std::time::Duration;

use k8s_openapi::{
    api::core::v1::{Event, EventSource},
    apimachinery::pkg::apis::meta::v1::{MicroTime, Time},
};
use kube::{
    Api, Client,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::{
    Recorded,
    correlate::{Correlator, Verdict, Written},
};
use crate::{clock::Clock, entropy::Entropy, kubernetes::failure};

/// How long one write may take, and how often a lost one is repeated.
const TIMEOUT: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 5;
/// How long the rest may take once the process is ending.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Where events about objects without a namespace are kept.
const DEFAULT_NAMESPACE: &str = "default";

pub(super) struct Writer {
    client: Client,
    clock: Clock,
    entropy: Entropy,
    component: String,
    correlator: Correlator,
}

/// Why a write failed.
enum Failure {
    /// The API server said no.
    Refused { code: u16, reason: String },
    /// No answer, or one that says to come back.
    Lost(String),
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(client: Client, clock: Clock, entropy: Entropy, component: String) -> Self {
        Self { client, clock, entropy, component, correlator: Correlator::default() }
    }

    pub(super) async fn run(mut self, mut waiting: mpsc::Receiver<Recorded>, cancel: CancellationToken) {
        let ending = async {
            cancel.cancelled().await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        let mut ending = std::pin::pin!(ending);
        loop {
            let next = tokio::select! {
                biased;
                () = &mut ending => return,
                event = waiting.recv() => event,
                // Nothing is waiting any more.
                () = cancel.cancelled() => return,
            };
            let Some(event) = next else { return };
            tokio::select! {
                biased;
                () = &mut ending => return,
                () = self.write(&event) => {}
            }
        }
    }

    async fn write(&mut self, event: &Recorded) {
        let (reason, kind) = (&event.reason, event.object.kind.as_deref().unwrap_or_default());
        let name = event.object.name.as_deref().unwrap_or_default();
        let mut known = match self.correlator.judge(event, Instant::now()) {
            Verdict::Create => None,
            Verdict::Raise(written) => Some(written),
            Verdict::Drop => {
                debug!(reason, "left out an event about {kind} {name}: there are too many about it");
                return;
            }
        };
        // One whose answer was lost may have been written, so another attempt has the same name.
        let fresh = self.name(event);
        for attempt in 1..=ATTEMPTS {
            let outcome = match &known {
                Some(written) => self.raise(event, written).await,
                None => self.create(event, &fresh).await,
            };
            match outcome {
                Ok(()) => return,
                // Events live for an hour unless the API server is told otherwise.
                Err(Failure::Refused { code: 404, .. }) if known.is_some() => known = None,
                Err(Failure::Refused { code: 409, .. }) if known.is_none() && attempt > 1 => {
                    self.correlator.remember(event, fresh, 1, Instant::now());
                    return;
                }
                Err(Failure::Refused { code, reason: why }) => {
                    // A namespace that is going away takes no events: nobody will look for them.
                    if code == 404 || (code == 403 && why.contains("being terminated")) {
                        debug!(reason, "the API server has no place for the event about {kind} {name}: {why}");
                    } else {
                        warn!(reason, code, "the API server refused the event {reason} about {kind} {name}: {why}");
                    }
                    return;
                }
                Err(Failure::Lost(why)) if attempt == ATTEMPTS => {
                    warn!(reason, "gave up writing the event {reason} about {kind} {name}: {why}");
                }
                Err(Failure::Lost(why)) => {
                    debug!(reason, attempt, "could not write the event {reason} about {kind} {name}: {why}");
                    let delay = self.entropy.jitter(Duration::from_secs(1) * 2u32.pow(attempt));
                    tokio::time::sleep(delay).await;
                }
            }
        }
    }

    async fn raise(&mut self, event: &Recorded, written: &Written) -> Result<(), Failure> {
        let count = written.count.saturating_add(1);
        let patch = Patch::Merge(json!({ "count": count, "lastTimestamp": Time(self.clock.now()) }));
        let (api, params) = (self.api(event), PatchParams::default());
        bounded(api.patch(&written.name, &params, &patch)).await?;
        self.correlator.remember(event, written.name.clone(), count, Instant::now());
        Ok(())
    }

    fn name(&self, event: &Recorded) -> String {
        let object = event.object.name.as_deref().unwrap_or_default();
        // A name may have 253 characters; 18 are ours.
        let stem = object.get(..235).unwrap_or(object);
        format!("{stem}.{:016x}", self.entropy.below(u64::MAX))
    }

    async fn create(&mut self, event: &Recorded, name: &str) -> Result<(), Failure> {
        let now = self.clock.now();
        let created = Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace_of(event).to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: event.object.clone(),
            type_: Some(event.kind.to_owned()),
            reason: Some(event.reason.clone()),
            message: Some(event.message.clone()),
            source: Some(EventSource { component: Some(self.component.clone()), host: None }),
            reporting_component: Some(self.component.clone()),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            count: Some(1),
            event_time: None::<MicroTime>,
            ..Event::default()
        };
        bounded(self.api(event).create(&PostParams::default(), &created)).await?;
        self.correlator.remember(event, name.to_owned(), 1, Instant::now());
        Ok(())
    }

    fn api(&self, event: &Recorded) -> Api<Event> {
        Api::namespaced(self.client.clone(), namespace_of(event))
    }
}

fn namespace_of(event: &Recorded) -> &str {
    event.object.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(DEFAULT_NAMESPACE)
}

async fn bounded<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    let outcome = tokio::time::timeout(TIMEOUT, call).await;
    let error = match outcome {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(_) => return Err(Failure::Lost(format!("no answer within {} s", TIMEOUT.as_secs()))),
    };
    let reason = failure::describe(&error);
    match failure::code(&error) {
        Some(code) if code != 429 && code < 500 => Err(Failure::Refused { code, reason }),
        _ => Err(Failure::Lost(reason)),
    }
}
