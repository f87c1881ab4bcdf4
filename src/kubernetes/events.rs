//! Tells users what happened to their objects, as core/v1 Events.
//!
//! Like client-go's recorder: the same thing again raises a count instead of making a new Event,
//! and an object about which too much is said is cut short. Recording never blocks and never fails
//! the work it tells about.

mod correlate;
mod write;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::{clock::Clock, entropy::Entropy};

/// Events that wait to be written. More than that are dropped: they come faster than the API server
/// takes them.
const WAITING: usize = 1000;
/// The API server refuses longer messages (`note` of events.k8s.io/v1).
const LONGEST_MESSAGE: usize = 1024;

/// Records events. Clones share the queue.
#[derive(Clone)]
pub struct Recorder(Sink);

#[derive(Clone)]
enum Sink {
    Server(mpsc::Sender<Recorded>),
    Memory(Arc<Mutex<Vec<Recorded>>>),
}

/// One thing that was told.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// `Normal` or `Warning`.
    pub kind: &'static str,
    pub object: ObjectReference,
    /// A word in CamelCase that programs may look for.
    pub reason: String,
    /// A sentence for people, at most 1024 bytes.
    pub message: String,
}

/// What an Event says it is about: with the object's real apiVersion, kind and uid, by which
/// `kubectl describe` finds it.
pub fn reference_of<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    object.object_ref(&())
}

/// Cuts a message at a character boundary so that it fits.
fn shorten(mut message: String) -> String {
    const MARK: &str = "...";
    if message.len() > LONGEST_MESSAGE {
        let mut end = LONGEST_MESSAGE - MARK.len();
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push_str(MARK);
    }
    message
}

// === impl Recorder ===

impl Recorder {
    /// Writes to the API server under the name of `component`, from a task of its own. After `cancel`
    /// what is waiting is still written, for at most a few seconds: see [`Recorder::closed`]. Cancel
    /// after those who have something to tell have ended.
    pub fn new(
        client: Client,
        clock: Clock,
        entropy: Entropy,
        component: impl Into<String>,
        cancel: CancellationToken,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let writer = write::Writer::new(client, clock, entropy, component.into());
        tokio::spawn(writer.run(receiver, cancel));
        Self(Sink::Server(sender))
    }

    /// Keeps what is told in memory, for [`Recorder::recorded`].
    pub fn in_memory() -> Self {
        Self(Sink::Memory(Arc::default()))
    }

    /// As [`Recorder::in_memory`].
    pub fn for_test() -> Self {
        Self::in_memory()
    }

    /// Something went as it should.
    pub fn normal(&self, object: &ObjectReference, reason: &str, message: impl Into<String>) {
        self.record("Normal", object, reason, message.into());
    }

    /// Something needs the user's attention.
    pub fn warning(&self, object: &ObjectReference, reason: &str, message: impl Into<String>) {
        self.record("Warning", object, reason, message.into());
    }

    /// What a [`Recorder::for_test`] was told so far; nothing otherwise.
    pub fn recorded(&self) -> Vec<Recorded> {
        match &self.0 {
            Sink::Memory(recorded) => recorded.lock().clone(),
            Sink::Server(_) => Vec::new(),
        }
    }

    /// Waits until everything told before `cancel` is written, or the time for it is over. Returns at
    /// once from a [`Recorder::for_test`].
    pub async fn closed(&self) {
        if let Sink::Server(sender) = &self.0 {
            sender.closed().await;
        }
    }

    fn record(&self, kind: &'static str, object: &ObjectReference, reason: &str, message: String) {
        let recorded = Recorded { kind, object: object.clone(), reason: reason.to_owned(), message: shorten(message) };
        match &self.0 {
            Sink::Memory(all) => all.lock().push(recorded),
            Sink::Server(sender) => {
                if sender.try_send(recorded).is_err() {
                    debug!(reason, "dropped an event: {WAITING} are waiting already, or this process is ending");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
