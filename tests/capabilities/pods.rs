//! Pods as members at their own addresses.

use std::time::Duration;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::support::{Stage, play};

const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";

/// A slice of the Service `web` with these addresses as its pods.
fn slice(stage: &Stage, addresses: &[String]) {
    let endpoints: Vec<Value> = addresses
        .iter()
        .map(|address| {
            let target = json!({ "kind": "Pod", "name": address, "uid": format!("uid-{address}") });
            json!({ "addresses": [address], "conditions": { "ready": true }, "targetRef": target })
        })
        .collect();
    let slice = json!({
        "metadata": { "name": "web-1", "namespace": "default", "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
    });
    let slice: EndpointSlice = serde_json::from_value(slice).unwrap();
    let replaced = stage.world.kube.modify::<EndpointSlice>("default", "web-1", |there| {
        there.endpoints.clone_from(&slice.endpoints);
    });
    if replaced.is_err() {
        stage.world.kube.create(&slice).unwrap();
    }
}

/// Addresses that network interfaces of the cloud hold.
fn addresses(stage: &Stage, count: u32) -> Vec<String> {
    (0..count).for_each(|number| drop(stage.world.boot(number).unwrap()));
    stage.cloud().with_state(|state| {
        state.ecs.interfaces.values().map(|interface| interface.private_ips[0].to_string()).collect()
    })
}

fn members(stage: &Stage) -> Vec<String> {
    let Some(load_balancer) = stage.cloud().load_balancers().pop() else { return Vec::new() };
    let groups = stage.cloud().groups(&load_balancer.id);
    let mut members: Vec<String> =
        groups.iter().flat_map(|g| &g.servers).map(|s| format!("{} {}:{}", s.kind, s.ip, s.port)).collect();
    members.sort();
    members
}

fn expose(stage: &Stage) {
    // No node ports: pods need none.
    let spec = json!({
        "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80, "targetPort": 8080 }],
    });
    stage.expose("web", &[(BACKEND_TYPE, "eni")], spec);
}

fn eni(addresses: &[String]) -> Vec<String> {
    let mut members: Vec<String> = addresses.iter().map(|address| format!("eni {address}:8080")).collect();
    members.sort();
    members
}

#[test]
fn members_stay_while_the_cloud_shows_no_interfaces() {
    use ccm::sim::cloud::{Fault, FaultKind};
    play(|stage| async move {
        let replica = stage.start();
        let all = addresses(&stage, 3);
        slice(&stage, &all);
        expose(&stage);
        stage.until("members", || (members(&stage) == eni(&all)).then_some(())).await;
        stage.pass(Duration::from_secs(30)).await;
        replica.stop().await.unwrap();
        // A new process knows no pods, and the cloud does not tell.
        stage.cloud().inject(Fault::on("ecs.DescribeNetworkInterfaces", FaultKind::EmptyList));
        let _replica = stage.start();
        stage.pass(Duration::from_secs(300)).await;
        assert_eq!(members(&stage), eni(&all));
    });
}
