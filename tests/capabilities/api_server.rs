//! An API server that is away, refuses, forgets, lags behind, or whose answers are lost. With a second replica,
//! and on a real one, such trouble is told in `tests/stories/outages.rs` and `tests/control_plane/partition.rs`.

use std::{sync::Arc, time::Duration};

use ccm::{
    alibaba::rpc::InProcess,
    sim::kube::{Effect, Fault},
};
use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::{Event, Service};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    line::Line,
    support::{Replica, Stage, address_of, config, play, taints},
};

const A_MINUTE: Duration = Duration::from_secs(60);

/// Answers everything with one code, if it is given one.
#[derive(Clone, Default)]
struct Mood(Arc<Mutex<Option<u16>>>);

impl Mood {
    fn of(&self, client: Client) -> Client {
        let mood = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, code) = (client.clone(), *mood.0.lock());
            async move {
                let Some(code) = code else { return client.send(request).await };
                let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code });
                Ok(Response::builder().status(code).body(Body::from(status.to_string().into_bytes())).unwrap())
            }
        });
        Client::new(service, "default")
    }
}

/// One that shares with nobody, so that it lives on without a lease.
fn start(stage: &Stage, client: Client) -> Replica {
    let transport = Arc::new(InProcess::new(stage.cloud().router()));
    stage.start_between(client, transport, config(&["--leader-elect=false"], json!({})))
}

fn warnings(stage: &Stage) -> Vec<String> {
    let events = stage.world.kube.list::<Event>();
    let warns = |event: &Event| event.type_.as_deref() == Some("Warning");
    events.into_iter().filter(warns).map(|event| format!("{:?} {:?}", event.reason, event.message)).collect()
}

/// Lists of a kind so far; watches have another query.
fn lists(stage: &Stage, kind: &str) -> usize {
    let is_list = |query: &str| !query.contains("watch=true");
    stage.world.kube.requests().iter().filter(|r| r.path.ends_with(kind) && is_list(&r.query)).count()
}

fn one_port() -> serde_json::Value {
    json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })
}

/// Trouble for a minute, in which much happens of which the controller can know nothing. It writes nothing
/// meanwhile, and does everything, once, when it is over.
async fn outlive(stage: &Stage, client: Client, begin: impl FnOnce(), end: impl FnOnce()) {
    let _replica = start(stage, client);
    stage.joined(2).await;
    stage.expose_web();
    stage.expose("old", &[], one_port());
    stage.address("web").await;
    stage.address("old").await;
    stage.pass(Duration::from_secs(30)).await;
    let before = stage.told("web");
    stage.clear_calls();

    begin();
    let node = stage.world.join().unwrap();
    let ports = json!([{ "name": "http", "port": 80 }, { "name": "tls", "port": 443 }]);
    stage.world.kube.patch::<Service>("default", "web", json!({ "spec": { "ports": ports } })).unwrap();
    stage.world.kube.delete::<Service>("default", "old").unwrap();
    stage.expose("new", &[], one_port());
    stage.pass(A_MINUTE).await;
    let written: Vec<_> = stage.cloud().calls().into_iter().filter(|call| call.changed).collect();
    assert!(written.is_empty(), "{written:?}");

    end();
    stage.until("the node in service", || taints(&stage.node(&node)?).is_empty().then_some(())).await;
    stage.address("new").await;
    stage.until("the old Service gone", || stage.service("old").is_none().then_some(())).await;
    let whole = || {
        let all = stage.cloud().load_balancers();
        let listeners: usize = all.iter().map(|lb| stage.cloud().listeners(&lb.id).len()).sum();
        (all.len() == 2 && listeners == 3).then_some(())
    };
    stage.until("all as asked for", whole).await;
    stage.pass(A_MINUTE).await;
    assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 1, "{:?}", stage.words());
    assert_eq!(stage.cloud().load_balancers().len(), 2);
    assert_eq!(warnings(stage), Vec::<String>::new());
    let told = stage.told("web");
    assert!(told.len() <= before.len() + 2, "one about the change, one about the success: {told:#?}");
}

#[test]
fn a_minute_without_a_line_to_the_api_server_is_made_up_for() {
    for silent in [false, true] {
        play(|stage| async move {
            let line = Line::new();
            let begin = || if silent { line.silence() } else { line.cut() };
            outlive(&stage, line.of(stage.world.kube.client()), begin, || line.mend()).await;
        });
    }
}

/// 401: the token has run out. 403: one that has just started does not know the roles yet.
#[test]
fn an_api_server_that_refuses_everything_for_a_minute_is_waited_for() {
    for code in [401, 403, 429, 500, 503] {
        play(|stage| async move {
            let mood = Mood::default();
            let begin = || {
                *mood.0.lock() = Some(code);
                stage.world.kube.close_watches();
            };
            let client = mood.of(stage.world.kube.client());
            outlive(&stage, client, begin, || *mood.0.lock() = None).await;
        });
    }
}

