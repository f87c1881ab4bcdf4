//! Who is a member of a Service's groups, seen through the whole controller.

use std::{collections::BTreeSet, net::IpAddr, time::Duration};

use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use serde_json::{Value, json};

use crate::support::{Stage, play};

const LONE: &[&str] = &["--leader-elect=false"];
const ENI: (&str, &str) = ("service.beta.kubernetes.io/backend-type", "eni");
const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

fn key(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

/// What is in the groups of a Service: instances as nodes' names, pods as address and port, each with its
/// weight.
fn members(stage: &Stage, service: &str) -> BTreeSet<String> {
    let infix = format!("/{service}/default/");
    stage.cloud().with_state(|state| {
        let groups = state.slb.groups.values().filter(|group| group.name.contains(&infix));
        let servers = groups.flat_map(|group| &group.servers);
        let text = |kind: &str, id: &str, ip: &str, port: u16, weight: u8| match kind {
            "ecs" => format!("cn-hangzhou.{id} *{weight}"),
            _ => format!("{ip}:{port} *{weight}"),
        };
        servers.map(|s| text(&s.kind, &s.id, &s.ip, s.port, s.weight)).collect()
    })
}

/// Waits until these are the members.
async fn has(stage: &Stage, service: &str, wanted: &[String]) {
    let wanted: BTreeSet<String> = wanted.iter().cloned().collect();
    for _ in 0..300 {
        if members(stage, service) == wanted {
            return;
        }
        stage.pass(Duration::from_millis(100)).await;
    }
    assert_eq!(members(stage, service), wanted, "{:?}", stage.told(service));
}

fn nodes_at(weight: u8, names: &[&String]) -> Vec<String> {
    names.iter().map(|name| format!("{name} *{weight}")).collect()
}

fn patch(stage: &Stage, node: &str, change: &Value) {
    stage.world.kube.patch::<Node>("", node, change.clone()).unwrap();
}

fn annotate(stage: &Stage, service: &str, annotations: Value) {
    let change = json!({ "metadata": { "annotations": annotations } });
    stage.world.kube.patch::<Service>("default", service, change).unwrap();
}

/// Addresses in the VPC that interfaces of the cloud hold, with an IPv6 address each.
fn addresses(stage: &Stage, count: u16) -> Vec<(String, String)> {
    (0..count).for_each(|number| drop(stage.world.boot(u32::from(number)).unwrap()));
    stage.cloud().with_state(|state| {
        let mut pairs = Vec::new();
        for (number, interface) in (0u16..).zip(state.ecs.interfaces.values_mut()) {
            let v6: IpAddr = format!("2408:4005:3a0::{number:x}").parse().unwrap();
            if let IpAddr::V6(v6) = v6 {
                interface.ipv6.push(v6);
            }
            pairs.push((interface.private_ips[0].to_string(), v6.to_string()));
        }
        pairs
    })
}

/// One pod of a slice.
fn pod(address: &str, node: Option<&String>) -> Value {
    let uid = format!("uid-{address}");
    let target = json!({ "kind": "Pod", "name": uid, "uid": uid });
    json!({ "addresses": [address], "conditions": { "ready": true }, "nodeName": node, "targetRef": target })
}

/// Makes a slice of a Service, as somebody may who is not Kubernetes' own controller.
fn slice(stage: &Stage, name: &str, service: &str, family: &str, port: (&str, u16), endpoints: &[Value]) {
    let slice = json!({
        "metadata": { "name": name, "namespace": "default", "labels": { "kubernetes.io/service-name": service } },
        "addressType": family, "endpoints": endpoints,
        "ports": [{ "name": port.0, "port": port.1, "protocol": "TCP" }],
    });
    stage.world.kube.create::<EndpointSlice>(&serde_json::from_value(slice).unwrap()).unwrap();
}

/// S16, S17: each change of a node shows within seconds, and so does taking it back.
#[test]
fn each_mark_on_a_node_has_its_meaning_and_shows_without_a_change_of_the_service() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        let nodes = stage.joined(3).await;
        stage.expose("web", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        let picky = [(&*key("remove-unscheduled-backend"), "on"), (&*key("backend-label"), "pool=front,tier=1")];
        stage.expose("picky", &picky, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        let front = json!({ "metadata": { "labels": { "pool": "front", "tier": "1" } } });
        patch(&stage, &nodes[0], &front);
        patch(&stage, &nodes[1], &front);
        patch(&stage, &nodes[2], &json!({ "metadata": { "labels": { "pool": "front", "tier": "2" } } }));
        let all = nodes_at(100, &[&nodes[0], &nodes[1], &nodes[2]]);
        let label = |key: &str, value: &str| json!({ "metadata": { "labels": { key: value } } });
        let no_label = |key: &str| json!({ "metadata": { "labels": { key: null } } });
        let taint = json!([{ "key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule" }]);
        let labelled = |key: &'static str, value: &str| (key, label(key, value), no_label(key), false);
        for (what, change, undo, stays) in [
            labelled("node.kubernetes.io/exclude-from-external-load-balancers", ""),
            labelled("alpha.service-controller.kubernetes.io/exclude-balancer", "false"),
            labelled("service.beta.kubernetes.io/exclude-node", ""),
            labelled("service.alibabacloud.com/exclude-node", ""),
            labelled("type", "virtual-kubelet"),
            labelled("node-role.kubernetes.io/master", ""),
            (
                "node-role.kubernetes.io/control-plane",
                label("node-role.kubernetes.io/control-plane", ""),
                no_label("node-role.kubernetes.io/control-plane"),
                true,
            ),
            ("autoscaler", json!({ "spec": { "taints": taint } }), json!({ "spec": { "taints": null } }), false),
            (
                "cordon",
                json!({ "spec": { "unschedulable": true } }),
                json!({ "spec": { "unschedulable": null } }),
                true,
            ),
        ] {
            has(&stage, "web", &all).await;
            has(&stage, "picky", &all[..2]).await;
            patch(&stage, &nodes[0], &change);
            stage.pass(Duration::from_secs(5)).await;
            let left: BTreeSet<String> = all[usize::from(!stays)..].iter().cloned().collect();
            assert_eq!(members(&stage, "web"), left, "{what}");
            let left = if what == "cordon" || !stays { &all[1..2] } else { &all[..2] };
            assert_eq!(members(&stage, "picky"), left.iter().cloned().collect(), "{what}, on request");
            patch(&stage, &nodes[0], &undo);
            stage.pass(Duration::from_secs(5)).await;
        }
        has(&stage, "web", &all).await;
    });
}

