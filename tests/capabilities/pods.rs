//! Pods as members at their own addresses.

use std::time::Duration;

use k8s_openapi::api::{
    core::v1::{Pod, Service},
    discovery::v1::EndpointSlice,
};
use serde_json::{Value, json};

use crate::support::{Stage, play};

const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";
const GATE: &str = "service.readiness.alibabacloud.com/";

/// A slice of the Service `web` with these addresses as its pods.
pub fn slice(stage: &Stage, addresses: &[String]) {
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
pub fn addresses(stage: &Stage, count: u32) -> Vec<String> {
    (0..count).for_each(|number| drop(stage.world.boot(number).unwrap()));
    stage.cloud().with_state(|state| {
        state.ecs.interfaces.values().map(|interface| interface.private_ips[0].to_string()).collect()
    })
}

pub fn members(stage: &Stage) -> Vec<String> {
    let Some(load_balancer) = stage.cloud().load_balancers().pop() else { return Vec::new() };
    let groups = stage.cloud().groups(&load_balancer.id);
    let mut members: Vec<String> =
        groups.iter().flat_map(|g| &g.servers).map(|s| format!("{} {}:{}", s.kind, s.ip, s.port)).collect();
    members.sort();
    members
}

pub fn expose(stage: &Stage) {
    // No node ports: pods need none.
    let spec = json!({
        "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80, "targetPort": 8080 }],
    });
    stage.expose("web", &[(BACKEND_TYPE, "eni")], spec);
}

pub fn eni(addresses: &[String]) -> Vec<String> {
    let mut members: Vec<String> = addresses.iter().map(|address| format!("eni {address}:8080")).collect();
    members.sort();
    members
}

#[test]
fn a_change_of_the_mode_for_all_services_moves_listeners_to_groups_with_members() {
    play(|stage| async move {
        let replica = stage.start_with(&["--leader-elect=false"], json!({}));
        stage.joined(2).await;
        let all = addresses(&stage, 1);
        slice(&stage, &all[..1]);
        let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "targetPort": 8080 }] });
        stage.expose("web", &[], spec);
        stage.address("web").await;
        stage.pass(Duration::from_secs(5)).await;
        assert!(members(&stage).iter().all(|member| member.starts_with("ecs ")), "{:?}", members(&stage));
        replica.stop().await.unwrap();
        let _replica = stage.start_with(&["--leader-elect=false"], json!({ "serviceBackendType": "eni" }));
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(members(&stage), eni(&all[..1]), "and no group is left from before");
        let [group] = &stage.all_groups()[..] else { panic!("{:?}", stage.all_groups()) };
        assert_eq!(stage.only_listener().unwrap().group(), Some(group.id.as_str()));
    });
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

/// A pod that is ready only once the Services named have it.
pub fn gated_pod(stage: &Stage, name: &str, address: &str, gates: &[&str]) -> Pod {
    let condition = |kind: &str, status: &str| json!({ "type": kind, "status": status });
    let gates: Vec<Value> = gates.iter().map(|gate| json!({ "conditionType": format!("{GATE}{gate}") })).collect();
    let pod = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [{ "name": "web", "image": "nginx" }], "readinessGates": gates },
    });
    let pod = stage.world.kube.create::<Pod>(&serde_json::from_value(pod).unwrap()).unwrap();
    let status = json!({
        "podIP": address, "conditions": [condition("ContainersReady", "True"), condition("Ready", "False")],
    });
    stage.world.kube.update_status(&Pod { status: serde_json::from_value(status).unwrap(), ..pod }).unwrap()
}

/// Whether the container of a pod is ready.
fn set_containers_ready(stage: &Stage, name: &str, ready: bool) {
    let mut pod = stage.world.kube.get::<Pod>("default", name).unwrap();
    for condition in pod.status.iter_mut().flat_map(|status| status.conditions.iter_mut().flatten()) {
        if condition.type_ == "ContainersReady" {
            condition.status = if ready { "True".into() } else { "False".into() };
        }
    }
    stage.world.kube.update_status(&pod).unwrap();
}

