//! Network load balancers of the user's that Services use, alone or together.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::{balancers, by_hand, groups, host_name, key, writes};
use crate::support::{Stage, play};

/// A Service that uses the load balancer, with the right to make listeners on it.
fn share(stage: &Stage, name: &str, id: &str, ports: &[(u16, &str)]) {
    share_with(stage, name, &[("id", id), ("force-override-listeners", "true")], ports);
}

fn share_with(stage: &Stage, name: &str, pairs: &[(&str, &str)], ports: &[(u16, &str)]) {
    let ports: Vec<Value> = ports
        .iter()
        .map(|(port, protocol)| json!({ "name": format!("p{port}{}", protocol.to_lowercase()), "port": port, "protocol": protocol }))
        .collect();
    let pairs: Vec<(String, &str)> = pairs.iter().map(|(suffix, value)| (key(suffix), *value)).collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let spec = json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": ports });
    stage.expose(name, &pairs, spec);
}

/// Port, protocol and description of each listener but the one that was there from the start.
fn listeners(stage: &Stage) -> Vec<String> {
    let all = super::listeners(stage).into_iter().filter(|listener| listener.port != 9000);
    let mut all: Vec<String> =
        all.map(|l| format!("{}/{} {}", l.port, l.protocol, l.attributes["ListenerDescription"])).collect();
    all.sort();
    all
}

async fn listener_by_hand(stage: &Stage, id: &str, group: &str, port: &str, description: &str) {
    let listener = [
        ("LoadBalancerId", id),
        ("ListenerProtocol", "TCP"),
        ("ListenerPort", port),
        ("ListenerDescription", description),
        ("ServerGroupId", group),
    ];
    stage.cloud().administer("nlb.CreateListener", &listener).unwrap();
    stage.pass(Duration::from_secs(3)).await;
}

fn failures(stage: &Stage, name: &str) -> Vec<String> {
    let failed = |(reason, _): &(String, String)| reason == "SyncLoadBalancerFailed";
    stage.told(name).into_iter().filter(failed).map(|(_, text)| text).collect()
}

fn is_ensured(stage: &Stage, name: &str) -> bool {
    stage.told(name).iter().any(|(reason, _)| reason == "EnsuredLoadBalancer")
}

async fn settled(stage: &Stage, name: &str) {
    stage.until("a host name", || host_name(&stage.service(name)?)).await;
    stage.pass(Duration::from_secs(10)).await;
}

#[test]
fn the_later_of_two_services_on_one_port_is_told_of_the_first_and_follows_it() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (id, _) = by_hand(&stage).await;
        share(&stage, "first", &id, &[(80, "TCP")]);
        settled(&stage, "first").await;
        share(&stage, "second", &id, &[(80, "TCP"), (81, "TCP")]);
        stage.pass(Duration::from_secs(200)).await;
        assert_eq!(listeners(&stage), ["80/TCP k8s.80.TCP.first.default.c1", "81/TCP k8s.81.TCP.second.default.c1"]);
        let told = failures(&stage, "second");
        assert!(told.iter().any(|text| text.contains("listener 80/TCP") && text.contains("default/first")), "{told:?}");
        assert!(!is_ensured(&stage, "second"));
        assert_eq!(failures(&stage, "first"), Vec::<String>::new());
        stage.world.kube.delete::<Service>("default", "first").unwrap();
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!(listeners(&stage), ["80/TCP k8s.80.TCP.second.default.c1", "81/TCP k8s.81.TCP.second.default.c1"]);
        assert!(stage.service("first").is_none());
        assert!(is_ensured(&stage, "second"), "{:?}", stage.told("second"));
    });
}

