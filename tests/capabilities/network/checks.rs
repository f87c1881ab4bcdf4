//! How network load balancers check the members of Services whose traffic policy is Local.

use std::{collections::BTreeMap, time::Duration};

use ccm::sim::cloud::nlb::ServerGroup;
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use super::{annotate, by_hand, expose_with, group_by_hand, groups, key, settled, shown, writes};
use crate::support::{Stage, play};

/// Type, port and path of the check of each group, by the protocol in its name.
fn checks(stage: &Stage) -> BTreeMap<String, String> {
    let text = |group: &ServerGroup| {
        ["HealthCheckType", "HealthCheckConnectPort", "HealthCheckUrl"]
            .map(|name| group.health_check.get(name).cloned().unwrap_or_else(|| "-".to_owned()))
            .join(" ")
    };
    let protocol = |group: &ServerGroup| group.name.split('.').nth(2).unwrap_or_default().to_owned();
    groups(stage).iter().map(|group| (protocol(group), text(group))).collect()
}

fn check(stage: &Stage) -> String {
    checks(stage).into_values().next().unwrap_or_default()
}

fn kube_proxy(stage: &Stage) -> String {
    let port = stage.service("web").unwrap().spec.unwrap().health_check_node_port.unwrap();
    format!("HTTP {port} /healthz")
}

async fn expose(stage: &Stage, pairs: &[(&str, &str)], policy: &str) {
    expose_with(stage, pairs, json!({ "externalTrafficPolicy": policy, "ports": [{ "port": 80 }] }));
    shown(stage).await;
    stage.pass(Duration::from_secs(10)).await;
}

async fn set_policy(stage: &Stage, policy: &str) {
    let change = json!({ "spec": { "externalTrafficPolicy": policy } });
    stage.world.kube.patch::<Service>("default", "web", change).unwrap();
    stage.pass(Duration::from_secs(10)).await;
}

fn group_writes(stage: &Stage) -> Vec<String> {
    writes(stage)
        .into_iter()
        .filter(|word| word.ends_with("ServerGroupAttribute") || word.contains("CreateServer"))
        .collect()
}

#[test]
fn new_groups_check_where_kube_proxy_tells_of_pods() {
    for more in [&[][..], &[("server-group-type", "Ip")], &[("health-check-flag", "on"), ("healthy-threshold", "4")]] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(2).await;
            super::settings::furnish(&stage);
            let ports = json!([
                { "name": "a", "port": 80 }, { "name": "b", "port": 81, "protocol": "UDP" }, { "name": "c", "port": 443 },
            ]);
            let pairs = [&[("protocol-port", "TCPSSL:443"), ("cert-id", "cert-1")], more].concat();
            expose_with(&stage, &pairs, json!({ "externalTrafficPolicy": "Local", "ports": ports }));
            settled(&stage).await;
            let (all, expected) = (checks(&stage), kube_proxy(&stage));
            assert_eq!((&all["TCP"], &all["TCPSSL"]), (&expected, &expected));
            assert_eq!(all["UDP"], "TCP 0 -", "there is no UDP to check there");
            let told = stage.told("web");
            assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
        });
    }
}

/// G18: the check is right after each flip, and no group is made anew for it.
#[test]
fn the_check_follows_each_change_of_the_policy_in_one_call() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        expose(&stage, &[], "Cluster").await;
        assert_eq!(check(&stage), "TCP 0 -");
        for _ in 0..2 {
            stage.clear_calls();
            set_policy(&stage, "Local").await;
            assert_eq!(check(&stage), kube_proxy(&stage));
            assert_eq!(group_writes(&stage), ["nlb.UpdateServerGroupAttribute"]);
            stage.clear_calls();
            set_policy(&stage, "Cluster").await;
            assert!(check(&stage).starts_with("TCP 0 "), "{}", check(&stage));
            assert_eq!(group_writes(&stage), ["nlb.UpdateServerGroupAttribute"]);
        }
        stage.clear_calls();
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(writes(&stage), Vec::<String>::new());
    });
}

