//! What people are told.

use serde_json::json;

use crate::stage::{PREFIX, Stage};

pub async fn what_was_done_and_what_is_wrong_is_told(stage: Stage) {
    let _replica = stage.start();
    let node = stage.joined(1).await.remove(0);
    stage.expose_web().await;
    let told = |object: &'static str, kind: &'static str, reason: &'static str| {
        let stage = stage.clone();
        async move {
            let all = stage.told(object).await;
            all.into_iter().find(|(k, r, _)| k == kind && r == reason).map(|(_, _, message)| message)
        }
    };
    stage.until("the success", || told("web", "Normal", "EnsuredLoadBalancer")).await;
    let calls = stage.calls().len();
    let wrong = [("bandwidth", "fast"), ("address-type", "outer"), ("adress-type", "x")];
    let wrong = wrong.map(|(key, value)| (format!("{PREFIX}{key}"), value));
    let wrong: Vec<(&str, &str)> = wrong.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    stage.expose("bad", &wrong, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).await;
    let message = stage.until("the failure", || told("bad", "Warning", "SyncLoadBalancerFailed")).await;
    assert!(message.contains("bandwidth is \"fast\"") && message.contains("address-type is \"outer\""), "{message}");
    let notice = stage.until("the notice", || told("bad", "Warning", "UnsupportedAnnotation")).await;
    assert!(notice.ends_with("-address-type"), "what was meant: {notice}");
    let calls = stage.calls().split_off(calls);
    assert!(calls.iter().all(|call| !call.starts_with("slb.")), "{calls:?}");
    assert!(!stage.told(&node).await.iter().any(|(kind, _, _)| kind == "Warning"), "{:?}", stage.told(&node).await);
}
