use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Node;
use kube::client::Body;
use serde_json::Value;
use tower::{BoxError, service_fn};

use super::*;

type Calls = Arc<Mutex<Vec<(Method, String, Value)>>>;

/// A server that notes calls and answers each with what `answer` says of its number; `None` is a
/// broken connection.
fn mk_client(answer: impl Fn(usize) -> Option<u16> + Send + Sync + 'static) -> (Client, Calls) {
    let (calls, answer) = (Calls::default(), Arc::new(answer));
    let noted = calls.clone();
    let service = service_fn(move |request: Request<Body>| {
        let (noted, answer) = (noted.clone(), answer.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            let number = {
                let mut noted = noted.lock();
                noted.push((parts.method.clone(), parts.uri.path().to_owned(), body.clone()));
                noted.len() - 1
            };
            let code = answer(number).ok_or_else(|| BoxError::from("connection reset"))?;
            let body = match code {
                200 | 201 => serde_json::json!({"metadata": {}, "involvedObject": {}}),
                _ => serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "no", "reason": "No", "code": code}),
            };
            Ok::<_, BoxError>(
                Response::builder().status(StatusCode::from_u16(code)?).body(Body::from(serde_json::to_vec(&body)?))?,
            )
        }
    });
    (Client::new(service, "default"), calls)
}

fn mk_recorder(client: Client) -> (Recorder, CancellationToken) {
    let (clock, cancel) = (Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()), CancellationToken::new());
    (Recorder::new(client, clock, Entropy::seeded(1), "node-controller", cancel.clone()), cancel)
}

fn mk_node(name: &str) -> ObjectReference {
    let mut node = Node::default();
    node.metadata.name = Some(name.into());
    node.metadata.uid = Some(format!("uid-of-{name}"));
    reference_of(&node)
}

async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

#[test]
fn a_reference_names_the_real_kind_and_uid() {
    let reference = mk_node("n1");
    assert_eq!(reference.api_version.as_deref(), Some("v1"));
    assert_eq!(reference.kind.as_deref(), Some("Node"));
    assert_eq!(reference.uid.as_deref(), Some("uid-of-n1"));
}

