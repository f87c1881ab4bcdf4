//! Nodes join, are initialised, and leave.

use k8s_openapi::api::{
    core::v1::{Node, Pod},
    discovery::v1::EndpointSlice,
};
use kube::ResourceExt;

use crate::stage::{Stage, is_tainted};

pub async fn pods_run_once_their_node_is_initialised(stage: Stage) {
    let node = stage.join().await;
    stage.deploy_web(2).await;
    stage.expose_web().await;
    let pending = || async { Some(stage.list::<Pod>().await).filter(|pods| pods.len() == 2) };
    let pods = stage.until("the Deployment's pods", pending).await;
    assert!(pods.iter().all(|pod| phase(pod) == "Pending" && host(pod).is_none()), "{pods:?}");

    let _replica = stage.start();
    let running =
        || async { Some(stage.list::<Pod>().await).filter(|pods| pods.iter().all(|pod| phase(pod) == "Running")) };
    let pods = stage.until("running pods", running).await;
    assert!(pods.iter().all(|pod| host(pod) == Some(&node)), "{pods:?}");
    let endpoints = || async { Some(stage.list::<EndpointSlice>().await).filter(|slices| ready(slices) == 2) };
    stage.until("both pods as endpoints of the Service", endpoints).await;
    let address = stage.address("web").await;
    assert_eq!(address, stage.cloud().load_balancers()[0].address.to_string());

    let initialised = stage.node(&node).await.unwrap();
    assert!(!is_tainted(&initialised));
    let label = |key: &str| initialised.labels().get(key).cloned().unwrap_or_default();
    assert_eq!(label("topology.kubernetes.io/region"), "cn-hangzhou");
    assert!(label("topology.kubernetes.io/zone").starts_with("cn-hangzhou-"));
    assert!(label("node.kubernetes.io/instance-type").starts_with("ecs."));
    assert!(addresses(&initialised).iter().any(|(kind, _)| kind == "InternalIP"), "{initialised:?}");
}

pub async fn the_node_of_a_released_instance_goes(stage: Stage) {
    let _replica = stage.start();
    let nodes = stage.joined(2).await;
    stage.release(&nodes[0]).await;
    stage.until("the Node gone", || async { stage.node(&nodes[0]).await.is_none().then_some(()) }).await;
    assert!(stage.node(&nodes[1]).await.is_some(), "the other one stays");
}

pub async fn a_node_has_a_route_for_its_pods(stage: Stage) {
    let _replica = stage.start();
    let nodes = stage.joined(2).await;
    for name in &nodes {
        let instance = name.split_once('.').unwrap().1;
        let routed = || async {
            let cidr = stage.node(name).await?.spec?.pod_cidr?;
            let tables = stage.cloud().route_tables("vpc-bp1sim");
            let mut entries = tables.iter().flat_map(|table| stage.cloud().routes(table));
            entries.any(|entry| entry.destination.to_string() == cidr && entry.next_hop == instance).then_some(())
        };
        stage.until("a route to the node", routed).await;
        let available =
            || async { (condition(&stage.node(name).await?, "NetworkUnavailable")? == "False").then_some(()) };
        stage.until("the network told available", available).await;
    }
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

fn host(pod: &Pod) -> Option<&String> {
    pod.spec.as_ref()?.node_name.as_ref()
}

fn ready(slices: &[EndpointSlice]) -> usize {
    let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter());
    endpoints.filter(|e| e.conditions.as_ref().and_then(|c| c.ready) == Some(true)).count()
}

fn addresses(node: &Node) -> Vec<(String, String)> {
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    addresses.map(|a| (a.type_.clone(), a.address.clone())).collect()
}

fn condition(node: &Node, kind: &str) -> Option<String> {
    let mut all = node.status.as_ref()?.conditions.as_ref()?.iter();
    Some(all.find(|c| c.type_ == kind)?.status.clone())
}
