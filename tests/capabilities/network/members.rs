//! Who the members of server groups are, when nodes, pods and the cloud are not as they should be.

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind};
use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use serde_json::{Value, json};

use super::{
    annotate, assert_told, by_hand, expose, expose_with, groups, host_name, key, listeners, settled, web, writes,
};
use crate::support::{Stage, play};

const ENI: (&str, &str) = ("service.beta.kubernetes.io/backend-type", "eni");

/// `server:port` of all members.
fn members(stage: &Stage) -> BTreeSet<String> {
    let servers = groups(stage).into_iter().flat_map(|group| group.servers);
    servers.map(|server| format!("{}:{}", server.ip, server.port)).collect()
}

/// Makes or changes the one slice of the Service `web`: address, node and port of each pod.
pub fn slice(stage: &Stage, pods: &[(&str, Option<&str>)], port: u16) {
    let endpoint = |(address, node): &(&str, Option<&str>)| {
        let target = json!({ "kind": "Pod", "name": address, "uid": format!("uid-{address}") });
        json!({ "addresses": [address], "conditions": { "ready": true }, "nodeName": node, "targetRef": target })
    };
    let endpoints: Vec<Value> = pods.iter().map(endpoint).collect();
    let slice = json!({
        "metadata": { "name": "web-1", "namespace": "default", "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "", "port": port, "protocol": "TCP" }],
    });
    let slice: EndpointSlice = serde_json::from_value(slice).unwrap();
    let change = |there: &mut EndpointSlice| {
        there.endpoints.clone_from(&slice.endpoints);
        there.ports.clone_from(&slice.ports);
    };
    if stage.world.kube.modify::<EndpointSlice>("default", "web-1", change).is_err() {
        stage.world.kube.create(&slice).unwrap();
    }
}

/// Addresses that network interfaces of the cloud hold.
fn addresses(stage: &Stage, count: u32) -> Vec<String> {
    (0..count).for_each(|number| drop(stage.world.boot(number).unwrap()));
    stage.cloud().with_state(|state| state.ecs.interfaces.values().map(|i| i.private_ips[0].to_string()).collect())
}

fn pods(addresses: &[String]) -> Vec<(&str, Option<&str>)> {
    addresses.iter().map(|address| (address.as_str(), None)).collect()
}

#[test]
fn nodes_that_turn_unready_together_stay_and_so_they_do_over_a_restart() {
    play(|stage| async move {
        let replica = stage.start_alone();
        let nodes = stage.joined(3).await;
        web(&stage);
        settled(&stage).await;
        stage.clear_calls();
        for node in &nodes {
            stage.world.set_ready(node, "Unknown").unwrap();
        }
        stage.pass(Duration::from_secs(60)).await;
        replica.stop().await.unwrap();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!((groups(&stage)[0].servers.len(), writes(&stage)), (3, vec![]));
    });
}

#[test]
fn a_pod_without_interface_keeps_nobody_in_or_out() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let all = addresses(&stage, 3);
        slice(&stage, &pods(&all[..2]), 8080);
        expose_with(&stage, &[ENI], json!({ "ports": [{ "port": 80, "targetPort": 8080 }] }));
        settled(&stage).await;
        // One goes, one comes, and one is nowhere.
        slice(&stage, &[(&all[1], None), (&all[2], None), ("10.9.9.9", None)], 8080);
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(members(&stage), [format!("{}:8080", all[1]), format!("{}:8080", all[2])].into());
        assert_told(&stage, "Not sync pods whose eni is invalid: 10.9.9.9 (pod ");
    });
}

#[test]
fn a_member_that_the_cloud_refuses_is_left_out_alone_and_named() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(5).await;
        // The cloud has lost it, and the node does not know yet.
        stage.cloud().with_state(|state| {
            let id = nodes[2].split_once('.').unwrap().1;
            state.ecs.instances.get_mut(id).unwrap().vpc = "vpc-elsewhere".into();
        });
        web(&stage);
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(groups(&stage)[0].servers.len(), 4, "{:?}", stage.told("web"));
        assert_eq!(listeners(&stage).len(), 1);
        let told = stage.told("web");
        let named = |(reason, message): &(String, String)| {
            reason == "SyncLoadBalancerFailed" && message.contains(&format!("node {} (", nodes[2]))
        };
        assert!(told.iter().any(named), "{told:?}");
    });
}

