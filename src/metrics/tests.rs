use std::time::Duration;

use super::*;

#[test]
fn released_names_and_labels_are_kept() {
    let metrics = Metrics::new("1.2.3", "abc");
    metrics.nodes.observe("reconcile", Duration::from_millis(600));
    metrics.routes.observe("create", Duration::from_secs(2));
    metrics.load_balancers.observe("CLBType", "Creation", Duration::from_secs(700), true);
    metrics.load_balancers.observe("CLBType", "Update", Duration::from_secs(1), false);
    metrics.leader.of("ccm").set(1);
    let queue = metrics.queue("service");
    queue.depth.set(3);
    queue.adds.inc();
    queue.retries.inc();

    let text = metrics.encode().unwrap();
    for line in [
        "ccm_build_info{version=\"1.2.3\",commit=\"abc\"} 1",
        "ccm_node_latencies_duration_milliseconds_bucket{verb=\"reconcile\",le=\"500\"} 0",
        "ccm_node_latencies_duration_milliseconds_bucket{verb=\"reconcile\",le=\"700\"} 1",
        "ccm_route_latencies_duration_milliseconds_count{verb=\"create\"} 1",
        "ccm_slb_latencies_duration_milliseconds_bucket{type=\"CLBType\",verb=\"Creation\",le=\"700000\"} 1",
        "# TYPE ccm_slb_operation_result counter",
        "ccm_slb_operation_result{type=\"CLBType\",verb=\"Creation\",status=\"Success\"} 1",
        "ccm_slb_operation_result{type=\"CLBType\",verb=\"Update\",status=\"Fail\"} 1",
        "leader_election_master_status{name=\"ccm\"} 1",
        "workqueue_depth{name=\"service\"} 3",
        "workqueue_adds_total{name=\"service\"} 1",
        "workqueue_retries_total{name=\"service\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "missing: {line}\n{text}");
    }
    if cfg!(target_os = "linux") {
        for name in ["process_cpu_seconds_total ", "process_resident_memory_bytes ", "process_start_time_seconds "] {
            assert!(text.lines().any(|l| l.starts_with(name)), "missing: {name}\n{text}");
        }
    }
}

#[test]
fn other_components_register_beside() {
    let metrics = Metrics::default();
    let counter = metrics.register(|registry| {
        let counter: Counter = Counter::default();
        registry.register("ccm_openapi_calls", "Calls", counter.clone());
        counter
    });
    counter.inc();
    assert!(metrics.encode().unwrap().contains("ccm_openapi_calls_total 1"));
}
