//! What annotations say about ports, members and the load balancer as a whole. Unlike settings of the cloud,
//! most of these are taken back when the annotation goes.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use super::{
    ZONES, annotate, assert_told, balancers, by_hand, expose, expose_with, full, gone, groups, key, listeners,
    members::slice, settings, settled, shown, writes,
};
use crate::support::{Stage, play};

const ENI: (&str, &str) = ("service.beta.kubernetes.io/backend-type", "eni");
const CERTIFICATE: (&str, &str) = ("cert-id", "cert-1");

/// One annotation, what it needs beside it, two values with what comes of them, what is there without it, and
/// a wrong value.
struct Wish {
    name: &'static str,
    beside: &'static [(&'static str, &'static str)],
    first: (&'static str, &'static str),
    second: (&'static str, &'static str),
    without: &'static str,
    wrong: Option<&'static str>,
}

/// The cluster has a node of the pool a, a cordoned one of the pool b, and a pod.
const WISHES: &[Wish] = &[
    Wish {
        name: "protocol-port",
        beside: &[CERTIFICATE],
        first: ("TCPSSL:443", "TCPSSL 443: Ecs 100, Ecs 100"),
        second: ("udp:443", "UDP 443: Ecs 100, Ecs 100"),
        without: "TCP 443: Ecs 100, Ecs 100",
        wrong: Some("HTTPS:443"),
    },
    Wish {
        name: "listener-port-range",
        beside: &[ENI],
        first: ("30000-30100:443", "TCP 30000-30100: Eni 100"),
        second: ("30000-30050:443,400-500:443", "TCP 30000-30050: Eni 100; TCP 400-500: Eni 100"),
        without: "TCP 443: Eni 100",
        wrong: Some("5:443"),
    },
    Wish {
        name: ENI.0,
        beside: &[],
        first: ("eni", "TCP 443: Eni 100"),
        second: ("ecs", "TCP 443: Ecs 100, Ecs 100"),
        without: "TCP 443: Ecs 100, Ecs 100",
        // As in the released controller, whatever else is there is not "eni".
        wrong: None,
    },
    Wish {
        name: "server-group-type",
        beside: &[],
        first: ("ip", "TCP 443: Ip 100, Ip 100"),
        second: ("Instance", "TCP 443: Ecs 100, Ecs 100"),
        without: "TCP 443: Ecs 100, Ecs 100",
        wrong: Some("Pod"),
    },
    Wish {
        name: "backend-label",
        beside: &[],
        first: ("pool=a", "TCP 443: Ecs 100"),
        second: ("pool=b,cordoned=yes", "TCP 443: Ecs 100"),
        without: "TCP 443: Ecs 100, Ecs 100",
        wrong: Some("pool"),
    },
    Wish {
        name: "default-weight",
        beside: &[],
        first: ("30", "TCP 443: Ecs 30, Ecs 30"),
        second: ("0", "TCP 443: Ecs 0, Ecs 0"),
        without: "TCP 443: Ecs 100, Ecs 100",
        wrong: Some("101"),
    },
    Wish {
        name: "remove-unscheduled-backend",
        beside: &[],
        first: ("on", "TCP 443: Ecs 100"),
        second: ("off", "TCP 443: Ecs 100, Ecs 100"),
        without: "TCP 443: Ecs 100, Ecs 100",
        wrong: Some("yes"),
    },
];

/// Those with tests of their own, and the module that has them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("backend-ip-version", "families"),
    ("bandwidth-package-id", "settings"),
    ("force-override-listeners", "here"),
    ("id", "here"),
    ("ignore-weight-update", "here"),
    ("ip-version", "here"),
    ("preserve-lb-on-delete", "here"),
    ("recreate-lb-on-loss", "loss"),
    ("resource-group-id", "here"),
    ("vgroup-port", "user_groups"),
    ("weight", "user_groups"),
];

/// All listeners, each with the members it sends to.
fn there(stage: &Stage) -> String {
    let groups = groups(stage);
    let mut lines: Vec<String> = listeners(stage)
        .into_iter()
        .map(|listener| {
            let ports =
                listener.range.map_or_else(|| listener.port.to_string(), |(first, last)| format!("{first}-{last}"));
            let group = groups.iter().find(|group| group.id == listener.server_group).unwrap();
            let mut members: Vec<String> = group.servers.iter().map(|s| format!("{} {}", s.kind, s.weight)).collect();
            members.sort();
            format!("{} {ports}: {}", listener.protocol, members.join(", "))
        })
        .collect();
    lines.sort();
    assert_eq!(lines.len(), groups.len(), "a group for each listener, and no more: {groups:?}");
    lines.join("; ")
}

fn port() -> Value {
    json!([{ "port": 443, "targetPort": 8080 }])
}