#[test]
fn a_restart_after_which_nothing_is_remembered_is_made_up_for() {
    play(|stage| async move {
        let line = Line::new();
        let end = || {
            stage.world.kube.expire_history();
            line.mend();
        };
        outlive(&stage, line.of(stage.world.kube.client()), || line.cut(), end).await;
    });
}

#[test]
fn a_history_that_is_forgotten_is_listed_anew_and_nothing_is_missed_or_done_twice() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(30)).await;
        stage.clear_calls();
        stage.world.kube.clear_requests();
        for _ in 0..3 {
            stage.world.kube.expire_history();
            stage.pass(Duration::from_secs(30)).await;
        }
        assert!(lists(&stage, "/services") >= 3 && lists(&stage, "/nodes") >= 3, "each watch ended with 410");
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        // What happened in what was forgotten is in the list.
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.expose("new", &[], one_port());
        stage.world.kube.expire_history();
        stage.address("new").await;
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert_eq!(stage.cloud().load_balancers().len(), 1, "{:?}", stage.words());
    });
}

/// What is known is out of date by seconds, and what it wrote itself comes back as late.
#[test]
fn a_watch_that_lags_behind_leads_to_no_stale_decision() {
    const PATIENCE: Duration = Duration::from_secs(900);
    play(|stage| async move {
        let line = Line::new();
        let _replica = start(&stage, line.of(stage.world.kube.client()));
        let nodes = stage.joined(2).await;
        line.slow_watches(Duration::from_secs(10));
        for _ in 0..3 {
            stage.expose_web();
            let shown = || address_of(&stage.service("web")?);
            stage.until_within(PATIENCE, "an address", shown).await;
            // Away, and back under the same name before that is known.
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.until_within(PATIENCE, "the Service gone", || stage.service("web").is_none().then_some(())).await;
        }
        let last = stage.expose_web();
        stage.world.leave(&nodes[0]).unwrap();
        stage.until_within(PATIENCE, "the Node gone", || stage.node(&nodes[0]).is_none().then_some(())).await;
        stage.pass(PATIENCE).await;
        assert!(stage.node(&nodes[1]).is_some(), "the other stays");
        let all = stage.cloud().load_balancers();
        let uid = last.metadata.uid.unwrap().replace('-', "");
        assert_eq!(all.len(), 1, "{:?}", stage.words());
        assert!(all[0].name.starts_with(&format!("a{}", &uid[..20])), "{all:?}");
        let groups = stage.cloud().groups(&all[0].id);
        let members: Vec<String> = groups.iter().flat_map(|group| &group.servers).map(|s| s.id.clone()).collect();
        assert_eq!(members, [nodes[1].split_once('.').unwrap().1], "{:?}", stage.words());
        assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 4, "one for each: {:?}", stage.words());
    });
}

#[test]
fn a_storm_of_conflicts_delays_the_work_and_no_more() {
    play(|stage| async move {
        let _replica = stage.start();
        for path in ["/api/v1/nodes", "/api/v1/namespaces/default/services"] {
            for method in [Method::PATCH, Method::PUT] {
                stage.world.kube.inject(Fault::on(path, Effect::Status(409)).method(method).times(10));
            }
        }
        stage.joined(2).await;
        stage.expose_web();
        let shown = || address_of(&stage.service("web")?);
        // Ten times a second, and the time that it takes anyway.
        stage.until_within(Duration::from_secs(20), "an address", shown).await;
        stage.pass(A_MINUTE).await;
        assert_eq!(warnings(&stage), Vec::<String>::new(), "a conflict is nothing to tell anyone about");
        assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 1, "{:?}", stage.words());
        assert_eq!(stage.told("web").len(), 1, "{:?}", stage.told("web"));
    });
}

#[test]
fn writes_whose_answers_are_lost_are_not_done_twice() {
    play(|stage| async move {
        let _replica = stage.start();
        for method in [Method::POST, Method::PATCH] {
            for path in ["/api/v1/nodes", "/api/v1/namespaces/default"] {
                stage.world.kube.inject(Fault::on(path, Effect::LoseAnswer).method(method.clone()).times(2));
            }
        }
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(A_MINUTE).await;
        assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 1, "{:?}", stage.words());
        let told = stage.told("web");
        let successes = told.iter().filter(|(reason, _)| reason == "EnsuredLoadBalancer").count();
        assert_eq!(successes, 1, "{told:?}");
    });
}
