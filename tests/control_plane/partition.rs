//! Processes that lose the API server, or the right to speak to it.

use serde_json::json;

use crate::{
    program::{Program, Served},
    stage::Stage,
    theatre::{play_in, record, theatre},
    wire::Wire,
};

#[test]
fn a_leader_on_a_dead_wire_ends_and_one_of_the_others_follows() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let cloud = Served::start(&stage).await;
        let wire = Wire::to(&theatre.plane.told.server).await;
        let token = theatre.token(&[]);
        let kubeconfig = theatre.write_kubeconfig("wire", &wire.server(), &json!({ "token": token }));
        let mut first = Program::start_with(&theatre, &cloud, 1, &kubeconfig);
        stage.joined(1).await;
        stage.expose_web().await;
        stage.ensured("web").await;
        let _others = [Program::start(&theatre, &cloud, 2), Program::start(&theatre, &cloud, 3)];

        wire.line.silence();
        stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
        assert_eq!(first.ended().await, Some(1), "{}", first.log());
        stage.ensured("other").await;
        stage.joined(1).await;

        // It is started again, at first still without an answer, and then is one that waits.
        let first = Program::start_with(&theatre, &cloud, 1, &kubeconfig);
        wire.line.mend();
        stage.until("the third in line", || async { first.log().contains("is held by").then_some(()) }).await;
        stage.joined(1).await;
        assert_eq!(stage.turns().len(), 2, "who wrote, one after the other: {:?}", stage.turns());
        assert_eq!(stage.cloud().load_balancers().len(), 2, "{:?}", stage.calls());
        assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 2);
    });
}

/// As when a node slept, or kubelet could not renew the token in time.
#[test]
fn a_token_that_is_valid_no_more_is_read_anew() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let cloud = Served::start(&stage).await;
        let kubectl = |arguments: &[&str]| theatre.plane.kubectl(arguments);
        kubectl(&["create", "secret", "generic", "short", "--namespace=kube-system"]);
        let token = theatre.token(&["--bound-object-kind=Secret", "--bound-object-name=short"]);
        let file = theatre.plane.told.dir.join("token");
        std::fs::write(&file, token).unwrap();
        let user = json!({ "tokenFile": file });
        let kubeconfig = theatre.write_kubeconfig("token", &theatre.plane.told.server, &user);
        let mut first = Program::start_with(&theatre, &cloud, 1, &kubeconfig);
        stage.joined(1).await;
        stage.expose_web().await;
        stage.ensured("web").await;

        kubectl(&["delete", "secret", "short", "--namespace=kube-system"]);
        assert_eq!(first.ended().await, Some(1), "{}", first.log());
        assert!(first.log().contains("401"), "it says why: {}", first.log());
        std::fs::write(&file, theatre.token(&[])).unwrap();
        let calls = stage.writes().len();
        let _first = Program::start_with(&theatre, &cloud, 1, &kubeconfig);
        stage.joined(1).await;
        let member = "slb.AddVServerGroupBackendServers";
        stage
            .until("the new member", || async { stage.writes()[calls..].contains(&member.into()).then_some(()) })
            .await;
        let told = stage.told("web").await;
        assert!(told.iter().all(|(kind, _, _)| kind != "Warning"), "{told:#?}");
        assert_eq!(stage.cloud().load_balancers().len(), 1);
    });
}

/// The watches of before are too old for an API server that has just begun to remember: 410. And
/// before it knows the roles, it refuses everybody everything, also when it says that it is ready.
#[test]
fn a_restarted_api_server_is_listed_anew() {
    let theatre = theatre();
    let entries = record(&theatre, async |stage: Stage| {
        // Longer than an API server takes to start on a busy machine.
        let patient = ["--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=80s"];
        let _replica = stage.start_with(stage.controller(), &patient);
        let nodes = stage.joined(2).await;
        stage.expose_web().await;
        stage.ensured("web").await;
        stage.expose("old", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
        stage.ensured("old").await;
        let (before, calls) = (stage.told("web").await, stage.writes().len());
        tokio::task::block_in_place(|| {
            theatre.plane.halt("kube-apiserver");
            theatre.plane.resume("kube-apiserver");
        });
        stage.delete_service("old").await;
        stage.until("the Service gone", || async { stage.service("old").await.is_none().then_some(()) }).await;
        stage.release(&nodes[0]).await;
        stage.expose("new", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
        stage.ensured("new").await;
        stage.until("the Node gone", || async { stage.node(&nodes[0]).await.is_none().then_some(()) }).await;
        assert_eq!(stage.cloud().load_balancers().len(), 2, "{:?}", stage.calls());
        assert_eq!(stage.told("web").await, before, "nothing new about what did not change");
        let creations = stage.writes().split_off(calls).into_iter().filter(|call| call == "slb.CreateLoadBalancer");
        assert_eq!(creations.count(), 1);
    });
    for kind in ["services", "nodes", "endpointslices"] {
        let answered = entries.iter().filter(|entry| entry.verb == "list" && !entry.is_refusal());
        let lists = answered.filter(|entry| entry.resource().is_some_and(|(_, name)| name == kind));
        assert_eq!(lists.count(), 2, "{kind}");
    }
}
