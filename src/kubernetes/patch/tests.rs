use std::sync::Arc;

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::client::Body;
use parking_lot::Mutex;
use tower::{BoxError, service_fn};

use super::*;
use crate::kubernetes::fence::FenceLayer;

#[derive(Clone, Debug, Default, PartialEq)]
struct Call {
    method: Method,
    uri: String,
    content_type: String,
    body: Value,
}

/// Answers every call with this code and notes it.
fn mk_client(code: u16, message: &'static str) -> (Client, Arc<Mutex<Vec<Call>>>) {
    let calls = Arc::<Mutex<Vec<Call>>>::default();
    let noted = calls.clone();
    let service = service_fn(move |request: Request<Body>| {
        let noted = noted.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            noted.lock().push(Call {
                method: parts.method,
                uri: parts.uri.to_string(),
                content_type: parts.headers.get(CONTENT_TYPE).map_or("", |v| v.to_str().unwrap()).to_owned(),
                body: serde_json::from_slice(&body)?,
            });
            let answer = match code {
                200 => json!({"metadata": {"name": "n1"}}),
                _ => json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": message, "reason": "X", "code": code}),
            };
            Ok::<_, BoxError>(
                Response::builder()
                    .status(StatusCode::from_u16(code)?)
                    .body(Body::from(answer.to_string().into_bytes()))?,
            )
        }
    });
    (Client::new(service, "default"), calls)
}

fn mk_service(finalizers: &[&str]) -> Service {
    let mut service = Service::default();
    service.metadata.name = Some("web".into());
    service.metadata.namespace = Some("shop".into());
    service.metadata.uid = Some("u1".into());
    service.metadata.resource_version = Some("7".into());
    service.metadata.finalizers = Some(finalizers.iter().map(|&f| f.to_owned()).collect());
    service
}

#[tokio::test]
async fn each_patch_says_what_kind_it_is() {
    let (client, calls) = mk_client(200, "");
    let nodes: Api<Node> = Api::all(client);
    merge(&nodes, "n1", json!({"spec": {"providerID": "x"}})).await.unwrap();
    merge_at(&nodes, "n1", "5", json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap();
    merge_status(&nodes, "n1", json!({"status": {}})).await.unwrap();
    strategic_status(&nodes, "n1", json!({"status": {"conditions": []}})).await.unwrap();
    json(&nodes, "n1", &[json!({"op": "test", "path": "/spec/taints/0/key", "value": "k"})]).await.unwrap();

    let calls = calls.lock();
    let kinds: Vec<_> = calls.iter().map(|c| (c.uri.split('?').next().unwrap(), c.content_type.as_str())).collect();
    assert_eq!(
        kinds,
        [
            ("/api/v1/nodes/n1", "application/merge-patch+json"),
            ("/api/v1/nodes/n1", "application/merge-patch+json"),
            ("/api/v1/nodes/n1/status", "application/merge-patch+json"),
            ("/api/v1/nodes/n1/status", "application/strategic-merge-patch+json"),
            ("/api/v1/nodes/n1", "application/json-patch+json"),
        ]
    );
    assert!(calls.iter().all(|call| call.uri.contains("fieldManager=alibaba-cloud-controller-manager")));
    assert_eq!(calls[1].body, json!({"metadata": {"labels": {"a": "b"}, "resourceVersion": "5"}}));
}

#[tokio::test]
async fn finalizers_are_written_only_if_that_changes_them_and_at_the_version_read() {
    let (client, calls) = mk_client(200, "");
    let object = mk_service(&["other", "ours"]);
    let api = api_of(&client, &object);
    assert!(add_finalizer(&api, &object, "ours").await.unwrap().is_none());
    assert!(remove_finalizer(&api, &object, "not there").await.unwrap().is_none());
    assert!(calls.lock().is_empty());

    remove_finalizer(&api, &object, "ours").await.unwrap().unwrap();
    add_finalizer(&api, &object, "third").await.unwrap().unwrap();
    let bodies: Vec<_> = calls.lock().iter().map(|call| call.body["metadata"].clone()).collect();
    assert_eq!(bodies[0], json!({"finalizers": ["other"], "uid": "u1", "resourceVersion": "7"}));
    assert_eq!(bodies[1], json!({"finalizers": ["other", "ours", "third"], "uid": "u1", "resourceVersion": "7"}));
    assert!(calls.lock()[0].uri.starts_with("/api/v1/namespaces/shop/services/web?"));
}

#[tokio::test]
async fn a_deletion_names_the_one_object_it_means() {
    let (client, calls) = mk_client(200, "");
    delete::<Node>(&Api::all(client), "n1", "u1").await.unwrap();
    let calls = calls.lock();
    assert_eq!(calls[0].method, Method::DELETE);
    assert_eq!(calls[0].body["preconditions"], json!({"uid": "u1"}));
}

#[tokio::test]
async fn failures_are_told_apart_and_name_the_object() {
    let object = mk_service(&[]);
    for (code, message, expected) in [
        (409, "modified", "cannot patch Service shop/web: it changed in the meantime: modified (HTTP 409)"),
        (404, "gone", "cannot patch Service shop/web: it does not exist any more"),
        (
            422,
            "the server rejected our request due to an error in our request",
            "cannot patch Service shop/web: it changed in the",
        ),
        (422, "testing path /spec/taints failed: test failed", "cannot patch Service shop/web: it changed in the"),
        (422, "spec.ports: Required value", "cannot patch Service shop/web: spec.ports: Required value (HTTP 422)"),
        (403, "forbidden", "cannot patch Service shop/web: forbidden (HTTP 403)"),
    ] {
        let (client, _) = mk_client(code, message);
        let error = merge(&api_of(&client, &object), "web", json!({})).await.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        assert_eq!(error.is_conflict(), expected.contains("meantime") || expected.ends_with("in the"));
        assert_eq!(error.is_not_found(), code == 404);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_given_ten_seconds() {
    let hanging = service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, BoxError>>());
    let nodes: Api<Node> = Api::all(Client::new(hanging, "default"));
    let start = tokio::time::Instant::now();
    let error = merge_status(&nodes, "n1", json!({})).await.unwrap_err();
    assert!(start.elapsed() <= Duration::from_millis(10_001));
    assert_eq!(error.to_string(), "cannot patch the status of Node n1: no answer from the API server within 10 s");
}

#[tokio::test]
async fn a_change_without_the_lease_is_an_error_of_its_own() {
    let (client, calls) = mk_client(200, "");
    let plain = service_fn(move |request| {
        let client = client.clone();
        async move { client.send(request).await }
    });
    let fenced = Client::new(tower::Layer::layer(&FenceLayer::new(Arc::new(|| false)), plain), "default");
    let error = merge::<Node>(&Api::all(fenced), "n1", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::NotLeader { .. }), "{error}");
    assert!(error.to_string().contains("does not hold the leader lease"), "{error}");
    assert!(calls.lock().is_empty());
}
