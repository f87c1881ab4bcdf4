//! Someone who is always a moment faster than the controller: what it has read is out of date by
//! the time it writes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use http::{Method, Request};
use kube::{Client, client::Body};
use serde_json::json;

use crate::stage::Stage;

/// The annotation that is changed each time.
pub const EDIT: &str = "test.io/edit";

/// The controller's way to the API server, on which each Node and Service gets another annotation
/// just before the controller changes it; so many times an object.
pub fn edits(stage: &Stage, times: usize) -> Client {
    let (administrator, controller) = (stage.administrator(), stage.controller());
    let edited: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (administrator, controller, edited) = (administrator.clone(), controller.clone(), edited.clone());
        async move {
            let path = request.uri().path().to_owned();
            if request.method() == Method::PATCH && is_of_people(&path) {
                let number = {
                    let mut edited = edited.lock().unwrap();
                    let number = edited.entry(path.clone()).or_default();
                    *number += 1;
                    *number
                };
                if number <= times {
                    edit(&administrator, &path, number).await;
                }
            }
            controller.send(request).await
        }
    });
    Client::new(service, "default")
}

/// `/api/v1/nodes/<name>`, `/api/v1/namespaces/<namespace>/services/<name>`; not their status.
fn is_of_people(path: &str) -> bool {
    let parts: Vec<&str> = path.trim_start_matches("/api/v1/").split('/').collect();
    matches!(parts[..], ["nodes", _] | ["namespaces", _, "services", _])
}

async fn edit(administrator: &Client, path: &str, number: usize) {
    let change = json!({ "metadata": { "annotations": { EDIT: number.to_string() } } });
    let request = Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(Body::from(change.to_string().into_bytes()))
        .unwrap();
    let answer = administrator.send(request).await.unwrap();
    assert!(answer.status().is_success() || answer.status() == 404, "{path}: {}", answer.status());
}
