//! Changes to the cluster that are recorded and never sent.
//!
//! The API server is only asked how the object looks now; that is the answer to the change. So not
//! even the right to write is needed, and none to read that the controllers do not have anyway.

use std::{fmt, sync::Arc};

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tower::BoxError;

/// What would have been changed. Clones share the record.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<Vec<Change>>>);

/// One change that would have been made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// Such as `Node n1` or `Service default/web`.
    pub object: String,
    /// Whether it is the object's status that would change.
    pub status: bool,
    /// The patch, or the object, without times and versions.
    pub body: Value,
}

/// Fields that differ each time and tell nothing.
const FLEETING: [&str; 4] = ["lastHeartbeatTime", "lastTransitionTime", "resourceVersion", "uid"];

// === impl Record ===

impl Record {
    /// Everything recorded so far, in order. What was asked for again is there once.
    pub fn changes(&self) -> Vec<Change> {
        self.0.lock().clone()
    }

    /// A client that reads like this one and records instead of writing.
    pub fn client(&self, client: &Client) -> Client {
        let (inner, record) = (client.clone(), self.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (inner, record) = (inner.clone(), record.clone());
            async move { record.send(&inner, request).await }
        });
        Client::new(service, client.default_namespace())
    }

    async fn send(&self, client: &Client, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let verb = match *request.method() {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => return client.send(request).await.map_err(BoxError::from),
        };
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let path = head.uri.path();
        self.note(verb, path, serde_json::from_slice(&body).unwrap_or_default());
        if verb == "create" {
            let mut answer = Response::new(Body::from(body.to_vec()));
            *answer.status_mut() = StatusCode::CREATED;
            return Ok(answer);
        }
        look(client, path.strip_suffix("/status").unwrap_or(path)).await
    }

    fn note(&self, verb: &'static str, path: &str, body: Value) {
        let (object, status) = named(path);
        let mut change = Change { verb, object, status, body };
        if verb == "delete" {
            change.body = Value::Null;
        }
        forget_fleeting(&mut change.body);
        let mut all = self.0.lock();
        if !all.contains(&change) {
            tracing::info!("dry run: would {change}");
            all.push(change);
        }
    }
}

/// The object as it is. A role that may change an object may not always read it by itself, so it is
/// picked out of the list, which every role here may read.
async fn look(client: &Client, path: &str) -> Result<Response<Body>, BoxError> {
    let (list, name) = path.rsplit_once('/').ok_or("not the path of an object")?;
    // Pods are the exception: they may be read, but not listed.
    if list.ends_with("/pods") {
        return Ok(client.send(Request::get(path).body(Body::empty())?).await?);
    }
    let request = Request::get(format!("{list}?fieldSelector=metadata.name%3D{name}")).body(Body::empty())?;
    let answer = client.send(request).await?;
    if !answer.status().is_success() {
        return Ok(answer);
    }
    let mut list: Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
    let object = list["items"].get_mut(0).map(Value::take);
    let code = if object.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let gone = || json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404 });
    let mut answer = Response::new(Body::from(serde_json::to_vec(&object.unwrap_or_else(gone))?));
    *answer.status_mut() = code;
    Ok(answer)
}

/// What a path of the API names: `/api/v1/namespaces/default/services/web/status`.
fn named(path: &str) -> (String, bool) {
    let parts: Vec<&str> = path.split('/').skip(if path.starts_with("/apis/") { 4 } else { 3 }).collect();
    let kind = |plural: &str| match plural {
        "nodes" => "Node".to_owned(),
        "pods" => "Pod".to_owned(),
        "services" => "Service".to_owned(),
        other => other.to_owned(),
    };
    match parts[..] {
        ["namespaces", namespace, plural, name, ref rest @ ..] => {
            (format!("{} {namespace}/{name}", kind(plural)), rest.first() == Some(&"status"))
        }
        ["namespaces", namespace, plural] => (format!("{} in {namespace}", kind(plural)), false),
        [plural, name, ref rest @ ..] => (format!("{} {name}", kind(plural)), rest.first() == Some(&"status")),
        _ => (path.to_owned(), false),
    }
}

fn forget_fleeting(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !FLEETING.contains(&name.as_str()));
            fields.values_mut().for_each(forget_fleeting);
            // Where only the version stood that a patch is for.
            if fields.get("metadata").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
                fields.remove("metadata");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_fleeting),
        _ => {}
    }
}

// === impl Change ===

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.verb, if self.status { "the status of " } else { "" }, self.object)?;
        if self.body.is_null() { Ok(()) } else { write!(f, ": {}", self.body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_objects() {
        for (path, expected) in [
            ("/api/v1/nodes/n1", ("Node n1", false)),
            ("/api/v1/nodes/n1/status", ("Node n1", true)),
            ("/api/v1/namespaces/default/services/web/status", ("Service default/web", true)),
            ("/apis/discovery.k8s.io/v1/namespaces/a/endpointslices/b", ("endpointslices a/b", false)),
            ("/api/v1/namespaces/a/events", ("events in a", false)),
        ] {
            assert_eq!(named(path), (expected.0.to_owned(), expected.1), "{path}");
        }
    }

    #[test]
    fn the_same_change_at_another_time_is_there_once() {
        let record = Record::default();
        for time in ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"] {
            let condition = serde_json::json!({ "type": "X", "lastTransitionTime": time });
            record.note("patch", "/api/v1/nodes/n1/status", serde_json::json!({ "conditions": [condition] }));
        }
        let texts: Vec<_> = record.changes().iter().map(ToString::to_string).collect();
        assert_eq!(texts, [r#"patch the status of Node n1: {"conditions":[{"type":"X"}]}"#]);
    }
}
