//! Objects over HTTP: identity, locking, status, finalizers, lists, both event APIs.

use k8s_openapi::api::{
    apps::v1::Deployment,
    coordination::v1::Lease,
    core::v1::{ConfigMap, Event, Namespace, Node, Pod, Service},
    discovery::v1::EndpointSlice,
    events::v1::Event as NewEvent,
};
use kube::{
    Api, Error, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::json;

use super::{kube, node, of, post, service};

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (u16, String) {
    match result.unwrap_err() {
        Error::Api(status) => (status.code, status.reason.clone()),
        other => panic!("not a refusal: {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_object_gets_its_identity() {
    let kube = kube();
    let created = post(&kube, &service("web")).await;
    assert_eq!(created.namespace().as_deref(), Some("default"));
    assert_eq!(created.creation_timestamp().unwrap().0.to_string(), "2026-01-02T03:04:05Z");
    assert_eq!(created.uid().unwrap().len(), 36);
    assert_eq!(created.metadata.generation, None);
    let services: Api<Service> = Api::default_namespaced(kube.client());
    let again = services.create(&PostParams::default(), &service("web")).await;
    assert_eq!(refusal(again), (409, "AlreadyExists".into()));
    assert_eq!(refusal(services.get("other").await), (404, "NotFound".into()));
    let elsewhere: Api<Service> = Api::namespaced(kube.client(), "elsewhere");
    assert_eq!(refusal(elsewhere.create(&PostParams::default(), &service("web")).await), (404, "NotFound".into()));
    let named_wrongly = services.create(&PostParams::default(), &service("Web_1")).await;
    assert_eq!(refusal(named_wrongly), (422, "Invalid".into()));
}

#[tokio::test(start_paused = true)]
async fn generated_names_differ() {
    let kube = kube();
    let pod: Pod = of(json!({ "metadata": { "generateName": "web-" }, "spec": { "containers": [{ "name": "a" }] } }));
    let (a, b) = (kube.create(&pod).unwrap(), kube.create(&pod).unwrap());
    assert!(a.name_any().starts_with("web-") && a.name_any().len() == 9);
    assert_ne!(a.name_any(), b.name_any());
}

#[tokio::test(start_paused = true)]
async fn a_write_on_an_old_version_is_a_conflict() {
    let kube = kube();
    let old = post(&kube, &service("web")).await;
    kube.patch::<Service>("default", "web", json!({ "metadata": { "labels": { "a": "b" } } })).unwrap();
    let services: Api<Service> = Api::default_namespaced(kube.client());
    assert_eq!(refusal(services.replace("web", &PostParams::default(), &old).await), (409, "Conflict".into()));
    let patch = json!({ "metadata": { "resourceVersion": old.resource_version(), "labels": { "c": "d" } } });
    let patched = services.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await;
    assert_eq!(refusal(patched), (409, "Conflict".into()));
    let mut current = services.get("web").await.unwrap();
    current.annotations_mut().insert("e".into(), "f".into());
    services.replace("web", &PostParams::default(), &current).await.unwrap();
    let labels = services.get("web").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels.into_iter().collect::<Vec<_>>(), [("a".to_owned(), "b".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_never_overwritten_blindly() {
    let kube = kube();
    let leases: Api<Lease> = Api::namespaced(kube.client(), "kube-system");
    let lease: Lease = of(json!({ "metadata": { "name": "ccm" }, "spec": { "holderIdentity": "a" } }));
    leases.create(&PostParams::default(), &lease).await.unwrap();
    assert_eq!(refusal(leases.replace("ccm", &PostParams::default(), &lease).await), (422, "Invalid".into()));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_keeps_the_version() {
    let kube = kube();
    kube.create(&service("web")).unwrap();
    kube.create(&node("n1")).unwrap();
    kube.create::<Pod>(&of(json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "a", "ports": [{ "containerPort": 80 }] }] } })))
        .unwrap();
    kube.create::<Deployment>(&of(json!({ "metadata": { "name": "d" }, "spec": {
        "selector": { "matchLabels": { "a": "b" } },
        "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "a" }] } },
    } })))
    .unwrap();
    kube.create::<Lease>(&of(
        json!({ "metadata": { "name": "l" }, "spec": { "renewTime": "2026-01-02T03:04:05.1Z" } }),
    ))
    .unwrap();
    kube.create::<EndpointSlice>(&of(json!({
        "metadata": { "name": "s" }, "addressType": "IPv4", "ports": [{ "port": 80 }],
        "endpoints": [{ "addresses": ["10.0.0.1"] }],
    })))
    .unwrap();
    let before = kube.store().revision();
    kube.modify::<Service>("default", "web", |_| {}).unwrap();
    kube.modify::<Node>("", "n1", |_| {}).unwrap();
    kube.modify::<Pod>("default", "p", |_| {}).unwrap();
    kube.modify::<Deployment>("default", "d", |_| {}).unwrap();
    kube.modify::<Lease>("default", "l", |_| {}).unwrap();
    kube.modify::<EndpointSlice>("default", "s", |_| {}).unwrap();
    kube.modify::<Namespace>("", "default", |_| {}).unwrap();
    assert_eq!(kube.store().revision(), before);
}

#[tokio::test(start_paused = true)]
async fn generation_counts_changes_of_the_spec() {
    let kube = kube();
    let deployment: Deployment = of(json!({ "metadata": { "name": "d" }, "spec": {
        "selector": { "matchLabels": { "a": "b" } },
        "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "a" }] } },
    } }));
    assert_eq!(kube.create(&deployment).unwrap().metadata.generation, Some(1));
    let generation = |patch| kube.patch::<Deployment>("default", "d", patch).unwrap().metadata.generation;
    assert_eq!(generation(json!({ "metadata": { "labels": { "x": "y" } } })), Some(1));
    assert_eq!(generation(json!({ "spec": { "replicas": 3 } })), Some(2));
    let status = json!({ "status": { "replicas": 3 } });
    assert_eq!(kube.patch_status::<Deployment>("default", "d", status).unwrap().metadata.generation, Some(2));
}

#[tokio::test(start_paused = true)]
async fn status_is_written_only_through_its_own_path() {
    let kube = kube();
    let address = json!({ "loadBalancer": { "ingress": [{ "ip": "47.0.0.1" }] } });
    let mut sent = service("web");
    sent.status = of(address.clone());
    let created = post(&kube, &sent).await;
    assert_eq!(created.status.unwrap_or_default().load_balancer.unwrap().ingress, None);
    let services: Api<Service> = Api::default_namespaced(kube.client());
    let patch = json!({
        "metadata": { "labels": { "hash": "1" } }, "spec": { "type": "ClusterIP" }, "status": address,
    });
    let by_status = services.patch_status("web", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    assert_eq!(by_status.spec.unwrap().type_.as_deref(), Some("LoadBalancer"));
    assert_eq!(by_status.metadata.labels.unwrap()["hash"], "1");
    let by_main =
        services.patch("web", &PatchParams::default(), &Patch::Merge(json!({ "status": null }))).await.unwrap();
    assert_eq!(by_main.status, by_status.status);
}

#[tokio::test(start_paused = true)]
async fn a_node_registers_with_its_status() {
    let kube = kube();
    let sent: Node = of(json!({
        "metadata": { "name": "n1" }, "spec": { "podCIDR": "10.0.0.0/24" },
        "status": { "addresses": [{ "type": "Hostname", "address": "n1" }] },
    }));
    let created = kube.create(&sent).unwrap();
    assert_eq!(created.status, sent.status);
    assert_eq!(created.spec.unwrap().pod_cidrs.unwrap(), ["10.0.0.0/24"]);
    let id = |id: &str| kube.patch::<Node>("", "n1", json!({ "spec": { "providerID": id } }));
    id("cn-hangzhou.i-1").unwrap();
    assert_eq!(id("cn-hangzhou.i-2").unwrap_err().code, 422);
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_finalizers() {
    let kube = kube();
    let mut sent = service("web");
    sent.finalizers_mut().push("a.b/c".into());
    post(&kube, &sent).await;
    let services: Api<Service> = Api::default_namespaced(kube.client());
    let waiting = services.delete("web", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(waiting.metadata.deletion_grace_period_seconds, Some(0));
    let stamp = waiting.metadata.deletion_timestamp.clone();
    assert!(stamp.is_some());
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let again = services.delete("web", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(again.metadata.deletion_timestamp, stamp);
    let added = json!({ "metadata": { "finalizers": ["a.b/c", "d.e/f"] } });
    let added = services.patch("web", &PatchParams::default(), &Patch::Merge(added)).await;
    assert_eq!(refusal(added), (422, "Invalid".into()));
    let cleared = json!({ "metadata": { "finalizers": null } });
    services.patch("web", &PatchParams::default(), &Patch::Merge(cleared)).await.unwrap();
    assert_eq!(refusal(services.get("web").await), (404, "NotFound".into()));
}

#[tokio::test(start_paused = true)]
async fn deletion_checks_its_preconditions() {
    let kube = kube();
    let created = kube.create(&node("n1")).unwrap();
    let nodes: Api<Node> = Api::all(kube.client());
    let with_uid = |uid: Option<String>| DeleteParams {
        preconditions: Some(Preconditions { uid, resource_version: None }),
        ..DeleteParams::default()
    };
    let wrong = nodes.delete("n1", &with_uid(Some("other".into()))).await;
    assert_eq!(refusal(wrong), (409, "Conflict".into()));
    let status = nodes.delete("n1", &with_uid(created.uid())).await.unwrap().right().unwrap();
    assert!(status.is_success());
    assert_eq!(kube.get::<Node>("", "n1"), None);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_objects_along() {
    let kube = kube();
    kube.create::<Namespace>(&of(json!({ "metadata": { "name": "shop" } }))).unwrap();
    let mut held = service("held");
    held.metadata.namespace = Some("shop".into());
    held.finalizers_mut().push("a.b/c".into());
    kube.create(&held).unwrap();
    let map: ConfigMap = of(json!({ "metadata": { "name": "map", "namespace": "shop" } }));
    kube.create(&map).unwrap();
    kube.delete::<Namespace>("", "shop").unwrap();
    assert_eq!(kube.get::<ConfigMap>("shop", "map"), None);
    assert!(kube.get::<Service>("shop", "held").unwrap().metadata.deletion_timestamp.is_some());
    assert_eq!(kube.create(&map).unwrap_err().code, 403);
    kube.patch::<Service>("shop", "held", json!({ "metadata": { "finalizers": null } })).unwrap();
    assert_eq!(kube.get::<Namespace>("", "shop"), None);
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_version_of_the_list() {
    let kube = kube();
    for name in ["n1", "n2", "n3", "n4", "n5"] {
        kube.create(&node(name)).unwrap();
    }
    let nodes: Api<Node> = Api::all(kube.client());
    let first = nodes.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    kube.delete::<Node>("", "n3").unwrap();
    kube.create(&node("n6")).unwrap();
    let token = first.metadata.continue_.clone().unwrap();
    let rest = nodes.list(&ListParams::default().continue_token(&token)).await.unwrap();
    let names: Vec<_> = first.iter().chain(rest.iter()).map(ResourceExt::name_any).collect();
    assert_eq!(names, ["n1", "n2", "n3", "n4", "n5"]);
    assert_eq!(rest.metadata.resource_version, first.metadata.resource_version);
    kube.expire_history();
    let late = nodes.list(&ListParams::default().continue_token(&token)).await;
    assert_eq!(refusal(late), (410, "Expired".into()));
}

#[tokio::test(start_paused = true)]
async fn lists_select_by_labels_and_fields() {
    let kube = kube();
    for name in ["n1", "n2", "n3"] {
        kube.create(&node(name)).unwrap();
    }
    let nodes: Api<Node> = Api::all(kube.client());
    let names = async |params: ListParams| {
        nodes.list(&params).await.unwrap().iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    assert_eq!(names(ListParams::default().labels("name in (n1,n3)")).await, ["n1", "n3"]);
    assert_eq!(names(ListParams::default().fields("metadata.name!=n1").labels("name!=n2")).await, ["n3"]);
    let unknown = nodes.list(&ListParams::default().fields("spec.color=red")).await;
    assert_eq!(refusal(unknown), (400, "BadRequest".into()));
}

#[tokio::test(start_paused = true)]
async fn both_event_apis_show_one_event() {
    let kube = kube();
    let core: Api<Event> = Api::default_namespaced(kube.client());
    let new: Api<NewEvent> = Api::default_namespaced(kube.client());
    let event: NewEvent = of(json!({
        "metadata": { "name": "web.1" }, "type": "Normal", "reason": "Ensured", "action": "Ensure", "note": "done",
        "eventTime": "2026-01-02T03:04:05.000000Z", "reportingController": "ccm", "reportingInstance": "ccm-0",
        "regarding": { "kind": "Service", "name": "web", "namespace": "default" },
    }));
    new.create(&PostParams::default(), &event).await.unwrap();
    let selected = core.list(&ListParams::default().fields("involvedObject.name=web")).await.unwrap();
    assert_eq!(selected.items.len(), 1);
    assert_eq!(selected.items[0].message.as_deref(), Some("done"));
    assert_eq!(selected.items[0].reporting_component.as_deref(), Some("ccm"));
    let count = json!({ "count": 2 });
    core.patch("web.1", &PatchParams::default(), &Patch::Merge(count)).await.unwrap();
    let shown = new.get("web.1").await.unwrap();
    assert_eq!((shown.deprecated_count, shown.note.as_deref()), (Some(2), Some("done")));
}

#[tokio::test(start_paused = true)]
async fn events_live_beside_their_object() {
    let kube = kube();
    let event = |namespace: &str, involved: serde_json::Value| -> Event {
        of(json!({ "metadata": { "name": "e", "namespace": namespace }, "involvedObject": involved, "reason": "R" }))
    };
    let node = json!({ "kind": "Node", "name": "n1" });
    assert_eq!(kube.create(&event("kube-system", node.clone())).unwrap_err().code, 422);
    kube.create(&event("default", node)).unwrap();
    let service = json!({ "kind": "Service", "name": "web", "namespace": "kube-system" });
    assert_eq!(kube.create(&event("default", service)).unwrap_err().code, 422);
}

#[tokio::test(start_paused = true)]
async fn apply_creates_then_merges() {
    let kube = kube();
    let services: Api<Service> = Api::default_namespaced(kube.client());
    let apply = async |ports: serde_json::Value| {
        let body = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" }, "spec": { "ports": ports },
        });
        services.patch("web", &PatchParams::apply("test"), &Patch::Apply(body)).await.unwrap()
    };
    let created = apply(json!([{ "port": 80 }])).await;
    let merged = apply(json!([{ "port": 80, "targetPort": 8080 }])).await;
    assert_eq!(created.uid(), merged.uid());
    assert_eq!(merged.spec.unwrap().ports.unwrap().len(), 1);
    assert_eq!(kube.requests().iter().map(|r| r.status).collect::<Vec<_>>(), [201, 200]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_what_and_why() {
    let kube = kube();
    let services: Api<Service> = Api::default_namespaced(kube.client());
    let mut wrong = service("web");
    wrong.spec.as_mut().unwrap().ports = None;
    let Error::Api(status) = services.create(&PostParams::default(), &wrong).await.unwrap_err() else {
        panic!("not a refusal");
    };
    assert_eq!(status.message, "Service \"web\" is invalid: spec.ports: Required value");
    let details = status.details.unwrap();
    assert_eq!((details.name.as_str(), details.kind.as_str()), ("web", "Service"));
    assert_eq!(
        (details.causes[0].field.as_str(), details.causes[0].reason.as_str()),
        ("spec.ports", "FieldValueRequired")
    );
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_objects() {
    let run = async || {
        let kube = kube();
        post(&kube, &service("a")).await;
        kube.create(&node("n1")).unwrap();
        let pod = json!({ "metadata": { "generateName": "web-" }, "spec": { "containers": [{ "name": "a" }] } });
        kube.create::<Pod>(&of(pod)).unwrap();
        let all = (kube.list::<Service>(), kube.list::<Node>(), kube.list::<Pod>());
        serde_json::to_string(&all).unwrap()
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_change_that_was_waited_for() {
    let kube = kube();
    let writer = kube.clone();
    tokio::spawn(async move {
        for name in ["n1", "n2"] {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            writer.create(&node(name)).unwrap();
        }
    });
    let start = tokio::time::Instant::now();
    let found = kube.until(|k| k.get::<Node>("", "n2")).await;
    assert_eq!((found.name_any().as_str(), start.elapsed().as_secs()), ("n2", 10));
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_of_ones_own_has_a_domain() {
    let kube = kube();
    post(&kube, &service("web")).await;
    let services: Api<Service> = Api::default_namespaced(kube.client());
    for (finalizer, accepted) in [("x", false), ("foregroundDeletion", true), ("a.b/x", true)] {
        let patch = Patch::Merge(json!({ "metadata": { "finalizers": [finalizer] } }));
        let answer = services.patch("web", &PatchParams::default(), &patch).await;
        assert_eq!(answer.is_ok(), accepted, "{finalizer}");
        if let Err(Error::Api(status)) = answer {
            let causes = status.details.clone().unwrap().causes;
            assert_eq!((status.code, causes[0].field.as_str()), (422, "metadata.finalizers[0]"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_makes_no_object_of_its_kind_is_the_patchs_fault() {
    let kube = kube();
    post(&kube, &service("web")).await;
    let services: Api<Service> = Api::default_namespaced(kube.client());
    let patch = Patch::Merge(json!({ "spec": { "ports": "many" } }));
    let Err(Error::Api(status)) = services.patch("web", &PatchParams::default(), &patch).await else { panic!() };
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    assert_eq!(status.details.clone().unwrap().causes[0].field, "patch");
    // A whole body is not a patch.
    let body = json!({ "metadata": { "name": "web" }, "spec": { "ports": "many" } });
    let request = http::Request::put("/api/v1/namespaces/default/services/web").body(body.to_string().into_bytes());
    assert_eq!(refusal(kube.client().request::<Service>(request.unwrap()).await).0, 400);
}

#[tokio::test(start_paused = true)]
async fn an_update_without_its_version_names_the_resource() {
    let kube = kube();
    let lease: Lease = of(json!({ "metadata": { "name": "l", "namespace": "default" } }));
    kube.create(&lease).unwrap();
    let leases: Api<Lease> = Api::default_namespaced(kube.client());
    let Err(Error::Api(status)) = leases.replace("l", &PostParams::default(), &lease).await else { panic!() };
    assert!(status.message.starts_with("leases.coordination.k8s.io \"l\" is invalid"), "{}", status.message);
    assert_eq!(status.details.clone().unwrap().kind, "leases");
}

#[tokio::test(start_paused = true)]
async fn what_is_empty_is_there_where_the_real_server_writes_it() {
    let kube = kube();
    let event =
        json!({ "metadata": { "name": "e", "namespace": "default" }, "involvedObject": { "namespace": "default" } });
    let event = serde_json::to_value(kube.create::<Event>(&of(event)).unwrap()).unwrap();
    assert_eq!((&event["source"], &event["reportingComponent"]), (&json!({}), &json!("")));
    let slice = json!({
        "metadata": { "name": "s", "namespace": "default" }, "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.0.0.1"] }],
    });
    let slice = serde_json::to_value(kube.create::<EndpointSlice>(&of(slice)).unwrap()).unwrap();
    assert_eq!(slice["endpoints"][0]["conditions"], json!({}));
    let deployment = json!({
        "metadata": { "name": "d", "namespace": "default" },
        "spec": {
            "replicas": 0, "selector": { "matchLabels": { "a": "b" } },
            "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "a" }] } },
        },
    });
    assert!(kube.create::<Deployment>(&of(deployment)).unwrap().status.is_some());
    let deployments: Api<Deployment> = Api::default_namespaced(kube.client());
    let scale = deployments.get_scale("d").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, None);
    assert_eq!(deployments.get("d").await.unwrap().spec.unwrap().replicas, Some(0));
}
