//! Services on network load balancers.

mod access;
mod certificates;
mod checks;
mod drift;
mod families;
mod interrupted;
mod lifecycle;
mod loss;
mod members;
mod pods;
mod quota;
mod reuse;
pub mod settings;
mod user_groups;

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{
    Fault, FaultKind,
    nlb::{NetworkLoadBalancer, NlbListener, ServerGroup},
};
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use crate::support::{Stage, play};

pub const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
pub const ZONES: &str = "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi";

pub fn key(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

/// Creates the Service `web` for a network load balancer, with zones unless others are given.
pub fn expose(stage: &Stage, pairs: &[(&str, &str)], ports: Value) -> Service {
    expose_with(stage, pairs, json!({ "ports": ports }))
}

pub fn expose_with(stage: &Stage, pairs: &[(&str, &str)], more: Value) -> Service {
    let mut all: Vec<(String, &str)> = pairs.iter().map(|(suffix, value)| (full(suffix), *value)).collect();
    if !pairs.iter().any(|(suffix, _)| ["zone-maps", "id"].contains(suffix)) {
        all.push((key("zone-maps"), ZONES));
    }
    let annotations: Vec<(&str, &str)> = all.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let mut spec =
        json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "selector": { "app": "web" } });
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    stage.expose("web", &annotations, spec)
}

fn full(suffix: &str) -> String {
    if suffix.contains('/') { suffix.to_owned() } else { key(suffix) }
}

pub fn web(stage: &Stage) -> Service {
    expose(stage, &[], json!([{ "port": 80, "targetPort": 8080 }]))
}

pub fn balancers(stage: &Stage) -> Vec<NetworkLoadBalancer> {
    stage.cloud().with_state(|state| state.nlb.load_balancers.values().cloned().collect())
}

pub fn listeners(stage: &Stage) -> Vec<NlbListener> {
    stage.cloud().with_state(|state| state.nlb.listeners.values().cloned().collect())
}

pub fn groups(stage: &Stage) -> Vec<ServerGroup> {
    stage.cloud().with_state(|state| state.nlb.server_groups.values().cloned().collect())
}

pub fn host_name(service: &Service) -> Option<String> {
    service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?.first()?.hostname.clone()
}

pub async fn shown(stage: &Stage) -> String {
    stage.until("a host name in the Service's status", || host_name(&stage.service("web")?)).await
}

/// Writes to NLB and to security groups, without the polls.
pub fn writes(stage: &Stage) -> Vec<String> {
    let calls = stage
        .cloud()
        .calls()
        .into_iter()
        .filter(|call| call.changed && ["nlb", "ecs"].contains(&call.product.as_str()));
    calls
        .map(|call| format!("{}.{}", call.product, call.action))
        .filter(|word| !word.contains("ModifyNetwork"))
        .collect()
}

/// A network load balancer of the user's, with a listener on port 9000.
pub async fn by_hand(stage: &Stage) -> (String, String) {
    let zones = [
        ("VpcId", "vpc-bp1sim"),
        ("AddressType", "Internet"),
        ("LoadBalancerName", "by-hand"),
        ("ZoneMappings.1.ZoneId", "cn-hangzhou-h"),
        ("ZoneMappings.1.VSwitchId", "vsw-bp1simh"),
        ("ZoneMappings.2.ZoneId", "cn-hangzhou-i"),
        ("ZoneMappings.2.VSwitchId", "vsw-bp1simi"),
    ];
    let made = stage.cloud().administer("nlb.CreateLoadBalancer", &zones).unwrap();
    let id = made["LoadbalancerId"].as_str().unwrap().to_owned();
    let group = group_by_hand(stage, "by-hand", &[]);
    stage.pass(Duration::from_secs(3)).await;
    let listener = [
        ("LoadBalancerId", id.as_str()),
        ("ListenerProtocol", "TCP"),
        ("ListenerPort", "9000"),
        ("ServerGroupId", group.as_str()),
    ];
    stage.cloud().administer("nlb.CreateListener", &listener).unwrap();
    stage.pass(Duration::from_secs(3)).await;
    (id, group)
}

/// A server group of the user's.
pub fn group_by_hand(stage: &Stage, name: &str, more: &[(&str, &str)]) -> String {
    let params: Vec<(&str, &str)> =
        [("VpcId", "vpc-bp1sim"), ("ServerGroupName", name)].into_iter().chain(more.iter().copied()).collect();
    let made = stage.cloud().administer("nlb.CreateServerGroup", &params).unwrap();
    made["ServerGroupId"].as_str().unwrap().to_owned()
}