#[test]
fn annotations_that_say_how_to_check_win() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        expose(&stage, &[("health-check-flag", "on"), ("health-check-type", "tcp")], "Local").await;
        assert_eq!(check(&stage), "TCP 0 -");
        set_policy(&stage, "Cluster").await;
        set_policy(&stage, "Local").await;
        assert_eq!(check(&stage), "TCP 0 -");
        annotate(&stage, json!({ (key("health-check-type")): null })).await;
        assert_eq!(check(&stage), kube_proxy(&stage));
        // A check of that port over TCP would always be good.
        annotate(&stage, json!({ (key("health-check-type")): "tcp" })).await;
        assert!(check(&stage).starts_with("TCP 0 "), "{}", check(&stage));
        annotate(&stage, json!({ (key("health-check-flag")): "off", (key("health-check-type")): null })).await;
        assert_eq!(groups(&stage)[0].health_check["HealthCheckEnabled"], "false");
        // Without the annotation, what it had set stays.
        annotate(&stage, json!({ (key("health-check-flag")): null })).await;
        set_policy(&stage, "Cluster").await;
        set_policy(&stage, "Local").await;
        assert_eq!(groups(&stage)[0].health_check["HealthCheckEnabled"], "false");
    });
}

/// As the released controller leaves them, which has seen the policy change: their checks were chosen without us.
#[test]
fn groups_that_were_there_before_keep_their_check() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        expose(&stage, &[], "Cluster").await;
        replica.stop().await.unwrap();
        set_policy(&stage, "Local").await;
        let hash = ccm::controllers::service::hash::of(&stage.service("web").unwrap());
        stage.change("web", json!({ "metadata": { "labels": { "service.beta.kubernetes.io/hash": hash } } }));
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!((check(&stage), group_writes(&stage)), ("TCP 0 -".to_owned(), Vec::new()));
    });
}

#[test]
fn the_check_follows_a_change_of_the_policy_while_nobody_led() {
    play(|stage| async move {
        let mut replica = stage.start_alone();
        stage.joined(1).await;
        expose(&stage, &[], "Cluster").await;
        stage.pass(Duration::from_secs(30)).await;
        for policy in ["Local", "Cluster"] {
            replica.stop().await.unwrap();
            set_policy(&stage, policy).await;
            replica = stage.start_alone();
            stage.pass(Duration::from_secs(60)).await;
            if policy == "Local" {
                assert_eq!(check(&stage), kube_proxy(&stage));
            } else {
                assert!(check(&stage).starts_with("TCP 0 "), "{}", check(&stage));
            }
        }
    });
}

/// A pod on a virtual node has no kube-proxy beside it, and a group of the user's is checked as they like.
#[test]
fn where_pods_are_members_or_the_group_is_the_users_the_check_is_another() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(2).await;
        expose(&stage, &[], "Local").await;
        assert_eq!(check(&stage), kube_proxy(&stage));
        let label = json!({ "metadata": { "labels": { "type": "virtual-kubelet" } } });
        stage.world.kube.patch::<Node>("", &nodes[1], label).unwrap();
        stage.world.boot(99).unwrap();
        let address = stage.cloud().with_state(|state| {
            state.ecs.interfaces.values().last().map(|interface| interface.private_ips[0].to_string()).unwrap()
        });
        super::members::slice(&stage, &[(&address, Some(&nodes[1]))], 8080);
        stage.until("a check of the own port", || check(&stage).starts_with("TCP 0 ").then_some(())).await;
    });
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (id, _) = by_hand(&stage).await;
        let checked: [(&str, &str); 3] = [
            ("HealthCheckConfig.HealthCheckType", "HTTP"),
            ("HealthCheckConfig.HealthCheckUrl", "/healthz"),
            ("HealthCheckConfig.HealthCheckConnectPort", "10256"),
        ];
        let group = group_by_hand(&stage, "mine", &checked);
        stage.pass(Duration::from_secs(3)).await;
        let before: Value = json!(groups(&stage).iter().find(|one| one.id == group).unwrap().health_check);
        stage.clear_calls();
        let vgroup = format!("{group}:80");
        let more = json!({ "externalTrafficPolicy": "Local", "ports": [{ "port": 80 }] });
        expose_with(&stage, &[("id", &id), ("vgroup-port", &vgroup)], more);
        settled(&stage).await;
        set_policy(&stage, "Cluster").await;
        assert_eq!(json!(groups(&stage).iter().find(|one| one.id == group).unwrap().health_check), before);
        assert_eq!(group_writes(&stage), Vec::<String>::new());
    });
}
