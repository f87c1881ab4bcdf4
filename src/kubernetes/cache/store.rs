//! The objects of one kind, readable by all, written by the one watch that follows the kind.

use std::{collections::BTreeMap, sync::Arc};

use kube::{Resource, ResourceExt};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::Trim;

/// Namespace (empty for cluster-scoped kinds) and name.
type Key = (String, String);
type Handler<K> = Box<dyn Fn(Change<'_, K>) + Send + Sync>;

/// What happened to one object: `old` is absent when it appeared, `new` when it went.
pub struct Change<'a, K> {
    pub old: Option<&'a Arc<K>>,
    pub new: Option<&'a Arc<K>>,
}

/// A cached kind. Clones share the objects.
pub struct Store<K>(Arc<Inner<K>>);

struct Inner<K> {
    objects: RwLock<BTreeMap<Key, Arc<K>>>,
    /// Held while a change is delivered, so that handlers see changes one at a time and in order.
    /// `objects` is not locked meanwhile: handlers may read the store.
    handlers: Mutex<Vec<Handler<K>>>,
    synced: watch::Sender<bool>,
}

fn key_of<K: Resource>(object: &K) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

// === impl Change ===

impl<'a, K> Change<'a, K> {
    /// The object as it is, or as it last was.
    ///
    /// `None` only for a change that was made up with neither side.
    pub fn latest(&self) -> Option<&'a Arc<K>> {
        self.new.or(self.old)
    }
}

// === impl Store ===

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self(Arc::new(Inner {
            objects: RwLock::default(),
            handlers: Mutex::default(),
            synced: watch::Sender::new(false),
        }))
    }
}

impl<K> Store<K> {
    /// The object, if the cluster has it. `namespace` is `None` for cluster-scoped kinds.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        let key = (namespace.unwrap_or_default().to_owned(), name.to_owned());
        self.0.objects.read().get(&key).cloned()
    }

    /// All objects, sorted by namespace and name.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.0.objects.read().values().cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.0.objects.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.objects.read().is_empty()
    }

    /// Whether the first complete list is in and was delivered.
    pub fn is_synced(&self) -> bool {
        *self.0.synced.borrow()
    }

    /// Waits for [`Store::is_synced`].
    pub async fn synced(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.0.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Calls `handler` for every change from now on, in order, one at a time, and first for each
    /// object that is already there. It runs on the watch's own task: it may read stores and add to
    /// queues, and must neither block nor register further handlers.
    pub fn on_change(&self, handler: impl Fn(Change<'_, K>) + Send + Sync + 'static) {
        let mut handlers = self.0.handlers.lock();
        for object in self.list() {
            handler(Change { old: None, new: Some(&object) });
        }
        handlers.push(Box::new(handler));
    }
}

impl<K> Store<K> {
    /// Calls nobody any more: whoever registered handlers has ended.
    pub fn forget_handlers(&self) {
        self.0.handlers.lock().clear();
    }
}

impl<K: Resource + Trim> Store<K> {
    /// Takes in a new or changed object. The same version again is no change.
    pub fn apply(&self, mut object: K) {
        object.trim();
        let object = Arc::new(object);
        let handlers = self.0.handlers.lock();
        let old = self.0.objects.write().insert(key_of(object.as_ref()), object.clone());
        if !old.as_ref().is_some_and(|old| same_version(old.as_ref(), object.as_ref())) {
            deliver(&handlers, old.as_ref(), Some(&object));
        }
    }

    /// Takes out an object.
    pub fn remove(&self, object: &K) {
        let handlers = self.0.handlers.lock();
        let old = self.0.objects.write().remove(&key_of(object));
        if old.is_some() {
            deliver(&handlers, old.as_ref(), None);
        }
    }

    /// Puts a complete list in place of what was there, tells the differences and marks the store
    /// as synced. Handlers see the new list as a whole.
    pub fn replace(&self, listed: Vec<K>) {
        let mut fresh = BTreeMap::new();
        for mut object in listed {
            object.trim();
            fresh.insert(key_of(&object), Arc::new(object));
        }
        let handlers = self.0.handlers.lock();
        let before = std::mem::replace(&mut *self.0.objects.write(), fresh.clone());
        for (key, old) in &before {
            if !fresh.contains_key(key) {
                deliver(&handlers, Some(old), None);
            }
        }
        for (key, new) in &fresh {
            let old = before.get(key);
            if !old.is_some_and(|old| same_version(old.as_ref(), new.as_ref())) {
                deliver(&handlers, old, Some(new));
            }
        }
        drop(handlers);
        self.0.synced.send_replace(true);
    }
}

fn same_version<K: Resource>(old: &K, new: &K) -> bool {
    old.uid() == new.uid() && new.resource_version().is_some() && old.resource_version() == new.resource_version()
}

fn deliver<K>(handlers: &[Handler<K>], old: Option<&Arc<K>>, new: Option<&Arc<K>>) {
    for handler in handlers {
        handler(Change { old, new });
    }
}
