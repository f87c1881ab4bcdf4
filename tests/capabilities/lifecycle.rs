//! From the first load balancer of a Service to its end, whatever happens in between.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, address_of, play};

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

fn key(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

fn web(stage: &Stage, annotations: &[(&str, &str)]) {
    stage.expose("web", annotations, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
}

fn annotate(stage: &Stage, changes: Value) {
    stage.world.kube.patch::<Service>("default", "web", json!({ "metadata": { "annotations": changes } })).unwrap();
}

fn texts(stage: &Stage, wanted: &str) -> Vec<String> {
    let told = stage.told("web").into_iter();
    told.filter(|(reason, _)| reason == wanted).map(|(_, text)| text).collect()
}

fn error(code: &str) -> FaultKind {
    FaultKind::Error { status: 400, code: code.into(), message: "no".into() }
}

#[test]
fn a_lost_load_balancer_is_told_with_a_way_out_and_made_anew_only_if_asked_for() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage, &[]);
        let address = stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let lost = stage.cloud().load_balancers().pop().unwrap().id;
        stage.cloud().remove_load_balancer(&lost);
        // The next change finds out.
        stage.joined(1).await;
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 0);
        let told = texts(&stage, "SyncLoadBalancerFailed");
        let remedy =
            |text: &String| text.contains("can not find loadbalancer") && text.contains(&key("recreate-lb-on-loss"));
        assert!(told.iter().any(remedy), "{told:?}");
        annotate(&stage, json!({ (key("recreate-lb-on-loss")): "on" }));
        stage.pass(Duration::from_secs(60)).await;
        let made = stage.cloud().load_balancers();
        assert_eq!(made.len(), 1, "{:?}", stage.told("web"));
        let service = stage.service("web").unwrap();
        assert_eq!(address_of(&service), Some(made[0].address.to_string()));
        assert_ne!(address_of(&service), Some(address));
        assert_eq!(service.metadata.labels.unwrap()["service.k8s.alibaba/loadbalancer-id"], made[0].id);
        assert_eq!(stage.cloud().groups(&made[0].id)[0].servers.len(), 2);
        assert_eq!(texts(&stage, "RecreatedLoadBalancer").len(), 1);
    });
}

#[test]
fn a_load_balancer_that_only_lost_its_mark_is_never_made_anew() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage, &[(&key("recreate-lb-on-loss"), "on"), (&key("name"), "shop")]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let before = stage.cloud().load_balancers().pop().unwrap();
        stage.cloud().with_state(|state| state.slb.load_balancers.get_mut(&before.id).unwrap().tags.clear());
        replica.stop().await.unwrap();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(120)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 1);
        let told = texts(&stage, "SyncLoadBalancerFailed");
        assert!(told.iter().any(|text| text.contains("put its tag kubernetes.do.not.delete=")), "{told:?}");
        stage.cloud().with_state(|state| {
            state.slb.load_balancers.get_mut(&before.id).unwrap().tags.clone_from(&before.tags);
        });
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(texts(&stage, "EnsuredLoadBalancer").len(), 2, "{:?}", stage.told("web"));
    });
}

#[test]
fn empty_answers_prove_no_loss() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage, &[(&key("recreate-lb-on-loss"), "on")]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        replica.stop().await.unwrap();
        stage.cloud().inject(Fault::on("slb.DescribeLoadBalancers", FaultKind::EmptyList));
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(120)).await;
        stage.joined(1).await;
        stage.cloud().clear_faults();
        stage.pass(Duration::from_secs(400)).await;
        let load_balancers = stage.cloud().load_balancers();
        assert_eq!(load_balancers.len(), 1);
        assert_eq!(stage.cloud().groups(&load_balancers[0].id)[0].servers.len(), 2);
        assert!(!stage.words().iter().any(|word| word.starts_with("slb.CreateLoadBalancer")), "{:?}", stage.words());
    });
}

