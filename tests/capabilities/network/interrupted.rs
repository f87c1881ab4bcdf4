//! Processes that end halfway, and Services that find what they share busy for another: nothing is left over.

use std::{sync::Arc, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind, nlb::NlbListener};
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use super::{ZONES, assert_told, expose, gone, groups, key, listeners, settled, web};
use crate::support::{Stage, config, play, tripwire::Tripwire};

/// A controller that dies right after its first call with this action had its effect.
async fn dying_after(stage: &Stage, action: &str, change: impl Fn(&Stage)) {
    let wire = Tripwire::new(stage.world.cloud.router(), stage.world.kube.clone());
    let config = config(&["--leader-elect=false"], json!({}));
    let replica = stage.start_between(wire.client(), Arc::new(wire.clone()), config);
    wire.dies_after(action);
    change(stage);
    wire.died().await;
    replica.kill().await;
}

fn limited(stage: &Stage, ranges: &Value) {
    let spec = json!({
        "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 80 }],
        "loadBalancerSourceRanges": ranges,
    });
    stage.expose("web", &[(&key("zone-maps"), ZONES)], spec);
}

fn own_security_groups(stage: &Stage) -> usize {
    stage
        .cloud()
        .with_state(|state| state.ecs.security_groups.values().filter(|one| one.name.starts_with("k8s-nlb-")).count())
}

#[test]
fn a_security_group_that_nobody_told_of_goes_with_the_ranges_or_with_the_service() {
    for deleted in [false, true] {
        play(|stage| async move {
            let replica = stage.start_alone();
            stage.joined(1).await;
            replica.kill().await;
            dying_after(&stage, "CreateSecurityGroup", |stage| limited(stage, &json!(["10.0.0.0/8"]))).await;
            assert_eq!(own_security_groups(&stage), 1, "{:?}", stage.words());
            let open = json!({ "spec": { "loadBalancerSourceRanges": null } });
            stage.world.kube.patch::<Service>("default", "web", open).unwrap();
            let _replica = stage.start_alone();
            if deleted {
                gone(&stage).await;
            }
            stage.pass(Duration::from_secs(60)).await;
            assert_eq!(own_security_groups(&stage), 0, "{:?}", stage.words());
        });
    }
}

fn ports(numbers: &[u16]) -> Value {
    numbers.iter().map(|port| json!({ "name": format!("p{port}"), "port": port })).collect()
}

#[test]
fn a_service_that_finds_a_shared_load_balancer_busy_for_another_comes_back_to_it() {
    play(|stage| async move {
        let (id, _) = super::by_hand(&stage).await;
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let keys = [key("id"), key("force-override-listeners")];
        for (name, numbers) in [("first", &[80][..]), ("second", &[81, 82])] {
            let spec =
                json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": ports(numbers) });
            stage.expose(name, &[(&keys[0], &id), (&keys[1], "true")], spec);
        }
        stage.pass(Duration::from_secs(30)).await;
        let numbers = |stage: &Stage| listeners(stage).iter().map(|one: &NlbListener| one.port).collect::<Vec<_>>();
        assert_eq!(numbers(&stage).len(), 4);
        stage.cloud().configure(|options| options.delays.job = Duration::from_secs(5));
        let slower = json!({ "metadata": { "annotations": { (key("idle-timeout")): "60" } } });
        stage.world.kube.patch::<Service>("default", "first", slower).unwrap();
        stage.pass(Duration::from_secs(1)).await;
        let fewer = |service: &mut Service| {
            service.spec.get_or_insert_default().ports.get_or_insert_default().retain(|port| port.port == 81);
        };
        stage.world.kube.modify::<Service>("default", "second", fewer).unwrap();
        stage.pass(Duration::from_secs(60)).await;
        assert!(!numbers(&stage).contains(&82), "{:?} {:?}", numbers(&stage), stage.words());
    });
}

#[test]
fn a_group_whose_deletion_failed_in_the_end_is_deleted_again() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage);
        settled(&stage).await;
        stage.cloud().inject(Fault::on("nlb.DeleteServerGroup", FaultKind::FailedJob).once());
        gone(&stage).await;
        assert_eq!(groups(&stage), [], "{:?}", stage.words());
        assert_told(&stage, "failed");
    });
}

#[test]
fn members_that_are_named_by_addresses_follow_their_nodes_to_others() {
    play(|stage| async move {
        let replica = stage.start_alone();
        let nodes = stage.joined(2).await;
        replica.kill().await;
        // Nobody puts the address right.
        let _replica = stage.start_with(&["--leader-elect=false", "--controllers=nlb"], json!({}));
        expose(&stage, &[("server-group-type", "Ip")], json!([{ "port": 80 }]));
        settled(&stage).await;
        let moved = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": "10.0.9.9" }] } });
        stage.world.kube.patch_status::<Node>("", &nodes[0], moved).unwrap();
        stage.pass(Duration::from_secs(20)).await;
        let members: Vec<String> = groups(&stage)[0].servers.iter().map(|server| server.ip.clone()).collect();
        assert!(members.len() == 2 && members.contains(&"10.0.9.9".to_owned()), "{members:?}");
    });
}
