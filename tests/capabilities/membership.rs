//! Who is a member, when nodes, instances and pods are not all as they should be.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use serde_json::{Value, json};

use crate::support::{Stage, play};

const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";
const UNHEARD_OF: &str = "10.9.9.9";

fn set(nodes: &[String]) -> BTreeSet<String> {
    nodes.iter().cloned().collect()
}

/// A slice with these pods, each with the node that it is on, if any.
fn slice(stage: &Stage, service: &str, pods: &[(&str, Option<&str>)]) {
    let endpoint = |(address, node): &(&str, Option<&str>)| {
        let target = json!({ "kind": "Pod", "name": format!("pod-{address}"), "uid": format!("uid-{address}") });
        json!({ "addresses": [address], "nodeName": node, "conditions": { "ready": true }, "targetRef": target })
    };
    let endpoints: Vec<Value> = pods.iter().map(endpoint).collect();
    let name = format!("{service}-1");
    let slice = json!({
        "metadata": { "name": name, "namespace": "default", "labels": { "kubernetes.io/service-name": service } },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
    });
    let slice: EndpointSlice = serde_json::from_value(slice).unwrap();
    let replaced = stage.world.kube.modify::<EndpointSlice>("default", &name, |there| {
        there.endpoints.clone_from(&slice.endpoints);
    });
    if replaced.is_err() {
        stage.world.kube.create(&slice).unwrap();
    }
}

/// A client to which the lists of these resources come late.
fn sluggish(stage: &Stage, resources: &'static [&'static str], by: Duration) -> kube::Client {
    let client = stage.world.kube.client();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let client = client.clone();
        async move {
            if resources.iter().any(|resource| request.uri().path().ends_with(resource)) {
                tokio::time::sleep(by).await;
            }
            client.send(request).await
        }
    });
    kube::Client::new(service, "default")
}

#[test]
fn a_start_before_everything_is_listed_takes_no_member_away() {
    for late in [&["/nodes"][..], &["/endpointslices"], &["/nodes", "/endpointslices"]] {
        play(|stage| async move {
            let replica = stage.start_alone();
            let nodes = stage.joined(5).await;
            let pods: Vec<String> = (1..=5).map(|n| format!("172.20.0.{n}")).collect();
            let on_nodes: Vec<(&str, Option<&str>)> =
                pods.iter().zip(&nodes).map(|(pod, node)| (pod.as_str(), Some(node.as_str()))).collect();
            slice(&stage, "local", &on_nodes);
            stage.ask("web", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
            let local = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{ "port": 80 }] });
            stage.ask("local", &[], local);
            let complete =
                || stage.all_groups().len() == 2 && stage.all_groups().iter().all(|group| group.servers.len() == 5);
            stage.until("five members each", || complete().then_some(())).await;
            stage.pass(Duration::from_secs(30)).await;
            replica.kill().await;
            stage.clear_calls();
            let client = sluggish(&stage, late, Duration::from_secs(10));
            let transport = std::sync::Arc::new(ccm::alibaba::rpc::InProcess::new(stage.cloud().router()));
            let config = crate::support::config(&["--leader-elect=false"], json!({}));
            let _replica = stage.start_between(client, transport, config);
            for _ in 0..600 {
                stage.pass(Duration::from_millis(100)).await;
                assert!(complete(), "{:?}", stage.words());
            }
            assert_eq!(stage.balancer_writes(), Vec::<String>::new());
            // It does lead, and works.
            let sixth = stage.joined(1).await;
            stage.until("the sixth", || stage.member_nodes().is_superset(&set(&sixth)).then_some(())).await;
        });
    }
}

