//! Refusals as Kubernetes words them: a `Status` with code, reason, message and details.

use serde_json::{Value, json};

use super::resource::Resource;

/// Why a request was refused. Turns into a `v1 Status` object on the wire.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason (`NotFound`, `Conflict`, …); empty when the real server gives none.
    pub reason: &'static str,
    /// The sentence a user reads.
    pub message: String,
    details: Value,
}

/// One complaint about one field of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

// === impl Failure ===

impl Failure {
    pub(super) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null }
    }

    fn about(code: u16, reason: &'static str, resource: &Resource, name: &str, message: String) -> Self {
        let details = json!({ "name": name, "group": resource.group, "kind": resource.plural });
        Self { code, reason, message, details: compact(details) }
    }

    /// 404 for one object.
    pub(super) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        Self::about(404, "NotFound", resource, name, message)
    }

    /// 404 for a path that leads nowhere.
    pub(super) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    pub(super) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        Self::about(409, "AlreadyExists", resource, name, message)
    }

    pub(super) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::about(409, "Conflict", resource, name, message)
    }

    /// 409 for a write that was based on an older state of the object.
    pub(super) fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    pub(super) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
        Self::about(403, "Forbidden", resource, name, message)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 410: the asked-for version is no longer in the retained history.
    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    }

    /// 504 for a version this server has not reached.
    pub(super) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let details = json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        });
        Self { code: 504, reason: "Timeout", message, details }
    }

    /// 422 with every field's complaint.
    pub(super) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        let text: Vec<String> = causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        let text = if text.len() == 1 { text.concat() } else { format!("[{}]", text.join(", ")) };
        let causes: Vec<Value> =
            causes.iter().map(|c| json!({ "reason": c.reason, "message": c.message, "field": c.field })).collect();
        let details = json!({ "name": name, "group": resource.group, "kind": resource.kind, "causes": causes });
        let message = format!("{} \"{name}\" is invalid: {text}", resource.kind_qualified());
        Self { code: 422, reason: "Invalid", message, details: compact(details) }
    }

    /// 422 for an update that does not say of which version.
    pub(super) fn unversioned(resource: &Resource, name: &str) -> Self {
        let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
        let mut failure = Self::invalid(resource, name, &[cause]);
        // Found before the kind is known: it is the resource that is named.
        failure.message = failure.message.replacen(&resource.kind_qualified(), &resource.qualified(), 1);
        failure.details["kind"] = resource.plural.into();
        failure
    }

    /// 422 for a patch from which no object of the kind results.
    pub(super) fn useless_patch(why: &str) -> Self {
        let message = format!("Invalid value: {why}");
        let cause = json!({ "reason": "FieldValueInvalid", "message": message, "field": "patch" });
        let details = json!({ "causes": [cause] });
        Self { code: 422, reason: "Invalid", message: format!(" \"\" is invalid: patch: {message}"), details }
    }

    /// The `Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

// === impl Cause ===

impl Cause {
    pub(super) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() { "Required value".into() } else { format!("Required value: {detail}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self { reason: "FieldValueInvalid", message: format!("Invalid value: {value}: {detail}"), field: field.into() }
    }

    pub(super) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {detail}"), field: field.into() }
    }

    pub(super) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self { reason: "FieldValueDuplicate", message: format!("Duplicate value: {value}"), field: field.into() }
    }

    pub(super) fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|s| format!("\"{s}\"")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
        Self { reason: "FieldValueNotSupported", message, field: field.into() }
    }
}

/// Leaves out empty strings, as the real server's encoder does.
fn compact(mut details: Value) -> Value {
    if let Some(map) = details.as_object_mut() {
        map.retain(|_, v| v.as_str() != Some(""));
    }
    details
}