#[test]
fn a_service_can_be_deleted_whatever_is_gone_wrong_or_forbidden() {
    for case in
        ["", "load balancer", "by hand", "annotations", "no public", "class", "tunnel", "restarted", "all of it"]
    {
        play(|stage| async move {
            let mut replica = Some(stage.start_alone());
            stage.joined(1).await;
            web(&stage, &[]);
            stage.address("web").await;
            stage.pass(Duration::from_secs(10)).await;
            let id = stage.cloud().load_balancers().pop().unwrap().id;
            let all = case == "all of it";
            if all || ["restarted", "no public"].contains(&case) {
                replica.take().unwrap().stop().await.unwrap();
            }
            if all || case == "load balancer" {
                stage.cloud().remove_load_balancer(&id);
            }
            if case == "by hand" {
                // Protected by somebody, and with a listener of theirs.
                let protect = [("LoadBalancerId", id.as_str()), ("DeleteProtection", "on")];
                stage.cloud().administer("slb.SetLoadBalancerDeleteProtection", &protect).unwrap();
            }
            if all || case == "annotations" {
                annotate(&stage, json!({ (key("bandwidth")): "fast", (key("protocol-port")): "what" }));
            }
            if case == "class" {
                annotate(&stage, json!({ "service.beta.kubernetes.io/class": "other" }));
            }
            if case == "tunnel" {
                annotate(&stage, json!({ (key("tunnel-type")): "x" }));
            }
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            if replica.is_none() {
                replica = Some(stage.start_with(&["--leader-elect=false"], json!({ "disablePublicSLB": true })));
                stage.pass(Duration::from_secs(20)).await;
            }
            stage.pass(Duration::from_secs(10)).await;
            assert!(stage.service("web").is_none(), "{case}: {:?} {:?}", stage.told("web"), stage.words());
            assert_eq!(stage.cloud().load_balancers().len(), 0, "{case}");
            drop(replica);
        });
    }
}

#[test]
fn a_service_on_a_users_load_balancer_can_be_deleted_whatever_is_gone() {
    for gone in ["listener", "group", "load balancer", "id"] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let made = [("LoadBalancerName", "by-hand"), ("LoadBalancerSpec", "slb.s1.small")];
            let made = stage.cloud().administer("slb.CreateLoadBalancer", &made).unwrap();
            let id = made["LoadBalancerId"].as_str().unwrap().to_owned();
            web(&stage, &[(&key("id"), &id), (&key("force-override-listeners"), "true")]);
            stage.address("web").await;
            stage.pass(Duration::from_secs(10)).await;
            let on = |action: &str, params: &[(&str, &str)]| stage.cloud().administer(action, params).unwrap();
            if gone != "load balancer" && gone != "id" {
                on(
                    "slb.DeleteLoadBalancerListener",
                    &[("LoadBalancerId", &id), ("ListenerPort", "80"), ("ListenerProtocol", "tcp")],
                );
            }
            match gone {
                "group" => {
                    let group = stage.cloud().groups(&id)[0].id.clone();
                    on("slb.DeleteVServerGroup", &[("VServerGroupId", &group)]);
                }
                "load balancer" => drop(stage.cloud().remove_load_balancer(&id)),
                _ => {}
            }
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.pass(Duration::from_secs(30)).await;
            assert!(stage.service("web").is_none(), "{gone}: {:?} {:?}", stage.told("web"), stage.words());
            assert_eq!(stage.cloud().groups(&id), []);
            assert_eq!(stage.cloud().listeners(&id), []);
            assert_eq!(stage.cloud().load_balancers().len(), usize::from(gone != "load balancer"), "{gone}");
        });
    }
}

