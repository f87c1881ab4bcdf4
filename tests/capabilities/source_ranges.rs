//! `spec.loadBalancerSourceRanges`: only clients from there reach the Service, at all times.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind, slb::Acl};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, clb::PREFIX, play};

fn expose(stage: &Stage, annotations: &[(&str, &str)], ranges: &Value) {
    let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }], "loadBalancerSourceRanges": ranges });
    stage.expose("web", annotations, spec);
}

async fn change(stage: &Stage, ranges: Value) {
    let patch = json!({ "spec": { "loadBalancerSourceRanges": ranges } });
    stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
    stage.pass(Duration::from_secs(20)).await;
}

fn lists(stage: &Stage) -> Vec<Acl> {
    stage.cloud().with_state(|state| state.slb.acls.values().cloned().collect())
}

fn entries(stage: &Stage) -> Vec<String> {
    lists(stage).iter().flat_map(|list| list.entries.keys().cloned()).collect()
}

/// Status, type and list of the only listener's access control.
fn control(stage: &Stage) -> [Option<String>; 3] {
    let load_balancer = stage.cloud().load_balancers().pop().unwrap();
    let listener = stage.cloud().listeners(&load_balancer.id).pop().unwrap();
    ["AclStatus", "AclType", "AclId"].map(|name| listener.settings.get(name).map(str::to_owned))
}

fn slb(stage: &Stage) -> Vec<String> {
    stage.words().into_iter().filter_map(|word| word.strip_prefix("slb.").map(str::to_owned)).collect()
}

fn hosts(from: usize, to: usize) -> Value {
    (from..to).map(|n| format!("10.0.{}.{}/32", n / 256, n % 256)).collect()
}

/// With a Service whose ranges are in place, and the calls so far forgotten.
async fn limited(stage: &Stage, ranges: &Value) {
    stage.joined(1).await;
    expose(stage, &[], ranges);
    stage.address("web").await;
    stage.pass(Duration::from_secs(10)).await;
    stage.clear_calls();
}

#[test]
fn clients_are_limited_before_the_listener_starts() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.clear_calls();
        expose(&stage, &[], &json!(["10.0.0.0/8", "1.2.3.4/32"]));
        stage.address("web").await;
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(
            slb(&stage),
            [
                "DescribeLoadBalancers",
                "DescribeAccessControlLists",
                "CreateAccessControlList",
                "AddAccessControlListEntry",
                "CreateLoadBalancer",
                "CreateVServerGroup",
                "CreateLoadBalancerTCPListener",
                "StartLoadBalancerListener",
            ]
        );
        let list = lists(&stage).pop().unwrap();
        assert_eq!(control(&stage), [Some("on".into()), Some("white".into()), Some(list.id)]);
        assert_eq!(list.entries.keys().collect::<Vec<_>>(), ["1.2.3.4/32", "10.0.0.0/8"]);
        let load_balancer = stage.cloud().load_balancers().pop().unwrap();
        assert_eq!(list.tags, load_balancer.tags, "the marks are those of the load balancer");
        assert_eq!(list.name, format!("k8s-clb-{}", load_balancer.name));
    });
}

#[test]
fn no_listener_is_made_while_its_list_is_missing_or_empty_but_members_are_kept() {
    for action in ["CreateAccessControlList", "AddAccessControlListEntry"] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let error = FaultKind::Error { status: 400, code: "AclEntryIllegal".into(), message: "no".into() };
            stage.cloud().inject(Fault::on(&format!("slb.{action}"), error));
            expose(&stage, &[], &json!(["10.0.0.0/8"]));
            stage.pass(Duration::from_secs(60)).await;
            let load_balancer = stage.cloud().load_balancers().pop().unwrap();
            assert!(stage.cloud().listeners(&load_balancer.id).is_empty(), "{action}");
            let told = stage.told("web");
            assert!(told.iter().any(|(reason, text)| reason == "SyncLoadBalancerFailed" && text.contains(action)));
            stage.joined(1).await;
            stage.pass(Duration::from_secs(60)).await;
            assert_eq!(stage.cloud().groups(&load_balancer.id)[0].servers.len(), 2, "{action}");
            stage.cloud().clear_faults();
            stage.pass(Duration::from_secs(400)).await;
            assert_eq!(control(&stage)[0].as_deref(), Some("on"), "{action}");
            assert_eq!(lists(&stage).len(), 1);
        });
    }
}

