//! Services on network load balancers.

mod access;
mod certificates;
mod checks;
mod cost;
mod drift;
mod families;
mod interrupted;
mod jobs;
mod lifecycle;
mod loss;
mod members;
mod missing;
mod pods;
mod quota;
mod reuse;
pub mod settings;
mod user_groups;
mod wishes;

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{
    Fault, FaultKind,
    nlb::{NetworkLoadBalancer, NlbListener, ServerGroup},
};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, play};

pub const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
pub const ZONES: &str = "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi";

pub fn key(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

/// Creates the Service `web` for a network load balancer, with zones unless others are given.
pub fn expose(stage: &Stage, pairs: &[(&str, &str)], ports: Value) -> Service {
    expose_with(stage, pairs, json!({ "ports": ports }))
}

pub fn expose_with(stage: &Stage, pairs: &[(&str, &str)], more: Value) -> Service {
    expose_as(stage, "web", pairs, more)
}

/// The same for a Service of another name.
pub fn expose_as(stage: &Stage, name: &str, pairs: &[(&str, &str)], more: Value) -> Service {
    let mut all: Vec<(String, &str)> = pairs.iter().map(|(suffix, value)| (full(suffix), *value)).collect();
    if !pairs.iter().any(|(suffix, _)| ["zone-maps", "id"].contains(suffix)) {
        all.push((key("zone-maps"), ZONES));
    }
    let annotations: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let mut spec =
        json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "selector": { "app": "web" } });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    stage.expose(name, &annotations, spec)
}

/// Further Services of one port, named by their numbers; answers their names.
pub fn expose_many(stage: &Stage, numbers: std::ops::Range<usize>) -> Vec<String> {
    let names: Vec<String> = numbers.map(|n| format!("s{n}")).collect();
    for name in &names {
        expose_as(stage, name, &[], json!({ "ports": [{ "port": 80 }] }));
    }
    names
}

fn full(suffix: &str) -> String {
    if suffix.contains('/') { suffix.to_owned() } else { key(suffix) }
}

pub fn web(stage: &Stage) -> Service {
    expose(stage, &[], json!([{ "port": 80, "targetPort": 8080 }]))
}

pub fn balancers(stage: &Stage) -> Vec<NetworkLoadBalancer> {
    stage.cloud().with_state(|state| state.nlb.load_balancers.values().cloned().collect())
}

pub fn listeners(stage: &Stage) -> Vec<NlbListener> {
    stage.cloud().with_state(|state| state.nlb.listeners.values().cloned().collect())
}

pub fn groups(stage: &Stage) -> Vec<ServerGroup> {
    stage.cloud().with_state(|state| state.nlb.server_groups.values().cloned().collect())
}

pub fn host_name(service: &Service) -> Option<String> {
    service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?.first()?.hostname.clone()
}

pub async fn shown(stage: &Stage) -> String {
    stage.until("a host name in the Service's status", || host_name(&stage.service("web")?)).await
}

/// Waits until the Service `web` shows a host name, and for all that comes after that; answers the name.
pub async fn settled(stage: &Stage) -> String {
    let name = shown(stage).await;
    stage.pass(Duration::from_secs(10)).await;
    name
}

/// An event about the Service `web` has these words.
#[track_caller]
pub fn assert_told(stage: &Stage, words: &str) {
    let told = stage.told("web");
    assert!(told.iter().any(|(_, message)| message.contains(words)), "{words:?} is not told: {told:?}");
}

/// Writes to NLB and to security groups, without the polls.
pub fn writes(stage: &Stage) -> Vec<String> {
    let calls = stage
        .cloud()
        .calls()
        .into_iter()
        .filter(|call| call.changed && ["nlb", "ecs"].contains(&call.product.as_str()));
    calls
        .map(|call| format!("{}.{}", call.product, call.action))
        .filter(|word| !word.contains("ModifyNetwork"))
        .collect()
}

/// A network load balancer of the user's, with a listener on port 9000.
pub async fn by_hand(stage: &Stage) -> (String, String) {
    let zones = [
        ("VpcId", "vpc-bp1sim"),
        ("AddressType", "Internet"),
        ("LoadBalancerName", "by-hand"),
        ("ZoneMappings.1.ZoneId", "cn-hangzhou-h"),
        ("ZoneMappings.1.VSwitchId", "vsw-bp1simh"),
        ("ZoneMappings.2.ZoneId", "cn-hangzhou-i"),
        ("ZoneMappings.2.VSwitchId", "vsw-bp1simi"),
    ];
    let made = stage.cloud().administer("nlb.CreateLoadBalancer", &zones).unwrap();
    let id = made["LoadbalancerId"].as_str().unwrap().to_owned();
    let group = group_by_hand(stage, "by-hand", &[]);
    stage.pass(Duration::from_secs(3)).await;
    let listener = [
        ("LoadBalancerId", id.as_str()),
        ("ListenerProtocol", "TCP"),
        ("ListenerPort", "9000"),
        ("ServerGroupId", group.as_str()),
    ];
    stage.cloud().administer("nlb.CreateListener", &listener).unwrap();
    stage.pass(Duration::from_secs(3)).await;
    (id, group)
}

