//! Create, update, patch and delete with the rules that hold for every kind: identity,
//! optimistic locking, generation, the status subresource, finalizers and preconditions.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    defaults, event,
    failure::{Cause, Failure},
    name,
    object::{self, at, carry, text},
    patch::Patch,
    resource::{Resource, Status, find},
    schema,
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

/// What must hold of the object for it to be deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Preconditions {
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
}

/// One object's address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) resource: &'static Resource,
    /// Empty for cluster-wide kinds.
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

/// What became of a deleted object.
#[derive(Debug)]
pub(super) enum Deleted {
    /// It is gone; its last state.
    Gone(Arc<Value>),
    /// Finalizers keep it; its state with the deletion timestamp.
    Waiting(Arc<Value>),
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
        if self.find(&key).is_some() {
            return Err(Failure::already_exists(resource, &key.name));
        }
        causes.extend(defaults::fill(self, resource, &mut object, None));
        if !causes.is_empty() {
            return Err(Failure::invalid(resource, &key.name, &causes));
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
        let resource = target.resource;
        let mut object = admit(resource, body, options.strict)?;
        check_address(target, &object)?;
        let key = target.key();
        let old = Arc::clone(self.find(&key).ok_or_else(|| target.not_found())?);
        check_versions(target, &old, &object)?;
        retain(resource, part, &old, &mut object);

        let mut causes = name::validate(resource, &object);
        causes.extend(added_finalizers(&old, &object));
        causes.extend(match part {
            Part::Main => defaults::fill(self, resource, &mut object, Some(&old)),
            Part::Status => defaults::check_status(resource, &object),
        });
        if !causes.is_empty() {
            return Err(Failure::invalid(resource, target.name, &causes));
        }
        if resource.generation && spec_of(&object) != spec_of(&old) {
            let generation = at(&old, &["metadata", "generation"]).as_i64().unwrap_or_default() + 1;
            object::metadata(&mut object).insert("generation".into(), generation.into());
        }
        let object = if object == *old {
            old // A write that changes nothing keeps the resourceVersion and wakes no watch.
        } else if options.dry_run {
            Arc::new(object)
        } else if object::is_deleting(&object) && !object::has_finalizers(&object) {
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
        Ok((false, self.update(target, part, patched, options)?))
    }

    /// Deletes an object, at once or when its last finalizer goes. Pods go at once too: there is
    /// no kubelet to wait for.
    pub(super) fn delete(
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
    fn remove(&mut self, key: Key, last: Value) -> Arc<Value> {
        let namespace = Key { kind: ("", "namespaces"), namespace: String::new(), name: key.namespace.clone() };
        let last = self.take(key, last);
        if let Some(object) = self.find(&namespace).filter(|o| object::is_deleting(o)).cloned()
            && !self.is_namespace_in_use(&namespace)
        {
            self.take(namespace, Value::clone(&object));
        }
        last
    }

    fn is_namespace_in_use(&self, key: &Key) -> bool {
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
        let namespaced =
            super::resource::RESOURCES.iter().filter(|r| r.namespaced && r.stored() == (r.group, r.plural));
        namespaced
            .flat_map(|r| self.select(r.stored(), Some(namespace)).map(move |(key, _)| (r, key.name.clone())))
            .collect()
    }

    /// Name, namespace, uid and creation time of a new object.
    fn claim_identity(&self, resource: &Resource, namespace: &str, object: &mut Value) -> Result<(), Failure> {
        let sent = object::namespace(object);
        if resource.namespaced && !sent.is_empty() && sent != namespace {
            return Err(Failure::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if !text(object, &["metadata", "resourceVersion"]).is_empty() {
            return Err(Failure::new(500, "", "resourceVersion should not be set on objects to be created"));
        }
        if object::name(object).is_empty() {
            let prefix = text(object, &["metadata", "generateName"]);
            if prefix.is_empty() {
                let cause = Cause::required("metadata.name", "name or generateName is required");
                return Err(Failure::invalid(resource, "", &[cause]));
            }
            let generated = name::generate(prefix, &self.entropy);
            object::metadata(object).insert("name".into(), generated.into());
        }
        if resource.namespaced {
            self.check_namespace(resource, namespace, object::name(object))?;
        }
        let metadata = object::metadata(object);
        for ignored in ["deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink", "managedFields"] {
            metadata.remove(ignored);
        }
        if resource.namespaced {
            metadata.insert("namespace".into(), namespace.into());
        } else {
            metadata.remove("namespace");
        }
        metadata.insert("uid".into(), self.entropy.uuid().into());
        metadata.insert("creationTimestamp".into(), seconds(self.clock.now()).into());
        Ok(())
    }

    fn check_namespace(&self, resource: &Resource, namespace: &str, name: &str) -> Result<(), Failure> {
        let key = Key { kind: ("", "namespaces"), namespace: String::new(), name: namespace.into() };
        match self.find(&key) {
            Some(found) if object::is_deleting(found) => {
                let why =
                    format!("unable to create new content in namespace {namespace} because it is being terminated");
                Err(Failure::forbidden(resource, name, &why))
            }
            Some(_) => Ok(()),
            None => match find("", "namespaces") {
                Some(namespaces) => Err(Failure::not_found(namespaces, namespace)),
                None => Ok(()),
            },
        }
    }
}

// === impl Preconditions ===

impl Preconditions {
    fn check(&self, target: Target<'_>, object: &Value) -> Result<(), Failure> {
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

/// Reads a body as its kind and brings it into the stored form.
fn admit(resource: &Resource, mut body: Value, strict: bool) -> Result<Value, Failure> {
    if !body.is_object() {
        return Err(Failure::bad_request("the object provided is unrecognized (must be of type map)"));
    }
    let (kind, version) = (text(&body, &["kind"]), text(&body, &["apiVersion"]));
    if (!kind.is_empty() && kind != resource.kind) || (!version.is_empty() && version != resource.api_version()) {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({version}, Kind={kind}) does not match the expected API version ({}, Kind={})",
            resource.api_version(),
            resource.kind
        )));
    }
    let fields = object::map(&mut body);
    fields.insert("apiVersion".into(), resource.api_version().into());
    fields.insert("kind".into(), resource.kind.into());
    let read = (resource.schema)(body.clone()).map_err(|schema::Unreadable(why)| {
        let (kind, version) = (resource.kind, resource.version);
        Failure::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
    })?;
    if strict {
        let unknown: Vec<_> =
            schema::dropped(&body, &read).into_iter().map(|path| format!("unknown field \"{path}\"")).collect();
        if !unknown.is_empty() {
            return Err(Failure::bad_request(format!("strict decoding error: {}", unknown.join(", "))));
        }
    }
    let mut object = read;
    object::metadata(&mut object).remove("managedFields");
    Ok(if resource.plural == "events" { event::stored(resource, object) } else { object })
}

fn check_address(target: Target<'_>, object: &Value) -> Result<(), Failure> {
    let (name, namespace) = (object::name(object), object::namespace(object));
    if name != target.name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        )));
    }
    if target.resource.namespaced && !namespace.is_empty() && namespace != target.namespace {
        return Err(Failure::bad_request(format!(
            "the namespace of the object ({namespace}) does not match the namespace on the URL ({})",
            target.namespace
        )));
    }
    Ok(())
}

