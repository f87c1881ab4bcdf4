//! The objects, the version counter and the history that watches and paged lists read.
//!
//! Every change takes the next revision, as in etcd: one counter for all kinds. The history
//! is bounded; who asks for a revision before its beginning gets 410 and has to list again.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use serde_json::Value;
use tokio::sync::watch;

use super::{object, resource::Resource, service::Cursors};
use crate::{clock::Clock, entropy::Entropy};

/// How many changes are kept for watches that fell behind.
const RETAINED: usize = 10_000;

/// Where an object is kept. Ordered as lists present it: by namespace, then name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) kind: (&'static str, &'static str),
    pub(super) namespace: String,
    pub(super) name: String,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) revision: u64,
    pub(super) key: Key,
    /// The object before; none when this created it.
    pub(super) old: Option<Arc<Value>>,
    /// The object after; for a removal its last state under the removal's revision.
    pub(super) new: Arc<Value>,
    pub(super) removed: bool,
}

/// All state of the API.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) cursors: Cursors,
    objects: BTreeMap<Key, Arc<Value>>,
    revision: u64,
    history: VecDeque<Change>,
    /// How many changes the history keeps.
    pub(super) retained: usize,
    /// The newest revision that is no longer in the history.
    forgotten: u64,
    /// Wakes watches after a change.
    changed: watch::Sender<u64>,
}

// === impl Key ===

impl Key {
    pub(super) fn new(resource: &Resource, namespace: &str, name: &str) -> Self {
        Self { kind: resource.stored(), namespace: namespace.into(), name: name.into() }
    }
}

// === impl Store ===

impl Store {
    pub(super) fn new(clock: Clock, entropy: Entropy) -> Self {
        Self {
            clock,
            entropy,
            cursors: Cursors::default(),
            objects: BTreeMap::new(),
            revision: 0,
            history: VecDeque::new(),
            retained: RETAINED,
            forgotten: 0,
            changed: watch::Sender::new(0),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// A receiver that is woken after every change.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn find(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Objects of a kind in one namespace, or in all.
    pub(super) fn select(
        &self,
        kind: (&'static str, &'static str),
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        let from = Key { kind, namespace: namespace.unwrap_or_default().into(), name: String::new() };
        let namespace = namespace.map(str::to_owned);
        self.objects
            .range(from..)
            .take_while(move |(key, _)| key.kind == kind && namespace.as_ref().is_none_or(|n| *n == key.namespace))
    }

    /// The objects of a kind as they were at `revision`; none if that is no longer known.
    pub(super) fn snapshot(
        &self,
        kind: (&'static str, &'static str),
        namespace: Option<&str>,
        revision: u64,
    ) -> Option<BTreeMap<Key, Arc<Value>>> {
        if revision < self.forgotten {
            return None;
        }
        let mut objects: BTreeMap<_, _> =
            self.select(kind, namespace).map(|(key, object)| (key.clone(), Arc::clone(object))).collect();
        let wanted = |c: &&Change| c.key.kind == kind && namespace.is_none_or(|n| n == c.key.namespace);
        for change in self.history.iter().rev().take_while(|c| c.revision > revision).filter(wanted) {
            match &change.old {
                Some(old) => objects.insert(change.key.clone(), Arc::clone(old)),
                None => objects.remove(&change.key),
            };
        }
        Some(objects)
    }

    /// The changes after `revision`, oldest first; none if some of them are no longer known.
    pub(super) fn changes_since(&self, revision: u64) -> Option<impl Iterator<Item = &Change>> {
        if revision < self.forgotten {
            return None;
        }
        let from = self.history.partition_point(|c| c.revision <= revision);
        Some(self.history.range(from..))
    }

    /// Writes an object under the next revision.
    pub(super) fn put(&mut self, key: Key, mut object: Value) -> Arc<Value> {
        let object = self.stamp(&mut object);
        let old = self.objects.insert(key.clone(), Arc::clone(&object));
        self.record(Change { revision: self.revision, key, old, new: Arc::clone(&object), removed: false });
        object
    }

    /// Removes an object; `last` is how watches see it go.
    pub(super) fn take(&mut self, key: Key, mut last: Value) -> Arc<Value> {
        let last = self.stamp(&mut last);
        let old = self.objects.remove(&key);
        self.record(Change { revision: self.revision, key, old, new: Arc::clone(&last), removed: true });
        last
    }

    /// Drops the whole history, so that every watch from an older revision gets 410.
    pub(super) fn forget(&mut self) {
        // A revision of its own, so that also a watcher that has seen everything is too old.
        self.revision += 1;
        self.history.clear();
        self.forgotten = self.revision;
        self.changed.send_replace(self.revision);
    }

    fn stamp(&mut self, object: &mut Value) -> Arc<Value> {
        self.revision += 1;
        object::metadata(object).insert("resourceVersion".into(), self.revision.to_string().into());
        Arc::new(object.take())
    }

    fn record(&mut self, change: Change) {
        self.history.push_back(change);
        while self.history.len() > self.retained {
            self.forgotten = self.history.pop_front().map_or(self.forgotten, |c| c.revision);
        }
        self.changed.send_replace(self.revision);
    }
}
