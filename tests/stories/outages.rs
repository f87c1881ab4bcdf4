//! Trouble between the controller and the API server.

use std::time::Duration;

use ccm::daemon;
use k8s_openapi::api::core::v1::Event;
use serde_json::json;

use crate::{
    line::Line,
    stage::{SHORT, SHORT_LEASE, Stage, is_tainted},
};

const WEB: &str = "web";

pub async fn a_leader_cut_off_is_followed_and_writes_no_more(stage: Stage) {
    let line = Line::new();
    let first = stage.start_with(line.of(stage.controller()), &SHORT);
    stage.joined(2).await;
    stage.expose_web().await;
    stage.ensured(WEB).await;
    let (_second, _third) =
        (stage.start_with(stage.controller(), &SHORT), stage.start_with(stage.controller(), &SHORT));
    let held = stage.lease().await.unwrap().spec.unwrap();

    // The leader notices nothing but that no answer comes; there is something to do for whoever leads.
    line.silence();
    let last = stage.lease().await.unwrap().spec.unwrap().renew_time.unwrap().0;
    let node = stage.join().await;
    stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
    let ended = first.ended().await;
    assert!(matches!(ended, Err(daemon::Error::LostLease(_))), "{ended:?}");
    stage
        .until("the new node initialised", || async { stage.node(&node).await.filter(|node| !is_tainted(node)) })
        .await;
    stage.ensured("other").await;

    let now = stage.lease().await.unwrap().spec.unwrap();
    assert_eq!(now.lease_transitions.unwrap(), held.lease_transitions.unwrap() + 1, "one takeover: {now:?}");
    let taken = now.acquire_time.unwrap().0;
    let waited = Duration::try_from(taken.duration_since(last)).unwrap();
    assert!(waited >= SHORT_LEASE, "nobody took it before it was over: {waited:?}");
    if stage.is_simulated() {
        // Lease, the time of a renewal that was under way, and between two attempts up to 2.2 s.
        assert!(waited <= SHORT_LEASE + Duration::from_millis(1_000 + 2_200), "{waited:?}");
    }
    assert_eq!(stage.cloud().load_balancers().len(), 2, "{:?}", stage.calls());
    assert_eq!(stage.turns().len(), 2, "who wrote to the cloud, one after the other: {:?}", stage.turns());
}

pub async fn an_outage_longer_than_the_lease_is_made_up_for(stage: Stage) {
    let line = Line::new();
    let mut replica = stage.start_with(line.of(stage.controller()), &SHORT);
    let nodes = stage.joined(2).await;
    stage.expose_web().await;
    let address = stage.address(WEB).await;
    stage.ensured(WEB).await;
    stage.expose("old", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
    stage.ensured("old").await;

    line.cut();
    let before = stage.told(WEB).await;
    // Nobody else is there; whoever runs it starts it again, and once it waits for the API server.
    assert!(matches!(replica.ended().await, Err(daemon::Error::LostLease(_))));
    replica = stage.start_with(line.of(stage.controller()), &SHORT);
    let calls = stage.writes().len();
    let node = stage.join().await;
    let ports = json!([{ "name": "http", "port": 80 }, { "name": "tls", "port": 443 }]);
    stage.change(WEB, json!({ "ports": ports })).await;
    stage.delete_service("old").await;
    stage.expose("new", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
    stage.pass(Duration::from_secs(10)).await;
    assert_eq!(stage.writes().len(), calls, "{:?}", stage.calls());

    line.mend();
    stage
        .until("the new node initialised", || async { stage.node(&node).await.filter(|node| !is_tainted(node)) })
        .await;
    stage.until("the old Service gone", || async { stage.service("old").await.is_none().then_some(()) }).await;
    stage.ensured("new").await;
    let whole = || async {
        let all = stage.cloud().load_balancers();
        let web = all.iter().find(|lb| lb.address.to_string() == address)?;
        let members = stage.cloud().groups(&web.id).iter().all(|group| group.servers.len() == nodes.len() + 1);
        (all.len() == 2 && stage.cloud().listeners(&web.id).len() == 2 && members).then_some(())
    };
    stage.until("all as asked for", whole).await;
    let told = stage.told(WEB).await;
    assert!(told.iter().all(|(kind, _, _)| kind != "Warning"), "{told:#?}");
    assert!(told.len() <= before.len() + 2, "one about the change, one about the success: {told:#?}");
    replica.stop().await.unwrap();
}

pub async fn connections_that_break_all_the_time_delay_the_work_and_no_more(stage: Stage) {
    let line = Line::new();
    let _replica = stage.start_through(line.of(stage.controller()));
    let breaking = {
        let line = line.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(700)).await;
                line.mend();
            }
        })
    };
    stage.joined(2).await;
    stage.expose_web().await;
    stage.address(WEB).await;
    stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
    stage.address("other").await;
    stage.joined(1).await;
    stage.delete_service(WEB).await;
    stage.until("the Service gone", || async { stage.service(WEB).await.is_none().then_some(()) }).await;
    breaking.abort();
    assert_eq!(stage.cloud().load_balancers().len(), 1, "{:?}", stage.calls());
    assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 2, "{:?}", stage.calls());
    let transitions = stage.lease().await.unwrap().spec.unwrap().lease_transitions;
    assert_eq!(transitions.unwrap_or(0), 0, "the lease was kept all the time");
}

