//! What kubectl reads: discovery, OpenAPI, tables, and an API behind a real socket.

use http::{Request, header};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Config, Error,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{kube, node, of, service};
use crate::sim::kube::{Effect, Fault, Kube};

async fn send(kube: &Kube, request: http::request::Builder, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let response = kube.router().oneshot(request.body(axum::body::Body::from(body)).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes))))
}

async fn get(kube: &Kube, path: &str) -> Value {
    send(kube, Request::get(path), Value::Null).await.1
}

/// Column names and cells of the first row, as `kubectl get -o wide` asks for them.
async fn table(kube: &Kube, path: &str) -> Vec<(String, String)> {
    let request =
        Request::get(path).header(header::ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    let (_, table) = send(kube, request, Value::Null).await;
    assert_eq!(table["kind"], "Table");
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let columns = table["columnDefinitions"].as_array().unwrap().iter().map(|c| text(&c["name"]));
    columns.zip(table["rows"][0]["cells"].as_array().unwrap().iter().map(text)).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn discovery_leads_to_every_collection() {
    let kube = kube();
    let mut roots = vec!["/api/v1".to_owned()];
    for group in get(&kube, "/apis").await["groups"].as_array().unwrap() {
        roots.push(format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str().unwrap()));
    }
    let mut collections = 0;
    for root in roots {
        for resource in get(&kube, &root).await["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            if name.contains('/') {
                continue;
            }
            let list = get(&kube, &format!("{root}/{name}")).await;
            assert_eq!(list["kind"], format!("{}List", resource["kind"].as_str().unwrap()), "{root}/{name}");
            collections += 1;
        }
    }
    assert_eq!(collections, 26);
    assert_eq!(get(&kube, "/version").await["minor"], "33");
    assert_eq!(get(&kube, "/readyz").await, "ok");
    assert_eq!(get(&kube, "/apis/nowhere.io/v1/things").await["reason"], "NotFound");
}

#[tokio::test(start_paused = true)]
async fn openapi_lets_the_server_check_the_fields() {
    let kube = kube();
    let index = get(&kube, "/openapi/v3").await;
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
    let document = get(&kube, url).await;
    let operation = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert!(operation["parameters"].as_array().unwrap().iter().any(|p| p["name"] == "fieldValidation"));
    assert_eq!(operation["x-kubernetes-group-version-kind"]["kind"], "Deployment");
    let body =
        json!({ "metadata": { "name": "web" }, "spec": { "prots": [], "ports": [{ "port": 80, "nodport": 1 }] } });
    let path = "/api/v1/namespaces/default/services?fieldValidation=Strict";
    let (code, status) = send(&kube, Request::post(path), body).await;
    let wanted = "strict decoding error: unknown field \"spec.ports[0].nodport\", unknown field \"spec.prots\"";
    assert_eq!((code, status["message"].as_str().unwrap()), (400, wanted));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_and_changes_nothing() {
    let kube = kube();
    let before = kube.store().revision();
    let body = serde_json::to_value(service("web")).unwrap();
    let (code, object) = send(&kube, Request::post("/api/v1/namespaces/default/services?dryRun=All"), body).await;
    assert_eq!((code, &object["spec"]["type"]), (201, &json!("LoadBalancer")));
    let (code, _) =
        send(&kube, Request::delete("/api/v1/namespaces/default/services/kubernetes?dryRun=All"), Value::Null).await;
    assert_eq!((code, kube.store().revision()), (200, before));
}

#[tokio::test(start_paused = true)]
async fn tables_print_nodes_and_services() {
    let kube = kube();
    kube.create::<Node>(&of(json!({
        "metadata": { "name": "n1", "labels": { "node-role.kubernetes.io/control-plane": "" } },
        "spec": { "unschedulable": true },
        "status": {
            "addresses": [{ "type": "InternalIP", "address": "192.168.0.1" }],
            "conditions": [{ "type": "Ready", "status": "True" }],
            "nodeInfo": {
                "architecture": "", "bootID": "", "machineID": "", "systemUUID": "", "operatingSystem": "linux",
                "kubeProxyVersion": "", "kubeletVersion": "v1.33.0", "osImage": "Linux", "kernelVersion": "6.1",
                "containerRuntimeVersion": "containerd://2",
            },
        },
    })))
    .unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(42)).await;
    assert_eq!(
        table(&kube, "/api/v1/nodes").await,
        pairs(&[
            ("Name", "n1"),
            ("Status", "Ready,SchedulingDisabled"),
            ("Roles", "control-plane"),
            ("Age", "42s"),
            ("Version", "v1.33.0"),
            ("Internal-IP", "192.168.0.1"),
            ("External-IP", "<none>"),
            ("OS-Image", "Linux"),
            ("Kernel-Version", "6.1"),
            ("Container-Runtime", "containerd://2"),
        ])
    );
    kube.create(&service("web")).unwrap();
    let path = "/api/v1/namespaces/default/services?fieldSelector=metadata.name%3Dweb";
    let cells = [
        ("Name", "web"),
        ("Type", "LoadBalancer"),
        ("Cluster-IP", "10.96.0.17"),
        ("External-IP", "<pending>"),
        ("Port(s)", "80:30001/TCP"),
        ("Age", "0s"),
        ("Selector", "<none>"),
    ];
    assert_eq!(table(&kube, path).await, pairs(&cells));
    let status = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "47.0.0.1" }, { "hostname": "a.b" }] } } });
    kube.patch_status::<k8s_openapi::api::core::v1::Service>("default", "web", status).unwrap();
    assert_eq!(table(&kube, path).await[3].1, "47.0.0.1,a.b");
}

#[tokio::test(start_paused = true)]
async fn scale_sets_the_replicas() {
    let kube = kube();
    let body = json!({ "metadata": { "name": "d" }, "spec": {
        "selector": { "matchLabels": { "a": "b" } },
        "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c" }] } },
    } });
    send(&kube, Request::post("/apis/apps/v1/namespaces/default/deployments"), body).await;
    let path = "/apis/apps/v1/namespaces/default/deployments/d/scale";
    let request = Request::patch(path).header(header::CONTENT_TYPE, "application/merge-patch+json");
    let (code, scale) = send(&kube, request, json!({ "spec": { "replicas": 4 } })).await;
    assert_eq!((code, &scale["spec"]["replicas"], &scale["status"]["selector"]), (200, &json!(4), &json!("a=b")));
    let deployment = get(&kube, "/apis/apps/v1/namespaces/default/deployments/d").await;
    assert_eq!(deployment["spec"]["replicas"], 4);
}

#[tokio::test]
async fn behind_a_socket_it_is_the_same_api() {
    let kube = kube();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(axum::serve(listener, kube.router()).into_future());
    let mut config = Config::new(format!("http://{address}").parse().unwrap());
    config.default_retry = false;
    let nodes: Api<Node> = Api::all(Client::try_from(config).unwrap());
    nodes.create(&PostParams::default(), &node("n1")).await.unwrap();
    kube.inject(Fault::on("/api/v1/nodes", Effect::Refuse));
    let broken = nodes.list(&ListParams::default()).await.unwrap_err();
    assert!(!matches!(broken, Error::Api(_)), "{broken}");
    assert_eq!(nodes.list(&ListParams::default()).await.unwrap().items.len(), 1);
    server.abort();
}
