//! How load balancers check the members of Services whose traffic policy is Local.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use serde_json::{Value, json};

use crate::support::{Stage, play};

const LONE: &[&str] = &["--leader-elect=false"];

fn key(suffix: &str) -> String {
    format!("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-{suffix}")
}

/// Type, port and path of the check of each listener, by port and protocol.
fn checks(stage: &Stage) -> BTreeMap<String, String> {
    let all = stage.cloud().load_balancers();
    let listeners = all.iter().flat_map(|one| stage.cloud().listeners(&one.id));
    let text = |listener: &ccm::sim::cloud::slb::Listener| {
        ["HealthCheckType", "HealthCheckConnectPort", "HealthCheckURI"]
            .map(|name| listener.setting(name).unwrap_or("-").to_owned())
            .join(" ")
    };
    listeners.map(|l| (format!("{}/{:?}", l.port, l.protocol).to_lowercase(), text(&l))).collect()
}

fn health_port(stage: &Stage) -> i32 {
    stage.service("web").unwrap().spec.unwrap().health_check_node_port.unwrap()
}

fn expose(stage: &Stage, annotations: &[(&str, &str)], policy: &str, ports: Value) {
    stage.expose(
        "web",
        annotations,
        json!({ "type": "LoadBalancer", "externalTrafficPolicy": policy, "ports": ports }),
    );
}

fn tcp() -> Value {
    json!([{ "port": 80 }])
}

async fn set_policy(stage: &Stage, policy: &str) {
    let change = json!({ "spec": { "externalTrafficPolicy": policy } });
    stage.world.kube.patch::<Service>("default", "web", change).unwrap();
    stage.pass(Duration::from_secs(10)).await;
}

fn listener_writes(stage: &Stage) -> Vec<String> {
    stage.words().into_iter().filter(|word| word.contains("Listener") && !word.contains("Describe")).collect()
}

#[test]
fn new_listeners_check_where_kube_proxy_tells_of_pods() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        let (protocols, flag) = ((key("protocol-port"), "http:82"), (key("health-check-flag"), "on"));
        let annotations = [(protocols.0.as_str(), protocols.1), (flag.0.as_str(), flag.1)];
        let ports = json!([
            { "name": "a", "port": 80 }, { "name": "b", "port": 81, "protocol": "UDP" }, { "name": "c", "port": 82 },
        ]);
        expose(&stage, &annotations, "Local", ports);
        stage.until("three listeners", || (checks(&stage).len() == 3).then_some(())).await;
        let (port, all) = (health_port(&stage), checks(&stage));
        assert_eq!(all["80/tcp"], format!("http {port} /healthz"));
        assert_eq!(all["82/http"], format!("- {port} /healthz"));
        assert!(!all["81/udp"].contains(&port.to_string()), "there is no UDP to check there: {all:?}");
        stage.pass(Duration::from_secs(10)).await;
        let told = stage.told("web");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
    });
}

/// G18: the check is right after each flip, and no listener is made anew for it.
#[test]
fn the_check_follows_each_change_of_the_policy_in_one_call() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        expose(&stage, &[], "Cluster", tcp());
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let before = checks(&stage)["80/tcp"].clone();
        for _ in 0..2 {
            stage.clear_calls();
            set_policy(&stage, "Local").await;
            assert_eq!(checks(&stage)["80/tcp"], format!("http {} /healthz", health_port(&stage)), "{before}");
            assert_eq!(listener_writes(&stage), ["slb.SetLoadBalancerTCPListenerAttribute"]);
            stage.clear_calls();
            set_policy(&stage, "Cluster").await;
            assert!(checks(&stage)["80/tcp"].starts_with("tcp -520 "), "{:?}", checks(&stage));
            assert_eq!(listener_writes(&stage), ["slb.SetLoadBalancerTCPListenerAttribute"]);
        }
        stage.clear_calls();
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(listener_writes(&stage), Vec::<String>::new());
    });
}

