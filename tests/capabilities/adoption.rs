//! Taking over from the released controller, and giving back: what either leaves behind, the
//! other works on with, without a write.

use std::time::Duration;

use ccm::{controllers::service::hash, sim::cloud::slb::LoadBalancer};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, play};

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

/// A Service as its user writes it: annotations and spec.
struct Case {
    name: &'static str,
    annotations: &'static [(&'static str, &'static str)],
    spec: fn() -> Value,
    /// Protocol, and what the released controller sends for the listener besides what it always does.
    listener: (&'static str, &'static [(&'static str, &'static str)]),
    weight: u8,
}

const CASES: &[Case] = &[
    Case {
        name: "plain",
        annotations: &[],
        spec: || json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30080 }] }),
        listener: ("TCP", &[("Scheduler", "rr"), ("Bandwidth", "-1")]),
        weight: 100,
    },
    Case {
        name: "tuned",
        annotations: &[
            ("address-type", "intranet"),
            ("scheduler", "wrr"),
            ("persistence-timeout", "300"),
            ("health-check-type", "tcp"),
            ("default-weight", "60"),
        ],
        spec: || json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30080 }] }),
        listener: (
            "TCP",
            &[("Scheduler", "wrr"), ("Bandwidth", "-1"), ("PersistenceTimeout", "300"), ("HealthCheckType", "tcp")],
        ),
        weight: 60,
    },
    Case {
        name: "http",
        annotations: &[("protocol-port", "http:80"), ("health-check-flag", "on"), ("health-check-uri", "/up")],
        spec: || json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30080 }] }),
        listener: (
            "HTTP",
            &[("Scheduler", "rr"), ("HealthCheck", "on"), ("StickySession", "off"), ("HealthCheckURI", "/up")],
        ),
        weight: 100,
    },
    Case {
        name: "source ranges of everybody",
        annotations: &[],
        spec: || {
            json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30080 }],
                    "loadBalancerSourceRanges": ["0.0.0.0/0"], "loadBalancerIP": "1.2.3.4" })
        },
        listener: ("TCP", &[("Scheduler", "rr"), ("Bandwidth", "-1")]),
        weight: 100,
    },
];

fn expose(stage: &Stage, case: &Case) -> Service {
    let keys: Vec<(String, &str)> =
        case.annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), *value)).collect();
    let annotations: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    stage.expose("web", &annotations, (case.spec)())
}

/// Makes in the cloud and the cluster what the released controller does.
fn as_released(stage: &Stage, case: &Case, service: &Service, instances: &[String]) {
    let uid = service.metadata.uid.clone().unwrap();
    let name: String = format!("a{}", uid.replace('-', "")).chars().take(32).collect();
    let intranet = case.annotations.contains(&("address-type", "intranet"));
    let mut create = vec![
        ("AddressType", if intranet { "intranet" } else { "internet" }),
        ("LoadBalancerName", name.as_str()),
        ("InstanceChargeType", "PayByCLCU"),
        ("DeleteProtection", "on"),
        ("ModificationProtectionStatus", "ConsoleProtection"),
        ("ModificationProtectionReason", "managed.by.ack"),
        ("Tag.1.Key", "kubernetes.do.not.delete"),
        ("Tag.1.Value", name.as_str()),
        ("Tag.2.Key", "ack.aliyun.com"),
        ("Tag.2.Value", "c1"),
        ("ClientToken", uid.as_str()),
    ];
    if intranet {
        create.extend([("VpcId", "vpc-bp1sim"), ("VSwitchId", "vsw-bp1simh")]);
    }
    let made = stage.cloud().administer("slb.CreateLoadBalancer", &create).unwrap();
    let (id, address) = (made["LoadBalancerId"].as_str().unwrap(), made["Address"].as_str().unwrap());
    let group_name = "k8s/30080/web/default/c1";
    let group = [("LoadBalancerId", id), ("VServerGroupName", group_name)];
    let group = stage.cloud().administer("slb.CreateVServerGroup", &group).unwrap();
    let group = group["VServerGroupId"].as_str().unwrap();
    let servers: Value = instances
        .iter()
        .map(|instance| {
            json!({ "description": group_name, "serverId": instance, "serverIp": "", "weight": case.weight, "port": 30080,
                    "type": "ecs" })
        })
        .collect();
    let servers =
        servers.to_string().replace("\"description\"", "\"Description\"").replace("\"serverId\"", "\"ServerId\"");
    let servers =
        servers.replace("\"weight\"", "\"Weight\"").replace("\"port\"", "\"Port\"").replace("\"type\"", "\"Type\"");
    let servers = servers.replace("\"serverIp\":\"\",", "");
    let add = [("VServerGroupId", group), ("BackendServers", servers.as_str())];
    stage.cloud().administer("slb.AddVServerGroupBackendServers", &add).unwrap();
    let (protocol, settings) = case.listener;
    let mut listener = vec![
        ("LoadBalancerId", id),
        ("ListenerPort", "80"),
        ("VServerGroupId", group),
        ("Description", "k8s/80/web/default/c1"),
    ];
    listener.extend(settings);
    stage.cloud().administer(&format!("slb.CreateLoadBalancer{protocol}Listener"), &listener).unwrap();
    let start = [("LoadBalancerId", id), ("ListenerPort", "80"), ("ListenerProtocol", &protocol.to_lowercase())];
    stage.cloud().administer("slb.StartLoadBalancerListener", &start).unwrap();
    let labels =
        json!({ "service.beta.kubernetes.io/hash": hash::of(service), "service.k8s.alibaba/loadbalancer-id": id });
    let finalizers = ["service.k8s.alibaba/resources"];
    let patch = json!({ "metadata": { "labels": labels, "finalizers": finalizers } });
    stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
    let status = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": address }] } } });
    stage.world.kube.patch_status::<Service>("default", "web", status).unwrap();
}

