use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::stream;
use http::{Request, Response, StatusCode};
use k8s_openapi::{
    api::core::v1::{ContainerImage, NodeStatus},
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube::{ResourceExt, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};
use tower::{BoxError, service_fn};

use super::*;

/// What the server says next to a list or to the start of a watch.
enum Answer {
    List(Value),
    /// Lines come as they are sent; dropping the sender closes the stream.
    Watch(mpsc::UnboundedReceiver<Value>),
    Refuse(u16),
    Break,
}

/// A server that answers from a script and notes when it was asked for what.
#[derive(Clone, Default)]
struct Script {
    lists: Arc<Mutex<VecDeque<Answer>>>,
    watches: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Script {
    fn list(&self, version: &str, nodes: &[Node]) {
        let list = json!({"kind": "NodeList", "apiVersion": "v1",
            "metadata": {"resourceVersion": version}, "items": nodes});
        self.lists.lock().push_back(Answer::List(list));
    }

    fn watch(&self) -> mpsc::UnboundedSender<Value> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.watches.lock().push_back(Answer::Watch(receiver));
        sender
    }

    fn client(&self) -> Client {
        let script = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let uri = request.uri().to_string();
            let queue = if uri.contains("watch=true") { &script.watches } else { &script.lists };
            script.asked.lock().push((Instant::now(), uri.clone()));
            let answer = queue.lock().pop_front();
            async move {
                let (code, body) = match answer {
                    Some(Answer::List(list)) => (200, axum::body::Body::from(list.to_string())),
                    Some(Answer::Watch(receiver)) => {
                        let lines = stream::unfold(receiver, |mut receiver| async {
                            let line = receiver.recv().await?;
                            Some((Ok::<_, BoxError>(format!("{line}\n")), receiver))
                        });
                        (200, axum::body::Body::from_stream(lines))
                    }
                    Some(Answer::Refuse(code)) => {
                        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                            "message": "no", "reason": "No", "code": code});
                        (code, axum::body::Body::from(status.to_string()))
                    }
                    Some(Answer::Break) => return Err(BoxError::from("connection refused")),
                    None => std::future::pending().await,
                };
                Ok(Response::builder().status(StatusCode::from_u16(code)?).body(body)?)
            }
        });
        Client::new(service, "default")
    }
}

fn mk_node(name: &str, version: &str) -> Node {
    let mut node = Node::default();
    node.metadata.name = Some(name.into());
    node.metadata.uid = Some(format!("uid-of-{name}"));
    node.metadata.resource_version = Some(version.into());
    node
}

fn line(kind: &str, node: &Node) -> Value {
    json!({"type": kind, "object": serde_json::to_value(node).unwrap()})
}

/// Follows nodes in the background; the store and what its handlers were told.
fn follow(script: &Script) -> (Store<Node>, Arc<Mutex<Vec<String>>>, CancellationToken) {
    let (store, told, cancel) = (Store::default(), Arc::new(Mutex::new(vec![])), CancellationToken::new());
    note_changes(&store, &told);
    let (api, following, stop) = (Api::all(script.client()), store.clone(), cancel.clone());
    tokio::spawn(async move {
        watch::follow(api, watcher::Config::default(), &following, Entropy::seeded(1), &stop).await;
    });
    (store, told, cancel)
}

fn note_changes(store: &Store<Node>, told: &Arc<Mutex<Vec<String>>>) {
    let told = told.clone();
    store.on_change(move |change| {
        let name = change.latest().unwrap().name_any();
        let version = |node: Option<&Arc<Node>>| node.map_or_else(String::new, |n| n.resource_version().unwrap());
        told.lock().push(format!("{name} {}→{}", version(change.old), version(change.new)));
    });
}

