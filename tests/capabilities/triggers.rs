//! Which change in the cluster makes load balancers be looked at again, how much that costs, and that none is lost.

use std::time::Duration;

use ccm::sim::{
    cloud::{Fault, FaultKind},
    kube as api,
};
use http::Method;
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use crate::support::{Stage, play};

const FINALIZER: &str = "service.k8s.alibaba/resources";
const PATH: &str = "/api/v1/namespaces/default/services/web";
/// Longer than it takes to act on a change.
const SOON: Duration = Duration::from_secs(5);

fn balanced(stage: &Stage, count: usize) {
    for number in 0..count {
        let port = 30_080 + number;
        stage.ask(
            &format!("web-{number}"),
            &[],
            json!({
                "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": port }],
            }),
        );
    }
}

/// Services that are nobody's or somebody else's.
fn others(stage: &Stage) {
    for (name, spec) in [
        ("inner", json!({ "type": "ClusterIP" })),
        ("port", json!({ "type": "NodePort" })),
        ("elsewhere", json!({ "type": "LoadBalancer", "loadBalancerClass": "example.com/other" })),
    ] {
        let mut spec = spec;
        spec["ports"] = json!([{ "port": 80 }]);
        stage.ask(name, &[], spec);
    }
}

/// How many members each group has, in order.
fn sizes(stage: &Stage) -> Vec<usize> {
    stage.all_groups().iter().map(|group| group.servers.len()).collect()
}

/// What the cloud was asked to change since the last time.
async fn writes_soon(stage: &Stage) -> Vec<String> {
    stage.pass(SOON).await;
    let writes = stage.balancer_writes();
    stage.clear_calls();
    writes
}

/// Each change of a node with its undoing, and whether it makes the node another member.
fn changes_of_a_node() -> Vec<(&'static str, Value, Value, bool)> {
    let ready = |status: &str| json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } });
    let pressed = |status: &str| json!({ "status": { "conditions": [{ "type": "DiskPressure", "status": status }] } });
    let label = |key: &str, value: Value| json!({ "metadata": { "labels": { key: value } } });
    let taint = |key: &str| json!({ "spec": { "taints": [{ "key": key, "value": "1", "effect": "NoSchedule" }] } });
    let untainted = json!({ "spec": { "taints": null } });
    let excluded = "node.kubernetes.io/exclude-from-external-load-balancers";
    vec![
        ("not ready", ready("False"), ready("True"), false),
        ("silent", ready("Unknown"), ready("True"), false),
        ("short of disk", pressed("True"), pressed("False"), false),
        ("another image", json!({ "status": { "images": [{ "names": ["a"] }] } }), json!({}), false),
        ("tainted by somebody", taint("example.com/own"), untainted.clone(), false),
        ("labelled by somebody", label("example.com/own", json!("a")), label("example.com/own", Value::Null), false),
        ("cordoned", json!({ "spec": { "unschedulable": true } }), json!({ "spec": { "unschedulable": null } }), false),
        ("announced to go", taint("ToBeDeletedByClusterAutoscaler"), untainted, true),
        ("excluded", label(excluded, json!("")), label(excluded, Value::Null), true),
    ]
}

#[test]
fn a_change_of_a_node_costs_each_load_balancer_one_write_or_nothing() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(3).await;
        others(&stage);
        balanced(&stage, 2);
        stage.until("three members in both", || (sizes(&stage) == [3, 3]).then_some(())).await;
        stage.pass(Duration::from_secs(30)).await;
        stage.clear_calls();
        let change = |patch: &Value| {
            let (api, node) = (&stage.world.kube, nodes[0].as_str());
            let done = match patch.get("status") {
                Some(_) => api.patch_status::<Node>("", node, patch.clone()),
                None => api.patch::<Node>("", node, patch.clone()),
            };
            done.unwrap();
        };
        for (what, there, back, leaves) in changes_of_a_node() {
            change(&there);
            let twice = |action: &str| vec![action.to_owned(); if leaves { 2 } else { 0 }];
            assert_eq!(writes_soon(&stage).await, twice("RemoveVServerGroupBackendServers"), "{what}");
            assert_eq!(sizes(&stage), if leaves { [2, 2] } else { [3, 3] }, "{what}");
            change(&back);
            assert_eq!(writes_soon(&stage).await, twice("AddVServerGroupBackendServers"), "{what}, undone");
            assert_eq!(sizes(&stage), [3, 3], "{what}, undone");
        }
        // On its way out it is no member any more, and when it is gone there is nothing left to do.
        let removed = vec!["RemoveVServerGroupBackendServers".to_owned(); 2];
        change(&json!({ "metadata": { "finalizers": ["example.com/wait"] } }));
        stage.world.kube.delete::<Node>("", &nodes[0]).unwrap();
        assert_eq!(writes_soon(&stage).await, removed, "deletion asked for");
        change(&json!({ "metadata": { "finalizers": null } }));
        assert_eq!(writes_soon(&stage).await, Vec::<String>::new(), "deleted");
        assert!(stage.node(&nodes[0]).is_none());
        // At once, the same in one step.
        stage.world.kube.delete::<Node>("", &nodes[1]).unwrap();
        assert_eq!(writes_soon(&stage).await, removed, "deleted at once");
        assert_eq!(sizes(&stage), [1, 1]);
    });
}

