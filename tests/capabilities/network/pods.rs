//! Pods whose readiness waits for the network load balancer.

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use serde_json::{Value, json};

use super::{annotate, expose_with, gone, groups, key, shown};
use crate::{
    pods::{gated_pod, unready_slice},
    support::{Stage, play},
};

const GATE: &str = "service.readiness.alibabacloud.com/web";
const ENI: (&str, &str) = ("service.beta.kubernetes.io/backend-type", "eni");

/// Lets the cluster's own controllers and the network plug-in act, as long as the story lasts.
fn bring_to_life(stage: &Stage) {
    let world = stage.world.clone();
    tokio::spawn(async move {
        loop {
            world.settle().unwrap();
            let pods = world.kube.list::<Pod>();
            world.cloud.with_state(|state| {
                let Some(interface) = state.ecs.interfaces.values_mut().next() else { return };
                for address in pods.into_iter().filter_map(|pod| pod.status?.pod_ip?.parse().ok()) {
                    if !interface.private_ips.contains(&address) {
                        interface.private_ips.push(address);
                    }
                }
            });
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
}

/// Runs two pods that are ready only once the Service `web` has them.
fn deploy(stage: &Stage, version: &str) {
    let labels = json!({ "app": "web" });
    let container = json!({ "name": "web", "image": format!("nginx:{version}"), "ports": [{ "containerPort": 8080 }] });
    let template = json!({
        "metadata": { "labels": labels },
        "spec": { "containers": [container], "readinessGates": [{ "conditionType": GATE }] },
    });
    let spec = json!({ "replicas": 2, "selector": { "matchLabels": labels }, "template": template });
    if stage.world.kube.get::<Deployment>("default", "web").is_some() {
        stage.world.kube.patch::<Deployment>("default", "web", json!({ "spec": spec })).unwrap();
    } else {
        let made = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": spec });
        stage.world.kube.create::<Deployment>(&serde_json::from_value(made).unwrap()).unwrap();
    }
}

fn pods(stage: &Stage) -> Vec<Pod> {
    let app = |pod: &Pod| pod.metadata.labels.as_ref().is_some_and(|all| all.contains_key("app"));
    stage.world.kube.list::<Pod>().into_iter().filter(app).collect()
}

fn names(stage: &Stage) -> BTreeSet<String> {
    pods(stage).into_iter().filter_map(|pod| pod.metadata.name).collect()
}

/// Status and reason of a pod's gate.
fn gate(pod: &Pod) -> Option<(String, String)> {
    let condition = pod.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == GATE)?;
    Some((condition.status.clone(), condition.reason.clone().unwrap_or_default()))
}

fn is_registered(pod: &Pod) -> bool {
    gate(pod) == Some(("True".to_owned(), "ServerRegistered".to_owned()))
}

fn addresses(stage: &Stage) -> BTreeSet<String> {
    pods(stage).into_iter().filter_map(|pod| pod.status?.pod_ip).collect()
}

fn members(stage: &Stage) -> BTreeSet<String> {
    groups(stage).iter().flat_map(|group| &group.servers).map(|server| server.ip.clone()).collect()
}

fn all_ready(stage: &Stage) -> bool {
    let pods = pods(stage);
    pods.len() == 2 && pods.iter().all(is_registered) && members(stage) == addresses(stage)
}

fn web(stage: &Stage, pairs: &[(&str, &str)]) {
    let port: Value = json!({ "port": 80, "targetPort": 8080 });
    expose_with(stage, pairs, json!({ "ports": [port] }));
}

#[test]
fn a_rolling_update_waits_until_the_jobs_that_register_new_pods_have_ended() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        bring_to_life(&stage);
        deploy(&stage, "1");
        web(&stage, &[ENI]);
        shown(&stage).await;
        stage.until("two registered pods", || all_ready(&stage).then_some(())).await;
        let (old, old_names) = (addresses(&stage), names(&stage));
        // The cloud takes members, but is not done with it.
        stage.pass(Duration::from_secs(10)).await;
        stage.cloud().with_state(|state| state.nlb.jobs_paused = true);
        deploy(&stage, "2");
        stage.until("a new pod", || (pods(&stage).len() == 3).then_some(())).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!((pods(&stage).len(), members(&stage).len()), (3, 3), "one new pod beside the old ones");
        assert!(addresses(&stage).is_superset(&old));
        let told: Vec<Pod> = pods(&stage).into_iter().filter(is_registered).collect();
        assert_eq!(told.len(), 2, "accepted is not registered");
        stage.cloud().with_state(|state| state.nlb.resume_jobs());
        let done = || (all_ready(&stage) && names(&stage).is_disjoint(&old_names)).then_some(());
        stage.until("the update at its end", done).await;
        // A refusal holds it back, too.
        let refusal = FaultKind::Error { status: 400, code: "OperationDenied.X".into(), message: "No.".into() };
        stage.cloud().inject(Fault::on("nlb.AddServersToServerGroup", refusal));
        let before = names(&stage);
        deploy(&stage, "3");
        stage.pass(Duration::from_secs(30)).await;
        assert!(names(&stage).is_superset(&before) && names(&stage).len() == 3, "{:?}", names(&stage));
        stage.cloud().clear_faults();
        // Retries grow apart.
        let done = || (all_ready(&stage) && names(&stage).is_disjoint(&before)).then_some(());
        stage.until_within(Duration::from_secs(300), "the update at its end", done).await;
    });
}

