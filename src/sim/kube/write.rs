//! Create, update, patch and delete with the rules that hold for every kind: identity,
//! optimistic locking, generation, the status subresource, finalizers and preconditions.

mod admit;
mod change;
mod delete;

use std::sync::Arc;

use serde_json::Value;

pub(super) use self::delete::{Deleted, Preconditions};
use self::{
    admit::{admit, check_address},
    change::{added_finalizers, check_versions, retain},
};
use super::{
    defaults, event,
    failure::Failure,
    name,
    object::{self, at},
    patch::Patch,
    resource::{Resource, Status},
    store::{Key, Store},
};

/// The part of an object that a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Main,
    Status,
}

/// How a write is to be done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    /// Check and answer, but change nothing.
    pub(super) dry_run: bool,
    /// Refuse unknown fields instead of dropping them.
    pub(super) strict: bool,
}

/// One object's address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) resource: &'static Resource,
    /// Empty for cluster-wide kinds.
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

// === impl Target ===

impl Target<'_> {
    fn key(&self) -> Key {
        Key::new(self.resource, self.namespace, self.name)
    }

    fn not_found(&self) -> Failure {
        Failure::not_found(self.resource, self.name)
    }
}

// === impl Store ===

impl Store {
    /// One object as its API shows it.
    pub(super) fn get(&self, target: Target<'_>) -> Result<Arc<Value>, Failure> {
        self.find(&target.key()).map(|o| shown(target.resource, o)).ok_or_else(|| target.not_found())
    }

    /// Creates an object in `namespace` (empty for cluster-wide kinds).
    pub(super) fn create(
        &mut self,
        resource: &'static Resource,
        namespace: &str,
        body: Value,
        options: Options,
    ) -> Result<Arc<Value>, Failure> {
        let mut object = admit(resource, body, options.strict)?;
        self.claim_identity(resource, namespace, &mut object)?;
        if resource.status == Status::Reset {
            object::map(&mut object).remove("status");
        }
        if resource.generation {
            object::metadata(&mut object).insert("generation".into(), 1.into());
        }
        let mut causes = name::validate(resource, &object);
        let key = Key::new(resource, namespace, object::name(&object));
        causes.extend(defaults::fill(self, resource, &mut object, None));
        defaults::fill_empty(resource, &mut object);
        if !causes.is_empty() {
            return Err(Failure::invalid(resource, &key.name, &causes));
        }
        if self.find(&key).is_some() {
            return Err(Failure::already_exists(resource, &key.name));
        }
        let object = if options.dry_run { Arc::new(object) } else { self.put(key, object) };
        Ok(shown(resource, &object))
    }

    /// Replaces an object, or its status.
    pub(super) fn update(
        &mut self,
        target: Target<'_>,
        part: Part,
        body: Value,
        options: Options,
    ) -> Result<Arc<Value>, Failure> {
        let object = admit(target.resource, body, options.strict)?;
        self.replace(target, part, object, options)
    }

    /// Replaces an object by one in the stored form.
    fn replace(
        &mut self,
        target: Target<'_>,
        part: Part,
        mut object: Value,
        options: Options,
    ) -> Result<Arc<Value>, Failure> {
        let resource = target.resource;
        check_address(target, &object)?;
        let key = target.key();
        let old = Arc::clone(self.find(&key).ok_or_else(|| target.not_found())?);
        check_versions(target, &old, &object)?;
        retain(resource, part, &old, &mut object);

        let mut causes = name::validate(resource, &object);
        causes.extend(added_finalizers(&old, &object));
        causes.extend(match part {
            Part::Main => defaults::fill(self, resource, &mut object, Some(&old)),
            Part::Status => defaults::check_status(resource, &object, &old),
        });
        if !causes.is_empty() {
            return Err(Failure::invalid(resource, target.name, &causes));
        }
        defaults::fill_empty(resource, &mut object);
        if resource.generation && change::changes_spec(&old, &object) {
            let generation = at(&old, &["metadata", "generation"]).as_i64().unwrap_or_default() + 1;
            object::metadata(&mut object).insert("generation".into(), generation.into());
        }
        let object = if object == *old {
            old // A write that changes nothing keeps the resourceVersion and wakes no watch.
        } else if options.dry_run {
            Arc::new(object)
        } else if object::is_deleting(&object) && !object::has_finalizers(&object) && !self.is_namespace_in_use(&key) {
            self.remove(key, object)
        } else {
            self.put(key, object)
        };
        Ok(shown(resource, &object))
    }

    /// Applies a patch; the flag tells whether it created the object (server-side apply only).
    pub(super) fn patch(
        &mut self,
        target: Target<'_>,
        part: Part,
        patch: &Patch,
        options: Options,
    ) -> Result<(bool, Arc<Value>), Failure> {
        let current = match self.get(target) {
            Ok(current) => current,
            Err(_) if patch.creates() && part == Part::Main => {
                let mut body = patch.apply(&Value::Null)?;
                object::default(object::metadata(&mut body), "name", target.name);
                check_address(target, &body)?;
                return Ok((true, self.create(target.resource, target.namespace, body, options)?));
            }
            Err(failure) => return Err(failure),
        };
        let patched = patch.apply(&current)?;
        // The server finds fault with the patch, not with a body that nobody sent.
        let object = admit(target.resource, patched, options.strict).map_err(|failure| match patch {
            Patch::Apply(_) => failure,
            _ => Failure::useless_patch(&failure.message),
        })?;
        Ok((false, self.replace(target, part, object, options)?))
    }
}

/// A stored object as an API shows it.
pub(super) fn shown(resource: &Resource, object: &Arc<Value>) -> Arc<Value> {
    if resource.is("events.k8s.io", "events") {
        Arc::new(event::shown(resource, Value::clone(object)))
    } else {
        Arc::clone(object)
    }
}

/// RFC 3339 in whole seconds, as object metadata has it.
pub(super) fn seconds(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
