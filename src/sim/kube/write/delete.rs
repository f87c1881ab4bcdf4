//! Deletion: preconditions, finalizers, and namespaces that take their objects along.

use std::sync::Arc;

use serde_json::Value;

use super::{Target, seconds, shown};
use crate::sim::kube::{
    failure::Failure,
    object::{self, text},
    resource::{RESOURCES, Resource},
    store::{Key, Store},
};

/// What must hold of the object for it to be deleted.
#[derive(Clone, Debug, Default)]
pub(in crate::sim::kube) struct Preconditions {
    pub(in crate::sim::kube) uid: Option<String>,
    pub(in crate::sim::kube) resource_version: Option<String>,
}

/// What became of a deleted object.
#[derive(Debug)]
pub(in crate::sim::kube) enum Deleted {
    /// It is gone; its last state.
    Gone(Arc<Value>),
    /// Finalizers keep it; its state with the deletion timestamp.
    Waiting(Arc<Value>),
}

// === impl Store ===

impl Store {
    /// Deletes an object, at once or when its last finalizer goes. Pods go at once too: there is
    /// no kubelet to wait for.
    pub(in crate::sim::kube) fn delete(
        &mut self,
        target: Target<'_>,
        preconditions: &Preconditions,
        dry_run: bool,
    ) -> Result<Deleted, Failure> {
        let resource = target.resource;
        let key = target.key();
        let old = Arc::clone(self.find(&key).ok_or_else(|| target.not_found())?);
        preconditions.check(target, &old)?;
        let mut object = Value::clone(&old);
        let waits = object::has_finalizers(&object) || self.is_namespace_in_use(&key);
        if object::is_deleting(&object) && waits {
            return Ok(Deleted::Waiting(shown(resource, &old)));
        }
        let metadata = object::metadata(&mut object);
        if waits {
            metadata.insert("deletionTimestamp".into(), seconds(self.clock.now()).into());
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
            if resource.is("", "namespaces") {
                object::child(&mut object, "status").insert("phase".into(), "Terminating".into());
            }
            let object = if dry_run { Arc::new(object) } else { self.put(key, object) };
            if !dry_run && resource.is("", "namespaces") {
                self.empty_namespace(target.name);
            }
            return Ok(Deleted::Waiting(shown(resource, &object)));
        }
        let object = if dry_run { old } else { self.remove(key, object) };
        Ok(Deleted::Gone(shown(resource, &object)))
    }

    /// Removes an object; the last one takes its terminating namespace along.
    pub(super) fn remove(&mut self, key: Key, last: Value) -> Arc<Value> {
        let namespace = Key { kind: ("", "namespaces"), namespace: String::new(), name: key.namespace.clone() };
        let last = self.take(key, last);
        if let Some(object) = self.find(&namespace).filter(|o| object::is_deleting(o)).cloned()
            && !self.is_namespace_in_use(&namespace)
        {
            self.take(namespace, Value::clone(&object));
        }
        last
    }

    pub(super) fn is_namespace_in_use(&self, key: &Key) -> bool {
        key.kind == ("", "namespaces") && !self.inside(&key.name).is_empty()
    }

    fn empty_namespace(&mut self, namespace: &str) {
        for (resource, name) in self.inside(namespace) {
            let target = Target { resource, namespace, name: &name };
            // What has finalizers stays until they are gone; nothing else can refuse.
            let _ = self.delete(target, &Preconditions::default(), false);
        }
    }

    fn inside(&self, namespace: &str) -> Vec<(&'static Resource, String)> {
        let namespaced = RESOURCES.iter().filter(|r| r.namespaced && r.stored() == (r.group, r.plural));
        namespaced
            .flat_map(|r| self.select(r.stored(), Some(namespace)).map(move |(key, _)| (r, key.name.clone())))
            .collect()
    }
}

// === impl Preconditions ===

impl Preconditions {
    pub(super) fn check(&self, target: Target<'_>, object: &Value) -> Result<(), Failure> {
        let conflict = |what: &str, wanted: &str, found: &str| {
            let why = format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
            Err(Failure::conflict(target.resource, target.name, &why))
        };
        let uid = text(object, &["metadata", "uid"]);
        let version = text(object, &["metadata", "resourceVersion"]);
        match (&self.uid, &self.resource_version) {
            (Some(wanted), _) if wanted != uid => conflict("UID", wanted, uid),
            (_, Some(wanted)) if wanted != version => conflict("ResourceVersion", wanted, version),
            _ => Ok(()),
        }
    }
}
