//! Who may reach a network load balancer: source ranges through a security group of its own.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind, ecs::SecurityGroup};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::{assert_told, balancers, expose_with, gone, host_name, listeners, settled, writes};
use crate::support::{Stage, play};

fn own_group(stage: &Stage) -> Option<SecurityGroup> {
    let all: Vec<SecurityGroup> =
        stage.cloud().with_state(|state| state.ecs.security_groups.values().cloned().collect());
    all.into_iter().find(|group| group.name.starts_with("k8s-nlb-"))
}

fn rules(stage: &Stage) -> Vec<String> {
    let rules = own_group(stage).unwrap().rules;
    let mut words: Vec<String> =
        rules.iter().map(|r| format!("{} {}{} {}", r.policy, r.source, r.source_ipv6, r.priority)).collect();
    words.sort();
    words
}

async fn limit(stage: &Stage, ranges: Value) {
    stage
        .world
        .kube
        .patch::<Service>("default", "web", json!({ "spec": { "loadBalancerSourceRanges": ranges } }))
        .unwrap();
    stage.pass(Duration::from_secs(20)).await;
}

fn limited(ranges: Value) -> Value {
    json!({ "ports": [{ "port": 80 }], "loadBalancerSourceRanges": ranges })
}

#[test]
fn ranges_are_in_force_before_the_first_listener_change_in_place_and_go_when_cleared() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        let service = expose_with(
            &stage,
            &[("ip-version", "DualStack")],
            limited(json!(["10.0.0.0/8", "1.2.3.4/32", "fd00::/8"])),
        );
        settled(&stage).await;
        let group = own_group(&stage).unwrap();
        let name: String = format!("a{}", service.metadata.uid.unwrap().replace('-', "")).chars().take(32).collect();
        assert_eq!((group.name, group.description.as_str()), (format!("k8s-nlb-{name}"), "k8s.default.web.c1"));
        assert_eq!((group.kind.as_str(), group.tags.get("kubernetes.do.not.delete")), ("enterprise", Some(&name)));
        assert_eq!(
            rules(&stage),
            ["Accept 1.2.3.4/32 1", "Accept 10.0.0.0/8 1", "Accept fd00::/8 1", "Drop 0.0.0.0/0 100", "Drop ::/0 100"]
        );
        assert_eq!(balancers(&stage)[0].security_groups, std::slice::from_ref(&group.id));
        let order = writes(&stage);
        let at = |word: &str| order.iter().position(|w| w == word).unwrap_or_else(|| panic!("{word}: {order:?}"));
        assert!(at("ecs.AuthorizeSecurityGroup") < at("nlb.LoadBalancerJoinSecurityGroup"), "{order:?}");
        assert!(at("nlb.LoadBalancerJoinSecurityGroup") < at("nlb.CreateListener"), "{order:?}");
        let labels = stage.service("web").unwrap().metadata.labels.unwrap();
        assert_eq!(labels["service.k8s.alibaba/security-group-id"], group.id);

        stage.clear_calls();
        limit(&stage, json!(["10.0.0.0/8", "9.9.9.0/24"])).await;
        assert_eq!(
            writes(&stage),
            ["ecs.AuthorizeSecurityGroup", "ecs.RevokeSecurityGroup"],
            "{:?}",
            stage.told("web")
        );
        assert_eq!(rules(&stage).len(), 4, "{:?}", rules(&stage));

        stage.clear_calls();
        limit(&stage, Value::Null).await;
        assert_eq!(
            writes(&stage),
            ["nlb.LoadBalancerLeaveSecurityGroup", "ecs.DeleteSecurityGroup"],
            "{:?}",
            stage.told("web")
        );
        assert!(own_group(&stage).is_none());
        let labels = stage.service("web").unwrap().metadata.labels.unwrap();
        assert!(!labels.contains_key("service.k8s.alibaba/security-group-id"), "{labels:?}");
    });
}

#[test]
fn a_deleted_service_leaves_no_security_group_and_a_restart_writes_nothing() {
    play(|stage| async move {
        let replica = stage.start();
        stage.joined(1).await;
        expose_with(&stage, &[], limited(json!(["10.0.0.0/8"])));
        settled(&stage).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(writes(&stage), Vec::<String>::new());
        gone(&stage).await;
        assert!(own_group(&stage).is_none() && balancers(&stage).is_empty());
    });
}

/// Credentials from before may not allow anything about security groups. Services that need none must not care.
#[test]
fn services_without_ranges_need_no_rights_about_security_groups() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        expose_with(&stage, &[], limited(json!([])));
        settled(&stage).await;
        replica.stop().await.unwrap();
        stage.cloud().inject(Fault::on("ecs.DescribeSecurityGroups", FaultKind::Denied));
        // It looks as if a process before had been stopped halfway.
        let label = json!({ "metadata": { "labels": { "service.beta.kubernetes.io/hash": "0" } } });
        stage.world.kube.patch::<Service>("default", "web", label).unwrap();
        let replica = stage.start_alone();
        stage.pass(Duration::from_secs(30)).await;
        let failed = stage.told("web").iter().any(|(reason, _)| reason.contains("Fail"));
        assert!(!failed, "{:?}", stage.told("web"));
        replica.kill().await;
        let _replica = stage.start_alone();
        gone(&stage).await;
        assert!(balancers(&stage).is_empty());
    });
}

#[test]
fn a_refusal_that_passes_leaves_no_security_group_behind() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        expose_with(&stage, &[], limited(json!(["10.0.0.0/8"])));
        settled(&stage).await;
        replica.kill().await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.cloud().inject(Fault::on("ecs.DescribeSecurityGroups", FaultKind::Denied));
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        assert!(own_group(&stage).is_some() && stage.service("web").is_some(), "{:?}", stage.told("web"));
        stage.cloud().clear_faults();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert!(own_group(&stage).is_none());
    });
}

#[test]
fn what_is_no_range_or_too_many_is_told_before_anything_is_made() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        let many: Vec<String> = (0..199).map(|n| format!("10.{n}.0.0/16")).collect();
        expose_with(&stage, &[], limited(json!(many)));
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(writes(&stage), Vec::<String>::new());
        assert_told(&stage, "at most 198 ranges");
        limit(&stage, json!(["10.0.0.0/8"])).await;
        assert!(host_name(&stage.service("web").unwrap()).is_some());
        assert_eq!(listeners(&stage).len(), 1);
    });
}
