//! A failure can be understood from events and metrics alone, and the log is not flooded.

use std::{collections::BTreeMap, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind};
use serde_json::json;

use crate::support::{Stage, host::Host, log::Log, play};

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

#[test]
fn what_is_accepted_without_effect_is_named_in_the_log_once() {
    play(|stage| async move {
        let (lines, _guard) = Log::collect();
        let keys = json!({ "privateZoneId": "pz-1", "privateZoneRecordTTL": 60, "kubernetesClusterTag": "a", "colour": "red" });
        let _replica =
            stage.start_with(&["--leader-elect=false", "--controllers=*,ingress,pvtz", "--address=::"], keys);
        stage.joined(1).await;
        stage.pass(Duration::from_secs(3600)).await;
        let told = lines.take();
        for text in [
            "--controllers: ingress has no effect: Ingresses",
            "--controllers: pvtz has no effect: PrivateZone",
            "privateZoneId",
            "privateZoneRecordTTL",
            "kubernetesClusterTag",
            "colour",
            "--address",
        ] {
            let count = told.iter().filter(|line| line.contains(" WARN ") && line.contains(text)).count();
            assert_eq!(count, 1, "{text}: {told:#?}");
        }
    });
}

/// The metrics that the operators' page lists, in backticks.
fn listed() -> Vec<String> {
    let page = include_str!("../../docs/operations.md");
    let section = page.split("The released controller's metrics keep their names").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let words = section.split('`').skip(1).step_by(2).map(|word| word.split('{').next().unwrap().to_owned());
    words.filter(|word| word.contains('_')).collect()
}

/// All values of a metric as one; `process_*` stands for all that begin so. Of a histogram, how much it counted.
fn total(metrics: &str, name: &str) -> Option<f64> {
    let is_it = |there: &str| match name.strip_suffix('*') {
        Some(start) => there.starts_with(start),
        None => there == name || there.strip_suffix("_count") == Some(name),
    };
    let of_line = |line: &str| -> Option<f64> {
        let (series, value) = line.rsplit_once(' ')?;
        is_it(series.split('{').next()?).then(|| value.parse().ok())?
    };
    metrics.lines().filter(|line| !line.starts_with('#')).filter_map(of_line).reduce(|one, other| one + other)
}

/// A life with all that is counted; answers what was shown at each turn of it.
async fn eventful_life(stage: &Stage) -> Vec<String> {
    let mut shown = vec![stage.metrics()];
    let file = json!({ "assumeRoleArn": "acs:ram::1234567890123456:role/ccm" });
    let host = Host::with(file.clone());
    let _replica = stage.start_on(&host, &[]);
    shown.push(stage.metrics());
    let nodes = stage.joined(10).await;
    stage.expose_web();
    stage.address("web").await;
    stage.pass(Duration::from_secs(30)).await;
    shown.push(stage.metrics());
    stage.cloud().inject(Fault::on("ecs.DescribeInstances", FaultKind::Throttle { retry_after: None }).once());
    stage.joined(1).await;
    host.configure(json!({ "routeTableIDs": "not an id" }));
    stage.pass(Duration::from_secs(30)).await;
    shown.push(stage.metrics());
    host.configure(file);
    stage.cloud().inject(Fault::on("slb.CreateLoadBalancer", FaultKind::Slow(Duration::from_secs(10))).times(20));
    for number in 0..20 {
        let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose(&format!("web-{number}"), &[], spec);
    }
    stage.pass(Duration::from_secs(2)).await;
    shown.push(stage.metrics());
    stage.world.leave(&nodes[0]).unwrap();
    stage.until("the deletion of a node", || stage.node(&nodes[0]).is_none().then_some(())).await;
    for node in &nodes[1..7] {
        stage.world.leave(node).unwrap();
    }
    stage.pass(Duration::from_secs(300)).await;
    shown.push(stage.metrics());
    shown
}

#[test]
fn every_metric_that_the_page_for_operators_lists_moves() {
    play(|stage| async move {
        let shown = eventful_life(&stage).await;
        let all = listed();
        assert!(all.len() >= 24, "{all:?}");
        let values: BTreeMap<&String, Vec<Option<f64>>> =
            all.iter().map(|name| (name, shown.iter().map(|metrics| total(metrics, name)).collect())).collect();
        for (name, seen) in &values {
            // What tells of the process itself is the same from the start.
            let moved = match name.as_str() {
                "ccm_build_info" | "process_*" => seen.last().unwrap().is_some_and(|value| value > 0.0),
                _ => {
                    seen.iter().any(|value| value.is_some_and(|value| value > 0.0))
                        && seen.iter().any(|v| *v != seen[1])
                }
            };
            assert!(moved, "{name}: {seen:?}");
        }
    });
}
