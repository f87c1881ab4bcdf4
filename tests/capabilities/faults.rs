//! What happens when calls fail, are slow, or lose their answers. For all of it at random see `lives`.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use serde_json::json;

use crate::support::play;

#[test]
fn a_creation_whose_answer_is_lost_makes_no_second_load_balancer() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        stage.cloud().inject(Fault::on("slb.CreateLoadBalancer", FaultKind::DropAfter).times(3));
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 1, "{:?}", stage.words());
    });
}

#[test]
fn a_group_whose_answer_is_lost_is_not_made_twice() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        stage.cloud().inject(Fault::on("slb.CreateVServerGroup", FaultKind::DropAfter).once());
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(60)).await;
        let load_balancer = stage.cloud().load_balancers().remove(0);
        assert_eq!(stage.cloud().groups(&load_balancer.id).len(), 1, "{:?}", stage.words());
        assert_eq!(stage.cloud().listeners(&load_balancer.id).len(), 1);
    });
}

#[test]
fn one_port_that_fails_does_not_hold_back_another() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        let code = "ListenerNumberOverLimit".to_owned();
        stage.cloud().inject(Fault::on(
            "slb.CreateLoadBalancerUDPListener",
            FaultKind::Error { status: 400, code, message: "too many listeners".to_owned() },
        ));
        let ports = json!([
            { "name": "dns", "port": 53, "protocol": "UDP" },
            { "name": "web", "port": 80, "protocol": "TCP" },
        ]);
        stage.expose("two", &[], json!({ "type": "LoadBalancer", "ports": ports }));
        stage.address("two").await;
        stage.pass(Duration::from_secs(30)).await;
        let load_balancer = stage.cloud().load_balancers().remove(0);
        let ports: Vec<u16> = stage.cloud().listeners(&load_balancer.id).iter().map(|listener| listener.port).collect();
        assert_eq!(ports, [80]);
        let told = stage.told("two");
        let failure = told.iter().find(|(reason, _)| reason == "SyncLoadBalancerFailed").unwrap();
        assert!(failure.1.contains("ListenerNumberOverLimit") && failure.1.contains("request id"), "{failure:?}");
        stage.cloud().clear_faults();
        // A quota is tried again slowly.
        stage.pass(Duration::from_secs(300)).await;
        stage.until("the other port", || (stage.cloud().listeners(&load_balancer.id).len() == 2).then_some(())).await;
    });
}

#[test]
fn the_cloud_away_at_the_start_is_waited_for() {
    play(|stage| async move {
        stage.cloud().inject(Fault::on("*", FaultKind::DropBefore));
        let _replica = stage.start();
        stage.world.join().unwrap();
        stage.expose_web();
        stage.pass(Duration::from_secs(900)).await;
        stage.cloud().clear_faults();
        stage.pass(Duration::from_secs(330)).await;
        assert!(stage.service("web").unwrap().status.unwrap().load_balancer.unwrap().ingress.is_some());
    });
}

/// Whoever takes a group that cannot be read for an empty one adds everybody again and removes nobody.
#[test]
fn while_a_group_cannot_be_read_its_members_are_left_alone() {
    let refused = || FaultKind::Error { status: 500, code: "InternalError".into(), message: "not now".into() };
    for kind in [refused(), FaultKind::Denied, FaultKind::DropBefore, FaultKind::TruncatedJson] {
        play(|stage| async move {
            let replica = stage.start_alone();
            let nodes = stage.joined(3).await;
            stage.ask_web(&[]);
            stage.address("web").await;
            stage.pass(Duration::from_secs(20)).await;
            replica.stop().await.unwrap();
            stage.cloud().inject(Fault::on("slb.DescribeVServerGroupAttribute", kind.clone()));
            let _replica = stage.start_alone();
            let new = stage.joined(1).await;
            stage.world.leave(&nodes[0]).unwrap();
            stage.clear_calls();
            stage.pass(Duration::from_secs(60)).await;
            assert_eq!(stage.balancer_writes(), Vec::<String>::new(), "{kind:?}");
            assert!(!stage.failures("web").is_empty(), "{kind:?}");
            stage.cloud().clear_faults();
            stage.clear_calls();
            stage.pass(Duration::from_secs(120)).await;
            let expected = [&nodes[1..], &new].concat().into_iter().collect();
            assert_eq!(stage.member_nodes(), expected, "{kind:?}");
            let is_one = |write: &String| write.ends_with("VServerGroupBackendServers");
            assert!(stage.balancer_writes().len() <= 2 && stage.balancer_writes().iter().all(is_one), "{kind:?}");
        });
    }
}
