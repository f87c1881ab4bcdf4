//! Keeps a key and renews it in time.
//!
//! Renewal starts well before the expiry, so there are many chances for it, and at a moment of its
//! own in each process. While one fails the last good key is used for as long as it is valid, and
//! attempts keep a growing distance.

use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{Credentials, CredentialsError, Metrics, Source};
use crate::{clock::Clock, entropy::Entropy};

/// How long before the expiry a key is renewed, unless that is most of its life.
const AHEAD: Duration = Duration::from_secs(15 * 60);
/// Up to this much earlier, so that many processes do not ask at the same moment.
const SPREAD: Duration = Duration::from_secs(5 * 60);
/// How soon a source is asked again about a key of which it does not tell the end.
const UNDATED: Duration = Duration::from_secs(10 * 60);
/// The distance between attempts to renew, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A cache around any source.
pub struct Cached<S> {
    source: S,
    /// How the source is called in the log and in metrics.
    name: String,
    metrics: Metrics,
    clock: Clock,
    entropy: Entropy,
    state: Mutex<State>,
    /// Held by whoever is renewing, so that only one does.
    renewal: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    current: Option<Credentials>,
    /// When another key is due.
    due: Option<Instant>,
    /// The cloud refused the current key.
    refused: bool,
    /// Why the last attempt failed, and the wait after it.
    failure: Option<(CredentialsError, Duration)>,
    /// No attempt before this.
    not_before: Option<Instant>,
}

/// What to do about a request for a key.
enum Step {
    Use(Credentials),
    /// Renew; until then the old key, if any, still works.
    Renew(Option<Credentials>),
    Fail(CredentialsError),
}

// === impl Cached ===

impl<S: Source> Cached<S> {
    pub fn new(source: S, clock: Clock, entropy: Entropy) -> Self {
        Self {
            source,
            name: "credentials".to_owned(),
            metrics: Metrics::default(),
            clock,
            entropy,
            state: Mutex::new(State::default()),
            renewal: tokio::sync::Mutex::new(()),
        }
    }

    /// Says under this name which key is in use: once in the log for each new key, and in `metrics`.
    #[must_use]
    pub fn named(self, name: impl Into<String>, metrics: &Metrics) -> Self {
        Self { name: name.into(), metrics: metrics.clone(), ..self }
    }

    fn step(&self) -> Step {
        let state = self.state.lock();
        let now = self.clock.now();
        let valid = state.current.clone().filter(|key| key.expires.is_none_or(|expires| expires > now));
        let fresh = state.due.is_some_and(|due| due > Instant::now());
        let waiting = state.not_before.is_some_and(|not_before| not_before > Instant::now());
        match (valid, &state.failure) {
            (Some(key), _) if waiting || (fresh && !state.refused) => Step::Use(key),
            (None, Some((error, _))) if waiting => Step::Fail(error.clone()),
            (valid, _) => Step::Renew(valid),
        }
    }

    fn tell(&self, key: &Credentials) {
        let source = &self.name;
        if let Some(expires) = key.expires {
            info!(source, %expires, "using credentials from {source}, valid until {expires}");
        } else {
            info!(source, "using credentials from {source}, which have no end");
        }
    }

    /// How long a key is used before another is asked for.
    fn life(&self, key: &Credentials) -> Duration {
        let Some(expires) = key.expires else { return UNDATED };
        let left = Duration::try_from(expires.duration_since(self.clock.now())).unwrap_or_default();
        let ahead = AHEAD + SPREAD.mul_f64(self.entropy.fraction());
        left.saturating_sub(ahead.min(left.mul_f64(0.25 + self.entropy.fraction() / 20.0)))
    }

    async fn renew(&self) -> Result<Credentials, CredentialsError> {
        let result = self.source.credentials().await;
        let mut state = self.state.lock();
        match result {
            Ok(key) => {
                if state.failure.take().is_some() {
                    info!("credentials could be renewed again");
                }
                let same = state.current.as_ref().is_some_and(|old| old.access_key_id == key.access_key_id);
                if !same {
                    self.tell(&key);
                }
                self.metrics.asked(&self.name, "ok");
                self.metrics.in_use(&self.name, key.expires);
                state.due = Some(Instant::now() + self.life(&key));
                // A source that still hands out the same key near its end is not asked at every call.
                state.not_before = same.then(|| Instant::now() + BACKOFF.1);
                state.refused = false;
                state.current = Some(key.clone());
                Ok(key)
            }
            Err(error) => {
                let backoff = state.failure.as_ref().map_or(BACKOFF.0, |(_, backoff)| (*backoff * 2).min(BACKOFF.1));
                let expires = state.current.as_ref().and_then(|key| key.expires).map(|expires| expires.to_string());
                self.metrics.asked(&self.name, "failed");
                warn!(%error, key.expires = expires, "credentials cannot be renewed; trying again in about {backoff:?}");
                state.not_before = Some(Instant::now() + self.entropy.jitter(backoff));
                state.failure = Some((error.clone(), backoff));
                Err(error)
            }
        }
    }
}

#[async_trait]
impl<S: Source> Source for Cached<S> {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let old = match self.step() {
            Step::Use(key) => return Ok(key),
            Step::Fail(error) => return Err(error),
            Step::Renew(old) => old,
        };
        let renewal = match (self.renewal.try_lock(), old) {
            (Ok(renewal), _) => renewal,
            // Somebody else is at it, and the old key still works.
            (Err(_), Some(old)) => return Ok(old),
            (Err(_), None) => self.renewal.lock().await,
        };
        // It may have been renewed while this call waited for its turn.
        let result = match self.step() {
            Step::Use(key) => Ok(key),
            Step::Fail(error) => Err(error),
            Step::Renew(old) => match (self.renew().await, old) {
                (Err(_), Some(old)) => Ok(old),
                (result, _) => result,
            },
        };
        drop(renewal);
        result
    }

    fn rejected(&self, access_key_id: &str) {
        let mut state = self.state.lock();
        if state.current.as_ref().is_some_and(|key| key.access_key_id == access_key_id) {
            state.refused = true;
        }
        self.source.rejected(access_key_id);
    }
}

#[cfg(test)]
mod tests;
