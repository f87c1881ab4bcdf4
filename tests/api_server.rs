//! The cluster side of the controller against the embedded Kubernetes API: informers, events and
//! leader election, in one process and on simulated time.
#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, reason = "the lint sees no test in the functions that tests share")]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ccm::{
    clock::Clock,
    entropy::Entropy,
    kubernetes::{
        cache::Cache,
        client, events,
        limit::Bucket,
        patch::{self, add_finalizer},
    },
    leader::{Elector, Ended, Options},
    sim::kube::{Effect, Fault, Kube},
};
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

fn mk_kube() -> (Kube, Clock) {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    (Kube::new(clock.clone(), Entropy::seeded(1)), clock)
}

/// With fence, pace and deadline as in production.
fn mk_client(kube: &Kube, may_write: bool) -> Client {
    let router = kube.router();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        tower::ServiceExt::oneshot(router.clone(), request.map(axum::body::Body::new))
    });
    let bucket = Bucket::new(20.0, 30);
    client::over(service, "default", bucket, Duration::from_secs(10), Arc::new(move || may_write))
}

fn mk_node(name: &str) -> Node {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

async fn seconds(n: u64) {
    tokio::time::sleep(Duration::from_secs(n)).await;
}

fn run(cache: &Cache, client: Client) {
    let cache = cache.clone();
    tokio::spawn(async move { cache.run(client, Entropy::seeded(2), CancellationToken::new()).await });
}

#[tokio::test(start_paused = true)]
async fn the_cache_survives_whatever_happens_to_its_watches() {
    let (kube, _) = mk_kube();
    let nodes: Api<Node> = Api::all(kube.client());
    let cache = Cache::new();
    // What handlers were told must add up to what the store holds.
    let known = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = known.clone();
    cache.nodes.on_change(move |change| {
        let name = change.latest().unwrap().name_any();
        let consistent = match (change.old, change.new) {
            (None, Some(_)) => noted.lock().insert(name),
            (Some(_), None) => noted.lock().remove(&name),
            (Some(_), Some(_)) => noted.lock().contains(&name),
            (None, None) => false,
        };
        assert!(consistent, "a change that contradicts the ones before");
    });
    kube.inject(Fault::on("/api/v1/nodes", Effect::Refuse).times(3));
    run(&cache, mk_client(&kube, false));
    cache.synced().await;

    for round in 0..40u64 {
        let name = format!("n{}", round % 7);
        if nodes.get_opt(&name).await.unwrap().is_some() {
            nodes.delete(&name, &kube::api::DeleteParams::default()).await.unwrap();
        } else {
            nodes.create(&PostParams::default(), &mk_node(&name)).await.unwrap();
        }
        match round % 5 {
            0 => kube.close_watches(),
            1 => kube.expire_history(),
            2 => kube.inject(Fault::on("/api/v1/nodes", Effect::Status(503)).method(http::Method::GET)),
            3 => kube.inject(Fault::on("/api/v1/nodes", Effect::LoseAnswer)),
            _ => {}
        }
        // A read, so that an injected fault is spent on the watch or on this.
        seconds(130).await;
        let there: BTreeSet<String> =
            nodes.list(&ListParams::default()).await.unwrap().iter().map(Node::name_any).collect();
        let cached: BTreeSet<String> = cache.nodes.list().iter().map(|node| node.name_any()).collect();
        assert_eq!(cached, there, "round {round}");
        assert_eq!(*known.lock(), there, "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_found_at_the_object_it_is_about() {
    let (kube, clock) = mk_kube();
    let nodes: Api<Node> = Api::all(kube.client());
    let node = nodes.create(&PostParams::default(), &mk_node("n1")).await.unwrap();
    let cancel = CancellationToken::new();
    let client = mk_client(&kube, false);
    let recorder = events::Recorder::new(client, clock, Entropy::seeded(3), "node-controller", cancel.clone());
    for _ in 0..3 {
        recorder.normal(&events::reference_of(&node), "Synced", "took n1 into service");
        seconds(60).await;
    }
    cancel.cancel();
    recorder.closed().await;

    let found: Vec<Event> = Api::<Event>::all(kube.client()).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].count, Some(3));
    assert_eq!(found[0].involved_object.uid, node.uid());
    assert_eq!(found[0].last_timestamp.as_ref().unwrap().0.to_string(), "2026-01-01T00:02:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_set_on_an_old_version_is_a_conflict() {
    let (kube, _) = mk_kube();
    let services: Api<Service> = Api::default_namespaced(mk_client(&kube, true));
    let wanted = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}});
    let old = services.create(&PostParams::default(), &serde_json::from_value(wanted).unwrap()).await.unwrap();
    patch::merge(&services, "web", json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap();
    let refused = add_finalizer(&services, &old, "service.k8s.alibaba/resources").await.unwrap_err();
    assert!(refused.is_conflict(), "{refused}");

    let new = services.get("web").await.unwrap();
    let done = add_finalizer(&services, &new, "service.k8s.alibaba/resources").await.unwrap().unwrap();
    assert_eq!(done.finalizers(), ["service.k8s.alibaba/resources"]);

    let tests = [json!({"op": "test", "path": "/metadata/labels/a", "value": "c"})];
    let refused = patch::json(&services, "web", &tests).await.unwrap_err();
    assert!(refused.is_conflict(), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn leadership_passes_from_one_replica_to_the_next() {
    let (kube, clock) = mk_kube();
    let mk_elector = |identity: &str, seed| {
        let options = Options {
            namespace: "kube-system".into(),
            name: "ccm".into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        };
        Elector::new(mk_client(&kube, false), options, clock.clone(), Entropy::seeded(seed))
    };
    let (first, second) = (mk_elector("first", 1), mk_elector("second", 2));
    let (stop, never) = (CancellationToken::new(), CancellationToken::new());
    first.acquire(&stop).await.unwrap();
    let (holding, stopping) = (first.clone(), stop.clone());
    let term = tokio::spawn(async move { holding.hold(&stopping).await });
    let (candidate, waiting) = (second.clone(), never.clone());
    let next = tokio::spawn(async move { candidate.acquire(&waiting).await });

    seconds(300).await;
    assert!((first.may_write())() && !(second.may_write())());
    stop.cancel();
    assert_eq!(term.await.unwrap(), Ended::Cancelled);
    seconds(5).await;
    assert!(!(first.may_write())() && (second.may_write())());
    next.await.unwrap().unwrap();
}
