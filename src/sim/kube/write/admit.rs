//! What comes in: bodies of the right kind, at the right address, with an identity.

use serde_json::Value;

use super::{Target, seconds};
use crate::sim::kube::{
    event,
    failure::{Cause, Failure},
    name,
    object::{self, text},
    resource::{Resource, find},
    schema,
    store::{Key, Store},
};

// === impl Store ===

impl Store {
    /// Name, namespace, uid and creation time of a new object.
    pub(super) fn claim_identity(
        &self,
        resource: &Resource,
        namespace: &str,
        object: &mut Value,
    ) -> Result<(), Failure> {
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

/// Reads a body as its kind and brings it into the stored form.
pub(super) fn admit(resource: &Resource, mut body: Value, strict: bool) -> Result<Value, Failure> {
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

pub(super) fn check_address(target: Target<'_>, object: &Value) -> Result<(), Failure> {
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