/// Nodes that are initialised, and nobody at work; answers the instances' ids.
async fn prepared(stage: &Stage) -> Vec<String> {
    let replica = stage.start_alone();
    let nodes = stage.joined(3).await;
    stage.pass(Duration::from_secs(10)).await;
    replica.stop().await.unwrap();
    let mut instances: Vec<String> = nodes.iter().map(|node| node.split_once('.').unwrap().1.to_owned()).collect();
    instances.sort();
    instances
}

/// What there is, but for ids and addresses.
fn picture(stage: &Stage) -> (LoadBalancer, Vec<String>, Vec<String>, Value) {
    let mut all = stage.cloud().load_balancers();
    assert_eq!(all.len(), 1);
    let mut load_balancer = all.remove(0);
    let listeners = stage.cloud().listeners(&load_balancer.id);
    let groups = stage.cloud().groups(&load_balancer.id);
    let named = |listener: &ccm::sim::cloud::slb::Listener| {
        let mut settings = serde_json::to_value(&listener.settings).unwrap();
        settings["VServerGroupId"] =
            groups.iter().position(|group| listener.setting("VServerGroupId") == Some(&group.id)).into();
        format!("{}/{} {} {settings}", listener.port, listener.protocol.as_str(), listener.status.as_str())
    };
    let members = |group: &ccm::sim::cloud::slb::Group| {
        let mut servers: Vec<String> = group.servers.iter().map(|server| format!("{server:?}")).collect();
        servers.sort();
        format!("{} {servers:?}", group.name)
    };
    let (listeners, groups) = (listeners.iter().map(named).collect(), groups.iter().map(members).collect());
    let service = stage.service("web").unwrap();
    let metadata = service.metadata;
    let shown = service.status.unwrap().load_balancer.unwrap().ingress.unwrap();
    assert_eq!(shown[0].ip, Some(load_balancer.address.to_string()));
    let mut labels = metadata.labels.unwrap();
    assert_eq!(labels.remove("service.k8s.alibaba/loadbalancer-id"), Some(load_balancer.id.clone()));
    load_balancer.listeners.clear();
    load_balancer.id.clear();
    let name = format!("a{}", metadata.uid.unwrap().replace('-', "")).chars().take(32).collect::<String>();
    assert_eq!((&load_balancer.name, load_balancer.tags.get("kubernetes.do.not.delete")), (&name, Some(&name)));
    load_balancer.name.clear();
    load_balancer.tags.remove("kubernetes.do.not.delete");
    load_balancer.address = [0, 0, 0, 0].into();
    load_balancer.created = jiff::Timestamp::default();
    let cluster = json!({ "labels": labels, "finalizers": metadata.finalizers, "count": shown.len() });
    (load_balancer, listeners, groups, cluster)
}

#[test]
fn what_the_released_controller_left_is_taken_over_without_a_write() {
    for case in CASES {
        play(|stage| async move {
            let instances = prepared(&stage).await;
            let service = expose(&stage, case);
            as_released(&stage, case, &service, &instances);
            stage.pass(Duration::from_secs(30)).await;
            let (cloud, cluster) = (picture(&stage), stage.service("web"));
            stage.clear_calls();
            stage.world.kube.clear_requests();
            let _replica = stage.start_alone();
            stage.pass(Duration::from_secs(600)).await;
            let writes: Vec<String> =
                stage.cloud().calls().into_iter().filter(|call| call.changed).map(|call| call.action).collect();
            assert_eq!(writes, Vec::<String>::new(), "{}", case.name);
            assert_eq!(stage.service("web"), cluster, "{}", case.name);
            assert_eq!(picture(&stage), cloud, "{}", case.name);
            let failed: Vec<_> = stage.told("web").into_iter().filter(|(reason, _)| reason.contains("Fail")).collect();
            assert!(failed.iter().all(|(reason, _)| reason == "FeatureNotSupported"), "{failed:?}");
        });
    }
}

#[test]
fn what_is_left_for_the_released_controller_is_what_it_leaves_itself() {
    for case in CASES {
        let mut pictures = Vec::new();
        for ours in [false, true] {
            let (sent, received) = std::sync::mpsc::channel();
            play(|stage| async move {
                let instances = prepared(&stage).await;
                if ours {
                    let _replica = stage.start_alone();
                    expose(&stage, case);
                    stage.address("web").await;
                    stage.pass(Duration::from_secs(30)).await;
                } else {
                    let service = expose(&stage, case);
                    as_released(&stage, case, &service, &instances);
                    stage.pass(Duration::from_secs(30)).await;
                }
                sent.send(picture(&stage)).unwrap();
            });
            pictures.push(received.recv().unwrap());
        }
        assert_eq!(pictures[0], pictures[1], "{}", case.name);
    }
}

#[test]
fn what_the_released_controller_took_over_in_between_is_taken_back_without_a_write() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(2).await;
        let service = stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        replica.stop().await.unwrap();
        // It sets the hash again, and knows nothing of what we may have noted elsewhere.
        let label = json!({ "metadata": { "labels": { "service.beta.kubernetes.io/hash": hash::of(&service) } } });
        stage.world.kube.patch::<Service>("default", "web", label).unwrap();
        let before = stage.service("web");
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(300)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        assert_eq!(stage.service("web"), before);
    });
}
