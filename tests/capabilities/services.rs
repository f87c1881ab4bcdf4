//! Services of type LoadBalancer.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::support::play;

#[test]
fn a_deletion_takes_one_pass_and_tells_of_no_failure() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(5)).await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.pass(Duration::from_secs(2)).await;
        assert!(stage.service("web").is_none(), "still there after two seconds");
        let told: Vec<String> = stage.told("web").into_iter().map(|(reason, _)| reason).collect();
        let failures: Vec<&String> = told.iter().filter(|reason| reason.contains("Fail")).collect();
        assert_eq!(failures, Vec::<&String>::new(), "{told:?}");
    });
}

#[test]
fn a_new_process_makes_a_new_load_balancer_for_a_service_that_had_one_before() {
    play(|stage| async move {
        let replica = stage.start();
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        let become_type = |kind: &str| {
            let patch = json!({ "spec": { "type": kind } });
            stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
        };
        become_type("ClusterIP");
        stage.until("no load balancer", || stage.cloud().load_balancers().is_empty().then_some(())).await;
        stage.pass(Duration::from_secs(5)).await;
        // It does not remember that it made and deleted one; the cloud does, by the idempotency token.
        replica.kill().await;
        let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
        become_type("LoadBalancer");
        let address = stage.address("web").await;
        let all = stage.cloud().load_balancers();
        assert_eq!(all.iter().map(|lb| lb.address.to_string()).collect::<Vec<_>>(), [address]);
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(stage.cloud().listeners(&all[0].id).len(), 1, "{:?}", stage.words());
    });
}