fn check_versions(target: Target<'_>, old: &Value, new: &Value) -> Result<(), Failure> {
    let version = text(new, &["metadata", "resourceVersion"]);
    if version.is_empty() && !target.resource.unconditional_update {
        let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
        return Err(Failure::invalid(target.resource, target.name, &[cause]));
    }
    if !version.is_empty() && version != text(old, &["metadata", "resourceVersion"]) {
        return Err(Failure::modified(target.resource, target.name));
    }
    let uid = text(new, &["metadata", "uid"]);
    let preconditions = Preconditions { uid: (!uid.is_empty()).then(|| uid.into()), resource_version: None };
    preconditions.check(target, old)
}

/// Puts back what this write may not change.
fn retain(resource: &Resource, part: Part, old: &Value, new: &mut Value) {
    if resource.status != Status::None {
        match part {
            Part::Main => carry("status", old, object::map(new)),
            // Labels, annotations and finalizers may change along with the status: the real strategies
            // of Services and Nodes keep only the spec, and the released controller relies on it.
            Part::Status => carry("spec", old, object::map(new)),
        }
    }
    let metadata = object::metadata(new);
    let fixed = [
        "name",
        "namespace",
        "generateName",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
    ];
    for key in fixed {
        carry(key, &old["metadata"], metadata);
    }
}

fn added_finalizers(old: &Value, new: &Value) -> Option<Cause> {
    let before = object::items(old, &["metadata", "finalizers"]);
    let added: Vec<_> =
        object::items(new, &["metadata", "finalizers"]).iter().filter(|f| !before.contains(f)).cloned().collect();
    let refused = object::is_deleting(old) && !added.is_empty();
    refused.then(|| {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers {}",
            json!(added)
        );
        Cause::forbidden("metadata.finalizers", &detail)
    })
}

/// All of an object that counts for its generation.
fn spec_of(object: &Value) -> Vec<(&String, &Value)> {
    let outside = ["metadata", "status", "apiVersion", "kind"];
    object.as_object().into_iter().flatten().filter(|(key, _)| !outside.contains(&key.as_str())).collect()
}