#[test]
fn a_lost_answer_makes_no_second_list() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.cloud().inject(Fault::on("slb.CreateAccessControlList", FaultKind::DropAfter).times(1));
        expose(&stage, &[], &json!(["10.0.0.0/8"]));
        stage.pass(Duration::from_secs(120)).await;
        assert_eq!(lists(&stage).len(), 1, "{:?}", stage.words());
        assert_eq!(control(&stage)[0].as_deref(), Some("on"));
    });
}

#[test]
fn changed_ranges_are_added_before_others_go_and_nothing_else_is_touched() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        limited(&stage, &json!(["10.0.0.0/8", "1.2.3.4/32"])).await;
        change(&stage, json!(["10.0.0.0/8", "5.6.7.8/32"])).await;
        assert_eq!(slb(&stage), ["AddAccessControlListEntry", "RemoveAccessControlListEntry"]);
        assert_eq!(entries(&stage), ["10.0.0.0/8", "5.6.7.8/32"]);
        // The same in another spelling is the same.
        stage.clear_calls();
        change(&stage, json!(["5.6.7.8/32", "10.9.9.9/8"])).await;
        assert_eq!(slb(&stage), Vec::<String>::new());
        change(&stage, hosts(0, 120)).await;
        assert_eq!(entries(&stage).len(), 120);
        assert_eq!(slb(&stage).len(), 3 + 1, "fifty a call: {:?}", slb(&stage));
    });
}

#[test]
fn ranges_given_later_limit_and_cleared_ones_open_and_leave_nothing_behind() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        limited(&stage, &json!([])).await;
        assert_eq!(lists(&stage), []);
        change(&stage, json!(["10.0.0.0/8"])).await;
        assert_eq!(control(&stage)[0].as_deref(), Some("on"));
        stage.clear_calls();
        change(&stage, Value::Null).await;
        assert_eq!(slb(&stage), ["SetLoadBalancerTCPListenerAttribute", "DeleteAccessControlList"]);
        assert_eq!(control(&stage), [Some("off".into()), None, None]);
        assert_eq!(lists(&stage), []);
        // Everybody is the same as nothing said.
        change(&stage, json!(["10.0.0.0/8"])).await;
        change(&stage, json!(["10.0.0.0/8", "0.0.0.0/0"])).await;
        assert_eq!((control(&stage)[0].as_deref(), lists(&stage).len()), (Some("off"), 0));
    });
}

#[test]
fn the_list_goes_with_the_service() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        limited(&stage, &json!(["10.0.0.0/8"])).await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert_eq!(slb(&stage), ["SetLoadBalancerDeleteProtection", "DeleteLoadBalancer", "DeleteAccessControlList"]);
        assert_eq!(lists(&stage), []);
    });
}

#[test]
fn a_preserved_load_balancer_keeps_its_list() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let preserve = format!("{PREFIX}preserve-lb-on-delete");
        expose(&stage, &[(&preserve, "true")], &json!(["10.0.0.0/8"]));
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        let list = lists(&stage).pop().unwrap();
        assert_eq!(control(&stage), [Some("on".into()), Some("white".into()), Some(list.id)]);
        assert!(list.tags.is_empty(), "it is the user's now: {:?}", list.tags);
    });
}

#[test]
fn a_restart_finds_the_list_and_writes_nothing() {
    play(|stage| async move {
        let replica = stage.start_alone();
        limited(&stage, &json!(["10.0.0.0/8"])).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(120)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        let about_lists = |word: &String| word.contains("AccessControl");
        let reads: Vec<String> = slb(&stage).into_iter().filter(about_lists).collect();
        assert_eq!(reads, ["DescribeAccessControlLists", "DescribeAccessControlListAttribute"]);
    });
}