#[test]
fn a_port_that_the_first_gives_up_goes_to_the_second() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (id, _) = by_hand(&stage).await;
        share(&stage, "first", &id, &[(80, "TCP")]);
        settled(&stage, "first").await;
        share(&stage, "second", &id, &[(80, "TCP")]);
        stage.pass(Duration::from_secs(200)).await;
        let ports = json!({ "spec": { "ports": [{ "name": "p", "port": 90 }] } });
        stage.world.kube.patch::<Service>("default", "first", ports).unwrap();
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!(listeners(&stage), ["80/TCP k8s.80.TCP.second.default.c1", "90/TCP k8s.90.TCP.first.default.c1"]);
    });
}

#[test]
fn the_older_service_gets_the_port_whichever_is_seen_first() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        replica.stop().await.unwrap();
        let (id, _) = by_hand(&stage).await;
        share(&stage, "zeta", &id, &[(80, "TCP")]);
        stage.pass(Duration::from_secs(10)).await;
        share(&stage, "alpha", &id, &[(80, "TCP")]);
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(listeners(&stage), ["80/TCP k8s.80.TCP.zeta.default.c1"]);
        let told = failures(&stage, "alpha");
        assert!(told.iter().all(|text| text.contains("default/zeta")) && !told.is_empty(), "{told:?}");
        assert_eq!(failures(&stage, "zeta"), Vec::<String>::new());
    });
}

#[test]
fn tcp_and_udp_on_one_port_are_no_conflict_and_services_that_change_one_load_balancer_at_once_wait_for_each_other() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (id, _) = by_hand(&stage).await;
        // The load balancer takes one change at a time.
        share(&stage, "tcp", &id, &[(53, "TCP")]);
        share(&stage, "udp", &id, &[(53, "UDP")]);
        share(&stage, "other", &id, &[(54, "UDP"), (55, "TCP")]);
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(
            listeners(&stage),
            [
                "53/TCP k8s.53.TCP.tcp.default.c1",
                "53/UDP k8s.53.UDP.udp.default.c1",
                "54/UDP k8s.54.UDP.other.default.c1",
                "55/TCP k8s.55.TCP.other.default.c1"
            ]
        );
        for name in ["tcp", "udp", "other"] {
            assert_eq!(failures(&stage, name), Vec::<String>::new());
            assert!(is_ensured(&stage, name));
        }
        let refused = stage.words().into_iter().filter(|word| word.contains(' ')).count();
        assert_eq!(refused, 0, "{:?}", stage.words());
    });
}

#[test]
fn a_port_that_another_cluster_gives_up_is_taken_over() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (id, group) = by_hand(&stage).await;
        listener_by_hand(&stage, &id, &group, "80", "k8s.80.TCP.web.default.c2").await;
        share(&stage, "web", &id, &[(80, "TCP")]);
        stage.pass(Duration::from_secs(900)).await;
        assert_eq!(listeners(&stage), ["80/TCP k8s.80.TCP.web.default.c2"]);
        assert!(failures(&stage, "web")[0].contains("default/web in the cluster c2"), "{:?}", failures(&stage, "web"));
        let theirs = super::listeners(&stage).into_iter().find(|listener| listener.port == 80).unwrap();
        stage.cloud().administer("nlb.DeleteListener", &[("ListenerId", theirs.id.as_str())]).unwrap();
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(listeners(&stage), ["80/TCP k8s.80.TCP.web.default.c1"]);
    });
}