#[test]
fn each_wish_is_followed_changed_taken_back_and_refused_when_wrong() {
    for Wish { name, beside, first, second, without, wrong } in WISHES {
        play(|stage| async move {
            settings::furnish(&stage);
            let _replica = stage.start_alone();
            let nodes = stage.joined(2).await;
            let plain = json!({ "metadata": { "labels": { "pool": "a" } } });
            let cordoned = json!({
                "metadata": { "labels": { "pool": "b", "cordoned": "yes" } }, "spec": { "unschedulable": true },
            });
            for (node, change) in nodes.iter().zip([plain, cordoned]) {
                stage.world.kube.patch::<Node>("", node, change).unwrap();
            }
            let pod = stage.cloud().with_state(|state| state.ecs.interfaces.values().next().unwrap().private_ips[0]);
            slice(&stage, &[(&pod.to_string(), None)], 8080);
            let mut pairs = beside.to_vec();
            pairs.push((name, first.0));
            expose(&stage, &pairs, port());
            settled(&stage).await;
            assert_eq!(there(&stage), first.1, "{name} on creation; {:?}", stage.told("web"));
            annotate(&stage, json!({ (full(name)): second.0 })).await;
            assert_eq!(there(&stage), second.1, "{name} changed; {:?}", stage.told("web"));
            annotate(&stage, json!({ (full(name)): null })).await;
            assert_eq!(there(&stage), *without, "{name} removed; {:?}", stage.told("web"));
            let Some(wrong) = wrong else { return };
            stage.clear_calls();
            annotate(&stage, json!({ (full(name)): wrong })).await;
            assert_told(&stage, &format!("{name} is {wrong:?}"));
            assert_eq!((there(&stage), writes(&stage)), ((*without).to_owned(), vec![]), "{name}");
        });
    }
}

/// Nothing that the page about annotations promises goes without a test.
#[test]
fn every_annotation_is_tried() {
    let page = include_str!("../../../docs/annotations.md");
    let ours = page.split_once("## On a network load balancer").expect("a part about network load balancers").1;
    let promised: BTreeSet<&str> =
        ours.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name)).collect();
    let tried: BTreeSet<&str> = settings::suffixes()
        .chain(WISHES.iter().map(|wish| wish.name))
        .chain(ELSEWHERE.iter().map(|(name, _)| *name))
        .filter(|name| *name != ENI.0)
        .collect();
    assert!(promised.len() > 40, "{promised:?}");
    assert_eq!(promised, tried);
}

#[test]
fn without_pods_as_members_a_range_of_ports_is_told_and_other_ports_go_on() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let ports = json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }]);
        expose(&stage, &[("listener-port-range", "30000-30100:80")], ports);
        stage.until("the other port", || (listeners(&stage).len() == 1).then_some(())).await;
        stage.pass(Duration::from_secs(10)).await;
        assert_told(&stage, "listener port range can only be used for eni backend type service");
        assert_eq!(there(&stage), "TCP 81: Ecs 100");
    });
}

#[test]
fn weights_are_left_alone_as_long_as_that_is_asked_for() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        expose(&stage, &[("ignore-weight-update", "ON"), ("default-weight", "30")], port());
        settled(&stage).await;
        annotate(&stage, json!({ (key("default-weight")): "40" })).await;
        assert_eq!(there(&stage), "TCP 443: Ecs 30");
        annotate(&stage, json!({ (key("ignore-weight-update")): "off" })).await;
        assert_eq!(there(&stage), "TCP 443: Ecs 40");
        annotate(&stage, json!({ (key("ignore-weight-update")): "maybe", (key("default-weight")): "50" })).await;
        assert_told(&stage, "ignore-weight-update is \"maybe\"");
        annotate(&stage, json!({ (key("ignore-weight-update")): null })).await;
        assert_eq!(there(&stage), "TCP 443: Ecs 50");
    });
}

/// Fixed are the families, and the resource group, which groups and the security group share.
#[test]
fn what_is_fixed_is_as_asked_for_from_the_beginning_and_goes_on_without_the_annotation() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let pairs = [("ip-version", "dualstack"), ("resource-group-id", "rg-1")];
        expose_with(&stage, &pairs, json!({ "ports": port(), "loadBalancerSourceRanges": ["10.0.0.0/8"] }));
        settled(&stage).await;
        let now = || {
            let (balancer, group) = (balancers(&stage).remove(0), groups(&stage).remove(0));
            (balancer.ip_version, balancer.resource_group, group.resource_group)
        };
        let as_asked = ("DualStack".to_owned(), "rg-1".to_owned(), "rg-1".to_owned());
        assert_eq!(now(), as_asked);
        let made = stage.cloud().calls().into_iter().find(|call| call.action == "CreateSecurityGroup").unwrap();
        assert!(made.params.iter().any(|(name, value)| (name.as_str(), value.as_str()) == ("ResourceGroupId", "rg-1")));
        stage.clear_calls();
        annotate(&stage, json!({ (key("ip-version")): null, (key("resource-group-id")): null })).await;
        assert_eq!((now(), stage.words()), (as_asked, Vec::<String>::new()));
        assert!(!stage.told("web").iter().any(|(reason, _)| reason.contains("Fail")), "{:?}", stage.told("web"));
    });
}