/// A server group of the user's.
pub fn group_by_hand(stage: &Stage, name: &str, more: &[(&str, &str)]) -> String {
    let params: Vec<(&str, &str)> =
        [("VpcId", "vpc-bp1sim"), ("ServerGroupName", name)].into_iter().chain(more.iter().copied()).collect();
    let made = stage.cloud().administer("nlb.CreateServerGroup", &params).unwrap();
    made["ServerGroupId"].as_str().unwrap().to_owned()
}

pub async fn annotate(stage: &Stage, changes: Value) {
    stage.world.kube.patch::<Service>("default", "web", json!({ "metadata": { "annotations": changes } })).unwrap();
    stage.pass(Duration::from_secs(15)).await;
}

pub async fn gone(stage: &Stage) {
    stage.world.kube.delete::<Service>("default", "web").unwrap();
    stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
}

#[test]
fn a_service_gets_a_network_load_balancer_with_the_released_controllers_marks() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        let service = web(&stage);
        let shown = settled(&stage).await;
        let uid = service.metadata.uid.unwrap();
        let name: String = format!("a{}", uid.replace('-', "")).chars().take(32).collect();
        let [balancer] = &balancers(&stage)[..] else { panic!("{:?}", balancers(&stage)) };
        assert_eq!((&balancer.name, &balancer.dns_name), (&name, &shown));
        assert_eq!(balancer.tags.get("kubernetes.do.not.delete"), Some(&name));
        assert_eq!(balancer.tags.get("ack.aliyun.com").map(String::as_str), Some("c1"));
        assert_eq!((balancer.delete_protection.as_deref(), balancer.zones.len()), (Some("managed.by.ack"), 2));
        let service = stage.service("web").unwrap();
        let labels = service.metadata.labels.clone().unwrap();
        assert_eq!(labels["service.k8s.alibaba/loadbalancer-id"], balancer.id);
        assert!(labels.contains_key("service.beta.kubernetes.io/hash"));
        assert_eq!(service.metadata.finalizers.unwrap(), ["service.k8s.alibaba/nlb"]);
        let told: Vec<String> = stage.told("web").into_iter().map(|(reason, _)| reason).collect();
        assert_eq!(told, ["EnsuredLoadBalancer"]);
        let port = service.spec.unwrap().ports.unwrap()[0].node_port.unwrap();
        let [group] = &groups(&stage)[..] else { panic!("{:?}", groups(&stage)) };
        assert_eq!(group.name, format!("k8s.{port}.TCP.web.default.c1"));
        assert_eq!(group.tags.get("kubernetes.do.not.delete"), Some(&name));
        let members: BTreeSet<String> = group.servers.iter().map(|s| format!("cn-hangzhou.{}", s.id)).collect();
        assert_eq!(members, nodes.into_iter().collect());
        assert!(group.servers.iter().all(|server| server.description == group.name && server.weight == 100));
        let [listener] = &listeners(&stage)[..] else { panic!("{:?}", listeners(&stage)) };
        assert_eq!(listener.attributes["ListenerDescription"], "k8s.80.TCP.web.default.c1");
        assert_eq!((&listener.server_group, listener.port), (&group.id, 80));
        assert!(stage.cloud().load_balancers().is_empty(), "no classic one");
    });
}

#[test]
fn killed_after_any_write_the_next_process_comes_to_the_same_end() {
    for write in
        ["nlb.CreateLoadBalancer", "nlb.CreateServerGroup", "nlb.AddServersToServerGroup", "nlb.CreateListener"]
    {
        play(|stage| async move {
            let replica = stage.start_with(&["--leader-elect=false"], json!({}));
            stage.joined(2).await;
            stage.cloud().inject(Fault::on(write, FaultKind::DropAfter).times(1));
            web(&stage);
            stage.until("the call", || stage.words().iter().any(|word| word.starts_with(write)).then_some(())).await;
            replica.kill().await;
            let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
            settled(&stage).await;
            assert_eq!((balancers(&stage).len(), groups(&stage).len(), listeners(&stage).len()), (1, 1, 1), "{write}");
            assert_eq!(groups(&stage)[0].servers.len(), 2, "{write}");
        });
    }
}

#[test]
fn killed_in_the_middle_of_a_deletion_nothing_is_left() {
    for write in ["nlb.UpdateLoadBalancerProtection", "nlb.DeleteLoadBalancer", "nlb.DeleteServerGroup"] {
        play(|stage| async move {
            let replica = stage.start_with(&["--leader-elect=false"], json!({}));
            stage.joined(1).await;
            web(&stage);
            settled(&stage).await;
            stage.clear_calls();
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.until("the call", || stage.words().iter().any(|word| word.starts_with(write)).then_some(())).await;
            replica.kill().await;
            let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
            stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
            stage.pass(Duration::from_secs(5)).await;
            assert!(balancers(&stage).is_empty() && groups(&stage).is_empty(), "{write}");
        });
    }
}

#[test]
fn a_service_without_zones_is_told_what_is_missing_and_nothing_is_made() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose(
            "web",
            &[],
            json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 80 }] }),
        );
        stage.pass(Duration::from_secs(30)).await;
        assert_told(&stage, "ParameterMissing, zone mappings are required");
        assert!(writes(&stage).is_empty(), "{:?}", writes(&stage));
        annotate(&stage, json!({ (key("zone-maps")): ZONES })).await;
        assert!(host_name(&stage.service("web").unwrap()).is_some());
    });
}