/// S12: endpoints with and without a node, on virtual and on excluded nodes, and twice.
#[test]
fn with_the_policy_local_pods_decide_and_those_on_virtual_nodes_are_members_themselves() {
    play(|stage| async move {
        let on = addresses(&stage, 1).remove(0).0;
        let _replica = stage.start_with(LONE, json!({}));
        let nodes = stage.joined(4).await;
        patch(
            &stage,
            &nodes[2],
            &json!({ "metadata": { "labels": { "service.beta.kubernetes.io/exclude-node": "" } } }),
        );
        patch(&stage, &nodes[3], &json!({ "metadata": { "labels": { "type": "virtual-kubelet" } } }));
        let endpoints = [
            pod("172.20.0.2", Some(&nodes[0])),
            pod("172.20.0.3", Some(&nodes[0])),
            pod("172.20.0.4", Some(&nodes[0])),
            pod("172.20.1.2", Some(&nodes[1])),
            pod("172.20.2.2", Some(&nodes[2])),
            pod(&on, Some(&nodes[3])),
            pod(&on, Some(&nodes[3])),
            pod("172.20.0.9", None),
            pod("172.20.0.8", Some(&"a-node-that-is-gone".to_owned())),
        ];
        slice(&stage, "web-1", "web", "IPv4", ("", 8080), &endpoints);
        slice(&stage, "web-2", "web", "IPv4", ("", 8080), &endpoints[..1]);
        let ports = json!([{ "port": 80, "targetPort": 8080 }]);
        let spec = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": ports });
        stage.expose("web", &[], spec);
        let own = format!("{on}:8080 *1");
        let weighted = [format!("{} *3", nodes[0]), format!("{} *1", nodes[1]), own.clone()];
        has(&stage, "web", &weighted).await;
        // Without pods nobody is a member, which is no failure.
        for name in ["web-1", "web-2"] {
            stage.world.kube.delete::<EndpointSlice>("default", name).unwrap();
        }
        has(&stage, "web", &[]).await;
        let told = stage.told("web");
        assert!(told.iter().any(|(reason, _)| reason == "UnAvailableLoadBalancer"), "{told:?}");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
        // With the policy Cluster all nodes are, beside the pods on virtual ones, and no endpoint needs a node.
        slice(&stage, "web-1", "web", "IPv4", ("", 8080), &endpoints);
        let cluster = json!({ "spec": { "externalTrafficPolicy": "Cluster" } });
        stage.world.kube.patch::<Service>("default", "web", cluster).unwrap();
        has(&stage, "web", &[format!("{} *100", nodes[0]), format!("{} *100", nodes[1]), format!("{on}:8080 *100")])
            .await;
        let told = stage.told("web");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
    });
}

/// Pods of two versions may give a named port different numbers: each is reached at its own.
#[test]
fn a_named_port_may_differ_between_pods() {
    play(|stage| async move {
        let all = addresses(&stage, 2);
        let _replica = stage.start_with(LONE, json!({}));
        slice(&stage, "web-old", "web", "IPv4", ("web", 8080), &[pod(&all[0].0, None)]);
        slice(&stage, "web-new", "web", "IPv4", ("web", 9090), &[pod(&all[1].0, None)]);
        // A port of the Service that the pods of this slice do not have.
        slice(&stage, "web-other", "web", "IPv4", ("metrics", 7070), &[pod("10.9.9.9", None)]);
        let ports = json!([{ "name": "web", "port": 80, "targetPort": "http" }]);
        stage.expose("web", &[ENI], json!({ "type": "LoadBalancer", "selector": { "app": "web" }, "ports": ports }));
        has(&stage, "web", &[format!("{}:8080 *100", all[0].0), format!("{}:9090 *100", all[1].0)]).await;
    });
}

