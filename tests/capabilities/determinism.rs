//! The same seed gives the same life.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Service;

use crate::support::play_seeded;

/// Ten minutes of a cluster: nodes come and go, a Service is made and deleted.
fn life(seed: u64) -> String {
    let mut log = String::new();
    play_seeded(seed, |stage| {
        let log = &mut log;
        async move {
            let _replica = stage.start();
            let nodes = stage.joined(5).await;
            stage.expose_web();
            stage.address("web").await;
            stage.pass(Duration::from_secs(120)).await;
            stage.world.leave(&nodes[2]).unwrap();
            stage.pass(Duration::from_secs(120)).await;
            stage.joined(2).await;
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.pass(Duration::from_secs(360)).await;
            *log = stage.cloud().calls().iter().map(|call| format!("{call:?}")).collect::<Vec<_>>().join("\n");
        }
    });
    log
}

#[test]
fn the_same_seed_gives_the_same_calls_byte_for_byte() {
    let first = life(42);
    assert!(first.lines().count() > 20, "{first}");
    assert_eq!(first, life(42));
    assert_ne!(first, life(43), "another seed, other ids and nonces");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this is about the machine's time")]
fn ten_minutes_take_less_than_a_minute_of_the_machines_time() {
    // No measure of speed, only that nothing sleeps for real.
    let started = Instant::now();
    life(7);
    assert!(started.elapsed() < Duration::from_secs(60));
}