pub async fn annotate(stage: &Stage, changes: Value) {
    stage.world.kube.patch::<Service>("default", "web", json!({ "metadata": { "annotations": changes } })).unwrap();
    stage.pass(Duration::from_secs(15)).await;
}

pub async fn gone(stage: &Stage) {
    stage.world.kube.delete::<Service>("default", "web").unwrap();
    stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
}

#[test]
fn a_service_gets_a_network_load_balancer_with_the_released_controllers_marks() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        let service = web(&stage);
        let shown = shown(&stage).await;
        stage.pass(Duration::from_secs(5)).await;
        let uid = service.metadata.uid.unwrap();
        let name: String = format!("a{}", uid.replace('-', "")).chars().take(32).collect();
        let [balancer] = &balancers(&stage)[..] else { panic!("{:?}", balancers(&stage)) };
        assert_eq!((&balancer.name, &balancer.dns_name), (&name, &shown));
        assert_eq!(balancer.tags.get("kubernetes.do.not.delete"), Some(&name));
        assert_eq!(balancer.tags.get("ack.aliyun.com").map(String::as_str), Some("c1"));
        assert_eq!((balancer.delete_protection.as_deref(), balancer.zones.len()), (Some("managed.by.ack"), 2));
        let service = stage.service("web").unwrap();
        let labels = service.metadata.labels.clone().unwrap();
        assert_eq!(labels["service.k8s.alibaba/loadbalancer-id"], balancer.id);
        assert!(labels.contains_key("service.beta.kubernetes.io/hash"));
        assert_eq!(service.metadata.finalizers.unwrap(), ["service.k8s.alibaba/nlb"]);
        let told: Vec<String> = stage.told("web").into_iter().map(|(reason, _)| reason).collect();
        assert_eq!(told, ["EnsuredLoadBalancer"]);
        let port = service.spec.unwrap().ports.unwrap()[0].node_port.unwrap();
        let [group] = &groups(&stage)[..] else { panic!("{:?}", groups(&stage)) };
        assert_eq!(group.name, format!("k8s.{port}.TCP.web.default.c1"));
        assert_eq!(group.tags.get("kubernetes.do.not.delete"), Some(&name));
        let members: BTreeSet<String> = group.servers.iter().map(|s| format!("cn-hangzhou.{}", s.id)).collect();
        assert_eq!(members, nodes.into_iter().collect());
        assert!(group.servers.iter().all(|server| server.description == group.name && server.weight == 100));
        let [listener] = &listeners(&stage)[..] else { panic!("{:?}", listeners(&stage)) };
        assert_eq!(listener.attributes["ListenerDescription"], "k8s.80.TCP.web.default.c1");
        assert_eq!((&listener.server_group, listener.port), (&group.id, 80));
        assert!(stage.cloud().load_balancers().is_empty(), "no classic one");
    });
}

#[test]
fn it_costs_four_writes_and_is_ready_as_soon_as_the_cloud_can_be() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(3).await;
        stage.expose(
            "first",
            &[(&key("zone-maps"), ZONES)],
            json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 80 }] }),
        );
        stage.until("the first", || host_name(&stage.service("first")?)).await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        let begin = tokio::time::Instant::now();
        web(&stage);
        while host_name(&stage.service("web").unwrap()).is_none() {
            stage.pass(Duration::from_millis(1)).await;
        }
        let took = begin.elapsed();
        let delays = stage.cloud().options().delays;
        let needed = delays.provisioning + delays.job;
        assert!(took <= needed.mul_f64(1.1), "took {took:?}, the cloud needs {needed:?}; {:?}", stage.words());
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(
            writes(&stage),
            ["nlb.CreateLoadBalancer", "nlb.CreateServerGroup", "nlb.AddServersToServerGroup", "nlb.CreateListener"]
        );
        let others: BTreeSet<String> = stage
            .words()
            .into_iter()
            .filter(|word| word.starts_with("nlb.List") || word.starts_with("nlb.Get"))
            .collect();
        assert_eq!(others, ["nlb.ListAsynJobs".to_owned(), "nlb.ListLoadBalancers".to_owned()].into(), "polls only");
        let calls = stage.words().into_iter().filter(|word| word.starts_with("nlb.")).count();
        assert!(calls < 20, "{:?}", stage.words());
    });
}

