//! What other programs see, and what they do to the cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
    time::Duration,
};

use k8s_openapi::api::core::v1::Pod;
use kube::Resource;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    plane::PROGRAM,
    stage::Stage,
    theatre::{Theatre, play_in, theatre},
};

/// What the onlooker of `tests/kubernetes` tells.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    address: String,
    #[serde(deserialize_with = "or_empty")]
    events: Vec<SeenEvent>,
    #[serde(deserialize_with = "or_empty")]
    new_events: Vec<String>,
    #[serde(deserialize_with = "or_empty")]
    nodes: BTreeMap<String, Place>,
    #[serde(deserialize_with = "or_empty")]
    finalizers: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct SeenEvent {
    r#type: String,
    reason: String,
    message: String,
    count: i32,
    from: String,
    aged: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    zone: String,
    host: String,
    #[serde(rename = "providerID")]
    provider_id: String,
}

/// Go writes a list without elements as null.
fn or_empty<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(there: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(there)?.unwrap_or_default())
}

/// Looks at the Service as a program on the official client does, from now on.
fn look(theatre: &Theatre, service: &str) -> tokio::task::JoinHandle<Seen> {
    let mut onlooker = Command::new(PROGRAM);
    let kubeconfig = format!("--kubeconfig={}", theatre.plane.told.kubeconfig.display());
    onlooker.args(["onlooker", &kubeconfig, "--service", service]);
    tokio::task::spawn_blocking(move || {
        let output = onlooker.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    })
}

#[test]
fn the_official_client_sees_address_events_and_places() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let node = stage.join().await;
        stage.expose_web().await;
        // Its informer is there before the controller is.
        let early = look(&theatre, "web");
        let _replica = stage.start();
        assert_eq!(early.await.unwrap().address, stage.address("web").await);
        stage.joined(1).await;
        stage.ensured("web").await;
        let seen = look(&theatre, "web").await.unwrap();
        assert_eq!(seen.finalizers, ["service.k8s.alibaba/resources"]);
        let event = seen.events.iter().find(|event| event.reason == "EnsuredLoadBalancer").unwrap();
        let id = &stage.cloud().load_balancers()[0].id;
        assert_eq!((event.r#type.as_str(), event.from.as_str()), ("Normal", "service-controller"));
        assert!(event.message.contains(id) && event.count >= 1 && event.aged, "{event:?}");
        assert!(seen.new_events.contains(&event.reason), "also through events.k8s.io: {:?}", seen.new_events);
        let place = &seen.nodes[&node];
        let instance = node.split_once('.').unwrap().1;
        let instance = stage.cloud().instances().into_iter().find(|machine| machine.id == instance).unwrap();
        let zone = format!("cn-hangzhou:\0:{}", instance.zone);
        assert_eq!(place.zone, zone, "as the official helper writes region and zone");
        assert_eq!((&place.host, &place.provider_id), (&instance.private_ip.unwrap().to_string(), &node));
    });
}