#[test]
fn another_class_is_left_alone_and_a_class_that_came_later_has_all_cleaned_up() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.clear_calls();
        let spec =
            json!({ "type": "LoadBalancer", "loadBalancerClass": "example.com/other", "ports": [{ "port": 80 }] });
        let made = stage.expose("foreign", &[], spec);
        stage.pass(Duration::from_secs(30)).await;
        let now = stage.service("foreign").unwrap();
        assert_eq!((now.metadata.finalizers, now.status), (made.metadata.finalizers, made.status));
        stage.world.kube.delete::<Service>("default", "foreign").unwrap();
        stage.pass(Duration::from_secs(10)).await;
        assert!(stage.service("foreign").is_none());
        assert!(!stage.words().iter().any(|word| word.starts_with("slb.")), "{:?}", stage.words());
        assert_eq!(stage.told("foreign"), []);
        for annotation in ["service.beta.kubernetes.io/class".to_owned(), key("tunnel-type")] {
            web(&stage, &[]);
            stage.address("web").await;
            annotate(&stage, json!({ (annotation): "other" }));
            stage.pass(Duration::from_secs(20)).await;
            let service = stage.service("web").unwrap();
            assert_eq!(stage.cloud().load_balancers().len(), 0);
            assert_eq!(service.metadata.finalizers.unwrap_or_default(), Vec::<String>::new());
            stage.world.kube.delete::<Service>("default", "web").unwrap();
        }
    });
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
            let (intranet, vswitch) = (key("address-type"), key("vswitch-id"));
            let mut annotations = vec![(intranet.as_str(), "intranet")];
            if annotated {
                annotations.push((&vswitch, "vsw-bp1simi"));
            }
            web(&stage, &annotations);
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
            assert_eq!(texts(&stage, "QuotaExceeded").len(), usize::from(fails), "{:?}", stage.told("web"));
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
            web(&stage, &[]);
            stage.pass(Duration::from_secs(1800)).await;
            let told = texts(&stage, "QuotaExceeded");
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
        web(&stage, &[(&key("backend-label"), "half=a")]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let load_balancer = stage.cloud().load_balancers().pop().unwrap().id;
        let servers = || -> Vec<String> {
            stage.cloud().groups(&load_balancer)[0].servers.iter().map(|server| server.id.clone()).collect()
        };
        let before = servers();
        assert_eq!(before.len(), 6);
        annotate(&stage, json!({ (key("backend-label")): "half=b" }));
        for _ in 0..600 {
            stage.pass(Duration::from_millis(50)).await;
            assert!(!servers().is_empty());
        }
        let after = servers();
        assert_eq!(after.len(), 6, "{:?} {:?}", stage.words(), stage.told("web"));
        assert!(after.iter().all(|server| !before.contains(server)));
        let told = texts(&stage, "QuotaExceeded");
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
        web(&stage, &[]);
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
        let told = texts(&stage, "QuotaExceeded");
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
        web(&stage, &[]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.joined(6).await;
        stage.pass(Duration::from_secs(900)).await;
        let load_balancer = stage.cloud().load_balancers().pop().unwrap().id;
        assert_eq!(stage.cloud().groups(&load_balancer)[0].servers.len(), 8);
        assert!(!stage.words().iter().any(|word| word.contains("RemoveVServerGroup")), "{:?}", stage.words());
        assert_eq!(texts(&stage, "QuotaExceeded").len(), 1, "{:?}", stage.told("web"));
        stage.cloud().configure(|options| options.quotas.backend_servers = None);
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(stage.cloud().groups(&load_balancer)[0].servers.len(), 11);
    });
}

#[test]
fn an_address_of_ones_own_is_had_where_the_cloud_gives_one() {
    for (address_type, expected) in [("intranet", None), ("internet", Some("the cloud chooses internet addresses"))] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let spec = json!({ "type": "LoadBalancer", "loadBalancerIP": "10.0.0.77", "ports": [{ "port": 80 }] });
            stage.expose("web", &[(&key("address-type"), address_type)], spec);
            let address = stage.address("web").await;
            assert_eq!(address == "10.0.0.77", address_type == "intranet", "{address}");
            stage.pass(Duration::from_secs(5)).await;
            let told = texts(&stage, "FeatureNotSupported");
            assert_eq!(told.len(), usize::from(expected.is_some()), "{told:?}");
            assert!(expected.is_none_or(|text| told[0].contains(text)), "{told:?}");
            // Once there, it stays, and the Service does not fail for it.
            let patch = json!({ "spec": { "loadBalancerIP": "10.0.0.78" } });
            stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
            stage.pass(Duration::from_secs(20)).await;
            assert_eq!(stage.address("web").await, address);
            assert!(texts(&stage, "FeatureNotSupported").iter().any(|text| text.contains("cannot be changed")));
            assert_eq!(texts(&stage, "SyncLoadBalancerFailed"), Vec::<String>::new());
        });
    }
}

