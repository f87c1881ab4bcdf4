//! The process is killed at each single call of a story, before the call has its effect and after
//! it, and started again; or it lives, and just never hears the answer. The end is the same as
//! without.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use crate::support::{
    Stage, config,
    picture::{ACCESS_LIST, picture},
    play,
    tripwire::{Fate, Tripwire},
};

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

/// Nobody to share with, and nothing but the story in the call log.
const FLAGS: &[&str] = &["--leader-elect=false"];

/// More than the waits between a pass that fails and those that put things right.
const SETTLED: Duration = Duration::from_secs(200);

/// What was there before.
type Before = for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What is there in the end, and the calls that it took.
async fn end(stage: &Stage, before: Before, change: fn(&Stage), fate: Option<(usize, Fate)>) -> (Vec<String>, usize) {
    let wire = Tripwire::new(stage.world.cloud.router(), stage.world.kube.clone());
    let replica = stage.start_between(wire.client(), Arc::new(wire.clone()), config(FLAGS, json!({})));
    stage.joined(2).await;
    before(stage).await;
    stage.pass(Duration::from_secs(30)).await;
    wire.arm(fate);
    change(stage);
    let died = tokio::select! {
        biased;
        () = wire.died() => true,
        () = stage.pass(SETTLED) => false,
    };
    assert_eq!(died, fate.is_some_and(|(_, fate)| fate != Fate::GoesUnheard));
    if died {
        replica.kill().await;
        let again = stage.start_with(FLAGS, json!({}));
        stage.pass(SETTLED).await;
        again.kill().await;
    } else {
        replica.kill().await;
    }
    (picture(stage), wire.calls())
}

/// Plays the story without trouble, and then with each trouble at each of its calls.
fn killed_anywhere(before: Before, change: fn(&Stage), check: fn(&[String])) {
    let mut expected = (Vec::new(), 0);
    play(|stage| {
        let expected = &mut expected;
        async move { *expected = end(&stage, before, change, None).await }
    });
    let (expected, calls) = expected;
    check(&expected);
    assert!(calls > 1, "nothing happened: {expected:#?}");
    for at in 0..calls {
        for fate in [Fate::DiesBefore, Fate::DiesAfter, Fate::GoesUnheard] {
            play(|stage| {
                let expected = &expected;
                async move {
                    let (found, _) = end(&stage, before, change, Some((at, fate))).await;
                    assert_eq!(
                        &found,
                        expected,
                        "call {at} of {calls}: {fate:?}\n{:#?}\n{:#?}",
                        stage.words(),
                        stage.told("web")
                    );
                }
            });
        }
    }
}