#[test]
fn members_follow_scaling_rolling_and_draining() {
    let theatre = theatre();
    play_in(&theatre, async |stage: Stage| {
        let kubectl = |arguments: &[&str]| tokio::task::block_in_place(|| theatre.plane.kubectl(arguments));
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        open_to_pods(&stage, &nodes).await;
        spread_web(&stage).await;
        let spec = |policy: &str| {
            json!({
                "type": "LoadBalancer", "externalTrafficPolicy": policy, "selector": { "app": "web" },
                "ports": [{ "port": 80, "targetPort": 8080 }],
            })
        };
        stage.expose("local", &[], spec("Local")).await;
        let leaves_out = [("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-remove-unscheduled-backend", "on")];
        stage.expose("cordoned", &leaves_out, spec("Cluster")).await;
        stage.expose("cluster", &[], spec("Cluster")).await;
        follows(&stage, 1).await;

        kubectl(&["scale", "deployment", "web", "--replicas=3"]);
        follows(&stage, 3).await;
        kubectl(&["scale", "deployment", "web", "--replicas=2"]);
        follows(&stage, 2).await;

        // While pods are replaced one by one, there is always a member.
        let watching = {
            let stage = stage.clone();
            let address = stage.address("local").await;
            tokio::spawn(async move {
                loop {
                    assert!(!members(&stage, &address).is_empty(), "{:?}", stage.calls());
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            })
        };
        let before = pods(&stage).await;
        kubectl(&["rollout", "restart", "deployment", "web"]);
        kubectl(&["rollout", "status", "deployment", "web", "--timeout=60s"]);
        follows(&stage, 2).await;
        assert!(before.is_disjoint(&pods(&stage).await), "all pods are new");
        assert!(!watching.is_finished(), "there was a member at any time");
        watching.abort();

        kubectl(&["drain", &nodes[0], "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s"]);
        follows(&stage, 2).await;
        let local = stage.address("local").await;
        assert!(!members(&stage, &local).contains(&nodes[0]), "a drained node has no pods");
        let rest: BTreeSet<String> = nodes[1..].iter().cloned().collect();
        let cordoned = stage.address("cordoned").await;
        stage.until("the cordoned left out", || async { (members(&stage, &cordoned) == rest).then_some(()) }).await;
        let cluster = stage.address("cluster").await;
        assert_eq!(members(&stage, &cluster), nodes.iter().cloned().collect(), "a cordoned node still forwards");

        kubectl(&["uncordon", &nodes[0]]);
        let all = || async { (members(&stage, &cordoned).len() == 3).then_some(()) };
        stage.until("all members again", all).await;
    });
}

/// Waits until pods may come to each node: its route comes a moment after it is initialised, and until
/// then the scheduler would put all pods on those nodes that have theirs.
async fn open_to_pods(stage: &Stage, nodes: &[String]) {
    for node in nodes {
        let is_open = || async {
            let node = stage.node(node).await?;
            node.spec?.taints.unwrap_or_default().is_empty().then_some(())
        };
        stage.until("a node open to pods", is_open).await;
    }
}

/// One pod of a Deployment, and more on other nodes if it is scaled.
async fn spread_web(stage: &Stage) {
    let labels = json!({ "app": "web" });
    let apart = json!([{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["pod-template-hash"], "labelSelector": { "matchLabels": labels },
    }]);
    let pod = json!({
        "metadata": { "labels": labels },
        "spec": { "containers": [{ "name": "web", "image": "nginx:1.29" }], "topologySpreadConstraints": apart },
    });
    let spec = json!({ "replicas": 1, "selector": { "matchLabels": labels }, "template": pod });
    let deployment: Value = json!({ "metadata": { "name": "web" }, "spec": spec });
    stage.create::<k8s_openapi::api::apps::v1::Deployment>(deployment).await;
}

/// Waits until so many pods run, each on a node of its own, and their nodes are the members of
/// `local`.
async fn follows(stage: &Stage, count: usize) {
    let address = stage.address("local").await;
    let followed = || async {
        let pods = stage.list::<Pod>().await;
        let hosts: BTreeSet<String> = pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect();
        (pods.len() == count && hosts.len() == count && members(stage, &address) == hosts).then_some(())
    };
    stage.until("the nodes of all pods as members", followed).await;
}

async fn pods(stage: &Stage) -> BTreeSet<String> {
    stage.list::<Pod>().await.iter().filter_map(|pod| pod.meta().name.clone()).collect()
}

/// The nodes behind the load balancer with this address.
fn members(stage: &Stage, address: &str) -> BTreeSet<String> {
    let all = stage.cloud().load_balancers();
    let Some(balancer) = all.iter().find(|lb| lb.address.to_string() == address) else { return BTreeSet::new() };
    let groups = stage.cloud().groups(&balancer.id);
    groups.into_iter().flat_map(|group| group.servers).map(|server| format!("cn-hangzhou.{}", server.id)).collect()
}