pub async fn a_slow_watch_leads_to_no_stale_decision(stage: Stage) {
    let line = Line::new();
    let _replica = stage.start_through(line.of(stage.controller()));
    let nodes = stage.joined(2).await;
    line.slow_watches(Duration::from_secs(1));
    stage.expose_web().await;
    let address = stage.address(WEB).await;
    // What it wrote itself comes back late. Now away, and back under the same name.
    stage.delete_service(WEB).await;
    stage.until("the Service gone", || async { stage.service(WEB).await.is_none().then_some(()) }).await;
    let second = stage.expose_web().await;
    let newer = stage.address(WEB).await;
    assert_ne!(newer, address);
    stage.ensured(WEB).await;
    let all = stage.cloud().load_balancers();
    assert_eq!(all.len(), 1, "{:?}", stage.calls());
    let uid = second.metadata.uid.unwrap().replace('-', "");
    assert!(all[0].name.starts_with(&format!("a{}", &uid[..20])), "{all:?}");
    // A node that goes, while another comes.
    stage.release(&nodes[0]).await;
    let third = stage.joined(1).await.remove(0);
    stage.until("the Node gone", || async { stage.node(&nodes[0]).await.is_none().then_some(()) }).await;
    assert!(stage.node(&nodes[1]).await.is_some() && stage.node(&third).await.is_some());
    let told = stage.told(WEB).await;
    assert!(told.iter().all(|(kind, _, _)| kind != "Warning"), "{told:#?}");
    assert_eq!(stage.cloud().call_counts()["slb.CreateLoadBalancer"], 2, "{:?}", stage.calls());
}

pub async fn constant_edits_by_others_cause_no_flood(stage: Stage) {
    let _replica = stage.start();
    let nodes = stage.joined(1).await;
    stage.expose_web().await;
    stage.ensured(WEB).await;
    let (before, calls) = (stage.list::<Event>().await.len(), stage.calls().len());
    for edit in 0..60 {
        stage.annotate(WEB, "test.io/edit", &edit.to_string()).await;
        stage.annotate_node(&nodes[0], "test.io/edit", &edit.to_string()).await;
        stage.pass(Duration::from_millis(50)).await;
    }
    // It is still at work.
    let ports = json!([{ "name": "http", "port": 80 }, { "name": "tls", "port": 443 }]);
    stage.change(WEB, json!({ "ports": ports })).await;
    let second = || async {
        let id = &stage.cloud().load_balancers().first()?.id.clone();
        (stage.cloud().listeners(id).len() == 2).then_some(())
    };
    stage.until("a second listener", second).await;
    let events = stage.list::<Event>().await.len() - before;
    assert!(events <= 3, "{events} new events: {:#?}", stage.told(WEB).await);
    let reads = stage.calls().split_off(calls);
    assert!(reads.len() < 60, "an edit that is none of our business costs no call: {reads:#?}");
}
