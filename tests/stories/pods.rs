//! Pods as members at their own addresses.

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::stage::Stage;

const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";

pub async fn pods_come_and_go_with_one_lookup_each(stage: Stage) {
    let _replica = stage.start();
    let all = addresses(&stage, 6);
    expose(&stage).await;
    stage.create::<EndpointSlice>(slice(&all[..4])).await;
    stage.until("four members", || async { (members(&stage) == eni(&all[..4])).then_some(()) }).await;
    stage.ensured("web").await;
    let load_balancer = stage.cloud().load_balancers().pop().unwrap();
    assert_eq!(stage.cloud().groups(&load_balancer.id)[0].name, "k8s/8080/web/default/c1");
    let calls = stage.calls().len();
    let changed = Patch::Merge(json!({ "endpoints": slice(&all[2..])["endpoints"] }));
    stage.api::<EndpointSlice>().patch("web-1", &PatchParams::default(), &changed).await.unwrap();
    stage.until("four others", || async { (members(&stage) == eni(&all[2..])).then_some(()) }).await;
    assert_eq!(
        stage.calls()[calls..],
        ["ecs.DescribeNetworkInterfaces", "slb.AddVServerGroupBackendServers", "slb.RemoveVServerGroupBackendServers"]
    );
}

pub async fn a_pod_without_interface_holds_nobody_back_and_is_told(stage: Stage) {
    let _replica = stage.start();
    let all = addresses(&stage, 2);
    expose(&stage).await;
    stage.create::<EndpointSlice>(slice(&[all[0].clone(), "10.9.9.9".to_owned(), all[1].clone()])).await;
    stage.until("two members", || async { (members(&stage) == eni(&all)).then_some(()) }).await;
    let told = || async {
        let told = stage.told("web").await;
        let text = "Not sync pods [10.9.9.9 (pod default/pod-10.9.9.9)] whose eni is invalid";
        told.iter().any(|(_, _, message)| message.contains(text)).then_some(())
    };
    stage.until("the one told", told).await;
}

/// A Service without selector, whose endpoints somebody else knows; and without node ports, of
/// which pods need none.
async fn expose(stage: &Stage) -> Service {
    let spec = json!({
        "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80, "targetPort": 8080 }],
    });
    stage.expose("web", &[(BACKEND_TYPE, "eni")], spec).await
}

/// A slice of the Service `web` with these addresses as its pods.
fn slice(addresses: &[String]) -> Value {
    let endpoint = |address: &String| {
        let target = json!({ "kind": "Pod", "name": format!("pod-{address}"), "namespace": "default", "uid": format!("uid-{address}") });
        json!({ "addresses": [address], "conditions": { "ready": true }, "targetRef": target })
    };
    json!({
        "metadata": { "name": "web-1", "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "endpoints": addresses.iter().map(endpoint).collect::<Vec<_>>(),
        "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
    })
}

/// Addresses that network interfaces of the cloud hold.
fn addresses(stage: &Stage, count: u32) -> Vec<String> {
    (0..count).for_each(|_| drop(stage.boot()));
    stage.cloud().with_state(|state| {
        state.ecs.interfaces.values().map(|interface| interface.private_ips[0].to_string()).collect()
    })
}

fn members(stage: &Stage) -> Vec<String> {
    let Some(load_balancer) = stage.cloud().load_balancers().pop() else { return Vec::new() };
    let groups = stage.cloud().groups(&load_balancer.id);
    let servers = groups.iter().flat_map(|group| &group.servers);
    let mut members: Vec<String> = servers.map(|s| format!("{} {}:{}", s.kind, s.ip, s.port)).collect();
    members.sort();
    members
}

fn eni(addresses: &[String]) -> Vec<String> {
    let mut members: Vec<String> = addresses.iter().map(|address| format!("eni {address}:8080")).collect();
    members.sort();
    members
}