#[test]
fn ranges_cleared_while_nobody_watched_or_halfway_leave_nothing_behind() {
    for (halfway, deleted) in [(false, false), (true, false), (true, true)] {
        play(|stage| async move {
            let replica = stage.start_alone();
            limited(&stage, &json!(["10.0.0.0/8"])).await;
            if halfway {
                let denied = FaultKind::Error { status: 403, code: "Forbidden.RAM".into(), message: String::new() };
                stage.cloud().inject(Fault::on("slb.DeleteAccessControlList", denied));
                change(&stage, json!([])).await;
                assert_eq!((control(&stage)[0].as_deref(), lists(&stage).len()), (Some("off"), 1));
                replica.kill().await;
                stage.cloud().clear_faults();
            } else {
                replica.kill().await;
                change(&stage, json!([])).await;
            }
            if deleted {
                stage.world.kube.delete::<Service>("default", "web").unwrap();
            }
            let _replica = stage.start_alone();
            stage.pass(Duration::from_secs(120)).await;
            assert_eq!(lists(&stage), [], "halfway {halfway}, deleted {deleted}: {:?}", stage.words());
            assert_eq!(stage.service("web").is_none(), deleted);
        });
    }
}

#[test]
fn what_no_list_can_hold_is_told_before_any_call() {
    // What is no range at all, the API server refuses already.
    for (annotations, expected) in [
        (None, "spec.loadBalancerSourceRanges is \"301 ranges\" but must be at most 300"),
        (Some(("bandwidth", "fast")), "bandwidth is \"fast\""),
    ] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            stage.clear_calls();
            let annotations: Vec<(String, &str)> =
                annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), *value)).collect();
            let annotations: Vec<(&str, &str)> =
                annotations.iter().map(|(key, value)| (key.as_str(), *value)).collect();
            expose(&stage, &annotations, &hosts(0, 301));
            stage.pass(Duration::from_secs(60)).await;
            assert_eq!(slb(&stage), Vec::<String>::new());
            let told = stage.told("web");
            let failures: Vec<_> = told.iter().filter(|(reason, _)| reason == "SyncLoadBalancerFailed").collect();
            assert_eq!(failures.len(), 1, "{told:?}");
            assert!(failures[0].1.contains(expected) && failures[0].1.contains("301 ranges"), "{told:?}");
        });
    }
}

#[test]
fn ranges_are_those_of_the_addresss_family() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let version = format!("{PREFIX}ip-version");
        expose(&stage, &[(&version, "ipv6")], &json!(["2001:db8::/32", "10.0.0.0/8"]));
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let list = lists(&stage).pop().unwrap();
        assert_eq!((list.ip_version.as_str(), entries(&stage)), ("ipv6", vec!["2001:db8::/32".to_owned()]));
        let told = stage.told("web");
        assert!(told.iter().any(|(reason, text)| reason == "FeatureNotSupported" && text.contains("10.0.0.0/8")));
        stage.clear_calls();
        change(&stage, json!(["10.0.0.0/8"])).await;
        assert_eq!(slb(&stage), Vec::<String>::new());
        assert!(stage.told("web").iter().any(|(_, text)| text.contains("at least one ipv6 range")));
        assert_eq!(entries(&stage), ["2001:db8::/32"], "what is there stays");
    });
}

