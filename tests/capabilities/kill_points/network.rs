//! Services on network load balancers.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Before, annotate, annotation, exclude_a_node, has, killed_anywhere, patch, two_ports};
use crate::{
    network::ZONES,
    support::{
        Stage,
        picture::network::{GROUP, SECURITY_GROUP},
    },
};

fn expose_with(stage: &Stage, pairs: &[(&str, &str)], more: Value) {
    // Jobs that end soon are asked for once.
    stage.cloud().configure(|options| options.delays.job = Duration::from_millis(100));
    let pairs: Vec<(String, &str)> = pairs.iter().map(|(suffix, value)| (annotation(suffix), *value)).collect();
    let annotations: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let mut spec = json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": two_ports() });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    stage.expose("web", &annotations, spec);
}

fn expose(stage: &Stage) {
    expose_with(stage, &[("zone-maps", ZONES)], json!({}));
}

const EXPOSED: Before = |stage| {
    Box::pin(async {
        expose(stage);
        stage.pass(Duration::from_secs(10)).await;
    })
};

fn expose_limited(stage: &Stage) {
    let ranges = json!({ "loadBalancerSourceRanges": ["10.0.0.0/8", "1.2.3.4/32"] });
    expose_with(stage, &[("zone-maps", ZONES)], ranges);
}

const LIMITED: Before = |stage| {
    Box::pin(async {
        expose_limited(stage);
        stage.pass(Duration::from_secs(10)).await;
    })
};

/// How many lines there are of each kind: load balancers, groups, security groups.
fn counts(picture: &[String]) -> [usize; 3] {
    ["Network", GROUP, SECURITY_GROUP].map(|kind| picture.iter().filter(|line| line.starts_with(kind)).count())
}

const NOTHING: Before = |_| Box::pin(async {});

#[test]
fn create() {
    killed_anywhere(NOTHING, expose, |end| {
        assert_eq!(counts(end), [1, 2, 0], "{end:#?}");
        has(end, &["80/TCP Running", "53/UDP Running", "load balancer its own, shows [\"its address\"]"]);
    });
}

#[test]
fn update_of_ports_and_settings() {
    let change = |stage: &Stage| {
        let pairs =
            [("idle-timeout", "60"), ("scheduler", "rr"), ("name", "shop"), ("additional-resource-tags", "a=b")];
        annotate(stage, &pairs);
        patch(
            stage,
            json!({ "spec": { "ports": [
                { "name": "web", "port": 80 }, { "name": "tls", "port": 443, "nodePort": 30443 },
            ] } }),
        );
    };
    killed_anywhere(EXPOSED, change, |end| {
        assert_eq!(counts(end), [1, 2, 0], "{end:#?}");
        has(end, &["Network shop", "443/TCP Running", "\"IdleTimeout\": \"60\"", "\"Scheduler\": \"rr\"", "a=b"]);
    });
}

#[test]
fn update_of_the_protocol() {
    let before: Before = |stage| {
        Box::pin(async {
            crate::network::settings::furnish(stage);
            expose_with(stage, &[("zone-maps", ZONES), ("cert-id", "cert-1")], json!({}));
            stage.pass(Duration::from_secs(10)).await;
        })
    };
    let change = |stage: &Stage| annotate(stage, &[("protocol-port", "TCPSSL:80"), ("additional-cert-ids", "cert-2")]);
    killed_anywhere(before, change, |end| {
        has(end, &["80/TCPSSL Running", "[\"cert-1\", \"cert-2\"]"]);
        assert!(!end.iter().any(|line| line.contains("80/TCP ")), "{end:#?}");
    });
}

#[test]
fn update_of_members() {
    let change = |stage: &Stage| {
        exclude_a_node(stage);
        annotate(stage, &[("default-weight", "50")]);
    };
    killed_anywhere(EXPOSED, change, |end| {
        let members: usize = end.iter().map(|line| line.matches(" *50 ").count()).sum();
        assert_eq!(members, 2, "one node in two groups: {end:#?}");
    });
}

#[test]
fn update_of_zones_and_address_type() {
    let change = |stage: &Stage| {
        let zones = "cn-hangzhou-i:vsw-bp1simi,cn-hangzhou-j:vsw-bp1simj";
        annotate(stage, &[("zone-maps", zones), ("address-type", "intranet")]);
    };
    killed_anywhere(EXPOSED, change, |end| {
        has(end, &["Intranet Active zones [\"cn-hangzhou-i\", \"cn-hangzhou-j\"]"]);
    });
}

#[test]
fn update_of_the_type_of_groups() {
    let change = |stage: &Stage| annotate(stage, &[("server-group-type", "Ip")]);
    killed_anywhere(EXPOSED, change, |end| {
        assert_eq!(counts(end), [1, 2, 0], "{end:#?}");
        assert_eq!(end.iter().map(|line| line.matches("Ip 10.").count()).sum::<usize>(), 4, "{end:#?}");
    });
}

#[test]
fn delete() {
    killed_anywhere(EXPOSED, super::delete, |end| assert_eq!(end, [""; 0]));
}

