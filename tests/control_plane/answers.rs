//! The embedded API answers as the real one does: the same requests are sent to both, and what
//! comes back is compared, word by word but for what differs between any two clusters.

use ccm::{clock::Clock, entropy::Entropy, sim::kube::Kube};
use http::Request;
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use serde_json::{Value, json};

use crate::theatre::theatre;

const SERVICES: &str = "/api/v1/namespaces/default/services";
const NODES: &str = "/api/v1/nodes";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Values that are a cluster's own: compared by their presence only.
const OWN: [&str; 9] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
    "continue",
];

/// Kept by the real API for apply on the server's side only, and texts for people. Not compared
/// either: pods, which a real server fills with much that nobody here reads.
const LEFT_OUT: [&str; 2] = ["managedFields", "message"];

struct Exchange {
    what: &'static str,
    method: &'static str,
    path: String,
    kind: &'static str,
    body: Value,
}

fn ask(what: &'static str, method: &'static str, path: impl Into<String>, body: Value) -> Exchange {
    Exchange { what, method, path: path.into(), kind: "application/json", body }
}

fn merge(what: &'static str, path: impl Into<String>, body: Value) -> Exchange {
    Exchange { kind: "application/merge-patch+json", ..ask(what, "PATCH", path, body) }
}

fn strategic(what: &'static str, path: impl Into<String>, body: Value) -> Exchange {
    Exchange { kind: "application/strategic-merge-patch+json", ..ask(what, "PATCH", path, body) }
}

fn json_patch(what: &'static str, path: impl Into<String>, body: Value) -> Exchange {
    Exchange { kind: "application/json-patch+json", ..ask(what, "PATCH", path, body) }
}

fn service(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name }, "spec": spec })
}

