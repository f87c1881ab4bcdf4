//! Processes killed in the middle of their work, or stopped for longer than their lease. Each signs
//! with a key of its own, so the cloud can tell them apart.

use std::time::Duration;

use ccm::sim::cloud::slb::{Listener, ListenerStatus};
use serde_json::json;

use crate::{
    program::{Program, Served},
    stage::Stage,
    theatre::{play_in, theatre},
};

/// Waits until an action has been called so many times, to a millisecond.
async fn called(stage: &Stage, action: &str, times: u64) {
    for _ in 0..90_000 {
        if stage.cloud().call_counts().get(action).copied().unwrap_or(0) >= times {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("not called: {action}; calls: {:#?}", stage.calls());
}

#[test]
fn leaders_killed_in_the_middle_leave_nothing_double_and_nothing_behind() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let cloud = Served::start(&stage).await;
        stage.join().await;
        let mut leader = Program::start(&theatre, &cloud, 1);
        stage.joined(1).await;

        // In the middle of creating, twice.
        stage.expose_web().await;
        called(&stage, "slb.CreateLoadBalancer", 1).await;
        leader.kill().await;
        leader = Program::start(&theatre, &cloud, 2);
        called(&stage, "slb.CreateVServerGroup", 1).await;
        leader.kill().await;
        leader = Program::start(&theatre, &cloud, 3);
        let address = stage.address("web").await;
        assert_eq!(stage.cloud().load_balancers().len(), 1, "{:?}", stage.calls());
        let id = stage.cloud().load_balancers()[0].id.clone();

        // In the middle of an update.
        let ports = json!([{ "name": "http", "port": 80, "targetPort": 8080 }, { "name": "tls", "port": 443, "targetPort": 8443 }]);
        let listeners = stage.cloud().call_counts()["slb.CreateLoadBalancerTCPListener"];
        stage.change("web", json!({ "ports": ports })).await;
        called(&stage, "slb.CreateLoadBalancerTCPListener", listeners + 1).await;
        leader.kill().await;
        leader = Program::start(&theatre, &cloud, 1);
        let serving = || async {
            let listeners = stage.cloud().listeners(&id);
            let running = |l: &Listener| l.status == ListenerStatus::Running;
            (listeners.len() == 2 && listeners.iter().all(running)).then_some(())
        };
        stage.until("two running listeners", serving).await;
        assert_eq!(stage.cloud().groups(&id).len(), 2, "{:?}", stage.calls());
        assert_eq!(stage.address("web").await, address);

        // In the middle of deleting.
        stage.delete_service("web").await;
        called(&stage, "slb.SetLoadBalancerDeleteProtection", 1).await;
        leader.kill().await;
        let _leader = Program::start(&theatre, &cloud, 2);
        stage.until("the Service gone", || async { stage.service("web").await.is_none().then_some(()) }).await;
        assert_eq!(stage.cloud().load_balancers().len(), 0, "{:?}", stage.calls());
        assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 1);
    });
}

#[test]
fn a_leader_that_wakes_after_its_lease_writes_no_more() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let cloud = Served::start(&stage).await;
        let mut first = Program::start(&theatre, &cloud, 1);
        stage.joined(1).await;
        stage.expose_web().await;
        stage.address("web").await;
        let second = Program::start(&theatre, &cloud, 2);
        first.signal("-STOP").await;
        // Something to do for whoever leads, and for the sleeper when it wakes.
        stage.joined(1).await;
        assert!(!second.writes(&stage).is_empty(), "the second has taken over");
        stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
        let before = first.writes(&stage);
        first.signal("-CONT").await;
        stage.address("other").await;
        assert_eq!(first.ended().await, Some(1), "it ends, to be started again in a clean state");
        assert_eq!(first.writes(&stage), before);
        assert_eq!(stage.cloud().load_balancers().len(), 2);
    });
}