#[test]
fn annotations_that_say_how_to_check_win() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        let kind = key("health-check-type");
        expose(&stage, &[(&kind, "tcp")], "Local", tcp());
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        assert!(!checks(&stage)["80/tcp"].contains("healthz"), "{:?}", checks(&stage));
        set_policy(&stage, "Cluster").await;
        set_policy(&stage, "Local").await;
        assert!(!checks(&stage)["80/tcp"].contains("healthz"), "{:?}", checks(&stage));
        let annotate = |value: Value| {
            let change = json!({ "metadata": { "annotations": { (kind.clone()): value } } });
            stage.world.kube.patch::<Service>("default", "web", change).unwrap();
        };
        annotate(Value::Null);
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(checks(&stage)["80/tcp"], format!("http {} /healthz", health_port(&stage)));
        // A check of that port over TCP would always be good.
        annotate("tcp".into());
        stage.pass(Duration::from_secs(10)).await;
        assert!(checks(&stage)["80/tcp"].starts_with("tcp -520 "), "{:?}", checks(&stage));
    });
}

/// As the released controller leaves them, which has seen the policy change: their checks were chosen without us.
#[test]
fn listeners_that_were_there_before_keep_their_check() {
    play(|stage| async move {
        let replica = stage.start_with(LONE, json!({}));
        expose(&stage, &[], "Cluster", tcp());
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let before = checks(&stage);
        replica.stop().await.unwrap();
        set_policy(&stage, "Local").await;
        let hash = ccm::controllers::service::hash::of(&stage.service("web").unwrap());
        let seen = json!({ "metadata": { "labels": { "service.beta.kubernetes.io/hash": hash } } });
        stage.world.kube.patch::<Service>("default", "web", seen).unwrap();
        stage.clear_calls();
        let _replica = stage.start_with(LONE, json!({}));
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(checks(&stage), before);
        assert_eq!(listener_writes(&stage), Vec::<String>::new());
    });
}

/// Neither way: kube-proxy gives up the port of the check with the policy Local, and then no node would pass.
#[test]
fn the_check_follows_a_change_of_the_policy_while_nobody_led() {
    play(|stage| async move {
        let mut replica = stage.start_with(LONE, json!({}));
        expose(&stage, &[], "Cluster", tcp());
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        for policy in ["Local", "Cluster", "Local"] {
            replica.kill().await;
            set_policy(&stage, policy).await;
            stage.clear_calls();
            replica = stage.start_with(LONE, json!({}));
            stage.pass(Duration::from_secs(30)).await;
            let check = &checks(&stage)["80/tcp"];
            if policy == "Local" {
                assert_eq!(*check, format!("http {} /healthz", health_port(&stage)));
            } else {
                assert!(check.starts_with("tcp -520 "), "{check}");
            }
            assert_eq!(listener_writes(&stage), ["slb.SetLoadBalancerTCPListenerAttribute"], "{policy}");
        }
    });
}

/// A pod on a virtual node has no kube-proxy beside it.
#[test]
fn where_pods_are_members_too_they_are_checked_at_their_own_port() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        let nodes = stage.joined(2).await;
        expose(&stage, &[], "Local", tcp());
        stage.address("web").await;
        assert!(checks(&stage)["80/tcp"].starts_with("http "), "{:?}", checks(&stage));
        let label = json!({ "metadata": { "labels": { "type": "virtual-kubelet" } } });
        stage.world.kube.patch::<Node>("", &nodes[1], label).unwrap();
        stage.world.boot(99).unwrap();
        let address = stage.cloud().with_state(|state| {
            state.ecs.interfaces.values().last().map(|interface| interface.private_ips[0].to_string()).unwrap()
        });
        let slice = json!({
            "metadata": { "name": "web", "namespace": "default", "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4", "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
            "endpoints": [{ "addresses": [address], "nodeName": nodes[1] }],
        });
        stage.world.kube.create::<EndpointSlice>(&serde_json::from_value(slice).unwrap()).unwrap();
        stage
            .until("a check of the own port", || checks(&stage)["80/tcp"].starts_with("tcp -520 ").then_some(()))
            .await;
        stage.world.kube.delete::<EndpointSlice>("default", "web").unwrap();
        stage.pass(Duration::from_secs(10)).await;
        let before = checks(&stage);
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(checks(&stage), before, "it does not swing");
    });
}
