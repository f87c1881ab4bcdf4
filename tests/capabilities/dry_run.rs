//! `--dry-run` looks at everything, changes nothing, and says what would be changed.

use std::time::Duration;

use ccm::{
    daemon::dry_run::{Outcome, Report},
    sim::cloud::{Fault, FaultKind},
};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Event, Node, Service},
};
use serde_json::{Value, json};

use crate::support::{Stage, play};

const DRY: &[&str] = &["--dry-run"];

/// All that a dry run must leave as it is.
fn everything(stage: &Stage) -> Value {
    let kube = &stage.world.kube;
    json!([
        kube.list::<Node>(),
        kube.list::<Service>(),
        kube.list::<Event>(),
        kube.list::<Lease>(),
        stage.cloud().with_state(|state| serde_json::to_value(&*state).unwrap()),
    ])
}

async fn rehearse(stage: &Stage) -> Report {
    stage.clear_calls();
    let before = everything(stage);
    let report = stage.start_with(DRY, json!({})).report().await;
    assert_eq!(everything(stage), before, "something was written");
    assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
    stage.secrets.look_at("the report", &format!("{report} {}", report.json()));
    report
}

#[test]
fn where_all_is_in_order_nothing_would_be_changed() {
    play(|stage| async move {
        let replica = stage.start();
        stage.joined(3).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(60)).await;
        replica.stop().await.unwrap();
        let report = rehearse(&stage).await;
        assert_eq!(report.to_string(), "Dry run: Nothing would be changed. Nothing was changed.\n");
        assert_eq!((report.result, report.exit_code()), (Outcome::Unchanged, 0));
    });
}

#[test]
fn all_that_a_new_cluster_needs_is_told_without_doing_it() {
    play(|stage| async move {
        let nodes: Vec<String> = (0..2).map(|_| stage.world.join().unwrap()).collect();
        stage.pass(Duration::from_secs(5)).await;
        stage.expose_web();
        let wrong = [("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-bandwidth", "much")];
        stage.expose("wrong", &wrong, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        let report = rehearse(&stage).await;
        assert_eq!((report.result, report.exit_code()), (Outcome::Changes, 3), "{report}");
        let cloud = |part: &str| report.cloud_changes.iter().filter(|change| change.change.contains(part)).count();
        for (part, count) in [
            ("create load balancer", 1),
            ("create group", 1),
            ("create listener 80/tcp", 1),
            ("start listener 80/tcp", 1),
            ("create route", 2),
            ("source/destination check", 2),
        ] {
            assert_eq!(cloud(part), count, "{part}\n{report}");
        }
        let cluster = |object: &str| report.cluster_changes.iter().filter(|change| change.object == object).count();
        for object in nodes.iter().map(|name| format!("Node {name}")).chain(["Service default/web".to_owned()]) {
            assert!(cluster(&object) >= 2, "{object}\n{report}");
        }
        assert!(report.to_string().contains(r#""spec":{"taints":[]}"#), "{report}");
        let [warning] = &report.warnings[..] else { panic!("{report}") };
        assert_eq!(
            (warning.object.as_str(), warning.reason.as_str()),
            ("Service default/wrong", "SyncLoadBalancerFailed")
        );
        let text = report.json();
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["result"], "changes");
        assert_eq!(json["cloudChanges"].as_array().unwrap().len(), report.cloud_changes.len());
    });
}

#[test]
fn what_would_be_taken_away_is_told_too() {
    play(|stage| async move {
        let replica = stage.start();
        let nodes = stage.joined(4).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(400)).await;
        replica.stop().await.unwrap();
        stage.world.leave(&nodes[3]).unwrap();
        stage.pass(Duration::from_secs(60)).await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        let report = rehearse(&stage).await;
        assert_eq!(report.result, Outcome::Changes);
        let text = report.to_string();
        for part in [format!("delete Node {}\n", nodes[3]), "delete load balancer lb-".to_owned()] {
            assert!(text.contains(&part), "{part} is not in\n{text}");
        }
    });
}

#[test]
fn beside_a_leader_at_work_it_takes_no_lease() {
    play(|stage| async move {
        let _leader = stage.start();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(30)).await;
        let holder = || stage.world.kube.get::<Lease>("kube-system", "ccm").unwrap().spec.unwrap().holder_identity;
        let before = holder();
        let report = stage.start_with(DRY, json!({})).report().await;
        assert_eq!((report.result, holder()), (Outcome::Unchanged, before), "{report}");
    });
}

#[test]
fn what_could_not_be_looked_at_is_a_failure() {
    play(|stage| async move {
        stage.world.join().unwrap();
        stage.expose_web();
        let denied = || FaultKind::Error { status: 403, code: "Forbidden.RAM".into(), message: "no".into() };
        for action in ["slb.DescribeLoadBalancers", "ecs.DescribeInstances", "vpc.DescribeRouteEntryList"] {
            stage.cloud().inject(Fault::on(action, denied()));
        }
        let report = rehearse(&stage).await;
        assert_eq!((report.result, report.exit_code()), (Outcome::Unfinished, 1), "{report}");
        assert!(report.unfinished.iter().any(|name| name == "Service default/web"), "{report}");
        assert!(report.unfinished.iter().any(|name| name == "routes"), "{report}");
        assert!(report.unfinished.iter().any(|name| name.starts_with("Node ")), "{report}");
    });
}