#[test]
fn a_member_that_comes_or_goes_is_one_write_and_no_read_but_its_job() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        web(&stage);
        shown(&stage).await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(writes(&stage), ["nlb.AddServersToServerGroup"]);
        let reads = |stage: &Stage| {
            stage
                .words()
                .into_iter()
                .filter(|word| word.starts_with("nlb.") && word.contains("List"))
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(reads(&stage), ["nlb.ListAsynJobs".to_owned()].into());
        stage.clear_calls();
        stage.world.set_ready(&nodes[1], "Unknown").unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(writes(&stage), Vec::<String>::new(), "whether a node works the load balancer finds out itself");
        stage.world.kube.delete::<Node>("", &nodes[0]).unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(writes(&stage), ["nlb.RemoveServersFromServerGroup"]);
        assert_eq!(groups(&stage)[0].servers.len(), 3);
    });
}

#[test]
fn a_deletion_is_two_writes_and_one_a_group() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[], json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }]));
        shown(&stage).await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        gone(&stage).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(
            writes(&stage),
            [
                "nlb.UpdateLoadBalancerProtection",
                "nlb.DeleteLoadBalancer",
                "nlb.DeleteServerGroup",
                "nlb.DeleteServerGroup"
            ]
        );
        assert!(
            stage.words().iter().all(|word| word == "nlb.ListAsynJobs" || !word.contains("List")),
            "{:?}",
            stage.words()
        );
        assert!(balancers(&stage).is_empty() && groups(&stage).is_empty());
        let told = stage.told("web");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
    });
}

#[test]
fn a_restart_reads_each_kind_once_and_writes_nothing() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(3).await;
        web(&stage);
        // More than one query for listeners could name.
        let zones = key("zone-maps");
        for n in 1..25 {
            stage.expose(&format!("s{n}"), &[(&zones, ZONES)], json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 80 }] }));
        }
        stage.until("all listeners", || (listeners(&stage).len() == 25).then_some(())).await;
        stage.pass(Duration::from_secs(20)).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(120)).await;
        let mut words: Vec<String> = stage.words().into_iter().filter(|word| word.starts_with("nlb.")).collect();
        words.sort();
        // 25 load balancers, listeners and groups with 75 members: a page of 100 each.
        assert_eq!(
            words,
            ["nlb.ListListeners", "nlb.ListLoadBalancers", "nlb.ListServerGroupServers", "nlb.ListServerGroups"]
        );
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
    });
}

#[test]
fn jobs_of_all_services_are_asked_for_together() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        shown(&stage).await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        stage.cloud().configure(|options| options.delays.job = Duration::from_secs(3));
        let zones = key("zone-maps");
        for n in 0..15 {
            stage.expose(&format!("s{n}"), &[(&zones, ZONES)], json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 80 }] }));
        }
        for n in 0..15 {
            stage.until("a host name", || host_name(&stage.service(&format!("s{n}"))?)).await;
        }
        let words = stage.words();
        let polls = words.iter().filter(|word| *word == "nlb.ListAsynJobs").count();
        // 45 jobs of 3 s in three waves; one by one it would be some ten polls each.
        assert!(polls < 90, "{polls} polls");
        assert_eq!(words.iter().filter(|word| word.contains(' ')).count(), 0, "nothing was refused: {words:?}");
    });
}

#[test]
fn a_load_balancer_that_takes_long_holds_back_no_other_service() {
    play(|stage| async move {
        let _replica = stage.start_with(&["--concurrent-service-syncs=1"], json!({}));
        stage.joined(1).await;
        stage.cloud().configure(|options| options.delays.provisioning = Duration::from_secs(90));
        let zones = key("zone-maps");
        for n in 0..5 {
            stage.expose(&format!("s{n}"), &[(&zones, ZONES)], json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 80 }] }));
        }
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(balancers(&stage).len(), 5, "all were begun");
        assert_eq!(groups(&stage).len(), 5, "and their groups");
        stage.pass(Duration::from_secs(100)).await;
        for n in 0..5 {
            assert!(host_name(&stage.service(&format!("s{n}")).unwrap()).is_some(), "s{n}");
        }
    });
}