#[test]
fn one_pod_that_the_cloud_does_not_take_keeps_none_of_fifty_out() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        (0..50).for_each(|number| drop(stage.world.boot(number).unwrap()));
        let mut all: Vec<(String, String)> = stage.cloud().with_state(|state| {
            let address = |(id, interface): (&String, &ccm::sim::cloud::ecs::Interface)| {
                (interface.private_ips[0].to_string(), id.clone())
            };
            state.ecs.interfaces.iter().map(address).collect()
        });
        let (gone, its_interface) = all.pop().unwrap();
        let spec = json!({
            "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80, "targetPort": 8080 }],
        });
        let pods = |more: &[&'static str], with_gone: bool| {
            let addresses = all.iter().map(|(address, _)| address.as_str()).chain(more.iter().copied());
            let addresses: Vec<&str> = addresses.chain(with_gone.then_some(gone.as_str())).collect();
            addresses.into_iter().map(|address| (address, None)).collect::<Vec<_>>()
        };
        let members = || stage.all_groups().iter().flat_map(|group| &group.servers).map(|s| s.ip.clone()).collect();
        let wanted: BTreeSet<String> = all.iter().map(|(address, _)| address.clone()).collect();
        // One address that no interface holds.
        slice(&stage, "web", &pods(&[UNHEARD_OF], false));
        stage.expose("web", &[(BACKEND_TYPE, "eni")], spec);
        stage.until("49 members", || (wanted == members()).then_some(())).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(members(), wanted);
        let told = stage.failures("web");
        let named = format!("{UNHEARD_OF} (pod default/pod-{UNHEARD_OF})");
        assert!(told.iter().any(|text| text.contains(&named)), "{told:?}");

        // One whose interface goes at the very moment: what was looked up is not so any more.
        slice(&stage, "web", &[(gone.as_str(), None)]);
        stage.until("it alone", || (members() == BTreeSet::from([gone.clone()])).then_some(())).await;
        slice(&stage, "web", &pods(&[], false));
        stage.until("the others", || (members() == wanted).then_some(())).await;
        slice(&stage, "web", &[(all[0].0.as_str(), None)]);
        stage.until("one member", || (members().len() == 1).then_some(())).await;
        stage.cloud().with_state(|state| state.ecs.interfaces.remove(&its_interface));
        stage.clear_calls();
        slice(&stage, "web", &pods(&[], true));
        stage.until("49 members again", || (members() == wanted).then_some(())).await;
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(members(), wanted);
        let told = stage.failures("web");
        let named = format!("pod default/pod-{gone} (eni {its_interface} with the address {gone}) is no member");
        assert!(told.iter().any(|text| text.contains(&named)), "{told:?}");
        let added: Vec<usize> = stage
            .cloud()
            .calls()
            .iter()
            .filter(|call| call.action == "AddVServerGroupBackendServers")
            .map(|call| serde_json::from_str::<Vec<Value>>(&call.params["BackendServers"]).unwrap().len())
            .collect();
        let again = added.iter().rev().take_while(|count| **count == 1).count();
        assert!((3..=12).contains(&again), "only the one is tried again, and less and less often: {added:?}");
    });
}

#[test]
fn an_instance_that_is_gone_keeps_none_of_fifty_out() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let mut nodes = stage.joined(50).await;
        let gone = nodes.pop().unwrap();
        let instance = gone.split_once('.').unwrap().1.to_owned();
        // Its Node has not noticed.
        stage.cloud().remove_instance(&instance);
        stage.ask_web(&[]);
        stage.until("49 members", || (stage.member_nodes() == set(&nodes)).then_some(())).await;
        stage.address("web").await;
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(stage.cloud().listeners(&stage.balancer().id).len(), 1);
        let told = stage.failures("web");
        let named = format!("node {gone} (ecs {instance}) is no member");
        assert!(told.iter().any(|text| text.contains(&named)), "{told:?}");
    });
}

