//! Services on classic load balancers.

use serde_json::json;

use super::{Before, annotation, exclude_a_node, killed_anywhere, patch, two_ports};
use crate::support::{Stage, picture::ACCESS_LIST};

/// A Service with a port each of two protocols.
fn expose(stage: &Stage) {
    stage.expose("web", &[], json!({ "type": "LoadBalancer", "ports": two_ports() }));
}

async fn exposed(stage: &Stage) {
    expose(stage);
    stage.address("web").await;
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
    super::has(picture, lines);
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
        exclude_a_node(stage);
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
    killed_anywhere(|stage| Box::pin(exposed(stage)), super::delete, |end| assert_eq!(end, [""; 0]));
}

#[test]
fn delete_with_the_load_balancer_left_behind() {
    let before: Before = |stage| {
        Box::pin(async {
            exposed(stage).await;
            patch(stage, json!({ "metadata": { "annotations": { annotation("preserve-lb-on-delete"): "true" } } }));
        })
    };
    // Its name tells of a Service that is gone, and is not the same in each run.
    killed_anywhere(before, super::delete, |end| {
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
    killed_anywhere(before, super::delete, |end| {
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
    killed_anywhere(LIMITED, super::delete, |end| assert_eq!(end, [""; 0]));
}