#[test]
fn a_new_node_costs_each_load_balancer_one_write_however_many_and_whoever_works() {
    for (services, workers) in [(0, 3), (1, 3), (3, 1), (4, 2)] {
        play(move |stage| async move {
            let keys = json!({ "serviceMaxConcurrentReconciles": workers });
            let _replica = stage.start_with(&["--leader-elect=false"], keys);
            stage.joined(1).await;
            others(&stage);
            balanced(&stage, services);
            stage.until("one member in each", || (sizes(&stage) == vec![1; services]).then_some(())).await;
            stage.pass(Duration::from_secs(30)).await;
            for known in 2..4 {
                stage.clear_calls();
                stage.joined(1).await;
                let writes = writes_soon(&stage).await;
                assert_eq!(writes, vec!["AddVServerGroupBackendServers"; services], "{services} by {workers}");
                assert_eq!(sizes(&stage), vec![known; services], "{services} by {workers}");
            }
        });
    }
}

#[test]
fn what_comes_during_a_slow_write_is_not_lost() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(2).await;
        balanced(&stage, 1);
        stage.until("two members", || (sizes(&stage) == [2]).then_some(())).await;
        stage.pass(Duration::from_secs(30)).await;
        let slow = Fault::on("slb.AddVServerGroupBackendServers", FaultKind::Slow(Duration::from_secs(15))).once();
        stage.cloud().inject(slow);
        stage.joined(1).await;
        stage.pass(SOON).await;
        assert_eq!(sizes(&stage), [2], "the third is on its way");
        // A fourth, the change of the Service that is worked on, and another Service, for which the nodes are read anew.
        stage.joined(1).await;
        stage.annotate("web-0", &[("scheduler", Some("rr"))]);
        stage.ask("late", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30090 }] }));
        stage.until("all in both", || (sizes(&stage) == [4, 4]).then_some(())).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(sizes(&stage), [4, 4]);
        assert_eq!(stage.failures("web-0"), Vec::<String>::new());
    });
}

