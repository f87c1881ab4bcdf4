//! Nodes: taken into service when they join, marked when they are switched off, deleted only when
//! their instance is proven gone.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind, ecs::InstanceStatus};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::support::{Stage, play, taints};

#[test]
fn a_stopped_instance_gets_the_shutdown_taint_and_loses_it_when_it_is_back() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        let instance = nodes[0].split_once('.').unwrap().1;
        let before = stage.node(&nodes[0]).unwrap().metadata.uid;
        stage.cloud().set_instance_status(instance, InstanceStatus::Stopped);
        stage.world.set_ready(&nodes[0], "Unknown").unwrap();
        let taint = "node.cloudprovider.kubernetes.io/shutdown".to_owned();
        stage.until("the shutdown taint", || taints(&stage.node(&nodes[0])?).contains(&taint).then_some(())).await;
        stage.cloud().set_instance_status(instance, InstanceStatus::Running);
        stage.world.set_ready(&nodes[0], "True").unwrap();
        stage.until("no taint", || taints(&stage.node(&nodes[0])?).is_empty().then_some(())).await;
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(stage.node(&nodes[0]).unwrap().metadata.uid, before, "a reboot is not a deletion");
    });
}

/// Kubelets fall silent while the cloud's answers are worth nothing.
fn no_node_is_deleted_while(kind: FaultKind, silent: impl Fn(&Stage, &[String]) + 'static) {
    play(move |stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(5).await;
        stage.cloud().inject(Fault::on("ecs.DescribeInstances", kind));
        silent(&stage, &nodes);
        stage.pass(Duration::from_secs(1800)).await;
        for name in &nodes {
            assert!(stage.node(name).is_some(), "{name} was deleted");
        }
        // Nothing is broken for good: a proof is still a proof.
        stage.cloud().clear_faults();
        for name in &nodes {
            stage.world.set_ready(name, "True").unwrap();
        }
        stage.world.leave(&nodes[0]).unwrap();
        stage.pass(Duration::from_secs(600)).await;
        assert!(stage.node(&nodes[0]).is_none(), "the proven one is deleted");
        assert!(stage.node(&nodes[1]).is_some());
    });
}

fn one_silent(stage: &Stage, nodes: &[String]) {
    stage.world.set_ready(&nodes[0], "Unknown").unwrap();
}

fn all_silent(stage: &Stage, nodes: &[String]) {
    for node in nodes {
        stage.world.set_ready(node, "Unknown").unwrap();
    }
}

#[test]
fn a_denied_list_deletes_no_node() {
    no_node_is_deleted_while(FaultKind::Denied, one_silent);
}

#[test]
fn an_empty_list_deletes_no_node() {
    no_node_is_deleted_while(FaultKind::EmptyList, one_silent);
    no_node_is_deleted_while(FaultKind::EmptyList, all_silent);
}

#[test]
fn a_throttled_list_deletes_no_node() {
    no_node_is_deleted_while(FaultKind::Throttle { retry_after: None }, all_silent);
}

#[test]
fn a_malformed_list_deletes_no_node() {
    no_node_is_deleted_while(FaultKind::TruncatedJson, all_silent);
}

#[test]
fn a_partial_list_deletes_no_node() {
    no_node_is_deleted_while(FaultKind::MissingPage, all_silent);
}

#[test]
fn a_lost_answer_or_a_server_error_deletes_no_node() {
    no_node_is_deleted_while(FaultKind::DropAfter, all_silent);
    let code = "ServiceUnavailable".to_owned();
    no_node_is_deleted_while(FaultKind::Error { status: 503, code, message: String::new() }, all_silent);
}

#[test]
fn an_answer_of_another_region_or_none_in_time_deletes_no_node() {
    no_node_is_deleted_while(FaultKind::OtherRegion, all_silent);
    no_node_is_deleted_while(FaultKind::Slow(Duration::from_secs(30)), all_silent);
}

#[test]
fn when_many_instances_are_gone_at_once_no_node_is_deleted() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(10).await;
        for node in &nodes[..5] {
            stage.world.leave(node).unwrap();
        }
        stage.pass(Duration::from_secs(1800)).await;
        assert!(nodes.iter().all(|node| stage.node(node).is_some()));
        let told = stage.told(&nodes[0]);
        let refusal = told.iter().find(|(reason, _)| reason == "DeleteNodeFailed");
        assert!(refusal.is_some_and(|(_, message)| message.contains("missing at once")), "{told:?}");
    });
}

/// What kubelet registers where nobody told it which instance it runs on.
fn join_unnamed(stage: &Stage, name: &str, number: u32) -> String {
    let instance = stage.world.boot(number).unwrap();
    stage.world.kube.create(&stage.world.node(name, None, number)).unwrap();
    instance
}

#[test]
fn a_node_without_provider_id_or_address_is_found_by_its_host_name() {
    play(|stage| async move {
        let _replica = stage.start();
        let instance = join_unnamed(&stage, "izbp1abcz", 1);
        stage.cloud().with_state(|state| {
            state.ecs.instances.get_mut(&instance).unwrap().hostname = "iZbp1abcZ".into();
        });
        stage.until("no taint", || taints(&stage.node("izbp1abcz")?).is_empty().then_some(())).await;
        let spec = stage.node("izbp1abcz").unwrap().spec.unwrap();
        assert_eq!(spec.provider_id, Some(format!("cn-hangzhou.{instance}")));
    });
}

