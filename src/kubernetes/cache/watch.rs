//! Keeps one store current: lists, watches, and starts over when the server says so.

use std::{fmt::Debug, pin::pin, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Resource,
    runtime::watcher::{self, Event},
};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{Store, Trim};
use crate::{entropy::Entropy, kubernetes::failure};

const FIRST_DELAY: Duration = Duration::from_millis(500);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// A failure this long after the last one starts the backoff anew.
const CALM: Duration = Duration::from_secs(120);

/// Grows with each failure in a row.
struct Backoff {
    next: Duration,
    last: Option<Instant>,
    entropy: Entropy,
}

/// Follows a kind until cancelled.
pub(super) async fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    store: &Store<K>,
    entropy: Entropy,
    cancel: &CancellationToken,
) where
    K: Resource<DynamicType = ()> + Trim + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let kind = K::kind(&());
    let mut events = pin!(watcher::watcher(api, config));
    let mut backoff = Backoff { next: FIRST_DELAY, last: None, entropy };
    let mut listed = Vec::new();
    loop {
        let event = tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            event = events.next() => event,
        };
        match event {
            // The watcher's stream has no end of its own.
            None => return,
            Some(Ok(Event::Init)) => listed.clear(),
            Some(Ok(Event::InitApply(mut object))) => {
                // Not only when the list is complete: until then all of it would be there in full.
                object.trim();
                listed.push(object);
            }
            Some(Ok(Event::InitDone)) => {
                let count = listed.len();
                if !store.is_synced() {
                    info!(%kind, count, "listed all {kind} objects");
                }
                store.replace(std::mem::take(&mut listed));
                backoff.reset();
            }
            Some(Ok(Event::Apply(object))) => {
                store.apply(object);
                backoff.reset();
            }
            Some(Ok(Event::Delete(object))) => {
                store.remove(&object);
                backoff.reset();
            }
            Some(Err(error)) if is_expired(&error) => {
                debug!(%kind, "the watch of {kind} objects fell behind; listing them again");
            }
            Some(Err(error)) => {
                let delay = backoff.step();
                let reason = describe(&error);
                warn!(%kind, reason, delay_ms = delay.as_millis(), "cannot watch {kind} objects, trying again in {delay:.1?}");
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(delay) => {}
                }
            }
        }
    }
}

/// 410 Gone: the version we stopped at is not in the server's log any more. Part of normal life.
fn is_expired(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchError(status) => status.code == 410,
        watcher::Error::WatchStartFailed(error) => failure::code(error) == Some(410),
        _ => false,
    }
}

fn describe(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            let reason = failure::describe(error);
            match failure::code(error) {
                Some(403) => format!("{reason}; grant it to this account, as the ClusterRole in deploy/ does"),
                Some(401) => format!("{reason}; the API server does not accept our credentials"),
                _ => reason,
            }
        }
        watcher::Error::WatchError(status) => format!("{} (HTTP {})", status.message, status.code),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

// === impl Backoff ===

impl Backoff {
    fn reset(&mut self) {
        self.next = FIRST_DELAY;
    }

    fn step(&mut self) -> Duration {
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last > CALM) {
            self.reset();
        }
        self.last = Some(now);
        let delay = self.entropy.jitter(self.next);
        self.next = (self.next * 2).min(LONGEST_DELAY);
        delay
    }
}