async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_follows_the_cluster_and_tells_of_every_change() {
    let script = Script::default();
    script.list("10", &[mk_node("b", "2"), mk_node("a", "1")]);
    let watch = script.watch();
    let (store, told, _cancel) = follow(&script);
    assert!(!store.is_synced());
    store.synced().await;
    let names: Vec<_> = store.list().iter().map(|node| node.name_any()).collect();
    assert_eq!(names, ["a", "b"]);

    watch.send(line("MODIFIED", &mk_node("a", "11"))).unwrap();
    watch.send(line("ADDED", &mk_node("c", "12"))).unwrap();
    watch.send(line("DELETED", &mk_node("b", "13"))).unwrap();
    watch.send(line("MODIFIED", &mk_node("a", "11"))).unwrap();
    settle().await;
    assert_eq!(*told.lock(), ["a →1", "b →2", "a 1→11", "c →12", "b 2→"]);
    assert_eq!(store.get(None, "a").unwrap().resource_version().as_deref(), Some("11"));
    assert!(store.get(None, "b").is_none());
    assert!(store.get(Some("default"), "a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_new_list_after_a_gap_is_told_as_the_difference() {
    let script = Script::default();
    script.list("10", &[mk_node("a", "1"), mk_node("b", "2"), mk_node("c", "3")]);
    let watch = script.watch();
    let (store, told, _cancel) = follow(&script);
    store.synced().await;
    told.lock().clear();

    script.list("30", &[mk_node("a", "1"), mk_node("c", "25"), mk_node("d", "26")]);
    let _second = script.watch();
    let expired = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version", "reason": "Expired", "code": 410});
    watch.send(json!({"type": "ERROR", "object": expired})).unwrap();
    settle().await;
    assert_eq!(*told.lock(), ["b 2→", "c 3→25", "d →26"], "an unchanged object is not told of");
    assert_eq!(store.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_asked_at_growing_intervals() {
    let script = Script::default();
    for n in 0..12 {
        script.lists.lock().push_back(if n % 2 == 0 { Answer::Break } else { Answer::Refuse(403) });
    }
    script.list("10", &[mk_node("a", "1")]);
    let _watch = script.watch();
    let (store, ..) = follow(&script);
    store.synced().await;

    let times: Vec<Instant> = script.asked.lock().iter().map(|(at, _)| *at).take(13).collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    for (gap, full) in gaps.iter().zip([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0]) {
        assert!((full / 2.0..=full + 0.002).contains(gap), "{gap} for {full}: {gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_closes_goes_on_where_it_stopped() {
    let script = Script::default();
    script.list("10", &[mk_node("a", "1")]);
    let first = script.watch();
    let second = script.watch();
    let (store, told, _cancel) = follow(&script);
    store.synced().await;
    first.send(line("ADDED", &mk_node("b", "11"))).unwrap();
    settle().await;
    drop(first);
    second.send(line("ADDED", &mk_node("c", "12"))).unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(*told.lock(), ["a →1", "b →11", "c →12"]);
    let asked = script.asked.lock();
    assert_eq!(asked.len(), 3, "one list and two watches");
    assert!(asked[2].1.contains("resourceVersion=11"), "{}", asked[2].1);
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_is_told_what_is_there() {
    let store = Store::default();
    store.replace(vec![mk_node("b", "1"), mk_node("a", "1")]);
    let told = Arc::new(Mutex::new(vec![]));
    note_changes(&store, &told);
    assert_eq!(*told.lock(), ["a →1", "b →1"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_sees_the_whole_list_at_once() {
    let store: Store<Node> = Store::default();
    let (reading, counts) = (store.clone(), Arc::new(Mutex::new(vec![])));
    let noted = counts.clone();
    store.on_change(move |_| noted.lock().push(reading.len()));
    store.replace(vec![mk_node("a", "1"), mk_node("b", "1"), mk_node("c", "1")]);
    assert_eq!(*counts.lock(), [3, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_node_made_anew_under_the_same_name_is_a_change() {
    let store = Store::default();
    store.replace(vec![mk_node("a", "1")]);
    let told = Arc::new(Mutex::new(vec![]));
    note_changes(&store, &told);
    let mut reborn = mk_node("a", "1");
    reborn.metadata.uid = Some("other".into());
    store.replace(vec![reborn]);
    assert_eq!(*told.lock(), ["a →1", "a 1→1"]);
}

#[test]
fn what_nobody_reads_is_not_kept() {
    let mut node = mk_node("a", "1");
    node.metadata.managed_fields = Some(vec![ManagedFieldsEntry::default()]);
    node.metadata.annotations =
        Some([("kubectl.kubernetes.io/last-applied-configuration".to_owned(), "{}".to_owned())].into());
    node.status = Some(NodeStatus {
        images: Some(vec![ContainerImage::default()]),
        phase: Some("x".into()),
        ..Default::default()
    });
    let store = Store::default();
    store.apply(node);
    let kept = store.get(None, "a").unwrap();
    assert!(kept.managed_fields().is_empty());
    assert!(kept.status.as_ref().unwrap().images.is_none());
    assert!(kept.status.as_ref().unwrap().phase.is_some());
    assert_eq!(kept.annotations().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_synced_when_all_kinds_are() {
    let script = Script::default();
    let cache = Cache::new();
    let (running, client, cancel) = (cache.clone(), script.client(), CancellationToken::new());
    let stop = cancel.clone();
    let task = tokio::spawn(async move { running.run(client, Entropy::seeded(1), stop).await });
    for kind in ["Node", "Service"] {
        let list = json!({"kind": format!("{kind}List"), "metadata": {"resourceVersion": "1"}, "items": []});
        script.lists.lock().push_back(Answer::List(list));
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(cache.nodes.is_synced() && cache.services.is_synced() && !cache.is_synced());
    let asked: Vec<String> = script.asked.lock().iter().map(|(_, uri)| uri.clone()).collect();
    assert!(
        asked.iter().any(|uri| uri.contains("/endpointslices?") && uri.contains("kubernetes.io%2Fservice-name")),
        "{asked:?}"
    );
    cancel.cancel();
    task.await.unwrap();
}