/// A slice of `service` in which these pods are not ready.
pub fn unready_slice(stage: &Stage, service: &str, pods: &[(&str, &Pod, &str)]) {
    let endpoints: Vec<Value> = pods
        .iter()
        .map(|(name, pod, address)| {
            let target = json!({ "kind": "Pod", "name": name, "namespace": "default", "uid": pod.metadata.uid });
            let conditions = json!({ "ready": false, "serving": false, "terminating": false });
            json!({ "addresses": [address], "conditions": conditions, "targetRef": target })
        })
        .collect();
    let slice = json!({
        "metadata": { "name": service, "namespace": "default", "labels": { "kubernetes.io/service-name": service } },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
    });
    stage.world.kube.create::<EndpointSlice>(&serde_json::from_value(slice).unwrap()).unwrap();
}

/// Status and reason of a pod's gate.
pub fn gate(stage: &Stage, pod: &str, service: &str) -> Option<(String, String)> {
    let pod = stage.world.kube.get::<Pod>("default", pod)?;
    let conditions = pod.status?.conditions.unwrap_or_default();
    let condition = conditions.into_iter().find(|c| c.type_ == format!("{GATE}{service}"))?;
    Some((condition.status, condition.reason.unwrap_or_default()))
}

pub fn registered() -> (String, String) {
    ("True".to_owned(), "ServerRegistered".to_owned())
}

/// The paths of the requests about pods so far.
fn pod_requests(stage: &Stage) -> Vec<String> {
    let paths = stage.world.kube.requests().into_iter().map(|request| request.path);
    paths.filter(|path| path.contains("/pods")).collect()
}

#[test]
fn a_pod_is_told_once_it_is_registered_and_not_before_its_containers_are_ready() {
    play(|stage| async move {
        let _replica = stage.start();
        let all = addresses(&stage, 3);
        let pods = ["web-1", "web-2", "web-3"];
        let gates: [&[&str]; 3] = [&["web"], &["web"], &[]];
        let made: Vec<Pod> = (0..3).map(|n| gated_pod(&stage, pods[n], &all[n], gates[n])).collect();
        set_containers_ready(&stage, "web-2", false);
        let listed: Vec<(&str, &Pod, &str)> = (0..3).map(|n| (pods[n], &made[n], all[n].as_str())).collect();
        unready_slice(&stage, "web", &listed);
        expose(&stage);
        stage.until("the first pod told", || gate(&stage, "web-1", "web")).await;
        assert_eq!((gate(&stage, "web-1", "web"), gate(&stage, "web-2", "web")), (Some(registered()), None));
        assert_eq!(members(&stage), eni(&all[..1]), "one without a gate is not a member before it is ready");
        // No slice changes when containers become ready behind a gate.
        stage.pass(Duration::from_secs(60)).await;
        stage.clear_calls();
        set_containers_ready(&stage, "web-2", true);
        stage.until("the second pod told", || gate(&stage, "web-2", "web")).await;
        assert_eq!((gate(&stage, "web-2", "web"), members(&stage)), (Some(registered()), eni(&all[..2])));
        // And when they stop to be.
        set_containers_ready(&stage, "web-1", false);
        stage.until("one member less", || (members(&stage) == eni(&all[1..2])).then_some(())).await;
    });
}

#[test]
fn a_pod_that_cannot_be_registered_is_told_and_the_others_become_ready() {
    play(|stage| async move {
        let _replica = stage.start();
        let all = addresses(&stage, 1);
        let (good, bad) =
            (gated_pod(&stage, "good", &all[0], &["web"]), gated_pod(&stage, "bad", "10.9.9.9", &["web"]));
        unready_slice(&stage, "web", &[("good", &good, &all[0]), ("bad", &bad, "10.9.9.9")]);
        expose(&stage);
        let both = || Some((gate(&stage, "good", "web")?, gate(&stage, "bad", "web")?));
        let (good, bad) = stage.until("both pods told", both).await;
        assert_eq!(good, registered());
        assert_eq!(bad, ("False".to_owned(), "ServerInvalidServer".to_owned()));
    });
}