#[test]
fn a_provider_id_that_comes_late_brings_route_and_membership() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        stage.expose_web();
        stage.address("web").await;
        let instance = join_unnamed(&stage, "stranger", 3);
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(taints(&stage.node("stranger").unwrap()), ["node.cloudprovider.kubernetes.io/uninitialized"]);
        let told = stage.told("stranger");
        let tried =
            |(reason, text): &(String, String)| reason == "SyncNodeFailed" && text.contains("host name stranger");
        assert!(told.iter().any(tried), "{told:?}");
        let members = || {
            let load_balancer = stage.cloud().load_balancers().remove(0);
            let groups = stage.cloud().groups(&load_balancer.id);
            groups.into_iter().flat_map(|group| group.servers).map(|server| server.id).collect::<Vec<_>>()
        };
        assert!(!members().contains(&instance));
        let id = json!({ "spec": { "providerID": format!("alicloud://cn-hangzhou.{instance}") } });
        stage.world.kube.patch::<Node>("", "stranger", id).unwrap();
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(taints(&stage.node("stranger").unwrap()), Vec::<String>::new());
        assert!(members().contains(&instance));
        let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
        assert!(stage.cloud().routes(&table).iter().any(|route| route.next_hop == instance));
    });
}

#[test]
fn addresses_of_both_families_are_told_and_follow_the_instance() {
    play(|stage| async move {
        let _replica = stage.start_with(&["--node-monitor-period=1m"], json!({ "featureGates": "IPv6DualStack=true" }));
        let name = stage.joined(1).await.remove(0);
        let instance = name.split_once('.').unwrap().1.to_owned();
        let addresses = || {
            let status = stage.node(&name).unwrap().status.unwrap();
            status.addresses.unwrap().into_iter().map(|a| format!("{} {}", a.type_, a.address)).collect::<Vec<_>>()
        };
        let eip = stage.cloud().administer("vpc.AllocateEipAddress", &[]).unwrap()["AllocationId"]
            .as_str()
            .unwrap()
            .to_owned();
        let bind = [("AllocationId", eip.as_str()), ("InstanceId", instance.as_str())];
        stage.cloud().administer("vpc.AssociateEipAddress", &bind).unwrap();
        let interface = stage.cloud().with_state(|state| {
            let id = state.ecs.instances[&instance].interfaces[0].clone();
            state.ecs.interfaces.get_mut(&id).unwrap().ipv6.push("2408:4005::5".parse().unwrap());
            id
        });
        stage.pass(Duration::from_secs(90)).await;
        let all = addresses();
        assert!(all[0].starts_with("ExternalIP ") && all[1].starts_with("InternalIP 10."), "{all:?}");
        assert_eq!(all[2..], ["InternalIP 2408:4005::5".to_owned(), format!("Hostname {name}")]);
        stage.cloud().administer("vpc.UnassociateEipAddress", &bind).unwrap();
        stage.cloud().with_state(|state| state.ecs.interfaces.get_mut(&interface).unwrap().ipv6.clear());
        stage.pass(Duration::from_secs(90)).await;
        assert_eq!(addresses(), [all[1].clone(), format!("Hostname {name}")]);
    });
}

#[test]
fn conditions_and_taints_never_flap_in_bad_weather() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        for product in ["ecs", "vpc"] {
            for kind in [
                FaultKind::Error { status: 500, code: "InternalError".into(), message: String::new() },
                FaultKind::Throttle { retry_after: None },
                FaultKind::DropAfter,
                FaultKind::EmptyList,
            ] {
                stage.cloud().inject(Fault::on(product, kind).with_probability(0.1));
            }
        }
        let names: Vec<String> = (0..6).map(|_| stage.world.join().unwrap()).collect();
        let stands = |name: &String| {
            let node = stage.node(name).unwrap();
            let conditions = node.status.clone().unwrap().conditions.unwrap();
            let network = conditions.into_iter().find(|condition| condition.type_ == "NetworkUnavailable");
            (taints(&node).len(), network.map(|condition| condition.status).unwrap_or_default())
        };
        let mut seen: Vec<Vec<(usize, String)>> = names.iter().map(|name| vec![stands(name)]).collect();
        for second in 0..3600 {
            // Kubelets fall silent now and then.
            let status = if second % 600 < 300 { "True" } else { "Unknown" };
            if second % 300 == 0 {
                for name in &names {
                    stage.world.set_ready(name, status).unwrap();
                }
            }
            stage.pass(Duration::from_secs(1)).await;
            for (name, seen) in names.iter().zip(&mut seen) {
                if *seen.last().unwrap() != stands(name) {
                    seen.push(stands(name));
                }
            }
        }
        let way =
            [(1, ""), (1, "True"), (0, "True"), (0, "False")].map(|(taints, network)| (taints, network.to_owned()));
        for (name, seen) in names.iter().zip(seen) {
            // A step may be too short to be seen, but none is taken twice or back.
            let mut left = way.iter();
            assert!(seen.iter().all(|step| left.any(|next| next == step)), "{name}: {seen:?}");
            assert_eq!(seen.last(), way.last(), "{name}");
        }
    });
}
