//! Several replicas, of which one works, and how one ends.

use std::time::Duration;

use ccm::{
    daemon,
    sim::cloud::{Fault, FaultKind},
};
use k8s_openapi::api::coordination::v1::Lease;

use crate::support::{Stage, play};

/// What kubelet leaves between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(30);

/// Who holds the leader lease.
fn holder(stage: &Stage) -> Option<String> {
    let lease = stage.world.kube.get::<Lease>("kube-system", "ccm")?;
    lease.spec?.holder_identity.filter(|holder| !holder.is_empty())
}

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

#[test]
fn a_leader_that_is_stopped_finishes_what_it_is_at() {
    play(|stage| async move {
        let first = stage.start();
        stage.joined(1).await;
        stage.cloud().inject(Fault::on("slb.CreateLoadBalancer", FaultKind::Slow(Duration::from_secs(5))));
        stage.expose_web();
        stage.pass(Duration::from_secs(4)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 0, "it is under way");
        let began = stage.clock.now();
        first.stop().await.unwrap();
        assert!(stage.clock.since(began) < GRACE);
        let made = stage.cloud().load_balancers();
        assert_eq!(made.len(), 1, "{:?}", stage.words());
        assert_eq!(holder(&stage), None, "the next one need not wait");
        stage.clear_calls();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.words(), Vec::<String>::new(), "nothing goes on after the end");
        // The next one goes on from there.
        let _second = stage.start();
        stage.address("web").await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(stage.cloud().load_balancers()[0].id, made[0].id);
        assert!(!stage.words().iter().any(|word| word.starts_with("slb.CreateLoadBalancer")), "{:?}", stage.words());
    });
}

#[test]
fn what_hangs_is_given_up_before_kubelet_kills() {
    play(|stage| async move {
        let first = stage.start();
        stage.joined(1).await;
        stage.cloud().inject(Fault::on("*", FaultKind::Slow(Duration::from_secs(3600))));
        stage.expose_web();
        stage.world.join().unwrap();
        stage.pass(Duration::from_secs(4)).await;
        let began = stage.clock.now();
        let ended = first.stop().await;
        assert!(stage.clock.since(began) < GRACE, "{:?}", stage.clock.since(began));
        assert!(matches!(ended, Ok(()) | Err(daemon::Error::NotDrained(_))), "{ended:?}");
        assert_eq!(holder(&stage), None, "the next one need not wait");
    });
}

#[test]
fn asked_a_second_time_it_ends_at_once() {
    play(|stage| async move {
        let first = stage.start();
        stage.joined(1).await;
        stage.cloud().inject(Fault::on("*", FaultKind::Slow(Duration::from_secs(3600))));
        stage.world.join().unwrap();
        stage.pass(Duration::from_secs(4)).await;
        first.ask_to_stop();
        stage.pass(Duration::from_secs(1)).await;
        let began = stage.clock.now();
        let ended = first.stop().await;
        assert!(matches!(ended, Err(daemon::Error::NotDrained(_))), "{ended:?}");
        assert_eq!(stage.clock.since(began), Duration::ZERO);
    });
}
