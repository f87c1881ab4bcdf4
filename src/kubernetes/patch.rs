//! Changes to Kubernetes objects: small patches, each with a deadline and an error that names the
//! object. And single reads, of what is in no cache.

use std::{fmt::Debug, time::Duration};

use http::{Request, header::CONTENT_TYPE};
use k8s_openapi::NamespaceResourceScope;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{failure, fence::NotLeader};

/// How long one change may take.
const TIMEOUT: Duration = Duration::from_secs(10);
const MANAGER: &str = "alibaba-cloud-controller-manager";

/// Why a change was not made, or may not have been.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object changed since it was read, or a test in the patch did not hold (HTTP 409, 422).
    #[error("cannot {action} {object}: it changed in the meantime: {reason}")]
    Conflict { action: &'static str, object: String, reason: String },
    /// The object is gone (HTTP 404).
    #[error("cannot {action} {object}: it does not exist any more")]
    NotFound { action: &'static str, object: String },
    /// This replica does not lead any more; nothing was sent.
    #[error("cannot {action} {object}: {reason}")]
    NotLeader { action: &'static str, object: String, reason: String },
    /// Anything else, also a call whose answer was lost.
    #[error("cannot {action} {object}: {reason}")]
    Other { action: &'static str, object: String, reason: String, code: Option<u16> },
}

/// Kinds these functions work on.
pub trait Object: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync {}

impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync> Object for K {}

/// The object as it is now, from the API server itself; `None` if there is none.
pub async fn read<K: Object>(api: &Api<K>, name: &str) -> Result<Option<K>, Error> {
    bounded("read", &label::<K>(api, name), api.get_opt(name)).await
}

/// Merge patch (RFC 7386) of the object's main resource.
pub async fn merge<K: Object>(api: &Api<K>, name: &str, patch: Value) -> Result<K, Error> {
    let (params, patch) = (params(), Patch::Merge(patch));
    let call = api.patch(name, &params, &patch);
    bounded("patch", &label::<K>(api, name), call).await
}

/// Merge patch that holds only for the version that was read: anything written since is a
/// [`Error::Conflict`].
pub async fn merge_at<K: Object>(api: &Api<K>, name: &str, version: &str, mut patch: Value) -> Result<K, Error> {
    patch["metadata"]["resourceVersion"] = json!(version);
    merge(api, name, patch).await
}

/// Merge patch of the object's status.
pub async fn merge_status<K: Object>(api: &Api<K>, name: &str, patch: Value) -> Result<K, Error> {
    let (params, patch) = (params(), Patch::Merge(patch));
    let call = api.patch_status(name, &params, &patch);
    bounded("patch the status of", &label::<K>(api, name), call).await
}

/// Strategic merge patch of the object's status: list entries are merged by their key, so that one
/// condition can be written without the others.
pub async fn strategic_status<K: Object>(api: &Api<K>, name: &str, patch: Value) -> Result<K, Error> {
    let (params, patch) = (params(), Patch::Strategic(patch));
    let call = api.patch_status(name, &params, &patch);
    bounded("patch the status of", &label::<K>(api, name), call).await
}

/// JSON patch (RFC 6902). `test` operations are the precondition: where one does not hold, nothing
/// is changed and the answer is [`Error::Conflict`].
pub async fn json<K: Object>(api: &Api<K>, name: &str, operations: &[Value]) -> Result<K, Error> {
    let label = label::<K>(api, name);
    let failed = |reason: String| Error::Other { action: "patch", object: label.clone(), reason, code: None };
    let body = serde_json::to_vec(operations).map_err(|error| failed(error.to_string()))?;
    let request = Request::patch(format!("{}/{name}?fieldManager={MANAGER}", api.resource_url()))
        .header(CONTENT_TYPE, "application/json-patch+json")
        .body(body)
        .map_err(|error| failed(error.to_string()))?;
    bounded("patch", &label, api.clone().into_client().request::<K>(request)).await
}

/// Adds a finalizer. `None` if the object has it already. The version that was read is the
/// precondition, because a merge patch replaces the whole list.
pub async fn add_finalizer<K: Object>(api: &Api<K>, object: &K, finalizer: &str) -> Result<Option<K>, Error> {
    let mut wanted = object.finalizers().to_vec();
    if wanted.iter().any(|present| present == finalizer) {
        return Ok(None);
    }
    wanted.push(finalizer.to_owned());
    set_finalizers(api, object, &wanted).await.map(Some)
}

/// Removes a finalizer. `None` if the object does not have it.
pub async fn remove_finalizer<K: Object>(api: &Api<K>, object: &K, finalizer: &str) -> Result<Option<K>, Error> {
    let wanted: Vec<String> = object.finalizers().iter().filter(|present| *present != finalizer).cloned().collect();
    if wanted.len() == object.finalizers().len() {
        return Ok(None);
    }
    set_finalizers(api, object, &wanted).await.map(Some)
}

async fn set_finalizers<K: Object>(api: &Api<K>, object: &K, wanted: &[String]) -> Result<K, Error> {
    // The uid keeps the patch from a new object of the same name.
    let patch = json!({ "metadata": { "finalizers": wanted, "uid": object.uid() } });
    merge_at(api, &object.name_any(), &object.resource_version().unwrap_or_default(), patch).await
}

/// Deletes the object with this uid, and no other of the same name.
pub async fn delete<K: Object>(api: &Api<K>, name: &str, uid: &str) -> Result<(), Error> {
    let only = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
    let params = DeleteParams { preconditions: Some(only), ..DeleteParams::default() };
    bounded("delete", &label::<K>(api, name), api.delete(name, &params)).await.map(|_| ())
}

/// The API of a namespaced object's own namespace.
pub fn api_of<K>(client: &Client, object: &K) -> Api<K>
where
    K: Object + Resource<Scope = NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), object.namespace().as_deref().unwrap_or("default"))
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// `Node n1`, `Service default/web`: as messages name an object.
fn label<K: Object>(api: &Api<K>, name: &str) -> String {
    match api.namespace() {
        Some(namespace) => format!("{} {namespace}/{name}", K::kind(&())),
        None => format!("{} {name}", K::kind(&())),
    }
}

async fn bounded<T>(
    action: &'static str,
    object: &str,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, Error> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(outcome) => outcome.map_err(|error| Error::new(action, object, &error)),
        Err(_) => Err(Error::Other {
            action,
            object: object.to_owned(),
            reason: format!("no answer from the API server within {} s", TIMEOUT.as_secs()),
            code: None,
        }),
    }
}

/// The API server answers a JSON patch whose `test` does not hold with 422 and no more than this
/// sentence (other 422 answers name the object and field that are invalid).
fn is_failed_test(reason: &str) -> bool {
    reason.contains("rejected our request due to an error in our request")
        || (reason.contains("test") && reason.contains("failed"))
}

// === impl Error ===

impl Error {
    /// Classifies a failed call.
    pub fn new(action: &'static str, object: &str, error: &kube::Error) -> Self {
        let object = object.to_owned();
        let reason = failure::describe(error);
        if let kube::Error::Service(inner) = error
            && inner.is::<NotLeader>()
        {
            return Self::NotLeader { action, object, reason };
        }
        match failure::code(error) {
            Some(404) => Self::NotFound { action, object },
            Some(409) => Self::Conflict { action, object, reason },
            Some(422) if is_failed_test(&reason) => Self::Conflict { action, object, reason },
            code => Self::Other { action, object, reason, code },
        }
    }

    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether the API server refused because this account lacks the right (HTTP 403).
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Other { code: Some(403), .. })
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }
}

#[cfg(test)]
mod tests;