#[test]
fn another_port_of_the_pods_is_another_member_and_the_old_one_goes_last() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let all = addresses(&stage, 2);
        slice(&stage, &pods(&all), 8080);
        expose_with(&stage, &[ENI], json!({ "ports": [{ "port": 80, "targetPort": "http" }] }));
        settled(&stage).await;
        stage.clear_calls();
        slice(&stage, &pods(&all), 9090);
        for _ in 0..100 {
            stage.pass(Duration::from_millis(100)).await;
            assert!(!members(&stage).is_empty());
        }
        assert_eq!(members(&stage), all.iter().map(|address| format!("{address}:9090")).collect());
        assert_eq!(writes(&stage), ["nlb.AddServersToServerGroup", "nlb.RemoveServersFromServerGroup"]);
    });
}

#[test]
fn with_the_policy_local_nodes_with_pods_are_members_once_each_also_by_address() {
    for kind in ["Instance", "Ip"] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            let nodes = stage.joined(3).await;
            let on = |node: usize| Some(nodes[node].as_str());
            slice(&stage, &[("172.20.0.1", on(0)), ("172.20.0.2", on(0)), ("172.20.1.1", on(1))], 8080);
            let spec = json!({ "externalTrafficPolicy": "Local", "ports": [{ "port": 80, "targetPort": 8080 }] });
            expose_with(&stage, &[("server-group-type", kind)], spec);
            settled(&stage).await;
            let weights = || {
                let mut all: Vec<u8> = groups(&stage)[0].servers.iter().map(|server| server.weight).collect();
                all.sort_unstable();
                all
            };
            assert_eq!(weights(), [1, 2], "{kind}: {:?}", stage.told("web"));
            // A pod without a node is left out with this policy, and the others go on.
            slice(&stage, &[("172.20.0.1", on(0)), ("172.20.9.9", None)], 8080);
            stage.pass(Duration::from_secs(10)).await;
            assert_eq!(weights(), [1], "{kind}");
        });
    }
}

#[test]
fn a_node_with_a_foreign_provider_id_is_left_out_with_an_event() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(2).await;
        let node = json!({
            "metadata": { "name": "stranger" }, "spec": { "providerID": "elsewhere" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        stage.world.kube.create::<Node>(&serde_json::from_value(node).unwrap()).unwrap();
        web(&stage);
        settled(&stage).await;
        assert_eq!(groups(&stage)[0].servers.len(), 2);
        let told = stage.told("web");
        assert!(told.iter().any(|(reason, m)| reason == "SkipSyncBackends" && m.contains("stranger")), "{told:?}");
    });
}

#[test]
fn a_change_of_the_mode_for_all_services_moves_listeners_to_groups_with_members() {
    play(|stage| async move {
        let replica = stage.start_with(&["--leader-elect=false"], json!({}));
        stage.joined(2).await;
        let pod = stage.cloud().with_state(|state| state.ecs.interfaces.values().next().unwrap().private_ips[0]);
        slice(&stage, &[(&pod.to_string(), None)], 8080);
        expose(&stage, &[], json!([{ "port": 80, "targetPort": 8080 }]));
        settled(&stage).await;
        replica.stop().await.unwrap();
        let _replica = stage.start_with(&["--leader-elect=false"], json!({ "serviceBackendType": "eni" }));
        stage.pass(Duration::from_secs(60)).await;
        let [group] = &groups(&stage)[..] else { panic!("{:?}", groups(&stage)) };
        assert_eq!(
            (group.name.as_str(), members(&stage)),
            ("k8s.8080.TCP.web.default.c1", [format!("{pod}:8080")].into())
        );
        assert_eq!(listeners(&stage)[0].server_group, group.id);
    });
}

#[test]
fn without_node_ports_the_user_is_told_the_way_out() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let all = addresses(&stage, 1);
        slice(&stage, &pods(&all), 8080);
        let spec = json!({ "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80, "targetPort": 8080 }] });
        expose_with(&stage, &[], spec);
        stage.pass(Duration::from_secs(20)).await;
        assert_told(&stage, "has no node port");
        annotate(&stage, json!({ (ENI.0): "eni" })).await;
        assert_eq!(members(&stage), [format!("{}:8080", all[0])].into());
    });
}

