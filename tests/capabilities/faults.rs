//! What happens when calls fail, are slow, or lose their answers.

use std::{collections::BTreeSet, time::Duration};

use ccm::{
    entropy::Entropy,
    sim::cloud::{Fault, FaultKind},
};
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::support::{Stage, play, play_seeded};

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

/// Services come, change and go while calls fail at random; then the faults stop.
fn a_troubled_life(seed: u64) {
    play_seeded(seed, move |stage| async move {
        let dice = Entropy::seeded(seed);
        let _replica = stage.start();
        stage.joined(3).await;
        let foreign = foreign_load_balancer(&stage);
        let kinds = [
            FaultKind::DropAfter,
            FaultKind::DropBefore,
            FaultKind::Throttle { retry_after: None },
            FaultKind::TruncatedJson,
            FaultKind::Error { status: 500, code: "InternalError".into(), message: String::new() },
            FaultKind::Error { status: 400, code: "OperationBusy".into(), message: String::new() },
        ];
        for kind in kinds {
            stage.cloud().inject(Fault::on("slb", kind).with_probability(0.03));
        }
        let mut alive = BTreeSet::new();
        for step in 0..10 {
            let name = format!("s{}", dice.below(4));
            match dice.below(4) {
                0 | 1 => {
                    let port = 80 + dice.below(3);
                    let ports = json!([{ "name": "a", "port": port }, { "name": "b", "port": 443 + dice.below(2) }]);
                    if alive.insert(name.clone()) {
                        stage.expose(&name, &[], json!({ "type": "LoadBalancer", "ports": ports }));
                    } else {
                        let patch = json!({ "spec": { "ports": ports } });
                        stage.world.kube.patch::<Service>("default", &name, patch).unwrap();
                    }
                }
                2 if alive.remove(&name) => {
                    stage.world.kube.delete::<Service>("default", &name).unwrap();
                    // A new one of this name has to wait until the old is gone.
                    stage.until("the Service gone", || stage.service(&name).is_none().then_some(())).await;
                }
                _ => {
                    stage.world.join().unwrap();
                }
            }
            let all = stage.cloud().load_balancers();
            let owners: BTreeSet<_> = all.iter().filter_map(|lb| lb.tags.get("kubernetes.do.not.delete")).collect();
            let tagged = all.iter().filter(|lb| lb.tags.contains_key("kubernetes.do.not.delete")).count();
            assert_eq!(owners.len(), tagged, "step {step}: two load balancers for one Service");
            stage.pass(Duration::from_secs(dice.below(20))).await;
        }
        stage.cloud().clear_faults();
        stage.pass(Duration::from_secs(700)).await;
        let nodes = stage.world.kube.list::<k8s_openapi::api::core::v1::Node>().len();
        assert_eq!(stage.cloud().load_balancers().len(), alive.len() + 1, "seed {seed}");
        for name in &alive {
            let service = stage.service(name).unwrap();
            let id = service.metadata.labels.unwrap()["service.k8s.alibaba/loadbalancer-id"].clone();
            let spec = service.spec.unwrap();
            let wanted: BTreeSet<u16> = spec.ports.unwrap().iter().map(|p| u16::try_from(p.port).unwrap()).collect();
            let listeners = stage.cloud().listeners(&id);
            assert_eq!(listeners.iter().map(|l| l.port).collect::<BTreeSet<_>>(), wanted, "seed {seed}, {name}");
            let groups = stage.cloud().groups(&id);
            assert_eq!(
                groups.len(),
                2,
                "seed {seed}, {name}: {:?}",
                groups.iter().map(|g| &g.name).collect::<Vec<_>>()
            );
            for group in groups {
                assert_eq!(group.servers.len(), nodes, "seed {seed}, {name}");
            }
        }
        assert_eq!(
            foreign_load_balancer_state(&stage, &foreign),
            foreign.1,
            "seed {seed}: foreign things were touched"
        );
    });
}

/// A load balancer of somebody else's, and how it looks.
fn foreign_load_balancer(stage: &Stage) -> (String, String) {
    let made = stage
        .cloud()
        .administer("slb.CreateLoadBalancer", &[("LoadBalancerName", "by-hand"), ("LoadBalancerSpec", "slb.s1.small")])
        .unwrap();
    let id = made["LoadBalancerId"].as_str().unwrap().to_owned();
    let listener =
        [("LoadBalancerId", id.as_str()), ("ListenerPort", "80"), ("Bandwidth", "-1"), ("BackendServerPort", "80")];
    stage.cloud().administer("slb.CreateLoadBalancerTCPListener", &listener).unwrap();
    let group = [("LoadBalancerId", id.as_str()), ("VServerGroupName", "by-hand")];
    stage.cloud().administer("slb.CreateVServerGroup", &group).unwrap();
    let before = foreign_load_balancer_state(stage, &(id.clone(), String::new()));
    (id, before)
}

fn foreign_load_balancer_state(stage: &Stage, (id, _): &(String, String)) -> String {
    let load_balancer = stage.cloud().load_balancers().into_iter().find(|lb| lb.id == *id);
    format!("{load_balancer:?}\n{:?}\n{:?}", stage.cloud().listeners(id), stage.cloud().groups(id))
}

#[test]
fn after_any_trouble_all_is_as_asked_for_once_and_nothing_foreign_was_touched() {
    for seed in 0..40 {
        a_troubled_life(seed);
    }
}
