//! What passes by itself is tried again within seconds; what does not is tried seldom, told once, and
//! takes nothing away from others.

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind};
use serde_json::json;

use crate::{
    reuse::{by_hand, share, tag},
    support::{play, play_unheard},
};

fn refused(status: u16, code: &str) -> FaultKind {
    FaultKind::Error { status, code: code.into(), message: "not now".into() }
}

#[test]
fn trouble_that_passes_keeps_a_member_waiting_for_seconds() {
    let mut troubles: Vec<(String, FaultKind)> = [
        (400, "ServiceIsConfiguring"),
        (400, "OperationConflict"),
        (400, "IncorrectStatus.LoadBalancer"),
        (400, "IncorrectStatus.Listener"),
        (400, "SystemBusy"),
        (503, "ServiceUnavailable"),
        (400, "ServiceUnavailable"),
        (400, "LastTokenProcessing"),
        (409, "Conflict.Lock"),
        (400, "ResourceInConfiguring.LoadBalancer"),
        (400, "ResourceInConfiguring.ServerGroup"),
        (400, "Throttling"),
        (400, "Throttling.User"),
        (500, "InternalError"),
        (500, ""),
        (503, ""),
    ]
    .into_iter()
    .map(|(status, code)| (format!("{status} {code}"), refused(status, code)))
    .collect();
    troubles.extend([
        ("a broken connection".to_owned(), FaultKind::DropBefore),
        ("a lost answer".to_owned(), FaultKind::DropAfter),
        ("a timeout".to_owned(), FaultKind::Slow(Duration::from_secs(90))),
    ]);
    for (name, kind) in troubles {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            stage.ask_web(&[]);
            stage.address("web").await;
            stage.pass(Duration::from_secs(20)).await;
            // Minutes of it, in which waits between tries could grow. Where the cloud does not answer at all,
            // they may, so as not to overrun it when it comes back.
            let answers = name.starts_with(|first: char| first.is_ascii_digit());
            stage.cloud().inject(Fault::on("slb.AddVServerGroupBackendServers", kind.clone()));
            stage.joined(1).await;
            stage.pass(Duration::from_secs(if answers { 300 } else { 30 })).await;
            stage.cloud().clear_faults();
            stage.pass(Duration::from_secs(45)).await;
            let servers = &stage.all_groups()[0].servers;
            assert_eq!(servers.len(), 2, "{name}: {:?}", stage.words());
            let tries = stage.words().iter().filter(|word| word.starts_with("slb.AddVServer")).count();
            assert!(tries <= 90, "{name}: {tries} tries");
            // Twice in passing, it costs seconds.
            stage.cloud().inject(Fault::on("slb.AddVServerGroupBackendServers", kind).times(2));
            stage.joined(1).await;
            let members = || stage.all_groups()[0].servers.len();
            let patience = if name == "a timeout" { 100 } else { 20 };
            stage.until_within(Duration::from_secs(patience), &name, || (members() == 3).then_some(())).await;
        });
    }
}

#[test]
fn what_can_never_be_made_is_told_once_tried_seldom_and_at_once_when_changed() {
    play_unheard(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.ask_web(&[]);
        stage.address("web").await;
        let wrong = [("address-type", "intranet"), ("vswitch-id", "vsw-nowhere")];
        let port = || json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        for number in 0..200 {
            stage.ask(&format!("wrong-{number}"), &wrong, port());
        }
        let tries = || stage.words().iter().filter(|word| word.starts_with("slb.CreateLoadBalancer ")).count();
        stage.pass(Duration::from_secs(60)).await;
        // Another Service's change does not stand in line behind them.
        stage.clear_calls();
        stage.change("web", json!({ "spec": { "ports": [{ "name": "p", "port": 81 }] } }));
        let its = || stage.cloud().load_balancers().into_iter().find(|lb| lb.address_type == "internet").unwrap();
        let follows = || (stage.cloud().listeners(&its().id)[0].port == 81).then_some(());
        stage.until_within(Duration::from_secs(10), "the other Service's change", follows).await;
        stage.pass(Duration::from_secs(1800)).await;
        stage.clear_calls();
        stage.pass(Duration::from_secs(600)).await;
        assert!((200..=500).contains(&tries()), "{} tries of 200 Services in ten minutes", tries());
        for number in 0..200 {
            let told = stage.failures(&format!("wrong-{number}"));
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].contains("vsw-nowhere") && told[0].contains("InvalidVSwitchId.NotFound"), "{told:?}");
        }
        stage.annotate("wrong-7", &[("vswitch-id", Some("vsw-bp1simi"))]);
        stage.pass(Duration::from_secs(10)).await;
        let made = stage.cloud().load_balancers();
        assert!(made.iter().any(|lb| lb.vswitch == "vsw-bp1simi"), "{:?}", stage.told("wrong-7"));
    });
}