fn services() -> Vec<Exchange> {
    let one = format!("{SERVICES}/answers");
    let status = format!("{one}/status");
    let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
    let ingress = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "47.0.0.1" }] } } });
    vec![
        ask("create", "POST", SERVICES, service("answers", &spec)),
        ask("create again", "POST", SERVICES, service("answers", &spec)),
        ask("get", "GET", one.clone(), Value::Null),
        merge("a finalizer", one.clone(), json!({ "metadata": { "finalizers": ["test.io/x"] } })),
        merge("a finalizer without a domain", one.clone(), json!({ "metadata": { "finalizers": ["x"] } })),
        merge(
            "a stale version",
            one.clone(),
            json!({ "metadata": { "resourceVersion": "1", "labels": { "a": "b" } } }),
        ),
        merge("status", status.clone(), ingress),
        merge("spec by way of status", status, json!({ "spec": { "type": "ClusterIP" } })),
        merge("status by way of the object", one.clone(), json!({ "status": { "loadBalancer": null } })),
        strategic("a second port", one.clone(), json!({ "spec": { "ports": [{ "name": "b", "port": 81 }] } })),
        strategic(
            "ports by name",
            one.clone(),
            json!({ "spec": { "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }] } }),
        ),
        merge("policy Local", one.clone(), json!({ "spec": { "externalTrafficPolicy": "Local" } })),
        merge("policy Cluster", one.clone(), json!({ "spec": { "externalTrafficPolicy": "Cluster" } })),
        merge("to ClusterIP", one.clone(), json!({ "spec": { "type": "ClusterIP" } })),
        merge("and back", one.clone(), json!({ "spec": { "type": "LoadBalancer" } })),
        merge("another cluster IP", one.clone(), json!({ "spec": { "clusterIP": "10.96.200.200" } })),
        json_patch("a test that fails", one.clone(), json!([{ "op": "test", "path": "/spec/type", "value": "x" }])),
        json_patch("nonsense", one.clone(), json!([{ "op": "remove", "path": "/spec/nowhere" }])),
        merge(
            "an unknown field, strictly",
            format!("{one}?fieldValidation=Strict"),
            json!({ "spec": { "colour": "red" } }),
        ),
        merge("a wrong type", one.clone(), json!({ "spec": { "ports": "many" } })),
        ask("delete", "DELETE", one.clone(), Value::Null),
        ask("delete again", "DELETE", one.clone(), Value::Null),
        merge(
            "another finalizer while it goes",
            one.clone(),
            json!({ "metadata": { "finalizers": ["test.io/x", "test.io/y"] } }),
        ),
        merge("the last finalizer", one.clone(), json!({ "metadata": { "finalizers": null } })),
        ask("get what is gone", "GET", one.clone(), Value::Null),
        ask("delete what is gone", "DELETE", one.clone(), Value::Null),
        merge("patch what is gone", one, json!({ "metadata": { "labels": { "a": "b" } } })),
        ask("no ports", "POST", SERVICES, service("answers", &json!({ "type": "LoadBalancer" }))),
        ask("a bad name", "POST", SERVICES, service("An_Swer", &spec)),
        ask(
            "two ports without names",
            "POST",
            SERVICES,
            service("answers", &json!({ "ports": [{ "port": 1 }, { "port": 2 }] })),
        ),
        ask("a port out of range", "POST", SERVICES, service("answers", &json!({ "ports": [{ "port": 70_000 }] }))),
        ask(
            "a type that is none",
            "POST",
            SERVICES,
            service("answers", &json!({ "type": "Balancer", "ports": [{ "port": 1 }] })),
        ),
        ask(
            "a policy that is none",
            "POST",
            SERVICES,
            service(
                "answers",
                &json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Far", "ports": [{ "port": 1 }] }),
            ),
        ),
        ask("another namespace", "POST", "/api/v1/namespaces/nowhere/services", service("answers", &spec)),
        ask(
            "headless",
            "POST",
            SERVICES,
            service("headless", &json!({ "clusterIP": "None", "ports": [{ "port": 80 }] })),
        ),
        ask("headless goes", "DELETE", format!("{SERVICES}/headless"), Value::Null),
        ask(
            "an external name",
            "POST",
            SERVICES,
            service("external", &json!({ "type": "ExternalName", "externalName": "example.com" })),
        ),
        ask("it goes", "DELETE", format!("{SERVICES}/external"), Value::Null),
    ]
}

fn others() -> Vec<Exchange> {
    let lease = |spec: Value| json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "answers" }, "spec": spec });
    let stale = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "answers", "resourceVersion": "1" }, "spec": { "holderIdentity": "c" } });
    let event = json!({
        "metadata": { "name": "answers.1" }, "involvedObject": { "kind": "Service", "name": "answers", "namespace": "default" },
        "reason": "Test", "message": "m", "type": "Normal", "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
    });
    let elsewhere = json!({ "metadata": { "name": "answers.2" }, "involvedObject": { "kind": "Service", "name": "answers", "namespace": "kube-system" } });
    let slice = |kind: Value| json!({ "metadata": { "name": "answers" }, "addressType": kind, "endpoints": [{ "addresses": ["10.0.0.1"] }], "ports": [{ "port": 80 }] });
    let labels = json!({ "app": "answers" });
    let deployment = json!({
        "metadata": { "name": "answers" },
        "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "a", "image": "b" }] } } },
    });
    vec![
        ask(
            "a lease",
            "POST",
            LEASES,
            lease(json!({ "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0 })),
        ),
        ask("a lease without version", "PUT", format!("{LEASES}/answers"), lease(json!({ "holderIdentity": "b" }))),
        ask("a stale lease", "PUT", format!("{LEASES}/answers"), stale),
        ask("a lease of no time", "PUT", format!("{LEASES}/answers"), lease(json!({ "leaseDurationSeconds": 0 }))),
        ask("the lease goes", "DELETE", format!("{LEASES}/answers"), Value::Null),
        ask("an event", "POST", EVENTS, event),
        merge("counted", format!("{EVENTS}/answers.1"), json!({ "count": 2, "lastTimestamp": "2026-01-01T00:01:00Z" })),
        strategic("counted again", format!("{EVENTS}/answers.1"), json!({ "count": 3 })),
        ask("an event of another namespace", "POST", EVENTS, elsewhere),
        ask("it goes", "DELETE", format!("{EVENTS}/answers.1"), Value::Null),
        ask("a slice", "POST", SLICES, slice(json!("IPv4"))),
        ask("the slice goes", "DELETE", format!("{SLICES}/answers"), Value::Null),
        ask("a slice of no kind", "POST", SLICES, slice(Value::Null)),
        ask("a Deployment", "POST", DEPLOYMENTS, deployment),
        merge("scaled", format!("{DEPLOYMENTS}/answers/scale"), json!({ "spec": { "replicas": 0 } })),
        ask("it goes", "DELETE", format!("{DEPLOYMENTS}/answers"), json!({ "propagationPolicy": "Background" })),
        ask("a node with a bad provider", "POST", NODES, json!({ "metadata": { "name": "An swer" } })),
        ask("a kind that is none", "GET", "/api/v1/namespaces/default/gadgets", Value::Null),
        ask("a bad label selector", "GET", format!("{SERVICES}?labelSelector=a=(("), Value::Null),
        ask("a bad field selector", "GET", format!("{SERVICES}?fieldSelector=spec.colour=red"), Value::Null),
        ask("a list of none", "GET", format!("{SERVICES}?labelSelector=a%3Db"), Value::Null),
        ask("a bad version", "GET", format!("{SERVICES}?resourceVersion=abc"), Value::Null),
        ask("a body that is none", "POST", SERVICES, json!("text")),
        ask(
            "another kind's body",
            "POST",
            SERVICES,
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x" } }),
        ),
        ask("a method that is none", "PUT", SERVICES, json!({})),
    ]
}

/// Status and body of the answer, without what is a cluster's own.
async fn send(client: &Client, exchange: &Exchange) -> Value {
    let body = if exchange.body.is_null() { Vec::new() } else { exchange.body.to_string().into_bytes() };
    let request = Request::builder()
        .method(exchange.method)
        .uri(&exchange.path)
        .header("content-type", exchange.kind)
        .header("accept", "application/json")
        .body(Body::from(body))
        .unwrap();
    let answer = client.send(request).await.unwrap();
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let mut body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    strip(&mut body);
    json!({ "http": status, "body": body })
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for key in LEFT_OUT {
                object.remove(key);
            }
            // Some refusals have empty details, some none; one cause may be named twice.
            if object.get("details").is_some_and(|details| *details == json!({})) {
                object.remove("details");
            }
            if let Some(causes) = object.get_mut("causes").and_then(Value::as_array_mut) {
                causes.dedup_by(|a, b| a["field"] == b["field"] && a["reason"] == b["reason"]);
            }
            for (key, inner) in object.iter_mut() {
                if OWN.contains(&key.as_str()) && inner != "" && inner != "None" && *inner != json!(["None"]) {
                    *inner = json!("own");
                } else {
                    strip(inner);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Where two values differ: `path: real / embedded`.
fn differences(path: &str, real: &Value, embedded: &Value, found: &mut Vec<String>) {
    match (real, embedded) {
        (Value::Object(real), Value::Object(embedded)) => {
            let keys: std::collections::BTreeSet<&String> = real.keys().chain(embedded.keys()).collect();
            for key in keys {
                let (a, b) = (real.get(key).unwrap_or(&Value::Null), embedded.get(key).unwrap_or(&Value::Null));
                differences(&format!("{path}.{key}"), a, b, found);
            }
        }
        (Value::Array(real), Value::Array(embedded)) if real.len() == embedded.len() => {
            for (number, (a, b)) in real.iter().zip(embedded).enumerate() {
                differences(&format!("{path}[{number}]"), a, b, found);
            }
        }
        _ if real != embedded => found.push(format!("{path}: {real} / {embedded}")),
        _ => {}
    }
}

fn compare(exchanges: &[Exchange]) {
    let theatre = theatre();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let found = runtime.block_on(async {
        let real = theatre.client(&theatre.plane.told.kubeconfig, "answers").await;
        let embedded = Kube::new(Clock::system(), Entropy::system()).client();
        let mut found = Vec::new();
        for exchange in exchanges {
            let (a, b) = (send(&real, exchange).await, send(&embedded, exchange).await);
            differences(exchange.what, &a, &b, &mut found);
        }
        found
    });
    assert!(found.is_empty(), "request: real answer / embedded answer\n{}", found.join("\n"));
}

#[test]
fn about_services() {
    compare(&services());
}

#[test]
fn about_everything_else() {
    compare(&others());
}
