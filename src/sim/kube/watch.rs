//! Watches: one JSON object a line, from a version on, until the time is up.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use bytes::Bytes;
use futures::Stream;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    Kube,
    failure::{Cause, Failure},
    form::Form,
    list::Query,
    object,
    resource::Resource,
    selector::Selector,
    write::shown,
};

/// How long a watch lasts when the client names no time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How often a watch without news tells how far it is.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);

/// One open watch.
pub(super) struct Watch {
    kube: Kube,
    resource: &'static Resource,
    namespace: Option<String>,
    selector: Selector,
    form: Form,
    /// Everything up to this revision has been sent.
    seen: u64,
    frames: VecDeque<Bytes>,
    changed: watch::Receiver<u64>,
    closed: watch::Receiver<u64>,
    ends: Instant,
    /// When the next bookmark is due; none if the client does not want any.
    bookmark: Option<Instant>,
    over: bool,
}

// === impl Watch ===

impl Watch {
    /// Opens a watch; refuses a query that makes no sense.
    pub(super) fn open(
        kube: &Kube,
        resource: &'static Resource,
        namespace: Option<&str>,
        query: &Query,
        form: Form,
    ) -> Result<Self, Failure> {
        let selector = query.selector(resource)?;
        let timeout = query.number("timeoutSeconds")?.filter(|s| *s > 0).map_or(DEFAULT_TIMEOUT, Duration::from_secs);
        let asked = query.number("resourceVersion")?.filter(|v| *v > 0);
        let initial = query.flag("sendInitialEvents");
        if !query.text("sendInitialEvents").is_empty() && query.text("resourceVersionMatch") != "NotOlderThan" {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            return Err(Failure::invalid(resource, "", &[Cause::forbidden("resourceVersionMatch", detail)]));
        }
        let now = Instant::now();
        let store = kube.store();
        let mut watch = Self {
            kube: kube.clone(),
            resource,
            namespace: namespace.map(str::to_owned),
            selector,
            form,
            seen: asked.unwrap_or_else(|| store.revision()),
            frames: VecDeque::new(),
            changed: store.subscribe(),
            closed: kube.closings(),
            ends: now + timeout,
            bookmark: query.flag("allowWatchBookmarks").then(|| now + BOOKMARK_PERIOD),
            over: false,
        };
        // Without a version (or with 0) a watch starts with what exists.
        if initial || (asked.is_none() && query.text("sendInitialEvents").is_empty()) {
            watch.seen = store.revision();
            for (_, object) in store.select(resource.stored(), namespace).filter(|(_, o)| watch.selector.matches(o)) {
                watch.frames.push_back(watch.frame("ADDED", object));
            }
            if initial && watch.bookmark.is_some() {
                watch.push_bookmark(true);
            }
        }
        drop(store);
        Ok(watch)
    }

    /// The body of the answer.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        futures::stream::unfold(self, Self::step)
    }

    async fn step(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some((Ok(frame), self));
            }
            if self.over {
                return None;
            }
            self.collect();
            if !self.frames.is_empty() {
                continue;
            }
            let bookmark = self.bookmark;
            tokio::select! {
                biased;
                _ = self.closed.changed() => return None,
                changed = self.changed.changed() => {
                    if changed.is_err() {
                        return None;
                    }
                }
                () = sleep_until(self.ends) => {
                    self.over = true;
                    if bookmark.is_some() {
                        self.push_bookmark(false);
                    }
                }
                () = sleep_until(bookmark.unwrap_or(self.ends)), if bookmark.is_some() => {
                    self.bookmark = Some(Instant::now() + BOOKMARK_PERIOD);
                    self.push_bookmark(false);
                }
            }
        }
    }

    /// Takes over what has changed since the last look.
    fn collect(&mut self) {
        let kube = self.kube.clone();
        let store = kube.store();
        self.changed.borrow_and_update();
        let Some(changes) = store.changes_since(self.seen) else {
            let message = format!("too old resource version: {} ({})", self.seen, store.revision());
            let status = Failure::expired(message).status();
            self.frames.push_back(line("ERROR", &status));
            self.over = true;
            return;
        };
        let kind = self.resource.stored();
        let here = self.namespace.as_deref();
        for change in changes.filter(|c| c.key.kind == kind && here.is_none_or(|n| n == c.key.namespace)) {
            let before = change.old.as_ref().is_some_and(|o| self.selector.matches(o));
            let after = !change.removed && self.selector.matches(&change.new);
            let verb = match (before, after) {
                (false, true) => "ADDED",
                (true, true) => "MODIFIED",
                (true, false) => "DELETED",
                (false, false) => continue,
            };
            self.frames.push_back(self.frame(verb, &change.new));
        }
        self.seen = self.seen.max(store.revision());
    }

    fn frame(&self, verb: &str, object: &std::sync::Arc<Value>) -> Bytes {
        let object = shown(self.resource, object);
        line(verb, &self.form.one(self.resource, &object, &self.kube))
    }

    fn push_bookmark(&mut self, initial_end: bool) {
        let mut object = json!({
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version(),
            "metadata": { "resourceVersion": self.seen.to_string() },
        });
        if initial_end {
            let annotations = json!({ "k8s.io/initial-events-end": "true" });
            object::metadata(&mut object).insert("annotations".into(), annotations);
        }
        let object = self.form.bookmark(object);
        self.frames.push_back(line("BOOKMARK", &object));
    }
}

fn line(verb: &str, object: &Value) -> Bytes {
    let mut line = json!({ "type": verb, "object": object }).to_string();
    line.push('\n');
    line.into()
}