#[test]
fn wrong_annotations_cost_no_call_however_many_services_have_them() {
    play_unheard(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        for number in 0..200 {
            let port = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
            stage.ask(&format!("wrong-{number}"), &[("bandwidth", "fast")], port);
        }
        stage.pass(Duration::from_secs(600)).await;
        let calls = stage.words().iter().filter(|word| word.starts_with("slb.")).count();
        assert_eq!(calls, 0, "{:?}", stage.cloud().call_counts());
        let told = (0..200).map(|number| stage.failures(&format!("wrong-{number}")).len()).collect::<BTreeSet<_>>();
        assert_eq!(told, BTreeSet::from([1]));
        stage.annotate("wrong-3", &[("bandwidth", Some("5"))]);
        stage.address("wrong-3").await;
    });
}

/// Somebody mistypes an annotation in the evening, and nodes are replaced during the night.
#[test]
fn members_follow_nodes_while_an_annotation_is_wrong() {
    for (suffix, value) in [
        ("scheduler", "best"),
        ("address-type", "outer"),
        ("protocol-port", "what"),
        ("spec.loadBalancerSourceRanges", "2001:db8::/64"),
    ] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            let old = stage.joined(2).await;
            stage.ask_web(&[]);
            stage.address("web").await;
            stage.pass(Duration::from_secs(10)).await;
            let listener = stage.only_listener();
            match suffix {
                "spec.loadBalancerSourceRanges" => {
                    stage.change("web", json!({ "spec": { "loadBalancerSourceRanges": [value] } }));
                }
                _ => stage.annotate("web", &[(suffix, Some(value))]),
            }
            stage.pass(Duration::from_secs(10)).await;
            let told = stage.failures("web");
            assert!(told.len() == 1 && told[0].contains(suffix) && told[0].contains(value), "{told:?}");
            let new: BTreeSet<String> = stage.joined(2).await.into_iter().collect();
            for node in &old {
                stage.world.leave(node).unwrap();
            }
            stage.pass(Duration::from_secs(60)).await;
            assert_eq!(stage.member_nodes(), new, "{suffix}");
            assert_eq!(stage.only_listener(), listener, "{suffix}");
            assert_eq!(stage.failures("web").len(), 1, "{suffix}: {:?}", stage.failures("web"));
            let ensured = stage.texts("web", "EnsuredLoadBalancer").len();
            assert_eq!(ensured, 1, "{suffix}: it is not as asked for");
        });
    }
}

/// Whichever load balancer the annotation `id` names by now, clients come to the one that the Service shows.
#[test]
fn members_follow_nodes_where_clients_come_while_the_load_balancer_named_is_refused() {
    let port = || json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
    for (case, expected) in [
        ("another", "cannot be bound to ip"),
        ("nowhere", "does not exist in this region"),
        ("taken away", "name it in the annotation id"),
        ("another address type", "its address is internet"),
        ("the API server's", "it serves the API server"),
        ("named beside one of its own", "cannot be bound to ip"),
    ] {
        play(|stage| async move {
            let replica = stage.start_alone();
            let old = stage.joined(2).await;
            let (id, other) = (by_hand(&stage, &[]), by_hand(&stage, &[]));
            if case == "named beside one of its own" {
                stage.ask("web", &[], port());
            } else {
                share(&stage, "web", &id, &[(80, "TCP")]);
            }
            let address = stage.address("web").await;
            stage.pass(Duration::from_secs(10)).await;
            replica.stop().await.unwrap();
            match case {
                "nowhere" => stage.annotate("web", &[("id", Some("lb-nowhere"))]),
                "taken away" => stage.annotate("web", &[("id", None)]),
                "another address type" => stage.annotate("web", &[("address-type", Some("intranet"))]),
                "the API server's" => tag(&stage, &id, "ack.aliyun.com", "c1"),
                _ => stage.annotate("web", &[("id", Some(&other))]),
            }
            let _replica = stage.start_alone();
            stage.pass(Duration::from_secs(10)).await;
            stage.clear_calls();
            let new: BTreeSet<String> = stage.joined(2).await.into_iter().collect();
            for node in &old {
                stage.world.leave(node).unwrap();
            }
            stage.pass(Duration::from_secs(60)).await;
            assert_eq!(stage.member_nodes(), new, "{case}: {:?}", stage.words());
            let group = stage.all_groups();
            assert_eq!(group.len(), 1, "{case}");
            let is_about_members = |write: &String| write.ends_with("VServerGroupBackendServers");
            assert!(stage.balancer_writes().iter().all(is_about_members), "{case}: {:?}", stage.balancer_writes());
            let told = stage.failures("web");
            assert!(!told.is_empty() && told.iter().all(|text| text.contains(expected)), "{case}: {told:?}");
            assert_eq!(stage.address("web").await, address, "{case}");
        });
    }
}

#[test]
fn what_is_wrong_with_a_new_load_balancer_is_told_once_with_its_id() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let ports = json!([{ "name": "a", "port": 80 }, { "name": "s", "port": 99, "protocol": "SCTP" }]);
        stage.ask("web", &[], json!({ "type": "LoadBalancer", "ports": ports }));
        stage.address("web").await;
        stage.pass(Duration::from_secs(120)).await;
        let told = stage.failures("web");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(&format!("[{}]: port 99", stage.balancer().id)), "{told:?}");
    });
}