#[test]
fn what_the_cloud_refuses_for_good_is_tried_seldom_and_what_passes_is_made_up_for() {
    for (code, most) in [("OperationDenied.Everything", 12), ("ServiceUnavailable", 200)] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(2).await;
            web(&stage);
            settled(&stage).await;
            let status = if code == "ServiceUnavailable" { 503 } else { 400 };
            let kind = FaultKind::Error { status, code: code.into(), message: "No.".into() };
            stage.cloud().inject(Fault::on("nlb.AddServersToServerGroup", kind));
            stage.clear_calls();
            stage.joined(1).await;
            stage.pass(Duration::from_secs(900)).await;
            let tries = stage.words().iter().filter(|word| word.starts_with("nlb.AddServers")).count();
            assert!((2..=most).contains(&tries), "{code}: {tries}");
            stage.cloud().clear_faults();
            stage.pass(Duration::from_secs(320)).await;
            assert_eq!(groups(&stage)[0].servers.len(), 3, "{code}: {:?}", stage.told("web"));
        });
    }
}

#[test]
fn a_service_is_deleted_however_wrong_its_annotations_are() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage);
        settled(&stage).await;
        annotate(&stage, json!({ (key("zone-maps")): "x", (key("cps")): "y", (key("vgroup-port")): "z" })).await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert!(groups(&stage).is_empty() && listeners(&stage).is_empty());
    });
}

#[test]
fn members_follow_while_an_annotation_is_wrong_unless_it_is_about_them() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(2).await;
        web(&stage);
        settled(&stage).await;
        annotate(&stage, json!({ (key("cps")): "many", (key("name")): "shop", (key("scheduler")): "rr" })).await;
        stage.clear_calls();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!(writes(&stage), ["nlb.AddServersToServerGroup"], "nothing else of what is asked for");
        assert_eq!(groups(&stage)[0].servers.len(), 3);
        stage.world.set_ready(&nodes[0], "Unknown").unwrap();
        let label = json!({ "metadata": { "labels": { "service.alibabacloud.com/exclude-node": "" } } });
        stage.world.kube.patch::<Node>("", &nodes[0], label).unwrap();
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!(groups(&stage)[0].servers.len(), 2);
        assert_told(&stage, "cps is \"many\"");
        // Where it is not said which groups there are, they stay as they are.
        annotate(&stage, json!({ (key("server-group-type")): "Pod" })).await;
        stage.clear_calls();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!((groups(&stage)[0].servers.len(), writes(&stage)), (2, vec![]));
        annotate(&stage, json!({ (key("server-group-type")): null, (key("cps")): "100" })).await;
        assert_eq!((groups(&stage)[0].servers.len(), listeners(&stage)[0].attributes["Cps"].as_str()), (3, "100"));
    });
}

/// Whichever load balancer the annotation `id` names by now, clients come to the one that the Service shows.
#[test]
fn members_follow_where_clients_come_while_the_load_balancer_named_is_refused() {
    for (case, expected) in [
        ("another", "cannot be bound to dnsname"),
        ("nowhere", "does not exist in this region"),
        ("taken away", "name it in the annotation id"),
        ("named beside one of its own", "cannot be bound to dnsname"),
    ] {
        play(|stage| async move {
            let replica = stage.start_alone();
            let old = stage.joined(2).await;
            let ((id, _), (other, _)) = (by_hand(&stage).await, by_hand(&stage).await);
            if case == "named beside one of its own" {
                web(&stage);
            } else {
                expose(&stage, &[("id", &id), ("force-override-listeners", "true")], json!([{ "port": 80 }]));
            }
            let shown = settled(&stage).await;
            replica.stop().await.unwrap();
            let named = match case {
                "nowhere" => json!("nlb-nowhere"),
                "taken away" => Value::Null,
                _ => json!(other),
            };
            annotate(&stage, json!({ (key("id")): named })).await;
            let _replica = stage.start_alone();
            stage.pass(Duration::from_secs(15)).await;
            stage.clear_calls();
            let new: BTreeSet<String> = stage.joined(2).await.into_iter().collect();
            for node in &old {
                stage.world.kube.delete::<Node>("", node).unwrap();
            }
            stage.pass(Duration::from_secs(60)).await;
            let of_web = groups(&stage).into_iter().filter(|group| group.name.contains(".web."));
            let members: BTreeSet<String> =
                of_web.flat_map(|group| group.servers).map(|server| format!("cn-hangzhou.{}", server.id)).collect();
            assert_eq!(members, new, "{case}: {:?}", stage.words());
            let is_about_members = |write: &String| write.contains("Servers") && write.ends_with("ServerGroup");
            assert!(writes(&stage).iter().all(is_about_members), "{case}: {:?}", writes(&stage));
            let told = stage.failures("web");
            assert!(!told.is_empty() && told.iter().all(|text| text.contains(expected)), "{case}: {told:?}");
            assert_eq!(host_name(&stage.service("web").unwrap()), Some(shown), "{case}");
        });
    }
}