fn annotation(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

fn two_ports() -> Value {
    json!([{ "name": "web", "port": 80 }, { "name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053 }])
}

/// A Service with a port each of two protocols.
fn expose(stage: &Stage) {
    stage.expose("web", &[], json!({ "type": "LoadBalancer", "ports": two_ports() }));
}

async fn exposed(stage: &Stage) {
    expose(stage);
    stage.address("web").await;
}

fn patch(stage: &Stage, patch: Value) {
    stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
}

/// A load balancer of the user's, with something on it.
fn somebodys(stage: &Stage) -> String {
    let administer = |action: &str, params: &[(&str, &str)]| stage.cloud().administer(action, params).unwrap();
    let made =
        administer("slb.CreateLoadBalancer", &[("LoadBalancerName", "mine"), ("LoadBalancerSpec", "slb.s1.small")]);
    let id = made["LoadBalancerId"].as_str().unwrap().to_owned();
    let listener =
        [("LoadBalancerId", id.as_str()), ("ListenerPort", "8443"), ("Bandwidth", "-1"), ("BackendServerPort", "80")];
    administer("slb.CreateLoadBalancerTCPListener", &listener);
    administer("slb.CreateVServerGroup", &[("LoadBalancerId", &id), ("VServerGroupName", "mine")]);
    id
}

fn expose_on_somebodys(stage: &Stage) {
    let id = stage.cloud().load_balancers().remove(0).id;
    let annotations = [(annotation("id"), id.as_str()), (annotation("force-override-listeners"), "true")];
    let annotations: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    stage.expose("web", &annotations, json!({ "type": "LoadBalancer", "ports": two_ports() }));
}

/// How many load balancers there are, and what is on them.
fn has(picture: &[String], load_balancers: usize, lines: &[&str]) {
    let is_load_balancer = |line: &&String| !line.starts_with("Service") && !line.starts_with(ACCESS_LIST);
    assert_eq!(picture.iter().filter(is_load_balancer).count(), load_balancers, "{picture:#?}");
    for line in lines {
        assert!(picture.iter().any(|there| there.contains(line)), "{line} is missing in {picture:#?}");
    }
}

#[test]
fn create() {
    killed_anywhere(
        |_| Box::pin(async {}),
        expose,
        |end| {
            has(
                end,
                1,
                &["80/Tcp Running", "53/Udp Running", "Service web: load balancer its own, shows [\"its address\"]"],
            );
        },
    );
}

#[test]
fn update_of_ports_and_settings() {
    let change = |stage: &Stage| {
        patch(
            stage,
            json!({
                "metadata": { "annotations": {
                    annotation("protocol-port"): "http:80", annotation("scheduler"): "wrr", annotation("name"): "shop",
                    annotation("delete-protection"): "off",
                } },
                "spec": { "ports": [
                    { "name": "web", "port": 80 },
                    { "name": "tls", "port": 443, "nodePort": 30443 },
                ] },
            }),
        );
    };
    killed_anywhere(
        |stage| Box::pin(exposed(stage)),
        change,
        |end| {
            has(end, 1, &["shop internet", "unprotected", "80/Http Running", "443/Tcp Running"]);
            assert!(!end[0].contains("Udp") && !end[0].contains("30053"), "{end:#?}");
        },
    );
}

#[test]
fn update_of_members() {
    let change = |stage: &Stage| {
        let node = stage.world.kube.list::<Node>().remove(0).metadata.name.unwrap();
        let label =
            json!({ "metadata": { "labels": { "node.kubernetes.io/exclude-from-external-load-balancers": "" } } });
        stage.world.kube.patch::<Node>("", &node, label).unwrap();
        patch(stage, json!({ "metadata": { "annotations": { annotation("default-weight"): "50" } } }));
    };
    killed_anywhere(
        |stage| Box::pin(exposed(stage)),
        change,
        |end| {
            has(end, 1, &["*50 "]);
            assert_eq!(end[0].matches("ecs i-").count(), 2, "one node in two groups: {end:#?}");
        },
    );
}

#[test]
fn delete() {
    let change = |stage: &Stage| stage.world.kube.delete::<Service>("default", "web").unwrap();
    killed_anywhere(|stage| Box::pin(exposed(stage)), change, |end| assert_eq!(end, [""; 0]));
}

#[test]
fn delete_with_the_load_balancer_left_behind() {
    let before: Before = |stage| {
        Box::pin(async {
            exposed(stage).await;
            patch(stage, json!({ "metadata": { "annotations": { annotation("preserve-lb-on-delete"): "true" } } }));
        })
    };
    let change = |stage: &Stage| stage.world.kube.delete::<Service>("default", "web").unwrap();
    // Its name tells of a Service that is gone, and is not the same in each run.
    killed_anywhere(before, change, |end| {
        has(end, 1, &["80/Tcp Running", "NonProtection", "unprotected", "tags {}"]);
        assert_eq!(end.len(), 1, "{end:#?}");
    });
}

#[test]
fn a_service_that_stops_being_a_load_balancer() {
    let change = |stage: &Stage| patch(stage, json!({ "spec": { "type": "ClusterIP" } }));
    killed_anywhere(
        |stage| Box::pin(exposed(stage)),
        change,
        |end| {
            assert_eq!(end, ["Service web: load balancer none, shows [], {} []"]);
        },
    );
}

#[test]
fn reuse() {
    let before: Before = |stage| Box::pin(async { drop(somebodys(stage)) });
    killed_anywhere(before, expose_on_somebodys, |end| {
        has(end, 1, &["8443/Tcp", "group mine []", "80/Tcp Running", "53/Udp Running", "load balancer somebody's"]);
    });
}

#[test]
fn end_of_reuse() {
    let before: Before = |stage| {
        Box::pin(async {
            somebodys(stage);
            expose_on_somebodys(stage);
            stage.address("web").await;
        })
    };
    let change = |stage: &Stage| stage.world.kube.delete::<Service>("default", "web").unwrap();
    killed_anywhere(before, change, |end| {
        has(end, 1, &["8443/Tcp", "group mine []"]);
        assert!(end.len() == 1 && !end[0].contains("k8s/"), "{end:#?}");
    });
}

fn expose_limited(stage: &Stage) {
    let ranges = json!(["10.0.0.0/8", "1.2.3.4/32"]);
    stage.expose(
        "web",
        &[],
        json!({ "type": "LoadBalancer", "ports": two_ports(), "loadBalancerSourceRanges": ranges }),
    );
}

const LIMITED: Before = |stage| {
    Box::pin(async {
        expose_limited(stage);
        stage.address("web").await;
    })
};

#[test]
fn create_with_source_ranges() {
    killed_anywhere(
        |_| Box::pin(async {}),
        expose_limited,
        |end| {
            has(end, 1, &["Access list of Some(\"web\") ipv4 [\"1.2.3.4/32\", \"10.0.0.0/8\"]"]);
            assert_eq!(
                end.iter().map(|line| line.matches("\"AclStatus\": \"on\"").count()).sum::<usize>(),
                2,
                "{end:#?}"
            );
        },
    );
}

#[test]
fn source_ranges_change() {
    let change =
        |stage: &Stage| patch(stage, json!({ "spec": { "loadBalancerSourceRanges": ["10.0.0.0/8", "5.6.7.8/32"] } }));
    killed_anywhere(LIMITED, change, |end| has(end, 1, &["ipv4 [\"10.0.0.0/8\", \"5.6.7.8/32\"]"]));
}

#[test]
fn source_ranges_end() {
    let change = |stage: &Stage| patch(stage, json!({ "spec": { "loadBalancerSourceRanges": null } }));
    killed_anywhere(LIMITED, change, |end| {
        has(end, 1, &["\"AclStatus\": \"off\""]);
        assert!(!end.iter().any(|line| line.starts_with(ACCESS_LIST)), "{end:#?}");
    });
}

#[test]
fn delete_with_source_ranges() {
    let change = |stage: &Stage| stage.world.kube.delete::<Service>("default", "web").unwrap();
    killed_anywhere(LIMITED, change, |end| assert_eq!(end, [""; 0]));
}