#[test]
fn delete_with_the_load_balancer_left_behind() {
    let before: Before = |stage| {
        Box::pin(async {
            EXPOSED(stage).await;
            annotate(stage, &[("preserve-lb-on-delete", "true")]);
        })
    };
    killed_anywhere(before, super::delete, |end| {
        assert_eq!((counts(end), end.len()), ([1, 2, 0], 3), "{end:#?}");
        has(end, &["80/TCP Running", "None \"NonProtection\"", "tags []"]);
    });
}

#[test]
fn a_service_that_stops_being_a_load_balancer() {
    let change = |stage: &Stage| patch(stage, json!({ "spec": { "type": "ClusterIP", "loadBalancerClass": null } }));
    killed_anywhere(EXPOSED, change, |end| {
        assert_eq!(end, ["Service web: load balancer none, shows [], {} []"]);
    });
}

#[test]
fn create_with_source_ranges() {
    killed_anywhere(NOTHING, expose_limited, |end| {
        assert_eq!(counts(end), [1, 2, 1], "{end:#?}");
        has(end, &["Accept 1.2.3.4/32 1\", \"Accept 10.0.0.0/8 1\", \"Drop 0.0.0.0/0 100", "[\"k8s-nlb-<web>\"]"]);
    });
}

#[test]
fn source_ranges_begin_and_change() {
    let change =
        |stage: &Stage| patch(stage, json!({ "spec": { "loadBalancerSourceRanges": ["10.0.0.0/8", "5.6.7.8/32"] } }));
    for before in [EXPOSED, LIMITED] {
        killed_anywhere(before, change, |end| {
            assert_eq!(counts(end), [1, 2, 1], "{end:#?}");
            has(end, &["[\"Accept 10.0.0.0/8 1\", \"Accept 5.6.7.8/32 1\", \"Drop"]);
        });
    }
}

#[test]
fn source_ranges_end() {
    let change = |stage: &Stage| patch(stage, json!({ "spec": { "loadBalancerSourceRanges": null } }));
    killed_anywhere(LIMITED, change, |end| {
        assert_eq!(counts(end), [1, 2, 0], "{end:#?}");
        assert!(!end.iter().any(|line| line.contains("security-group-id")), "{end:#?}");
    });
}

#[test]
fn delete_with_source_ranges() {
    killed_anywhere(LIMITED, super::delete, |end| assert_eq!(end, [""; 0]));
}

const SOMEBODYS: Before = |stage| Box::pin(async { drop(crate::network::by_hand(stage).await) });

fn expose_on_somebodys(stage: &Stage) {
    let id = stage.cloud().with_state(|state| state.nlb.load_balancers.keys().next().cloned()).unwrap();
    expose_with(stage, &[("id", &id), ("force-override-listeners", "true")], json!({}));
}

#[test]
fn reuse() {
    killed_anywhere(SOMEBODYS, expose_on_somebodys, |end| {
        assert_eq!(counts(end), [1, 3, 0], "{end:#?}");
        has(end, &["9000/TCP Running", "80/TCP Running", "53/UDP Running", "load balancer somebody's"]);
    });
}

#[test]
fn end_of_reuse() {
    let before: Before = |stage| {
        Box::pin(async {
            SOMEBODYS(stage).await;
            expose_on_somebodys(stage);
            stage.pass(Duration::from_secs(10)).await;
        })
    };
    killed_anywhere(before, super::delete, |end| {
        assert_eq!((counts(end), end.len()), ([1, 1, 0], 2), "{end:#?}");
        assert!(!end.iter().any(|line| line.contains("k8s.")), "{end:#?}");
    });
}

/// By annotation, so that the kind can change.
fn expose_as(stage: &Stage, kind: &str) {
    let ranges = json!({ "loadBalancerClass": null, "loadBalancerSourceRanges": ["10.0.0.0/8"] });
    expose_with(stage, &[("zone-maps", ZONES), ("type", kind)], ranges);
}

#[test]
fn from_a_classic_one_to_a_network_one_and_back() {
    let to_network: Before = |stage| {
        Box::pin(async {
            expose_as(stage, "clb");
            stage.pass(Duration::from_secs(10)).await;
        })
    };
    killed_anywhere(
        to_network,
        |stage| annotate(stage, &[("type", "nlb")]),
        |end| {
            assert_eq!((counts(end), end.len()), ([1, 2, 1], 5), "{end:#?}");
            has(end, &["[\"service.k8s.alibaba/nlb\"]"]);
        },
    );
    let to_classic: Before = |stage| {
        Box::pin(async {
            expose_as(stage, "nlb");
            stage.pass(Duration::from_secs(10)).await;
        })
    };
    killed_anywhere(
        to_classic,
        |stage| annotate(stage, &[("type", "clb")]),
        |end| {
            assert_eq!((counts(end), end.len()), ([0, 0, 0], 3), "{end:#?}");
            has(end, &["[\"service.k8s.alibaba/resources\"]"]);
        },
    );
}
