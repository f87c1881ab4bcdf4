//! Services of type LoadBalancer.

use std::collections::BTreeSet;

use kube::ResourceExt;
use serde_json::json;

use crate::stage::{Stage, address_of};

const FINALIZER: &str = "service.k8s.alibaba/resources";

pub async fn a_load_balancer_bears_the_released_controllers_marks(stage: Stage) {
    let _replica = stage.start();
    let nodes = stage.joined(3).await;
    let service = stage.expose_web().await;
    stage.ensured("web").await;
    let name: String = format!("a{}", service.uid().unwrap().replace('-', "")).chars().take(32).collect();
    let all = stage.cloud().load_balancers();
    assert_eq!((all.len(), &all[0].name), (1, &name));
    assert_eq!(all[0].tags.get("kubernetes.do.not.delete"), Some(&name));
    assert_eq!(all[0].tags.get("ack.aliyun.com").map(String::as_str), Some("c1"));
    let port = service.spec.unwrap().ports.unwrap()[0].node_port.unwrap();
    assert_eq!(stage.cloud().groups(&all[0].id)[0].name, format!("k8s/{port}/web/default/c1"));
    assert_eq!(members(&stage), set(&nodes));
    let reasons: Vec<String> = stage.told("web").await.into_iter().map(|(_, reason, _)| reason).collect();
    assert_eq!(reasons, ["EnsuredLoadBalancer"]);
}

pub async fn a_service_lives_from_creation_to_deletion(stage: Stage) {
    let _replica = stage.start();
    stage.joined(2).await;
    let service = stage.expose_web().await;
    let address = stage.address("web").await;
    let all = stage.cloud().load_balancers();
    assert_eq!(all.len(), 1);
    let name: String = format!("a{}", service.uid().unwrap().replace('-', "")).chars().take(32).collect();
    assert_eq!((&all[0].name, all[0].address.to_string()), (&name, address.clone()));
    let labelled = || async {
        let service = stage.service("web").await?;
        let label = service.labels().get("service.k8s.alibaba/loadbalancer-id").cloned();
        label.filter(|_| service.finalizers() == [FINALIZER])
    };
    assert_eq!(stage.until("finalizer and label", labelled).await, all[0].id);

    // One more port.
    let ports =
        json!([{ "name": "http", "port": 80, "targetPort": 8080 }, { "name": "tls", "port": 443, "targetPort": 8443 }]);
    stage.change("web", json!({ "ports": ports })).await;
    let listeners = || async { Some(stage.cloud().listeners(&all[0].id).len()).filter(|count| *count == 2) };
    stage.until("a second listener", listeners).await;
    assert_eq!(stage.address("web").await, address, "the address stays");

    // No load balancer any more.
    stage.change("web", json!({ "type": "ClusterIP" })).await;
    let clean = || async {
        let service = stage.service("web").await?;
        let marks = service.finalizers().len() + service.labels().len();
        (marks == 0 && address_of(&service).is_none() && stage.cloud().load_balancers().is_empty()).then_some(())
    };
    stage.until("a Service without load balancer and marks", clean).await;

    // And one again, until the Service goes.
    stage.change("web", json!({ "type": "LoadBalancer" })).await;
    stage.address("web").await;
    stage.delete_service("web").await;
    stage.until("the Service gone", || async { stage.service("web").await.is_none().then_some(()) }).await;
    assert_eq!(stage.cloud().load_balancers().len(), 0, "{:?}", stage.calls());
    let told = stage.told("web").await;
    assert!(told.iter().all(|(kind, _, _)| kind != "Warning"), "{told:?}");
}

pub async fn members_follow_nodes_and_traffic_policy(stage: Stage) {
    let _replica = stage.start();
    let mut nodes = stage.joined(2).await;
    stage.deploy_web(1).await;
    stage.expose_web().await;
    stage.address("web").await;
    stage.until("all nodes as members", || async { (members(&stage) == set(&nodes)).then_some(()) }).await;
    nodes.extend(stage.joined(1).await);
    stage.until("the new node as a member", || async { (members(&stage) == set(&nodes)).then_some(()) }).await;
    stage.change("web", json!({ "externalTrafficPolicy": "Local" })).await;
    stage.until("only the node with the pod", || async { (members(&stage).len() == 1).then_some(()) }).await;
}

pub async fn two_services_do_not_mind_each_other(stage: Stage) {
    let _replica = stage.start();
    stage.joined(1).await;
    stage.expose_web().await;
    stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 53, "protocol": "UDP" }] })).await;
    let (web, other) = (stage.address("web").await, stage.address("other").await);
    assert_ne!(web, other);
    stage.delete_service("other").await;
    stage.until("the Service gone", || async { stage.service("other").await.is_none().then_some(()) }).await;
    let left: Vec<String> = stage.cloud().load_balancers().iter().map(|lb| lb.address.to_string()).collect();
    assert_eq!(left, [web]);
}

pub fn set(nodes: &[String]) -> BTreeSet<String> {
    nodes.iter().cloned().collect()
}

/// The nodes that are members of the load balancer's groups.
pub fn members(stage: &Stage) -> BTreeSet<String> {
    let balancers = stage.cloud().load_balancers();
    let groups = balancers.iter().flat_map(|lb| stage.cloud().groups(&lb.id));
    groups.flat_map(|group| group.servers).map(|server| format!("cn-hangzhou.{}", server.id)).collect()
}