#[test]
fn a_pod_that_came_while_nobody_led_or_behind_node_ports_or_by_address_is_told() {
    for pairs in [&[ENI][..], &[], &[("server-group-type", "Ip")], &[ENI, ("server-group-type", "Ip")]] {
        play(|stage| async move {
            let replica = stage.start_alone();
            stage.joined(1).await;
            bring_to_life(&stage);
            web(&stage, pairs);
            shown(&stage).await;
            replica.stop().await.unwrap();
            deploy(&stage, "1");
            stage.pass(Duration::from_secs(10)).await;
            assert_eq!((pods(&stage).len(), pods(&stage).iter().filter(|pod| is_registered(pod)).count()), (2, 0));
            let _replica = stage.start_alone();
            let told = || pods(&stage).iter().all(is_registered).then_some(());
            stage.until("both pods told", told).await;
        });
    }
}

#[test]
fn one_that_no_interface_has_is_told_and_a_service_that_goes_lets_its_pods_know() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let world = stage.world.clone();
        // No network plug-in.
        tokio::spawn(async move {
            loop {
                world.settle().unwrap();
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        deploy(&stage, "1");
        web(&stage, &[ENI]);
        let invalid = Some(("False".to_owned(), "ServerInvalidServer".to_owned()));
        stage.until("the pods told", || pods(&stage).iter().all(|pod| gate(pod) == invalid).then_some(())).await;
        annotate(&stage, json!({ (key("name")): "other" })).await;
        gone(&stage).await;
        stage.pass(Duration::from_secs(5)).await;
        let pod = names(&stage).pop_first().unwrap();
        let told = stage.told(&pod);
        assert!(told.iter().any(|(_, message)| message.contains("which gives up its load balancer")), "{told:?}");
    });
}

/// S04: whichever kinds of load balancers there are, somebody looks for pods that nobody comes across.
#[test]
fn a_gate_in_vain_is_told_where_there_are_only_network_load_balancers_and_once_where_there_are_both() {
    for controllers in ["--controllers=node,nlb", "--controllers=node,service,nlb"] {
        play(|stage| async move {
            let _replica = stage.start_with(&["--leader-elect=false", controllers], json!({}));
            let pod = gated_pod(&stage, "lost", "10.9.9.1", &["gone", "plain", "web"]);
            stage.expose("plain", &[], json!({ "type": "ClusterIP", "ports": [{ "port": 80 }] }));
            web(&stage, &[ENI]);
            unready_slice(&stage, "plain", &[("lost", &pod, "10.9.9.1")]);
            stage.pass(Duration::from_secs(600)).await;
            let mut told: Vec<String> = stage.told("lost").into_iter().map(|(_, message)| message).collect();
            told.sort();
            assert_eq!(told.len(), 3, "{controllers}: {told:?}");
            assert!(told[0].contains("the Service gone, which does not exist"), "{told:?}");
            assert!(told[1].contains("the Service plain, which gets no load balancer"), "{told:?}");
            assert!(told[2].contains("the Service web, which does not select the pod"), "{told:?}");
        });
    }
}

/// A pass over one Service comes across pods that wait for others, too.
#[test]
fn a_gate_that_nobody_serves_is_told_on_a_pod_of_a_network_load_balancer() {
    play(|stage| async move {
        let _replica = stage.start_with(&["--leader-elect=false", "--controllers=node,nlb"], json!({}));
        stage.joined(1).await;
        let pod = gated_pod(&stage, "web-1", "10.9.9.1", &["web", "gone"]);
        unready_slice(&stage, "web", &[("web-1", &pod, "10.9.9.1")]);
        web(&stage, &[]);
        shown(&stage).await;
        stage.pass(Duration::from_secs(20)).await;
        let told = stage.told("web-1");
        assert!(told.len() == 1 && told[0].1.contains("the Service gone, which does not exist"), "{told:?}");
    });
}

/// The released controller tells the first hundred members only.
#[test]
fn more_pods_than_a_page_of_members_holds_are_all_told() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let names: Vec<String> = (0..120).map(|n| format!("web-{n}")).collect();
        let addresses: Vec<String> = (0..120).map(|n| format!("10.0.77.{n}")).collect();
        stage.cloud().with_state(|state| {
            let interface = state.ecs.interfaces.values_mut().next().unwrap();
            interface
                .private_ips
                .extend(addresses.iter().map(|address| address.parse::<std::net::Ipv4Addr>().unwrap()));
        });
        let made: Vec<Pod> =
            names.iter().zip(&addresses).map(|(name, address)| gated_pod(&stage, name, address, &["web"])).collect();
        let listed: Vec<(&str, &Pod, &str)> =
            (0..120).map(|n| (names[n].as_str(), &made[n], addresses[n].as_str())).collect();
        unready_slice(&stage, "web", &listed);
        web(&stage, &[ENI]);
        shown(&stage).await;
        stage.pass(Duration::from_secs(60)).await;
        let told = stage.world.kube.list::<Pod>().iter().filter(|pod| is_registered(pod)).count();
        assert_eq!((told, members(&stage).len()), (120, 120), "{:?}", stage.told("web"));
    });
}
