//! What goes on where the cloud has no more room, of whatever kind.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::{
    pods,
    support::{play, play_unheard},
};

fn error(code: &str) -> FaultKind {
    FaultKind::Error { status: 400, code: code.into(), message: "no".into() }
}

#[test]
fn a_full_vswitch_gives_way_to_the_next_configured_one() {
    let vswitches =
        json!({ "vswitchid": "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi,cn-hangzhou-j:vsw-bp1simj" });
    for (full, annotated) in [(0, false), (1, false), (2, false), (3, false), (1, true)] {
        let vswitches = vswitches.clone();
        play(|stage| async move {
            let _replica = stage.start_with(&["--leader-elect=false"], vswitches);
            stage.joined(1).await;
            stage.cloud().inject(Fault::on("slb.CreateLoadBalancer", error("VSwitchAvailableIpNotExist")).times(full));
            let mut annotations = vec![("address-type", "intranet")];
            if annotated {
                annotations.push(("vswitch-id", "vsw-bp1simi"));
            }
            stage.ask_web(&annotations);
            stage.pass(Duration::from_secs(10)).await;
            let tried: Vec<String> = stage
                .cloud()
                .calls()
                .into_iter()
                .filter(|call| call.action == "CreateLoadBalancer")
                .map(|call| call.params["VSwitchId"].clone())
                .collect();
            let mut each = tried.clone();
            each.sort();
            each.dedup();
            assert_eq!(each.len(), tried.len(), "each once: {tried:?}");
            let fails = annotated || full == 3;
            assert_eq!(tried.len(), if annotated { 1 } else { 3.min(full as usize + 1) }, "{tried:?}");
            assert_eq!(stage.cloud().load_balancers().len(), usize::from(!fails));
            assert_eq!(stage.texts("web", "QuotaExceeded").len(), usize::from(fails), "{:?}", stage.told("web"));
            stage.pass(Duration::from_secs(320)).await;
            assert_eq!(stage.cloud().load_balancers().len(), 1, "there is room again");
        });
    }
}

#[test]
fn a_used_up_quota_or_balance_is_told_once_and_tried_seldom_while_others_go_on() {
    for code in ["OverQuota", "PAY.INSUFFICIENT_BALANCE"] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
            stage.address("other").await;
            stage.cloud().inject(Fault::on("slb.CreateLoadBalancer", error(code)));
            stage.clear_calls();
            stage.ask_web(&[]);
            stage.pass(Duration::from_secs(1800)).await;
            let told = stage.texts("web", "QuotaExceeded");
            assert!(told.len() == 1 && told[0].contains(code), "{:?}", stage.told("web"));
            let attempts = stage.words().iter().filter(|word| word.starts_with("slb.CreateLoadBalancer ")).count();
            assert!((5..=13).contains(&attempts), "{attempts} attempts in half an hour");
            let ports = json!({ "spec": { "ports": [{ "name": "p", "port": 81 }] } });
            stage.world.kube.patch::<Service>("default", "other", ports).unwrap();
            stage.pass(Duration::from_secs(20)).await;
            let other = stage.cloud().load_balancers().pop().unwrap();
            assert_eq!(stage.cloud().listeners(&other.id)[0].port, 81);
            stage.cloud().clear_faults();
            stage.pass(Duration::from_secs(310)).await;
            assert_eq!(stage.cloud().load_balancers().len(), 2);
        });
    }
}

#[test]
fn members_beyond_the_quota_come_after_those_that_leave_and_the_group_is_never_empty() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(12).await;
        for (number, node) in nodes.iter().enumerate() {
            let label = json!({ "metadata": { "labels": { "half": if number < 6 { "a" } else { "b" } } } });
            stage.world.kube.patch::<k8s_openapi::api::core::v1::Node>("", node, label).unwrap();
        }
        stage.cloud().configure(|options| options.quotas.backend_servers = Some(8));
        stage.ask_web(&[("backend-label", "half=a")]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let load_balancer = stage.cloud().load_balancers().pop().unwrap().id;
        let servers = || -> Vec<String> {
            stage.cloud().groups(&load_balancer)[0].servers.iter().map(|server| server.id.clone()).collect()
        };
        let before = servers();
        assert_eq!(before.len(), 6);
        stage.annotate("web", &[("backend-label", Some("half=b"))]);
        for _ in 0..600 {
            stage.pass(Duration::from_millis(50)).await;
            assert!(!servers().is_empty());
        }
        let after = servers();
        assert_eq!(after.len(), 6, "{:?} {:?}", stage.words(), stage.told("web"));
        assert!(after.iter().all(|server| !before.contains(server)));
        let told = stage.texts("web", "QuotaExceeded");
        assert!(
            told.iter().any(|text| text.contains("InstanceBackendServerNumberOverLimit")),
            "{:?}",
            stage.told("web")
        );
    });
}