#[test]
fn a_status_or_finalizer_that_somebody_changed_is_put_right_at_once() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage, &[]);
        let address = stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        let wrong = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "9.9.9.9" }] } } });
        stage.world.kube.patch_status::<Service>("default", "web", wrong).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(stage.address("web").await, address);
        let none = json!({ "status": { "loadBalancer": { "ingress": null } } });
        stage.world.kube.patch_status::<Service>("default", "web", none).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(address_of(&stage.service("web").unwrap()), Some(address));
        stage.world.kube.modify::<Service>("default", "web", |service| service.metadata.finalizers = None).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(stage.service("web").unwrap().metadata.finalizers.unwrap(), ["service.k8s.alibaba/resources"]);
        assert!(!stage.words().iter().any(|word| word.starts_with("slb.")), "{:?}", stage.words());
    });
}

#[test]
fn of_two_load_balancers_with_its_mark_a_service_uses_the_one_it_shows_and_the_other_is_never_touched() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage, &[]);
        let address = stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        replica.kill().await;
        let own = stage.cloud().load_balancers().pop().unwrap();
        let mut double = own.clone();
        double.id = "lb-0double".into();
        double.listeners.clear();
        stage.cloud().with_state(|state| state.slb.load_balancers.insert(double.id.clone(), double.clone()));
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.cloud().groups(&own.id)[0].servers.len(), 2, "{:?}", stage.told("web"));
        assert_eq!(stage.address("web").await, address);
        let told = texts(&stage, "MultipleLoadBalancers");
        assert!(told.len() == 1 && told[0].contains("lb-0double"), "{told:?}");
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert!(stage.service("web").is_none(), "{:?}", stage.told("web"));
        assert_eq!(stage.cloud().load_balancers(), [double]);
    });
}

#[test]
fn a_load_balancer_is_known_by_its_mark_and_not_by_its_name() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        // Of a Service of the same name in another cluster.
        let foreign = [
            ("LoadBalancerName", "a0123456789abcdef0123456789abcdef"),
            ("LoadBalancerSpec", "slb.s1.small"),
            ("Tag.1.Key", "ack.aliyun.com"),
            ("Tag.1.Value", "c2"),
        ];
        let foreign = stage.cloud().administer("slb.CreateLoadBalancer", &foreign).unwrap();
        let foreign = foreign["LoadBalancerId"].as_str().unwrap().to_owned();
        let listener = [
            ("LoadBalancerId", foreign.as_str()),
            ("ListenerPort", "80"),
            ("Bandwidth", "-1"),
            ("BackendServerPort", "80"),
            ("Description", "k8s/80/web/default/c2"),
        ];
        stage.cloud().administer("slb.CreateLoadBalancerTCPListener", &listener).unwrap();
        let theirs = || stage.cloud().load_balancers().into_iter().find(|lb| lb.id == foreign);
        let before = theirs();
        web(&stage, &[]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        replica.stop().await.unwrap();
        let own = stage.cloud().load_balancers().into_iter().find(|lb| lb.id != foreign).unwrap().id;
        let renamed = [("LoadBalancerId", own.as_str()), ("LoadBalancerName", "renamed in the console")];
        stage.cloud().administer("slb.SetLoadBalancerName", &renamed).unwrap();
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 2);
        assert_eq!(stage.cloud().groups(&own)[0].servers.len(), 2);
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!((stage.cloud().load_balancers().len(), theirs()), (1, before));
    });
}

