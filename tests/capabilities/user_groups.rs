//! Server groups of the user's own (`vgroup-port`): our members come and go, others stay.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, clb::PREFIX, play};

/// A load balancer of the user's with a group for each name; answers its id and theirs.
fn own(stage: &Stage, groups: &[&str]) -> (String, Vec<String>) {
    let made = |action: &str, parameters: &[(&str, &str)], id: &str| -> String {
        let reply: Value = stage.cloud().administer(action, parameters).unwrap();
        reply[id].as_str().unwrap().to_owned()
    };
    let id = made(
        "slb.CreateLoadBalancer",
        &[("LoadBalancerName", "mine"), ("AddressType", "internet"), ("LoadBalancerSpec", "slb.s1.small")],
        "LoadBalancerId",
    );
    let group = |name: &&str| {
        made("slb.CreateVServerGroup", &[("LoadBalancerId", &id), ("VServerGroupName", name)], "VServerGroupId")
    };
    let groups = groups.iter().map(group).collect();
    (id, groups)
}

/// `instance:port weight` of all members of a group, those of others with a `!`.
fn members(stage: &Stage, load_balancer: &str, group: &str) -> Vec<String> {
    let groups = stage.cloud().groups(load_balancer);
    let servers = groups.into_iter().filter(|there| there.id == group).flat_map(|there| there.servers);
    let mut members: Vec<String> = servers
        .map(|s| {
            format!("{}:{} {}{}", s.id, s.port, s.weight, if s.description.starts_with("k8s/") { "" } else { "!" })
        })
        .collect();
    members.sort();
    members
}

fn annotate(stage: &Stage, annotations: &[(&str, Option<&str>)]) {
    let change = |service: &mut Service| {
        let all = service.metadata.annotations.get_or_insert_default();
        for (suffix, value) in annotations {
            match value {
                Some(value) => drop(all.insert(format!("{PREFIX}{suffix}"), (*value).to_owned())),
                None => drop(all.remove(&format!("{PREFIX}{suffix}"))),
            }
        }
    };
    stage.world.kube.modify::<Service>("default", "web", change).unwrap();
}

fn expose(stage: &Stage, annotations: &[(&str, &str)]) -> i32 {
    let annotations: Vec<(String, &str)> = annotations.iter().map(|(k, v)| (format!("{PREFIX}{k}"), *v)).collect();
    let annotations: Vec<(&str, &str)> = annotations.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    let service = stage.expose("web", &annotations, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
    service.spec.unwrap().ports.unwrap()[0].node_port.unwrap()
}

fn instances(nodes: &[String]) -> Vec<String> {
    let mut ids: Vec<String> = nodes.iter().map(|node| node.split_once('.').unwrap().1.to_owned()).collect();
    ids.sort();
    ids
}

fn of(ids: &[String], port: i32, weight: u8) -> Vec<String> {
    ids.iter().map(|id| format!("{id}:{port} {weight}")).collect()
}

#[test]
fn members_go_into_the_users_group_and_leave_it_without_touching_others() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        let (id, groups) = own(&stage, &["blue", "green"]);
        let ids = instances(&nodes);
        let theirs = json!([{ "ServerId": ids[0], "Port": 9000, "Weight": 7, "Description": "by hand" }]).to_string();
        for group in &groups {
            let given = [("VServerGroupId", group.as_str()), ("BackendServers", &theirs)];
            stage.cloud().administer("slb.AddVServerGroupBackendServers", &given).unwrap();
        }
        let with_theirs = |mut ours: Vec<String>| {
            ours.push(format!("{}:9000 7!", ids[0]));
            ours.sort();
            ours
        };
        let port = expose(&stage, &[("id", &id), ("vgroup-port", &format!("{}:80", groups[0])), ("weight", "90")]);
        let wanted = with_theirs(of(&ids, port, 30));
        stage.until("members in the group", || (members(&stage, &id, &groups[0]) == wanted).then_some(())).await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(stage.cloud().groups(&id).len(), 2, "no group of the Service's own");
        assert_eq!(stage.cloud().listeners(&id).len(), 0, "listeners are the user's");
        // The total weight changes; a node goes.
        annotate(&stage, &[("weight", Some("60"))]);
        let wanted = with_theirs(of(&ids, port, 20));
        stage.until("other weights", || (members(&stage, &id, &groups[0]) == wanted).then_some(())).await;
        annotate(&stage, &[("weight", None)]);
        let wanted = with_theirs(of(&ids, port, 100));
        stage.until("the usual weights", || (members(&stage, &id, &groups[0]) == wanted).then_some(())).await;
        // Another group.
        annotate(&stage, &[("vgroup-port", Some(&format!("{}:80", groups[1])))]);
        stage.until("members in the other", || (members(&stage, &id, &groups[1]) == wanted).then_some(())).await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(members(&stage, &id, &groups[0]), with_theirs(vec![]), "ours left the first");
        // And away.
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert_eq!(members(&stage, &id, &groups[1]), with_theirs(vec![]));
        assert_eq!(stage.cloud().groups(&id).len(), 2);
    });
}

#[test]
fn a_group_that_cannot_be_used_is_told_and_the_members_elsewhere_stay() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(1).await;
        let (id, groups) = own(&stage, &["blue", "k8s/30000/other/default/c9"]);
        let port = expose(&stage, &[("id", &id), ("vgroup-port", &format!("{}:80", groups[0]))]);
        let wanted = of(&instances(&nodes), port, 100);
        stage.until("members in the group", || (members(&stage, &id, &groups[0]) == wanted).then_some(())).await;
        for (group, told) in
            [("rsp-nope", "can not find vgroupId rsp-nope"), (groups[1].as_str(), "cannot reuse a ccm created vgroup")]
        {
            annotate(&stage, &[("vgroup-port", Some(&format!("{group}:80")))]);
            let seen = || stage.told("web").iter().any(|(_, message)| message.contains(told)).then_some(());
            stage.until(told, seen).await;
            stage.pass(Duration::from_secs(10)).await;
            assert_eq!(members(&stage, &id, &groups[0]), wanted, "{told}");
            assert_eq!(members(&stage, &id, &groups[1]), Vec::<String>::new());
        }
        annotate(&stage, &[("vgroup-port", Some("80"))]);
        let seen = || stage.told("web").iter().any(|(_, m)| m.contains("vgroup-port is \"80\"")).then_some(());
        stage.until("the wrong value told", seen).await;
        assert_eq!(members(&stage, &id, &groups[0]), wanted);
    });
}

#[test]
fn with_override_the_listener_sends_to_the_users_group() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        let (id, groups) = own(&stage, &["blue"]);
        let group = format!("{}:80", groups[0]);
        expose(&stage, &[("id", &id), ("vgroup-port", &group), ("force-override-listeners", "true")]);
        let listener = stage.until("a listener", || stage.cloud().listeners(&id).pop()).await;
        assert_eq!(listener.group(), Some(groups[0].as_str()));
    });
}

#[test]
fn without_a_load_balancer_of_the_users_it_has_no_effect_and_that_is_told() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[("vgroup-port", "rsp-1:80"), ("weight", "10")]);
        stage.address("web").await;
        let told = stage.told("web");
        assert!(
            told.iter().any(|(reason, message)| reason == "UnsupportedAnnotation" && message.contains("it needs")),
            "{told:?}"
        );
        let load_balancer = stage.cloud().load_balancers().pop().unwrap();
        assert_eq!(stage.cloud().groups(&load_balancer.id)[0].servers[0].weight, 100);
    });
}
