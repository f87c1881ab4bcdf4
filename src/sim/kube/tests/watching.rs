//! Watches over HTTP, without a socket and on paused time.

use std::{pin::pin, time::Duration};

use futures::{Stream, StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{
    Api, ResourceExt,
    api::{WatchEvent, WatchParams},
    runtime::watcher::{self, Event, watcher},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{kube, node, service};
use crate::sim::kube::Kube;

/// What a watcher tells, in short.
async fn next(events: &mut (impl Stream<Item = watcher::Result<Event<Node>>> + Unpin)) -> String {
    match events.next().await.unwrap() {
        Ok(Event::Init) => "init".into(),
        Ok(Event::InitApply(node)) => format!("init {}", node.name_any()),
        Ok(Event::InitDone) => "done".into(),
        Ok(Event::Apply(node)) => format!("apply {}", node.name_any()),
        Ok(Event::Delete(node)) => format!("delete {}", node.name_any()),
        Err(error) => format!("error {}", matches!(error, watcher::Error::WatchError(status) if status.code == 410)),
    }
}

/// The lines of one watch until it ends, as `TYPE name-or-version`.
async fn lines(kube: &Kube, query: &str) -> Vec<(String, Value)> {
    let request = http::Request::get(format!("/api/v1/nodes?watch=true&{query}")).body(axum::body::Body::empty());
    let response = kube.router().oneshot(request.unwrap()).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(status, 200, "{body:?}");
    let text = String::from_utf8(body.to_vec()).unwrap();
    let parse = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        (event["type"].as_str().unwrap().to_owned(), event["object"].clone())
    };
    text.lines().map(parse).collect()
}

fn kinds(lines: &[(String, Value)]) -> Vec<String> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or("-").to_owned();
    lines.iter().map(|(kind, object)| format!("{kind} {}", name(object))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_watcher_lists_follows_and_lists_again_after_410() {
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let kube = kube();
        kube.create(&node("n1")).unwrap();
        let mut events = pin!(watcher(Api::<Node>::all(kube.client()), config));
        assert_eq!(next(&mut events).await, "init");
        assert_eq!(next(&mut events).await, "init n1");
        assert_eq!(next(&mut events).await, "done");
        kube.create(&node("n2")).unwrap();
        assert_eq!(next(&mut events).await, "apply n2");
        kube.delete::<Node>("", "n1").unwrap();
        assert_eq!(next(&mut events).await, "delete n1");
        kube.create(&node("n3")).unwrap();
        kube.expire_history();
        assert_eq!(next(&mut events).await, "error true");
        assert_eq!(next(&mut events).await, "init");
        assert_eq!(next(&mut events).await, "init n2");
        assert_eq!(next(&mut events).await, "init n3");
        assert_eq!(next(&mut events).await, "done");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_goes_on_over_timeouts_and_restarts_without_a_second_list() {
    let kube = kube();
    let mut events = pin!(watcher(Api::<Node>::all(kube.client()), watcher::Config::default()));
    assert_eq!(next(&mut events).await, "init");
    assert_eq!(next(&mut events).await, "done");
    let later = kube.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_hours(1)).await;
        later.close_watches();
        later.create(&node("n1")).unwrap();
    });
    assert_eq!(next(&mut events).await, "apply n1");
    let lists = kube.requests().iter().filter(|r| !r.query.contains("watch=true")).count();
    assert_eq!(lists, 1);
}

#[tokio::test(start_paused = true)]
async fn a_selector_turns_changes_into_comings_and_goings() {
    let kube = kube();
    let from = kube.store().revision();
    kube.create(&node("n1")).unwrap();
    kube.create(&node("n2")).unwrap();
    let label = |value: &str| {
        kube.patch::<Node>("", "n1", json!({ "metadata": { "labels": { "zone": value } } })).unwrap();
    };
    label("a");
    label("a2");
    label("b");
    let seen = lines(&kube, &format!("resourceVersion={from}&labelSelector=zone+in+(a,a2)&timeoutSeconds=5")).await;
    assert_eq!(kinds(&seen), ["ADDED n1", "MODIFIED n1", "DELETED n1"]);
    let seen = lines(&kube, "fieldSelector=metadata.name%3Dn2&timeoutSeconds=5").await;
    assert_eq!(kinds(&seen), ["ADDED n2"]);
}

#[tokio::test(start_paused = true)]
async fn a_removal_carries_its_own_version() {
    let kube = kube();
    let created = kube.create(&node("n1")).unwrap();
    let from = created.resource_version().unwrap();
    kube.delete::<Node>("", "n1").unwrap();
    let seen = lines(&kube, &format!("resourceVersion={from}&timeoutSeconds=1")).await;
    assert_eq!(kinds(&seen), ["DELETED n1"]);
    let version: u64 = seen[0].1["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    assert!(version > from.parse().unwrap());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_by_the_minute_and_at_the_end_of_the_initial_events() {
    let kube = kube();
    kube.create(&node("n1")).unwrap();
    let quiet = lines(&kube, "timeoutSeconds=150").await;
    assert_eq!(kinds(&quiet), ["ADDED n1"]);
    let told = lines(&kube, "timeoutSeconds=150&allowWatchBookmarks=true").await;
    assert_eq!(kinds(&told), ["ADDED n1", "BOOKMARK -", "BOOKMARK -", "BOOKMARK -"]);
    assert_eq!(told[3].1["metadata"]["resourceVersion"], kube.store().revision().to_string());
    let streamed = lines(
        &kube,
        "timeoutSeconds=30&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    )
    .await;
    assert_eq!(kinds(&streamed)[..2], ["ADDED n1", "BOOKMARK -"]);
    assert_eq!(streamed[1].1["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test(start_paused = true)]
async fn a_version_from_before_the_history_is_gone() {
    let kube = kube();
    kube.create(&node("n1")).unwrap();
    kube.expire_history();
    let seen = lines(&kube, "resourceVersion=1").await;
    assert_eq!(kinds(&seen), ["ERROR -"]);
    assert_eq!((&seen[0].1["code"], &seen[0].1["reason"]), (&json!(410), &json!("Expired")));
}

#[tokio::test(start_paused = true)]
async fn the_history_is_bounded() {
    let kube = kube();
    let from = kube.create(&node("n1")).unwrap().resource_version().unwrap();
    kube.store().retained = 100;
    for n in 0..101 {
        kube.patch::<Node>("", "n1", json!({ "metadata": { "labels": { "n": n.to_string() } } })).unwrap();
    }
    let seen = lines(&kube, &format!("resourceVersion={from}&timeoutSeconds=1")).await;
    assert_eq!(kinds(&seen), ["ERROR -"]);
    let next: u64 = from.parse::<u64>().unwrap() + 1;
    assert_eq!(lines(&kube, &format!("resourceVersion={next}&timeoutSeconds=1")).await.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_watch_sees_only_its_own() {
    let kube = kube();
    let services: Api<Service> = Api::namespaced(kube.client(), "kube-system");
    let version = kube.store().revision().to_string();
    kube.create(&service("elsewhere")).unwrap();
    let mut here = service("here");
    here.metadata.namespace = Some("kube-system".into());
    kube.create(&here).unwrap();
    let mut events = pin!(services.watch(&WatchParams::default(), &version).await.unwrap());
    let Some(WatchEvent::Added(seen)) = events.try_next().await.unwrap() else { panic!("nothing added") };
    assert_eq!(seen.name_any(), "here");
}