#[test]
fn tcp_and_udp_on_one_port_are_two_listeners_and_one_goes_without_the_other() {
    for node_ports in [[30053, 30053], [30053, 30054]] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(2).await;
            let port = |name: &str, protocol: &str, node_port: u16| json!({ "name": name, "port": 53, "protocol": protocol, "nodePort": node_port });
            let (tcp, udp) = (port("tcp", "TCP", node_ports[0]), port("udp", "UDP", node_ports[1]));
            stage.expose("web", &[], json!({ "type": "LoadBalancer", "ports": [tcp, udp] }));
            stage.address("web").await;
            stage.pass(Duration::from_secs(20)).await;
            let id = stage.cloud().load_balancers().pop().unwrap().id;
            let protocols = || -> Vec<&'static str> {
                stage.cloud().listeners(&id).iter().map(|listener| listener.protocol.as_str()).collect()
            };
            assert_eq!(protocols(), ["tcp", "udp"], "{:?}", stage.told("web"));
            stage
                .world
                .kube
                .modify::<Service>("default", "web", |service| {
                    service.spec.as_mut().unwrap().ports.as_mut().unwrap().remove(1);
                })
                .unwrap();
            stage.pass(Duration::from_secs(20)).await;
            assert_eq!(protocols(), ["tcp"]);
            let groups = stage.cloud().groups(&id);
            assert_eq!(groups.iter().map(|group| group.servers.len()).collect::<Vec<_>>(), [2]);
        });
    }
}

#[test]
fn a_scheduler_that_a_protocol_lacks_is_told_for_that_port_and_holds_nothing_up() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let ports = json!([{ "name": "tcp", "port": 80 }, { "name": "http", "port": 81 }]);
        let annotations = [(key("scheduler"), "sch"), (key("protocol-port"), "http:81")];
        let annotations: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        stage.expose("web", &annotations, json!({ "type": "LoadBalancer", "ports": ports }));
        stage.address("web").await;
        stage.pass(Duration::from_secs(20)).await;
        let id = stage.cloud().load_balancers().pop().unwrap().id;
        let schedulers: Vec<Option<String>> = stage
            .cloud()
            .listeners(&id)
            .iter()
            .map(|listener| listener.setting("Scheduler").map(str::to_owned))
            .collect();
        assert_eq!(schedulers, [Some("sch".to_owned()), Some("rr".to_owned())], "{:?}", stage.told("web"));
        let told = texts(&stage, "SyncLoadBalancerFailed");
        assert!(told.iter().any(|text| text.contains("port 81") && text.contains("\"sch\"")), "{told:?}");
    });
}

#[test]
fn names_that_are_too_long_together_are_no_obstacle() {
    play(|stage| async move {
        let cluster = format!("c{}", "0123456789abcdef".repeat(2));
        let keys = json!({ "clusterID": cluster });
        let replica = stage.start_with(&["--leader-elect=false"], keys.clone());
        stage.joined(2).await;
        let name = format!("s{}", "x".repeat(62));
        stage.expose(&name, &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        stage.address(&name).await;
        stage.pass(Duration::from_secs(20)).await;
        let id = stage.cloud().load_balancers().pop().unwrap().id;
        let groups = || stage.cloud().groups(&id);
        assert_eq!((groups().len(), groups()[0].servers.len()), (1, 2), "{:?}", stage.told(&name));
        assert_eq!(stage.cloud().listeners(&id).len(), 1);
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_with(&["--leader-elect=false"], keys);
        stage.pass(Duration::from_secs(60)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        let ports = json!({ "spec": { "ports": [{ "name": "p", "port": 80, "nodePort": 31999 }] } });
        stage.world.kube.patch::<Service>("default", &name, ports).unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(groups().len(), 1, "the old one is known as ours: {:?}", groups());
        assert!(groups()[0].name.starts_with("k8s/31999/"));
    });
}
