//! Services of type LoadBalancer.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::support::play;

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

#[test]
fn a_service_gets_a_load_balancer_with_the_released_controllers_marks() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        let service = stage.expose_web();
        let address = stage.address("web").await;
        let uid = service.metadata.uid.unwrap();
        let name: String = format!("a{}", uid.replace('-', "")).chars().take(32).collect();
        let all = stage.cloud().load_balancers();
        assert_eq!(all.len(), 1);
        let load_balancer = &all[0];
        assert_eq!((&load_balancer.name, load_balancer.address.to_string()), (&name, address));
        assert_eq!(load_balancer.tags.get("kubernetes.do.not.delete"), Some(&name));
        assert_eq!(load_balancer.tags.get("ack.aliyun.com").map(String::as_str), Some("c1"));
        let service = stage.service("web").unwrap();
        let labels = service.metadata.labels.clone().unwrap();
        assert_eq!(labels["service.k8s.alibaba/loadbalancer-id"], load_balancer.id);
        assert_eq!(service.metadata.finalizers.unwrap(), ["service.k8s.alibaba/resources"]);
        let told: Vec<String> = stage.told("web").into_iter().map(|(reason, _)| reason).collect();
        assert_eq!(told, ["EnsuredLoadBalancer"]);
        let port = service.spec.unwrap().ports.unwrap()[0].node_port.unwrap();
        let groups = stage.cloud().groups(&load_balancer.id);
        assert_eq!(groups[0].name, format!("k8s/{port}/web/default/c1"));
        let mut members: Vec<String> = groups[0].servers.iter().map(|s| format!("cn-hangzhou.{}", s.id)).collect();
        members.sort();
        let mut nodes = nodes;
        nodes.sort();
        assert_eq!(members, nodes);
    });
}

#[test]
fn wrong_annotations_are_told_in_one_event_and_nothing_is_called() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.clear_calls();
        let annotations = [
            (format!("{PREFIX}bandwidth"), "fast"),
            (format!("{PREFIX}address-type"), "outer"),
            (format!("{PREFIX}adress-type"), "x"),
        ];
        let annotations: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        stage.expose("bad", &annotations, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        stage.pass(Duration::from_secs(120)).await;
        let told = stage.told("bad");
        let failures: Vec<&String> =
            told.iter().filter(|(reason, _)| reason == "SyncLoadBalancerFailed").map(|(_, message)| message).collect();
        assert_eq!(failures.len(), 1, "{told:?}");
        assert!(
            failures[0].contains("bandwidth is \"fast\"") && failures[0].contains("address-type is \"outer\""),
            "{failures:?}"
        );
        let notices: Vec<&(String, String)> =
            told.iter().filter(|(reason, _)| reason == "UnsupportedAnnotation").collect();
        assert_eq!(notices.len(), 1, "{told:?}");
        assert!(notices[0].1.ends_with("-address-type"), "{notices:?}");
        assert!(stage.words().iter().all(|word| !word.starts_with("slb.")), "{:?}", stage.words());
    });
}

#[test]
fn a_service_that_stops_being_a_load_balancer_is_cleaned_up_and_stays() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        stage
            .world
            .kube
            .modify::<Service>("default", "web", |service| {
                service.spec.get_or_insert_default().type_ = Some("ClusterIP".into());
            })
            .unwrap();
        stage.until("no load balancer", || stage.cloud().load_balancers().is_empty().then_some(())).await;
        stage.pass(Duration::from_secs(10)).await;
        let service = stage.service("web").unwrap();
        assert_eq!(service.metadata.finalizers.unwrap_or_default(), Vec::<String>::new());
        assert_eq!(service.metadata.labels.unwrap_or_default().len(), 0);
        assert_eq!(service.status.and_then(|s| s.load_balancer).and_then(|l| l.ingress), None);
        // And back again, with the same UID.
        stage
            .world
            .kube
            .modify::<Service>("default", "web", |service| {
                service.spec.get_or_insert_default().type_ = Some("LoadBalancer".into());
            })
            .unwrap();
        stage.address("web").await;
        assert_eq!(stage.cloud().load_balancers().len(), 1);
    });
}

#[test]
fn a_deletion_takes_one_pass_and_tells_of_no_failure() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(5)).await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.pass(Duration::from_secs(2)).await;
        assert!(stage.service("web").is_none(), "still there after two seconds");
        let told: Vec<String> = stage.told("web").into_iter().map(|(reason, _)| reason).collect();
        let failures: Vec<&String> = told.iter().filter(|reason| reason.contains("Fail")).collect();
        assert_eq!(failures, Vec::<&String>::new(), "{told:?}");
    });
}

#[test]
fn a_new_process_makes_a_new_load_balancer_for_a_service_that_had_one_before() {
    play(|stage| async move {
        let replica = stage.start();
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        let become_type = |kind: &str| {
            let patch = json!({ "spec": { "type": kind } });
            stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
        };
        become_type("ClusterIP");
        stage.until("no load balancer", || stage.cloud().load_balancers().is_empty().then_some(())).await;
        stage.pass(Duration::from_secs(5)).await;
        // It does not remember that it made and deleted one; the cloud does, by the idempotency token.
        replica.kill().await;
        let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
        become_type("LoadBalancer");
        let address = stage.address("web").await;
        let all = stage.cloud().load_balancers();
        assert_eq!(all.iter().map(|lb| lb.address.to_string()).collect::<Vec<_>>(), [address]);
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(stage.cloud().listeners(&all[0].id).len(), 1, "{:?}", stage.words());
    });
}