#[tokio::test(start_paused = true)]
async fn an_event_is_created_once_and_then_counted() {
    let (client, calls) = mk_client(|number| Some(if number == 0 { 201 } else { 200 }));
    let (recorder, _cancel) = mk_recorder(client);
    recorder.warning(&mk_node("n1"), "SyncNodeFailed", "no such instance");
    tokio::time::sleep(Duration::from_secs(60)).await;
    recorder.warning(&mk_node("n1"), "SyncNodeFailed", "no such instance");
    recorder.warning(&mk_node("n1"), "SyncNodeFailed", "no such instance");
    settle().await;

    let calls = calls.lock();
    let (method, path, event) = &calls[0];
    assert_eq!((method, path.as_str()), (&Method::POST, "/api/v1/namespaces/default/events"));
    let name = event["metadata"]["name"].as_str().unwrap();
    assert!(name.strip_prefix("n1.").unwrap().chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    for (field, expected) in [
        ("/type", "Warning"),
        ("/reason", "SyncNodeFailed"),
        ("/message", "no such instance"),
        ("/source/component", "node-controller"),
        ("/reportingComponent", "node-controller"),
        ("/involvedObject/kind", "Node"),
        ("/involvedObject/uid", "uid-of-n1"),
        ("/firstTimestamp", "2026-01-01T00:00:00Z"),
        ("/lastTimestamp", "2026-01-01T00:00:00Z"),
    ] {
        assert_eq!(event.pointer(field), Some(&Value::from(expected)), "{field}");
    }
    assert_eq!(event["count"], 1);

    assert_eq!(calls.len(), 3);
    for (call, count) in calls[1..].iter().zip([2, 3]) {
        assert_eq!(call.0, Method::PATCH);
        assert_eq!(call.1, format!("/api/v1/namespaces/default/events/{name}"));
        assert_eq!(call.2, serde_json::json!({"count": count, "lastTimestamp": "2026-01-01T00:01:00Z"}));
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_answer_was_lost_is_not_told_twice() {
    let (client, calls) = mk_client(|number| [None, Some(409)].get(number).copied().unwrap_or(Some(200)));
    let (recorder, _cancel) = mk_recorder(client);
    recorder.normal(&mk_node("n1"), "A", "a");
    tokio::time::sleep(Duration::from_secs(60)).await;
    recorder.normal(&mk_node("n1"), "A", "a");
    settle().await;
    let calls = calls.lock();
    let methods: Vec<&Method> = calls.iter().map(|call| &call.0).collect();
    assert_eq!(methods, [Method::POST, Method::POST, Method::PATCH]);
    assert_eq!(calls[0].2["metadata"]["name"], calls[1].2["metadata"]["name"]);
    assert_eq!(calls[2].2["count"], 2, "the one that was there is counted");
}

#[tokio::test(start_paused = true)]
async fn another_message_reason_object_or_type_is_another_event() {
    let (client, calls) = mk_client(|_| Some(201));
    let (recorder, _cancel) = mk_recorder(client);
    recorder.normal(&mk_node("n1"), "A", "a");
    recorder.normal(&mk_node("n1"), "A", "b");
    recorder.normal(&mk_node("n1"), "B", "a");
    recorder.normal(&mk_node("n2"), "A", "a");
    recorder.warning(&mk_node("n1"), "A", "a");
    settle().await;
    assert_eq!(calls.lock().iter().filter(|call| call.0 == Method::POST).count(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_has_expired_is_made_anew() {
    let (client, calls) = mk_client(|number| Some(if number == 1 { 404 } else { 201 }));
    let (recorder, _cancel) = mk_recorder(client);
    recorder.normal(&mk_node("n1"), "A", "a");
    settle().await;
    recorder.normal(&mk_node("n1"), "A", "a");
    settle().await;
    let methods: Vec<_> = calls.lock().iter().map(|call| call.0.clone()).collect();
    assert_eq!(methods, [Method::POST, Method::PATCH, Method::POST]);
    assert_eq!(calls.lock()[2].2["count"], 1);
}

#[tokio::test(start_paused = true)]
async fn too_many_events_about_one_object_are_left_out() {
    let (client, calls) = mk_client(|_| Some(201));
    let (recorder, _cancel) = mk_recorder(client);
    for n in 0..100 {
        recorder.normal(&mk_node("loud"), "A", format!("message {n}"));
    }
    recorder.normal(&mk_node("quiet"), "A", "message");
    settle().await;
    assert_eq!(calls.lock().len(), 25 + 1);

    tokio::time::sleep(Duration::from_secs(600)).await;
    for n in 0..10 {
        recorder.normal(&mk_node("loud"), "A", format!("later {n}"));
    }
    settle().await;
    assert_eq!(calls.lock().len(), 26 + 2, "one more for each five minutes");
}

#[tokio::test(start_paused = true)]
async fn a_lost_write_is_repeated_and_a_refused_one_is_not() {
    let (client, calls) = mk_client(|number| match number {
        0 => None,
        1 => Some(503),
        2 => Some(201),
        _ => Some(403),
    });
    let (recorder, _cancel) = mk_recorder(client);
    recorder.normal(&mk_node("n1"), "A", "lost twice");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(calls.lock().len(), 3);
    recorder.normal(&mk_node("n1"), "B", "refused");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(calls.lock().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_still_written_at_the_end() {
    let (client, calls) = mk_client(|_| Some(201));
    let (recorder, cancel) = mk_recorder(client);
    for n in 0..20 {
        recorder.normal(&mk_node(&format!("n{n}")), "A", "a");
    }
    cancel.cancel();
    let start = tokio::time::Instant::now();
    recorder.closed().await;
    assert_eq!(calls.lock().len(), 20);
    assert_eq!(start.elapsed(), Duration::ZERO, "and then it ends");
}

#[tokio::test(start_paused = true)]
async fn while_the_server_hangs_no_more_than_a_bounded_number_waits() {
    let (open, calls) = (Arc::new(tokio::sync::Semaphore::new(0)), Arc::new(Mutex::new(0)));
    let (gate, counted) = (open.clone(), calls.clone());
    let hanging = service_fn(move |_: Request<Body>| {
        let (gate, counted) = (gate.clone(), counted.clone());
        async move {
            gate.acquire().await?.forget();
            *counted.lock() += 1;
            Ok::<_, BoxError>(Response::new(Body::from(br#"{"metadata": {}, "involvedObject": {}}"#.to_vec())))
        }
    });
    let (recorder, _cancel) = mk_recorder(Client::new(hanging, "default"));
    for n in 0..5 * WAITING {
        recorder.normal(&mk_node(&format!("n{n}")), "A", "a");
    }
    open.add_permits(10 * WAITING);
    settle().await;
    assert_eq!(*calls.lock(), WAITING);
}

#[test]
fn long_messages_are_cut_at_a_character() {
    let recorder = Recorder::for_test();
    recorder.normal(&mk_node("n1"), "A", "云".repeat(1000));
    recorder.normal(&mk_node("n1"), "A", "x".repeat(1024));
    let told = recorder.recorded();
    assert!(told[0].message.len() <= 1024 && told[0].message.ends_with("云..."));
    assert_eq!(told[1].message.len(), 1024);
}