#[test]
fn lists_by_annotation_win_and_the_contradiction_is_told() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let mine = stage.cloud().administer("slb.CreateAccessControlList", &[("AclName", "mine")]).unwrap();
        let mine = mine["AclId"].as_str().unwrap().to_owned();
        let keys = ["acl-id", "acl-status", "acl-type"].map(|suffix| format!("{PREFIX}{suffix}"));
        let annotations = [(keys[0].as_str(), mine.as_str()), (&keys[1], "on"), (&keys[2], "black")];
        expose(&stage, &annotations, &json!(["10.0.0.0/8"]));
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(control(&stage), [Some("on".into()), Some("black".into()), Some(mine.clone())]);
        let told = stage.told("web");
        assert!(
            told.iter().any(|(reason, text)| reason == "FeatureNotSupported" && text.contains("acl-id")),
            "{told:?}"
        );
        // Without the annotations, the ranges count; the user's list stays.
        let none = json!({ "metadata": { "annotations": { (keys[0].as_str()): null, (keys[1].as_str()): null, (keys[2].as_str()): null } } });
        stage.world.kube.patch::<Service>("default", "web", none).unwrap();
        stage.pass(Duration::from_secs(20)).await;
        let ours = lists(&stage).into_iter().find(|list| list.id != mine).unwrap();
        assert_eq!(control(&stage), [Some("on".into()), Some("white".into()), Some(ours.id)]);
    });
}

#[test]
fn lists_of_others_are_never_touched() {
    play(|stage| async move {
        let replica = stage.start_alone();
        limited(&stage, &json!(["10.0.0.0/8"])).await;
        let name = lists(&stage)[0].name.clone();
        // Of the same name, but without our marks; and one of another cluster.
        stage.cloud().administer("slb.CreateAccessControlList", &[("AclName", &name)]).unwrap();
        let other = [("AclName", "other"), ("Tag.1.Key", "ack.aliyun.com"), ("Tag.1.Value", "c2")];
        stage.cloud().administer("slb.CreateAccessControlList", &other).unwrap();
        replica.stop().await.unwrap();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        change(&stage, json!([])).await;
        assert_eq!(lists(&stage).len(), 2);
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert_eq!(lists(&stage).len(), 2, "{:?}", lists(&stage));
    });
}

#[test]
fn a_list_that_was_changed_by_hand_is_put_right_by_the_audit() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        limited(&stage, &json!(["10.0.0.0/8"])).await;
        let list = lists(&stage).pop().unwrap().id;
        for (action, range) in
            [("slb.AddAccessControlListEntry", "6.6.6.6/32"), ("slb.RemoveAccessControlListEntry", "10.0.0.0/8")]
        {
            let entry = json!([{ "entry": range }]).to_string();
            stage.cloud().administer(action, &[("AclId", list.as_str()), ("AclEntrys", &entry)]).unwrap();
        }
        stage.pass(Duration::from_secs(6 * 60 * 60 + 600)).await;
        assert_eq!(entries(&stage), ["10.0.0.0/8"]);
        assert!(
            stage
                .told("web")
                .iter()
                .any(|(reason, text)| reason == "RepairedLoadBalancer" && text.contains("6.6.6.6/32"))
        );
    });
}

#[test]
fn a_list_that_somebody_else_uses_stays_and_holds_no_deletion_up() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        limited(&stage, &json!(["10.0.0.0/8"])).await;
        let list = lists(&stage).pop().unwrap().id;
        let made = [("LoadBalancerName", "by-hand"), ("LoadBalancerSpec", "slb.s1.small")];
        let made = stage.cloud().administer("slb.CreateLoadBalancer", &made).unwrap();
        let theirs = [
            ("LoadBalancerId", made["LoadBalancerId"].as_str().unwrap()),
            ("ListenerPort", "80"),
            ("Bandwidth", "-1"),
            ("BackendServerPort", "80"),
            ("AclStatus", "on"),
            ("AclType", "white"),
            ("AclId", &list),
        ];
        stage.cloud().administer("slb.CreateLoadBalancerTCPListener", &theirs).unwrap();
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert_eq!((lists(&stage).len(), stage.cloud().load_balancers().len()), (1, 1));
        let told = stage.told("web");
        assert!(told.iter().any(|(reason, text)| reason == "AccessListInUse" && text.contains(&list)), "{told:?}");
    });
}