/// A Service without a selector has the slices that its user makes; their ports count, not `targetPort`.
#[test]
fn a_service_without_selector_has_the_members_that_its_slices_name() {
    play(|stage| async move {
        let all = addresses(&stage, 3);
        let _replica = stage.start_with(LONE, json!({}));
        let nodes = stage.joined(2).await;
        let plain = |address: &str| json!({ "addresses": [address] });
        slice(&stage, "by-hand", "web", "IPv4", ("", 8443), &[plain(&all[0].0), plain(&all[1].0)]);
        slice(&stage, "names", "web", "FQDN", ("", 8443), &[plain("db.example.com")]);
        slice(&stage, "nobodys", "", "IPv4", ("", 8443), &[plain(&all[2].0)]);
        let ports = json!([{ "port": 443, "targetPort": 443 }]);
        stage.expose("web", &[ENI], json!({ "type": "LoadBalancer", "ports": ports }));
        has(&stage, "web", &[format!("{}:8443 *100", all[0].0), format!("{}:8443 *100", all[1].0)]).await;
        // Behind node ports it makes no difference who the endpoints are.
        stage.expose("nodes", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        has(&stage, "nodes", &nodes_at(100, &[&nodes[0], &nodes[1]])).await;
        let told = stage.told("web");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
    });
}

/// Without node ports instances cannot be reached: that is told, and pods are the way out.
#[test]
fn without_node_ports_instances_are_refused_and_pods_are_not() {
    play(|stage| async move {
        let all = addresses(&stage, 1);
        let _replica = stage.start_with(LONE, json!({}));
        stage.joined(1).await;
        slice(&stage, "web-1", "web", "IPv4", ("", 8080), &[pod(&all[0].0, None)]);
        let ports = json!([{ "port": 80, "targetPort": 8080 }]);
        stage.expose(
            "web",
            &[],
            json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": ports }),
        );
        let says = |text: &str| text.contains("port 80 has no node port") && text.contains("backend-type: eni");
        stage.until("what is wrong", || stage.told("web").iter().any(|(_, text)| says(text)).then_some(())).await;
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(stage.cloud().with_state(|state| state.slb.groups.len()), 0, "no group k8s/0/…");
        let told = stage.told("web").iter().filter(|(_, text)| says(text)).count();
        assert!(told <= 2, "once, and once more with the load balancer's id: {:?}", stage.told("web"));
        annotate(&stage, "web", json!({ (ENI.0): ENI.1 }));
        has(&stage, "web", &[format!("{}:8080 *100", all[0].0)]).await;
    });
}

/// Pods are members at IPv6 addresses only where the cluster, the load balancer and the annotation say so.
#[test]
fn the_family_of_pods_addresses_is_the_one_that_all_agree_on() {
    let (v6, backend_v6) = ((key("ip-version"), "ipv6"), (key("backend-ip-version"), "IPv6"));
    for (gate, annotations, expected, warned) in [
        (true, vec![v6.clone(), backend_v6.clone()], 6, false),
        (false, vec![v6.clone(), backend_v6.clone()], 4, true),
        (true, vec![backend_v6.clone()], 4, true),
        (true, vec![v6], 4, false),
    ] {
        play(|stage| async move {
            let all = addresses(&stage, 2);
            let _replica = stage.start_with(LONE, json!({ "featureGates": format!("IPv6DualStack={gate}") }));
            let both = |address: &(String, String)| {
                (pod(&address.0, None), {
                    let mut v6 = pod(&address.1, None);
                    v6["targetRef"] = pod(&address.0, None)["targetRef"].clone();
                    v6
                })
            };
            let (v4, v6): (Vec<Value>, Vec<Value>) = all.iter().map(both).unzip();
            slice(&stage, "web-4", "web", "IPv4", ("", 8080), &v4);
            // The second pod has no IPv6 address.
            slice(&stage, "web-6", "web", "IPv6", ("", 8080), &v6[..1]);
            let mut pairs: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (key.as_str(), *value)).collect();
            pairs.push(ENI);
            let ports = json!([{ "port": 80, "targetPort": 8080 }]);
            stage.expose("web", &pairs, json!({ "type": "LoadBalancer", "ports": ports }));
            let wanted: Vec<String> = match expected {
                6 => vec![format!("{}:8080 *100", all[0].1)],
                _ => all.iter().map(|pair| format!("{}:8080 *100", pair.0)).collect(),
            };
            has(&stage, "web", &wanted).await;
            let told = stage.told("web");
            let warning = |(reason, text): &(String, String)| {
                reason == "UnsupportedAnnotation" && text.contains("members keep their IPv4 addresses")
            };
            assert_eq!(told.iter().any(warning), warned, "{told:?}");
            assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
        });
    }
}