#[test]
fn a_service_is_looked_at_again_for_whatever_it_asks_for_and_not_for_the_rest() {
    let spec = |fields: Value| json!({ "spec": fields });
    let port = |fields: Value| {
        let mut port = json!({ "name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080, "nodePort": 30080 });
        fields.as_object().unwrap().iter().for_each(|(key, value)| port[key] = value.clone());
        json!({ "spec": { "ports": [port] } })
    };
    let (is_spec, is_annotation) = (Some("ServiceSpecChanged"), Some("AnnotationChanged"));
    for (what, change, reason) in [
        ("nothing", port(json!({})), None),
        ("a label", json!({ "metadata": { "labels": { "a": "b" } } }), None),
        ("a finalizer of others", json!({ "metadata": { "finalizers": [FINALIZER, "example.com/wait"] } }), None),
        ("an annotation", json!({ "metadata": { "annotations": { "example.com/a": "b" } } }), is_annotation),
        ("the type", spec(json!({ "type": "NodePort" })), Some("TypeChanged")),
        ("source ranges", spec(json!({ "loadBalancerSourceRanges": ["10.0.0.0/8"] })), is_spec),
        ("affinity", spec(json!({ "sessionAffinity": "ClientIP" })), is_spec),
        ("the address", spec(json!({ "loadBalancerIP": "10.0.0.9" })), is_spec),
        ("the policy, and with it the port for checks", spec(json!({ "externalTrafficPolicy": "Local" })), is_spec),
        ("an external address", spec(json!({ "externalIPs": ["203.0.113.7"] })), is_spec),
        ("another of them", spec(json!({ "externalIPs": ["203.0.113.9"] })), is_spec),
        ("the families", spec(json!({ "ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4", "IPv6"] })), is_spec),
        ("the name of a port", port(json!({ "name": "web" })), is_spec),
        ("a port", port(json!({ "port": 81 })), is_spec),
        ("a protocol", port(json!({ "protocol": "UDP" })), is_spec),
        ("a port of pods", port(json!({ "targetPort": 8081 })), is_spec),
        ("a named port of pods", port(json!({ "targetPort": "web" })), is_spec),
        ("a port of nodes", port(json!({ "nodePort": 30081 })), is_spec),
        ("the protocol spoken", port(json!({ "appProtocol": "http" })), is_spec),
    ] {
        play(move |stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let ports = port(json!({}))["spec"]["ports"].clone();
            let before = json!({ "type": "LoadBalancer", "externalIPs": ["203.0.113.8"], "ports": ports });
            stage.ask("web", &[], before);
            stage.address("web").await;
            stage.pass(Duration::from_secs(30)).await;
            let told = |reason: &str| stage.told("web").iter().any(|(its, _)| its == reason);
            let all = ["ServiceSpecChanged", "AnnotationChanged", "TypeChanged"];
            assert!(!all.into_iter().any(told), "{:?}", stage.told("web"));
            stage.clear_calls();
            stage.change("web", change);
            stage.pass(SOON).await;
            assert_eq!(all.into_iter().find(|reason| told(reason)), reason, "{what}: {:?}", stage.told("web"));
            if reason.is_none() {
                assert_eq!(stage.words(), Vec::<String>::new(), "{what}");
            }
        });
    }
}

#[test]
fn a_service_made_anew_under_its_name_gets_a_load_balancer_of_its_own() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let made = |stage: &Stage| stage.cloud().load_balancers().into_iter().map(|lb| lb.id).collect::<Vec<_>>();
        let mut before = Vec::new();
        for _ in 0..3 {
            stage.ask_web(&[]);
            stage.address("web").await;
            stage.pass(SOON).await;
            let now = made(&stage);
            assert!(now.len() == 1 && !before.contains(&now[0]), "{now:?} after {before:?}");
            before.extend(now);
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            // Whoever replaces it does not wait for more than the name.
            stage.until("the name is free", || stage.service("web").is_none().then_some(())).await;
        }
        stage.pass(SOON).await;
        assert_eq!(made(&stage), Vec::<String>::new());
    });
}

#[test]
fn the_finalizer_comes_before_any_call_and_is_not_written_where_it_stands() {
    for (there, written) in [(false, 1), (true, 0)] {
        play(move |stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let finalizers = if there { json!([FINALIZER]) } else { json!([]) };
            let service = json!({
                "metadata": { "name": "web", "namespace": "default", "finalizers": finalizers },
                "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
            });
            // What is made before the finalizer stands would be left behind by a deletion.
            stage.cloud().inject(Fault::on("slb.CreateLoadBalancer", FaultKind::Slow(Duration::from_secs(10))));
            stage.world.kube.clear_requests();
            stage.world.kube.create::<Service>(&serde_json::from_value(service).unwrap()).unwrap();
            stage.pass(SOON).await;
            assert_eq!(stage.service("web").unwrap().metadata.finalizers, Some(vec![FINALIZER.to_owned()]));
            assert_eq!(stage.cloud().load_balancers().len(), 0);
            stage.address("web").await;
            let patches = stage.world.kube.requests().into_iter();
            let to_it = patches.filter(|request| request.method == Method::PATCH && request.path == PATH).count();
            assert_eq!(to_it, written, "already there: {there}");
        });
    }
}

#[test]
fn a_status_that_could_not_be_written_is_written_later_without_a_second_load_balancer() {
    for status in [409, 404, 500] {
        play(move |stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let effect = api::Effect::Status(status);
            stage.world.kube.inject(api::Fault::on(format!("{PATH}/status"), effect).method(Method::PATCH).times(3));
            stage.ask_web(&[]);
            stage.address("web").await;
            stage.pass(SOON).await;
            let made = stage.balancer_writes().iter().filter(|action| *action == "CreateLoadBalancer").count();
            assert_eq!((made, stage.cloud().load_balancers().len()), (1, 1), "{status}");
        });
    }
}