/// Credentials from before may not allow anything about lists. Services that need none must not care.
#[test]
fn services_without_ranges_need_no_rights_about_lists() {
    play(|stage| async move {
        let replica = stage.start_alone();
        limited(&stage, &json!([])).await;
        replica.stop().await.unwrap();
        for action in ["DescribeAccessControlLists", "DescribeAccessControlListAttribute", "CreateAccessControlList"] {
            stage.cloud().inject(Fault::on(&format!("slb.{action}"), FaultKind::Denied));
        }
        // It looks as if a process before had been stopped halfway.
        let label = json!({ "metadata": { "labels": { "service.beta.kubernetes.io/hash": "0" } } });
        stage.world.kube.patch::<Service>("default", "web", label).unwrap();
        let replica = stage.start_alone();
        stage.pass(Duration::from_secs(30)).await;
        let failed = |stage: &Stage| stage.told("web").iter().any(|(reason, _)| reason.contains("Fail"));
        assert!(!failed(&stage), "{:?}", stage.told("web"));
        // With ranges, members are still kept, and what is missing is told.
        change(&stage, json!(["10.0.0.0/8"])).await;
        assert!(
            stage
                .told("web")
                .iter()
                .any(|(reason, text)| reason == "SyncLoadBalancerFailed" && text.contains("AccessControl"))
        );
        assert_eq!(control(&stage)[0].as_deref(), Some("off"), "as it was");
        stage.joined(1).await;
        stage.pass(Duration::from_secs(20)).await;
        let load_balancer = stage.cloud().load_balancers().pop().unwrap();
        assert_eq!(stage.cloud().groups(&load_balancer.id)[0].servers.len(), 2);
        replica.stop().await.unwrap();
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(30)).await;
        assert!(stage.service("web").is_some(), "a list may be there that is not seen");
        change(&stage, json!([])).await;
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
    });
}

#[test]
fn a_refusal_that_passes_leaves_no_list_behind() {
    play(|stage| async move {
        let replica = stage.start_alone();
        limited(&stage, &json!(["10.0.0.0/8"])).await;
        replica.kill().await;
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.cloud().inject(Fault::on("slb.DescribeAccessControlLists", FaultKind::Denied));
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(30)).await;
        assert!(stage.service("web").is_some() && lists(&stage).len() == 1, "{:?}", stage.words());
        let told = |text: &String| text.contains("DescribeAccessControlLists");
        assert!(stage.told("web").iter().any(|(_, text)| told(text)), "{:?}", stage.told("web"));
        stage.cloud().clear_faults();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert_eq!(lists(&stage), []);
    });
}

#[test]
fn on_a_users_load_balancer_only_listeners_of_the_services_own_are_limited() {
    for override_listeners in ["false", "true"] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let made = [("LoadBalancerName", "by-hand"), ("LoadBalancerSpec", "slb.s1.small")];
            let made = stage.cloud().administer("slb.CreateLoadBalancer", &made).unwrap();
            let id = made["LoadBalancerId"].as_str().unwrap();
            let theirs =
                [("LoadBalancerId", id), ("ListenerPort", "443"), ("Bandwidth", "-1"), ("BackendServerPort", "80")];
            stage.cloud().administer("slb.CreateLoadBalancerTCPListener", &theirs).unwrap();
            let keys = ["id", "force-override-listeners"].map(|suffix| format!("{PREFIX}{suffix}"));
            expose(&stage, &[(&keys[0], id), (&keys[1], override_listeners)], &json!(["10.0.0.0/8"]));
            stage.address("web").await;
            stage.pass(Duration::from_secs(20)).await;
            let limited: Vec<u16> = stage
                .cloud()
                .listeners(id)
                .iter()
                .filter(|listener| listener.setting("AclStatus") == Some("on"))
                .map(|listener| listener.port)
                .collect();
            let told = stage.told("web");
            let unsupported = told.iter().any(|(reason, text)| {
                reason == "FeatureNotSupported" && text.contains("not supported for user-managed LB")
            });
            assert_eq!(
                (limited, unsupported),
                if override_listeners == "true" { (vec![80], false) } else { (vec![], true) }
            );
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
            assert_eq!((lists(&stage).len(), stage.cloud().listeners(id).len()), (0, 1));
        });
    }
}