#[test]
fn without_the_override_attributes_and_listeners_are_the_users() {
    for value in [None, Some("false"), Some("true")] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let (id, group) = by_hand(&stage).await;
            listener_by_hand(&stage, &id, &group, "443", "mine").await;
            listener_by_hand(&stage, &id, &group, "8443", "mine too").await;
            let zones = "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi,cn-hangzhou-j:vsw-bp1simj";
            let mut pairs = vec![
                ("id", id.as_str()),
                ("name", "new-name"),
                ("address-type", "intranet"),
                ("cross-zone-enabled", "off"),
                ("zone-maps", zones),
                ("additional-resource-tags", "team=shop"),
            ];
            pairs.extend(value.map(|value| ("force-override-listeners", value)));
            stage.clear_calls();
            share_with(&stage, "web", &pairs, &[(443, "TCP")]);
            settled(&stage, "web").await;
            let now = || {
                let one = balancers(&stage).pop().unwrap();
                (one.name, one.address_type, one.cross_zone, one.zones.len(), one.tags.get("team").cloned())
            };
            let (as_it_was, changed) = (
                ("by-hand".to_owned(), "Internet".to_owned(), true, 2, None),
                ("new-name".to_owned(), "Intranet".to_owned(), false, 3, Some("shop".to_owned())),
            );
            let told = stage.told("web");
            let unheeded = told.iter().find(|(reason, _)| reason == "FeatureNotSupported");
            assert_eq!(groups(&stage).len(), 2, "the group is there in any case");
            if value == Some("true") {
                assert_eq!(listeners(&stage), ["443/TCP k8s.443.TCP.web.default.c1", "8443/TCP mine too"]);
                assert_eq!((now(), unheeded), (changed, None));
            } else {
                assert_eq!(listeners(&stage), ["443/TCP mine", "8443/TCP mine too"]);
                assert_eq!(now(), as_it_was);
                assert!(unheeded.is_some_and(|(_, text)| text.contains("name, address-type, zone-maps")), "{told:?}");
                assert_eq!(writes(&stage), ["nlb.CreateServerGroup", "nlb.AddServersToServerGroup"]);
            }
            let before = now();
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
            let left =
                if value == Some("true") { &["8443/TCP mine too"][..] } else { &["443/TCP mine", "8443/TCP mine too"] };
            assert_eq!(
                (listeners(&stage), groups(&stage).len(), now()),
                (left.iter().map(|l| (*l).to_owned()).collect(), 1, before)
            );
        });
    }
}

#[test]
fn what_cannot_be_used_is_refused_for_its_own_reason_before_anything_is_changed() {
    for (case, expected) in [
        ("api server", "it serves the API server of the cluster c1"),
        ("other service", "it was made for the Service default/other"),
        ("other cluster", "it was made for a Service of another cluster"),
        ("vpc", "it is in the VPC vpc-elsewhere and cannot reach this cluster"),
        ("missing", "does not exist in this region"),
    ] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let (mut id, _) = by_hand(&stage).await;
            let tag = |key: &str, value: &str| {
                stage.cloud().with_state(|state| {
                    let tags = &mut state.nlb.load_balancers.get_mut(&id).unwrap().tags;
                    tags.insert(key.to_owned(), value.to_owned());
                });
            };
            match case {
                "api server" => tag("ack.aliyun.com", "c1"),
                "other cluster" => tag("kubernetes.do.not.delete", "a0123"),
                "other service" => {
                    share_with(&stage, "other", &[("zone-maps", super::ZONES)], &[(80, "TCP")]);
                    settled(&stage, "other").await;
                    id = balancers(&stage).into_iter().find(|one| one.id != id).unwrap().id;
                }
                "vpc" => stage.cloud().with_state(|state| {
                    "vpc-elsewhere".clone_into(&mut state.nlb.load_balancers.get_mut(&id).unwrap().vpc);
                }),
                _ => "nlb-nowhere".clone_into(&mut id),
            }
            stage.clear_calls();
            share(&stage, "web", &id, &[(80, "TCP")]);
            stage.pass(Duration::from_secs(120)).await;
            let told = failures(&stage, "web");
            assert!(!told.is_empty() && told.iter().all(|text| text.contains(expected)), "{case}: {told:?}");
            assert_eq!(writes(&stage), Vec::<String>::new(), "{case}");
            // A Service that never had anything there goes without a trace.
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.pass(Duration::from_secs(10)).await;
            assert!(stage.service("web").is_none(), "{case}");
            assert_eq!(writes(&stage), Vec::<String>::new(), "{case}");
        });
    }
}