#[test]
fn pods_behind_node_ports_are_told_too() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        let pod = gated_pod(&stage, "web-1", "172.20.1.2", &["web"]);
        stage.expose("web", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "targetPort": 8080 }] }));
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        // The Service needs no change.
        unready_slice(&stage, "web", &[("web-1", &pod, "172.20.1.2")]);
        stage.until("the pod told", || gate(&stage, "web-1", "web")).await;
        assert_eq!(gate(&stage, "web-1", "web"), Some(registered()));
        assert_eq!(stage.words(), Vec::<String>::new());
    });
}

#[test]
fn a_gate_that_nobody_serves_is_told_on_its_pod() {
    play(|stage| async move {
        let _replica = stage.start();
        let all = addresses(&stage, 1);
        let pod = gated_pod(&stage, "web-1", &all[0], &["web", "gone", "plain"]);
        stage.expose("plain", &[], json!({ "type": "ClusterIP", "ports": [{ "port": 80 }] }));
        unready_slice(&stage, "web", &[("web-1", &pod, &all[0])]);
        expose(&stage);
        stage.until("the pod told", || gate(&stage, "web-1", "web")).await;
        stage.pass(Duration::from_secs(60)).await;
        let mut told: Vec<String> = stage.told("web-1").into_iter().map(|(_, message)| message).collect();
        told.sort();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("the Service gone, which does not exist"), "{told:?}");
        assert!(told[1].contains("the Service plain, which gets no load balancer"), "{told:?}");
        // A Service that goes while a pod still waits for it.
        let late = gated_pod(&stage, "web-2", "10.9.9.9", &["web"]);
        set_containers_ready(&stage, "web-2", false);
        stage.world.kube.delete::<EndpointSlice>("default", "web").unwrap();
        unready_slice(&stage, "web", &[("web-2", &late, "10.9.9.9")]);
        stage.pass(Duration::from_secs(10)).await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        stage.pass(Duration::from_secs(10)).await;
        let told = stage.told("web-2");
        assert!(told.iter().any(|(_, message)| message.contains("which gives up its load balancer")), "{told:?}");
    });
}

/// S04: nobody comes across a pod that only other Services select, but for a look now and then.
#[test]
fn a_gate_in_vain_is_told_on_pods_that_no_service_of_ours_selects() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let pod = gated_pod(&stage, "lost", "10.9.9.1", &["gone", "plain", "web"]);
        let other = gated_pod(&stage, "other", "10.9.9.2", &[]);
        stage.expose("plain", &[], json!({ "type": "ClusterIP", "ports": [{ "port": 80 }] }));
        expose(&stage);
        unready_slice(&stage, "plain", &[("lost", &pod, "10.9.9.1"), ("other", &other, "10.9.9.2")]);
        stage.pass(Duration::from_secs(200)).await;
        let mut told: Vec<String> = stage.told("lost").into_iter().map(|(_, message)| message).collect();
        told.sort();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("the Service gone, which does not exist"), "{told:?}");
        assert!(told[1].contains("the Service plain, which gets no load balancer"), "{told:?}");
        assert!(told[2].contains("the Service web, which does not select the pod"), "{told:?}");
        assert_eq!(stage.told("other"), Vec::new(), "it waits for nobody");
        stage.pass(Duration::from_secs(3600)).await;
        let calls = pod_requests(&stage);
        assert_eq!(calls.len(), 2, "each pod is looked at once: {calls:?}");
    });
}

#[test]
fn a_waiting_pod_costs_few_reads_and_none_without_a_gate() {
    play(|stage| async move {
        let _replica = stage.start();
        let all = addresses(&stage, 2);
        let (gated, plain) = (gated_pod(&stage, "gated", &all[0], &["web"]), gated_pod(&stage, "plain", &all[1], &[]));
        set_containers_ready(&stage, "gated", false);
        unready_slice(&stage, "web", &[("gated", &gated, &all[0]), ("plain", &plain, &all[1])]);
        expose(&stage);
        stage.pass(Duration::from_secs(600)).await;
        let calls = pod_requests(&stage);
        let of = |name: &str| calls.iter().filter(|call| call.ends_with(name)).count();
        assert_eq!(of("/plain"), 1, "{calls:?}");
        assert!((60..=90).contains(&of("/gated")), "every 10 s at the end: {}", of("/gated"));
    });
}