/// A new node port is a new group, and the old one keeps its members until the listener has moved.
#[test]
fn a_port_moves_to_another_group_although_the_quota_of_members_is_used_up() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(8).await;
        stage.cloud().configure(|options| options.quotas.backend_servers = Some(8));
        stage.ask_web(&[]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let load_balancer = stage.cloud().load_balancers().pop().unwrap().id;
        let serving = || {
            let listener = stage.cloud().listeners(&load_balancer).remove(0);
            let groups = stage.cloud().groups(&load_balancer);
            let group = groups.into_iter().find(|group| Some(group.id.as_str()) == listener.group()).unwrap();
            (group.name, group.servers.len())
        };
        let before = serving();
        assert_eq!(before.1, 8);
        let ports = json!({ "spec": { "ports": [{ "port": 80, "nodePort": 31999, "protocol": "TCP" }] } });
        stage.world.kube.patch::<Service>("default", "web", ports).unwrap();
        for _ in 0..9000 {
            stage.pass(Duration::from_millis(50)).await;
            assert!(serving().1 > 0, "clients find nobody");
        }
        let after = serving();
        assert_eq!((after.0.as_str(), after.1), ("k8s/31999/web/default/c1", 8), "{:?}", stage.told("web"));
        assert_eq!(stage.cloud().groups(&load_balancer).len(), 1, "the old group is gone");
        let told = stage.texts("web", "QuotaExceeded");
        assert!(told.iter().any(|text| text.contains("the quota of backend servers")), "{told:?}");
    });
}

/// Where nobody is to go, as many come as there is room for, and those that serve are left alone.
#[test]
fn a_quota_is_used_to_the_last_member_and_nobody_leaves_for_it() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(5).await;
        stage.cloud().configure(|options| options.quotas.backend_servers = Some(8));
        stage.ask_web(&[]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.joined(6).await;
        stage.pass(Duration::from_secs(900)).await;
        let load_balancer = stage.cloud().load_balancers().pop().unwrap().id;
        assert_eq!(stage.cloud().groups(&load_balancer)[0].servers.len(), 8);
        assert!(!stage.words().iter().any(|word| word.contains("RemoveVServerGroup")), "{:?}", stage.words());
        assert_eq!(stage.texts("web", "QuotaExceeded").len(), 1, "{:?}", stage.told("web"));
        stage.cloud().configure(|options| options.quotas.backend_servers = None);
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(stage.cloud().groups(&load_balancer)[0].servers.len(), 11);
    });
}

/// S21 at its size. The pods of each wave come before those that they replace go.
#[test]
fn a_rollout_of_195_pods_twenty_at_a_time_gets_through_a_quota_of_200_members() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| {
            options.check_replies = false;
            options.quotas.backend_servers = Some(200);
        });
        let _replica = stage.start_alone();
        let all = pods::addresses(&stage, 390);
        let (old, new) = all.split_at(195);
        pods::slice(&stage, old);
        pods::expose(&stage);
        let count = || stage.all_groups().iter().map(|group| group.servers.len()).sum::<usize>();
        stage.until("all members", || (count() == 195).then_some(())).await;
        stage.pass(Duration::from_secs(30)).await;
        stage.clear_calls();
        for wave in 0..10 {
            let (before, after) = (wave * 20, (wave * 20 + 20).min(195));
            for (gone, come) in [(before, after), (after, after)] {
                pods::slice(&stage, &[&old[gone..], &new[..come]].concat());
                for _ in 0..10 {
                    stage.pass(Duration::from_millis(500)).await;
                    assert!((180..=200).contains(&count()), "{} members in wave {wave}", count());
                }
            }
        }
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(pods::members(&stage), pods::eni(new));
        let told = stage.texts("web", "QuotaExceeded");
        assert!(told.iter().any(|text| text.contains("InstanceBackendServerNumberOverLimit")), "{told:?}");
        let writes = stage.balancer_writes().len();
        assert!(writes <= 60, "{writes} writes");
    });
}
