//! Several replicas, of which one works.

use std::time::Duration;

use crate::support::play;

#[test]
fn when_the_leader_is_killed_the_other_takes_over_without_a_write() {
    play(|stage| async move {
        let first = stage.start();
        stage.joined(3).await;
        stage.expose_web();
        stage.address("web").await;
        let second = stage.start();
        stage.pass(Duration::from_secs(30)).await;
        first.kill().await;
        stage.clear_calls();
        stage.pass(Duration::from_secs(120)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        assert!(!stage.words().is_empty(), "the second read the inventory");
        // It leads: what changes is acted on.
        stage.joined(1).await;
        stage
            .until("the new member", || {
                stage.words().iter().any(|word| word == "slb.AddVServerGroupBackendServers").then_some(())
            })
            .await;
        assert_eq!(stage.cloud().load_balancers().len(), 1);
        second.stop().await.unwrap();
    });
}

#[test]
fn a_stopped_leader_gives_its_lease_back() {
    play(|stage| async move {
        let first = stage.start();
        stage.joined(1).await;
        let _second = stage.start();
        stage.pass(Duration::from_secs(10)).await;
        first.stop().await.unwrap();
        stage.clear_calls();
        stage.world.join().unwrap();
        // Well before the lease of 15 s would have run out.
        stage.pass(Duration::from_secs(8)).await;
        assert!(stage.words().iter().any(|word| word == "ecs.DescribeInstances"), "{:?}", stage.words());
    });
}