#[test]
fn a_load_balancer_is_preserved_only_if_that_is_asked_for_at_the_end() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        expose(&stage, &[("preserve-lb-on-delete", "true")], port());
        settled(&stage).await;
        annotate(&stage, json!({ (key("preserve-lb-on-delete")): null })).await;
        gone(&stage).await;
        assert!(balancers(&stage).is_empty() && groups(&stage).is_empty());
        expose(&stage, &[("preserve-lb-on-delete", "")], port());
        settled(&stage).await;
        annotate(&stage, json!({ (key("preserve-lb-on-delete")): "yes" })).await;
        gone(&stage).await;
        assert_eq!((balancers(&stage).len(), groups(&stage).len()), (1, 1));
    });
}

/// The override, and whose load balancer it is.
#[test]
fn the_users_load_balancer_is_kept_while_the_annotations_about_it_are_wrong_or_gone() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (id, _) = by_hand(&stage).await;
        expose(&stage, &[("id", &id), ("force-override-listeners", "true")], port());
        shown(&stage).await;
        stage.pass(Duration::from_secs(10)).await;
        let ours = || listeners(&stage).into_iter().filter(|listener| listener.port == 443).count();
        assert_eq!(ours(), 1);
        stage.clear_calls();
        annotate(&stage, json!({ (key("force-override-listeners")): "yes" })).await;
        assert_told(&stage, "force-override-listeners is \"yes\"");
        annotate(&stage, json!({ (key("force-override-listeners")): null })).await;
        annotate(&stage, json!({ (key("id")): "nlb-nowhere" })).await;
        assert_told(&stage, "load balancer nlb-nowhere of the annotation id does not exist");
        annotate(&stage, json!({ (key("id")): null, (key("zone-maps")): ZONES })).await;
        assert_told(&stage, "name it in the annotation id");
        assert_eq!((ours(), balancers(&stage).len(), writes(&stage)), (1, 1, vec![]));
        annotate(&stage, json!({ (key("id")): id, (key("zone-maps")): null })).await;
        assert_eq!((ours(), writes(&stage)), (1, vec![]), "{:?}", stage.told("web"));
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!((balancers(&stage).len(), groups(&stage).len()), (1, 1));
    });
}

/// What can only be set when the load balancer is there is set once, and what a listener does not have is
/// not sent to it.
#[test]
fn what_follows_creation_is_done_once_and_what_is_for_other_listeners_not_at_all() {
    play(|stage| async move {
        settings::furnish(&stage);
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let pairs = [
            ("ip-version", "DualStack"),
            ("security-group-ids", "sg-1"),
            ("ipv6-address-type", "internet"),
            ("cross-zone-enabled", "off"),
            ("protocol-port", "TCPSSL:443"),
            CERTIFICATE,
            ("additional-cert-ids", "cert-2"),
            ("cacert", "on"),
            ("cacert-id", "ca-1"),
            ("tls-cipher-policy", "tls_cipher_policy_1_2"),
        ];
        let ports = json!([
            { "name": "a", "port": 443 }, { "name": "b", "port": 80 }, { "name": "c", "port": 53, "protocol": "UDP" },
        ]);
        expose(&stage, &pairs, ports);
        stage.until("all listeners", || (listeners(&stage).len() == 3).then_some(())).await;
        stage.pass(Duration::from_secs(600)).await;
        let counts = stage.cloud().call_counts();
        for action in [
            "nlb.LoadBalancerJoinSecurityGroup",
            "nlb.EnableLoadBalancerIpv6Internet",
            "nlb.UpdateLoadBalancerAttribute",
            "nlb.AssociateAdditionalCertificatesWithListener",
        ] {
            assert_eq!(counts.get(action).copied(), Some(1), "{action}: {counts:?}");
        }
        assert!(counts.get("nlb.ListListenerCertificates").copied().unwrap_or_default() <= 1, "{counts:?}");
        for listener in listeners(&stage) {
            let plain = listener.certificates.is_empty() && listener.ca_certificates.is_empty();
            assert_eq!(plain, listener.protocol != "TCPSSL", "{listener:?}");
        }
        assert!(!stage.told("web").iter().any(|(reason, _)| reason.contains("Fail")), "{:?}", stage.told("web"));
    });
}
