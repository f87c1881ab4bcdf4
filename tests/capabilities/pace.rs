//! The cloud's rate limits set the pace: it is kept, used up, and shared.

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::Rate;
use serde_json::json;

use crate::support::{Stage, play, play_one_of_many, play_seeded};

const LONE: &[&str] = &["--leader-elect=false"];

fn rate(calls: u32) -> Vec<Rate> {
    let window = Duration::from_secs(60);
    let of = |actions: &str, calls| Rate { actions: actions.to_owned(), calls, window };
    vec![of("slb.Describe*", 3000), of("slb.*", calls)]
}

/// So many Services with a load balancer each, before any limit counts.
async fn balanced(stage: &Stage, count: usize) {
    for number in 0..count {
        let ports = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose(&format!("s{number:03}"), &[], ports);
    }
    let ready = || {
        let members = |id: &String| stage.cloud().groups(id).iter().all(|group| group.servers.len() == 1);
        let all = stage.cloud().load_balancers();
        (all.len() == count && all.iter().all(|one| stage.cloud().listeners(&one.id).len() == 1 && members(&one.id)))
            .then_some(())
    };
    for _ in 0..60 {
        if ready().is_some() {
            break;
        }
        stage.pass(Duration::from_secs(10)).await;
    }
    assert!(ready().is_some(), "{:?}", stage.cloud().call_counts());
    // A full minute without a call.
    stage.pass(Duration::from_secs(90)).await;
    stage.clear_calls();
}

/// One more node, so that each Service needs a write; how long it takes until all have it, and which
/// part of the calls was throttled.
async fn one_write_each(stage: &Stage, count: usize) -> (Duration, f64) {
    let start = tokio::time::Instant::now();
    stage.world.join().unwrap();
    let done = |stage: &Stage| {
        let words = stage.words();
        words.iter().filter(|word| *word == "slb.AddVServerGroupBackendServers").count() >= count
    };
    while !done(stage) {
        assert!(start.elapsed() < Duration::from_secs(3600), "{:?}", stage.cloud().call_counts());
        stage.pass(Duration::from_secs(1)).await;
    }
    let took = start.elapsed();
    let words = stage.words();
    let throttled = words.iter().filter(|word| word.contains(" Throttling")).count();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let part = throttled as f64 / words.len() as f64;
    (took, part)
}

#[test]
fn three_hundred_writes_are_drained_at_the_steady_pace_and_none_is_throttled() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        stage.joined(1).await;
        balanced(&stage, 300).await;
        stage.cloud().configure(|options| options.rates = rate(90));
        let (took, throttled) = one_write_each(&stage, 300).await;
        // 90 in each minute, wherever it begins.
        assert!(took <= Duration::from_secs(200), "{took:?}");
        assert!(throttled <= 0.01, "{throttled}");
        let waited = stage.metric(
            "ccm_openapi_throttle_wait_seconds_total{product=\"slb\",action=\"AddVServerGroupBackendServers\"}",
        );
        assert!(waited.is_some_and(|seconds| seconds > 100.0), "{waited:?}");
    });
}

#[test]
fn where_others_use_up_half_of_the_limit_the_pace_adapts() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        stage.joined(1).await;
        balanced(&stage, 100).await;
        stage.cloud().configure(|options| options.rates = rate(45));
        let (took, throttled) = one_write_each(&stage, 100).await;
        // 45 at once and with each further minute would be 120 s.
        assert!(took <= Duration::from_secs(300), "{took:?}");
        assert!(throttled <= 0.1, "{throttled}");
    });
}

#[test]
fn clusters_of_one_account_do_not_sweep_at_the_same_moment() {
    let sweeps = std::sync::Arc::new(parking_lot::Mutex::new([BTreeSet::new(), BTreeSet::new()]));
    for seed in 0..20 {
        let sweeps = sweeps.clone();
        play_seeded(seed, move |stage| async move {
            let _replica = stage.start_with(LONE, json!({}));
            stage.joined(1).await;
            stage.pass(Duration::from_secs(60)).await;
            stage.clear_calls();
            stage.pass(Duration::from_secs(600)).await;
            let calls = stage.cloud().calls();
            for (seconds, action) in sweeps.lock().iter_mut().zip(["DescribeInstances", "DescribeRouteEntryList"]) {
                let first = calls.iter().find(|call| call.action == action);
                seconds.insert(first.unwrap_or_else(|| panic!("no {action} in {:?}", stage.words())).at.as_second());
            }
        });
    }
    for seconds in &*sweeps.lock() {
        assert!(seconds.len() >= 12, "{seconds:?}");
    }
}

#[test]
fn clusters_of_one_account_do_not_read_their_load_balancers_again_at_the_same_moment() {
    let audits = std::sync::Arc::new(parking_lot::Mutex::new(BTreeSet::new()));
    for seed in 0..6 {
        let audits = audits.clone();
        play_one_of_many(seed, false, move |stage| async move {
            let _replica = stage.start_with(&["--leader-elect=false", "--controllers=service"], json!({}));
            stage.expose_web();
            stage.address("web").await;
            stage.pass(Duration::from_secs(60)).await;
            stage.clear_calls();
            // Between three and six hours later.
            let is_read = || stage.words().iter().any(|word| word == "slb.DescribeLoadBalancerAttribute");
            let mut minutes = 0;
            while !is_read() && minutes < 400 {
                stage.pass(Duration::from_secs(60)).await;
                minutes += 1;
            }
            audits.lock().insert(minutes);
        });
    }
    let audits = audits.lock();
    let spread = audits.last().unwrap() - audits.first().unwrap();
    assert!(audits.len() == 6 && spread >= 60, "after so many minutes: {audits:?}");
}