#[test]
fn announced_and_excluded_nodes_leave_at_once_and_cordoned_ones_only_if_asked_for() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(4).await;
        stage.ask_web(&[]);
        stage.until("four members", || (stage.member_nodes() == set(&nodes)).then_some(())).await;
        stage.pass(Duration::from_secs(10)).await;
        let patch = |node: &str, patch: Value| drop(stage.world.kube.patch::<Node>("", node, patch).unwrap());
        let excluded = |value: Value| json!({ "metadata": { "labels": { "node.kubernetes.io/exclude-from-external-load-balancers": value } } });
        let taint = json!([{ "key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule" }]);
        let soon = Duration::from_secs(5);
        patch(&nodes[0], json!({ "spec": { "taints": taint } }));
        stage.pass(soon).await;
        assert_eq!(stage.member_nodes(), set(&nodes[1..]), "announced to go");
        patch(&nodes[1], excluded(json!("")));
        stage.pass(soon).await;
        assert_eq!(stage.member_nodes(), set(&nodes[2..]), "excluded by label");
        patch(&nodes[2], json!({ "spec": { "unschedulable": true } }));
        stage.pass(soon).await;
        assert_eq!(stage.member_nodes(), set(&nodes[2..]), "a cordoned node still serves");
        stage.annotate("web", &[("remove-unscheduled-backend", Some("on"))]);
        stage.pass(soon).await;
        assert_eq!(stage.member_nodes(), set(&nodes[3..]), "unless asked for");
        // And back again.
        patch(&nodes[2], json!({ "spec": { "unschedulable": null } }));
        patch(&nodes[1], excluded(Value::Null));
        patch(&nodes[0], json!({ "spec": { "taints": null } }));
        stage.pass(soon).await;
        assert_eq!(stage.member_nodes(), set(&nodes));
        assert_eq!(stage.failures("web"), Vec::<String>::new());
    });
}

#[test]
fn a_node_without_provider_id_keeps_no_other_out_and_comes_when_it_has_one() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(4).await;
        let instance = stage.world.boot(77).unwrap();
        // Nothing on it tells whose it is.
        let mut bare = stage.world.node("bare", None, 77);
        bare.spec.get_or_insert_default().taints = None;
        stage.world.kube.create(&bare).unwrap();
        stage.ask_web(&[]);
        stage.until("four members", || (stage.member_nodes() == set(&nodes)).then_some(())).await;
        stage.address("web").await;
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(stage.failures("web"), Vec::<String>::new());
        let id = format!("cn-hangzhou.{instance}");
        stage.world.kube.patch::<Node>("", "bare", json!({ "spec": { "providerID": id } })).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert!(stage.member_nodes().contains(&id), "{:?}", stage.told("web"));
        assert_eq!(stage.member_nodes().len(), 5);
    });
}

#[test]
fn members_follow_nodes_that_come_and_go_in_any_way_without_a_change_of_the_service() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let mut nodes = stage.joined(3).await;
        stage.ask_web(&[]);
        stage.until("three members", || (stage.member_nodes() == set(&nodes)).then_some(())).await;
        nodes.extend(stage.joined(1).await);
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(stage.member_nodes(), set(&nodes), "one more");
        // Its instance is released by hand: kubelet falls silent, and the Node goes.
        let released = nodes.remove(0);
        stage.world.leave(&released).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(stage.member_nodes(), set(&nodes), "one less");
        stage.pass(Duration::from_secs(60)).await;
        assert!(stage.node(&released).is_none());
        // A Node is deleted while its instance runs on.
        let deleted = nodes.remove(0);
        stage.world.kube.delete::<Node>("", &deleted).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(stage.member_nodes(), set(&nodes), "and another");
        // One leaves that somebody took out already.
        let group = stage.all_groups().remove(0);
        let taken_out = nodes.remove(0);
        assert!(stage.cloud().remove_member(&group.id, taken_out.split_once('.').unwrap().1));
        nodes.extend(stage.joined(1).await);
        stage.world.kube.delete::<Node>("", &taken_out).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(stage.member_nodes(), set(&nodes));
        assert_eq!(stage.failures("web"), Vec::<String>::new());
        stage.world.kube.delete::<Service>("default", "web").unwrap();
    });
}
