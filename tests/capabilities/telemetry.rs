//! A failure can be understood from events and metrics alone, and the log is not flooded.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use serde_json::json;

use crate::support::{log::Log, play};

const LONE: &[&str] = &["--leader-elect=false"];

#[test]
fn a_refused_call_is_told_with_code_request_and_object_and_counted_by_action() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        stage.joined(1).await;
        let refusal = FaultKind::Error { status: 403, code: "Forbidden.RAM".into(), message: "not you".into() };
        stage.cloud().inject(Fault::on("slb.CreateLoadBalancer", refusal));
        stage.expose_web();
        stage.pass(Duration::from_secs(60)).await;
        let told = stage.told("web");
        let (_, text) = told.iter().find(|(reason, _)| reason == "SyncLoadBalancerFailed").unwrap();
        let call = stage.cloud().calls().into_iter().find(|call| call.action == "CreateLoadBalancer").unwrap();
        for part in [
            "CreateLoadBalancer",
            "not you",
            "code Forbidden.RAM",
            &format!("request id {}", call.request_id),
            "config/ram-policies",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        // The same failure again is counted, and not another event.
        assert_eq!(told.iter().filter(|(reason, _)| reason == "SyncLoadBalancerFailed").count(), 1, "{told:?}");
        let denied = "ccm_openapi_requests_total{product=\"slb\",action=\"CreateLoadBalancer\",result=\"denied\"}";
        assert!(stage.metric(denied).is_some_and(|count| count >= 2.0), "{}", stage.metrics());
        for line in [
            "ccm_openapi_request_duration_seconds_count{product=\"slb\",action=\"CreateLoadBalancer\"}",
            "ccm_slb_operation_result{type=\"CLBType\",verb=\"Creation\",status=\"Fail\"}",
            "workqueue_retries_total{name=\"service\"}",
            "workqueue_depth{name=\"service\"}",
            "ccm_nodes_initialized_total",
        ] {
            assert!(stage.metric(line).is_some(), "{line} is not in\n{}", stage.metrics());
        }
    });
}

#[test]
fn an_hour_without_a_change_says_nothing() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        stage.joined(3).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(120)).await;
        let (lines, _guard) = Log::collect();
        stage.pass(Duration::from_secs(3600)).await;
        assert_eq!(lines.take(), Vec::<String>::new());
    });
}