#[test]
fn a_job_that_fails_is_told_and_done_again() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        shown(&stage).await;
        stage.pass(Duration::from_secs(10)).await;
        stage.cloud().with_state(|state| state.nlb.jobs_paused = true);
        stage.joined(1).await;
        stage.pass(Duration::from_secs(5)).await;
        stage.cloud().with_state(|state| {
            state.nlb.fail_held_jobs();
            state.nlb.jobs_paused = false;
            // Nothing of it became true.
            for group in state.nlb.server_groups.values_mut() {
                group.servers.truncate(1);
                group.status = ccm::sim::cloud::nlb::GroupState::Available;
            }
        });
        stage.pass(Duration::from_secs(20)).await;
        let told = stage.told("web");
        let failure = told.iter().find(|(reason, _)| reason == "SyncLoadBalancerFailed");
        assert!(
            failure.is_some_and(|(_, message)| message.contains("add 1 members") && message.contains("failed")),
            "{told:?}"
        );
        assert_eq!(groups(&stage)[0].servers.len(), 2, "done again");
    });
}

#[test]
fn an_overdue_job_is_an_error() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        shown(&stage).await;
        stage.cloud().with_state(|state| state.nlb.jobs_paused = true);
        annotate(&stage, json!({ (key("cps")): "100" })).await;
        stage.pass(Duration::from_secs(200)).await;
        let told = stage.told("web");
        assert!(
            told.iter().any(|(reason, m)| reason == "SyncLoadBalancerFailed" && m.contains("is not done after")),
            "{told:?}"
        );
        stage.cloud().with_state(|state| state.nlb.resume_jobs());
        stage.pass(Duration::from_secs(200)).await;
        assert_eq!(listeners(&stage)[0].attributes["Cps"], "100");
    });
}

#[test]
fn locks_are_waited_out_without_a_failure() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        shown(&stage).await;
        stage.pass(Duration::from_secs(10)).await;
        for code in ["Conflict.Lock", "IncorrectStatus.loadbalancer"] {
            let kind = FaultKind::Error { status: 400, code: code.to_owned(), message: "busy".to_owned() };
            stage.cloud().inject(Fault::on("nlb.UpdateListenerAttribute", kind).times(3));
        }
        annotate(&stage, json!({ (key("cps")): "100" })).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(listeners(&stage)[0].attributes["Cps"], "100");
        let told = stage.told("web");
        assert!(!told.iter().any(|(reason, _)| reason.contains("Fail")), "{told:?}");
    });
}

#[test]
fn killed_after_any_write_the_next_process_comes_to_the_same_end() {
    for write in
        ["nlb.CreateLoadBalancer", "nlb.CreateServerGroup", "nlb.AddServersToServerGroup", "nlb.CreateListener"]
    {
        play(|stage| async move {
            let replica = stage.start_with(&["--leader-elect=false"], json!({}));
            stage.joined(2).await;
            stage.cloud().inject(Fault::on(write, FaultKind::DropAfter).times(1));
            web(&stage);
            stage.until("the call", || stage.words().iter().any(|word| word.starts_with(write)).then_some(())).await;
            replica.kill().await;
            let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
            shown(&stage).await;
            stage.pass(Duration::from_secs(30)).await;
            assert_eq!((balancers(&stage).len(), groups(&stage).len(), listeners(&stage).len()), (1, 1, 1), "{write}");
            assert_eq!(groups(&stage)[0].servers.len(), 2, "{write}");
        });
    }
}

#[test]
fn killed_in_the_middle_of_a_deletion_nothing_is_left() {
    for write in ["nlb.UpdateLoadBalancerProtection", "nlb.DeleteLoadBalancer", "nlb.DeleteServerGroup"] {
        play(|stage| async move {
            let replica = stage.start_with(&["--leader-elect=false"], json!({}));
            stage.joined(1).await;
            web(&stage);
            shown(&stage).await;
            stage.pass(Duration::from_secs(5)).await;
            stage.clear_calls();
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.until("the call", || stage.words().iter().any(|word| word.starts_with(write)).then_some(())).await;
            replica.kill().await;
            let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
            stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
            stage.pass(Duration::from_secs(5)).await;
            assert!(balancers(&stage).is_empty() && groups(&stage).is_empty(), "{write}");
        });
    }
}

#[test]
fn a_service_without_zones_is_told_what_is_missing_and_nothing_is_made() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose(
            "web",
            &[],
            json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 80 }] }),
        );
        stage.pass(Duration::from_secs(30)).await;
        let told = stage.told("web");
        assert!(
            told.iter().any(|(_, message)| message.contains("ParameterMissing, zone mappings are required")),
            "{told:?}"
        );
        assert!(writes(&stage).is_empty(), "{:?}", writes(&stage));
        annotate(&stage, json!({ (key("zone-maps")): ZONES })).await;
        assert!(host_name(&stage.service("web").unwrap()).is_some());
    });
}
