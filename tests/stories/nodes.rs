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
    let kinds: Vec<String> = addresses(&initialised).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["InternalIP", "Hostname"], "{initialised:?}");
    let instance = node.split_once('.').unwrap().1;
    let checked = stage.cloud().with_state(|state| {
        let mut own = state.ecs.interfaces.values().filter(|interface| interface.instance.as_deref() == Some(instance));
        own.any(|interface| interface.source_dest_check)
    });
    assert!(!checked, "pod routes need the source/destination check to be off");
    let told =
        || async { stage.told(&node).await.iter().any(|(_, reason, _)| reason == "InitializedNode").then_some(()) };
    stage.until("the initialisation told", told).await;
}

pub async fn the_node_of_a_released_instance_goes_with_its_route_and_member(stage: Stage) {
    let _replica = stage.start();
    let nodes = stage.joined(3).await;
    stage.expose_web().await;
    let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
    let counts = || {
        let balancers = stage.cloud().load_balancers();
        let members = balancers.iter().flat_map(|lb| stage.cloud().groups(&lb.id)).map(|g| g.servers.len()).sum();
        (stage.cloud().routes(&table).len(), members)
    };
    stage.until("a route and a member each", || async { (counts() == (3usize, 3usize)).then_some(()) }).await;
    stage.release(&nodes[0]).await;
    stage.until("the Node gone", || async { stage.node(&nodes[0]).await.is_none().then_some(()) }).await;
    stage.until("route and member gone", || async { (counts() == (2, 2)).then_some(()) }).await;
    for other in &nodes[1..] {
        assert!(stage.node(other).await.is_some(), "the others stay");
    }
    let told =
        || async { stage.told(&nodes[0]).await.iter().any(|(_, reason, _)| reason == "DeletedNode").then_some(()) };
    stage.until("the deletion told", told).await;
}

pub async fn a_stopped_instance_is_marked_until_it_is_back(stage: Stage) {
    let _replica = stage.start();
    let nodes = stage.joined(2).await;
    stage.switch_off(&nodes[0]).await;
    let marked = || async {
        let node = stage.node(&nodes[0]).await.expect("a stopped instance is not gone");
        let taints = node.spec?.taints.unwrap_or_default();
        Some(taints.iter().any(|taint| taint.key == "node.cloudprovider.kubernetes.io/shutdown"))
    };
    stage.until("the shutdown taint", || async { marked().await.filter(|marked| *marked) }).await;
    stage.switch_on(&nodes[0]).await;
    stage.until("no shutdown taint", || async { marked().await.filter(|marked| !*marked) }).await;
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
