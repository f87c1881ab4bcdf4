//! Fields of a Service's spec: given from the start, changed, and taken away.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};

use crate::support::{Stage, play};

fn spec(more: &Value) -> Value {
    let mut spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30080 }] });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

/// With the Service `web` in place, and the calls so far forgotten.
async fn settled(stage: &Stage, annotations: &[(&str, &str)], more: Value) {
    stage.joined(2).await;
    stage.ask("web", annotations, spec(&more));
    stage.address("web").await;
    stage.pass(Duration::from_secs(20)).await;
    stage.clear_calls();
}

async fn change(stage: &Stage, fields: Value) {
    stage.change("web", json!({ "spec": fields }));
    stage.pass(Duration::from_secs(20)).await;
}

/// `port/protocol > group` of each listener.
fn listeners(stage: &Stage) -> Vec<String> {
    let id = stage.balancer().id;
    let groups = stage.cloud().groups(&id);
    let name = |id: Option<&str>| groups.iter().find(|group| Some(group.id.as_str()) == id).map(|g| g.name.clone());
    let all = stage.cloud().listeners(&id);
    all.iter()
        .map(|l| format!("{}/{} > {}", l.port, l.protocol.as_str(), name(l.group()).unwrap_or_default()))
        .collect()
}

#[test]
fn another_node_port_gets_another_group_under_the_same_listener() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        settled(&stage, &[], json!({})).await;
        let address = stage.address("web").await;
        stage.change("web", json!({ "spec": { "ports": [{ "port": 80, "nodePort": 30099 }] } }));
        for _ in 0..200 {
            stage.pass(Duration::from_millis(100)).await;
            let groups = stage.cloud().groups(&stage.balancer().id);
            let listener = stage.only_listener().unwrap();
            let its = groups.iter().find(|group| Some(group.id.as_str()) == listener.group()).unwrap();
            assert_eq!(its.servers.len(), 2, "its group has members at all times: {:?}", stage.words());
        }
        assert_eq!(listeners(&stage), ["80/tcp > k8s/30099/web/default/c1"]);
        assert_eq!(stage.all_groups().len(), 1, "the old one is gone");
        assert!(stage.all_groups()[0].servers.iter().all(|server| server.port == 30099));
        let writes = stage.balancer_writes();
        assert_eq!(writes, ["CreateVServerGroup", "SetLoadBalancerTCPListenerAttribute", "DeleteVServerGroup"]);
        assert_eq!(stage.address("web").await, address);
    });
}

#[test]
fn ports_come_change_and_go_and_names_make_no_difference() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        settled(&stage, &[], json!({})).await;
        change(&stage, json!({ "ports": [{ "name": "web", "port": 80, "nodePort": 30080, "targetPort": 8080 }] }))
            .await;
        assert_eq!(stage.balancer_writes(), Vec::<String>::new(), "nodes are reached at the node port");
        let two = json!([{ "name": "web", "port": 80, "nodePort": 30080 }, { "name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053 }]);
        change(&stage, json!({ "ports": two })).await;
        let expected = ["53/udp > k8s/30053/web/default/c1", "80/tcp > k8s/30080/web/default/c1"];
        assert_eq!(listeners(&stage), expected);
        let moved = json!([{ "name": "web", "port": 8080, "nodePort": 30080 }, { "name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053 }]);
        change(&stage, json!({ "ports": moved })).await;
        let expected = ["53/udp > k8s/30053/web/default/c1", "8080/tcp > k8s/30080/web/default/c1"];
        assert_eq!(listeners(&stage), expected);
        change(&stage, json!({ "ports": [{ "name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053 }] })).await;
        assert_eq!(listeners(&stage), ["53/udp > k8s/30053/web/default/c1"]);
        assert_eq!(stage.all_groups().len(), 1);
        let sctp = json!([{ "name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053 }, { "name": "s", "port": 99, "protocol": "SCTP" }]);
        change(&stage, json!({ "ports": sctp })).await;
        assert_eq!(listeners(&stage), ["53/udp > k8s/30053/web/default/c1"], "the others go on");
        let told = stage.failures("web");
        assert!(told.iter().any(|text| text.contains("port 99 has the protocol SCTP; use TCP or UDP")), "{told:?}");
    });
}

#[test]
fn the_traffic_policy_changes_members_and_checks_and_nothing_else() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        settled(&stage, &[], json!({ "externalTrafficPolicy": "Cluster" })).await;
        let nodes: BTreeSet<String> = stage.member_nodes();
        let node = nodes.first().unwrap().clone();
        let slice = json!({
            "metadata": { "name": "web-1", "namespace": "default", "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4", "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
            "endpoints": (1..=3).map(|n| json!({ "addresses": [format!("172.20.0.{n}")], "nodeName": node })).collect::<Vec<_>>(),
        });
        let slice: k8s_openapi::api::discovery::v1::EndpointSlice = serde_json::from_value(slice).unwrap();
        stage.world.kube.create(&slice).unwrap();
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        change(&stage, json!({ "externalTrafficPolicy": "Local" })).await;
        let servers = || {
            stage.all_groups()[0]
                .servers
                .iter()
                .map(|s| (format!("cn-hangzhou.{}", s.id), s.weight))
                .collect::<Vec<_>>()
        };
        assert_eq!(servers(), [(node, 3)]);
        change(&stage, json!({ "externalTrafficPolicy": "Cluster" })).await;
        assert_eq!(stage.member_nodes(), nodes);
        assert!(servers().iter().all(|(_, weight)| *weight == 100), "{:?}", servers());
        // With Local, nodes are checked at the port that kube-proxy answers checks on; all else stays.
        let is_expected = |write: &String| {
            write.contains("BackendServers")
                || ["SetVServerGroupAttribute", "SetLoadBalancerTCPListenerAttribute"].contains(&write.as_str())
        };
        assert!(stage.balancer_writes().iter().all(is_expected), "{:?}", stage.balancer_writes());
    });
}

#[test]
fn without_node_ports_it_is_told_what_is_missing() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let none = json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80 }] });
        stage.ask("web", &[], none);
        stage.pass(Duration::from_secs(30)).await;
        let told = stage.failures("web");
        let is_clear =
            |text: &String| text.contains("port 80 has no node port; set spec.allocateLoadBalancerNodePorts to true");
        assert!(!told.is_empty() && told.iter().all(is_clear), "{told:?}");
        assert_eq!(stage.all_groups(), [], "no group for the node port 0");
        change(&stage, json!({ "allocateLoadBalancerNodePorts": true, "ports": [{ "port": 80, "nodePort": 30080 }] }))
            .await;
        assert_eq!(listeners(&stage), ["80/tcp > k8s/30080/web/default/c1"], "{:?}", stage.failures("web"));
    });
}

#[test]
fn what_keeps_clients_with_pods_only_is_told() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        settled(&stage, &[], json!({ "sessionAffinity": "ClientIP" })).await;
        let told = || stage.texts("web", "FeatureNotSupported").len();
        assert!(stage.texts("web", "FeatureNotSupported")[0].contains("spec.sessionAffinity ClientIP"));
        stage.annotate("web", &[("persistence-timeout", Some("300"))]);
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(stage.only_listener().unwrap().setting("PersistenceTimeout"), Some("300"));
        stage.clear_calls();
        change(&stage, json!({ "sessionAffinity": "None" })).await;
        assert_eq!((stage.balancer_writes(), told()), (vec![], 1));
        change(&stage, json!({ "sessionAffinity": "ClientIP" })).await;
        assert_eq!((stage.balancer_writes(), told()), (vec![], 1), "now it is kept");
        assert_eq!(stage.failures("web"), Vec::<String>::new());
    });
}

#[test]
fn a_wish_for_an_address_is_given_up_or_told() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let intranet = [("address-type", "intranet")];
        settled(&stage, &intranet, json!({ "loadBalancerIP": "ten" })).await;
        let told = stage.texts("web", "FeatureNotSupported");
        assert!(
            told.iter().any(|text| text.contains("spec.loadBalancerIP ten has no effect: it is no address")),
            "{told:?}"
        );
        change(&stage, json!({ "loadBalancerIP": null })).await;
        assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        assert_eq!(stage.failures("web"), Vec::<String>::new());
    });
}

/// These are for others: kube-proxy, the pod network, DNS.
#[test]
fn fields_that_are_not_for_load_balancers_cost_no_call() {
    for fields in [
        json!({ "internalTrafficPolicy": "Local" }),
        json!({ "externalIPs": ["203.0.113.7"] }),
        json!({ "publishNotReadyAddresses": true }),
        json!({ "selector": { "app": "other" } }),
        json!({ "ports": [{ "port": 80, "nodePort": 30080, "appProtocol": "kubernetes.io/h2c" }] }),
        json!({ "ipFamilyPolicy": "PreferDualStack" }),
        json!({ "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack" }),
    ] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            settled(&stage, &[], json!({})).await;
            let before = stage.only_listener();
            change(&stage, fields.clone()).await;
            let back: serde_json::Map<String, Value> = fields
                .as_object()
                .unwrap()
                .keys()
                .filter(|key| *key != "ports")
                .map(|key| (key.clone(), Value::Null))
                .collect();
            change(&stage, Value::Object(back)).await;
            assert_eq!(stage.balancer_writes(), Vec::<String>::new(), "{fields}");
            assert_eq!(stage.only_listener(), before, "{fields}");
            assert_eq!(stage.failures("web"), Vec::<String>::new(), "{fields}");
        });
    }
}

#[test]
fn annotations_about_members_are_followed_taken_back_and_refused_when_wrong() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let nodes = stage.joined(3).await;
        let patch = |node: &str, patch: Value| {
            stage.world.kube.patch::<k8s_openapi::api::core::v1::Node>("", node, patch).unwrap();
        };
        patch(&nodes[0], json!({ "metadata": { "labels": { "pool": "web" } } }));
        patch(&nodes[1], json!({ "metadata": { "labels": { "pool": "web" } }, "spec": { "unschedulable": true } }));
        let asked = [("backend-label", "pool=web"), ("remove-unscheduled-backend", "on"), ("default-weight", "7")];
        stage.ask("web", &asked, spec(&json!({})));
        stage.address("web").await;
        stage.pass(Duration::from_secs(20)).await;
        let set = |nodes: &[String]| nodes.iter().cloned().collect::<BTreeSet<_>>();
        let weights = || stage.all_groups()[0].servers.iter().map(|server| server.weight).collect::<BTreeSet<_>>();
        assert_eq!((stage.member_nodes(), weights()), (set(&nodes[..1]), BTreeSet::from([7])));
        let ask = async |suffix: &str, value: Option<&str>| {
            stage.annotate("web", &[(suffix, value)]);
            stage.pass(Duration::from_secs(10)).await;
        };
        ask("remove-unscheduled-backend", Some("off")).await;
        assert_eq!(stage.member_nodes(), set(&nodes[..2]), "changed");
        ask("remove-unscheduled-backend", None).await;
        assert_eq!(stage.member_nodes(), set(&nodes[..2]), "taken away");
        ask("backend-label", None).await;
        assert_eq!(stage.member_nodes(), set(&nodes), "taken away");
        ask("default-weight", Some("50")).await;
        assert_eq!(weights(), BTreeSet::from([50]), "changed");
        ask("ignore-weight-update", Some("on")).await;
        ask("default-weight", None).await;
        assert_eq!(weights(), BTreeSet::from([50]), "weights are left alone");
        ask("ignore-weight-update", None).await;
        assert_eq!(weights(), BTreeSet::from([100]), "taken away");
        let wrong = [
            ("backend-label", "pool"),
            ("remove-unscheduled-backend", "yes"),
            ("default-weight", "101"),
            ("ignore-weight-update", "true"),
        ];
        stage.clear_calls();
        stage.annotate("web", &wrong.map(|(suffix, value)| (suffix, Some(value))));
        stage.pass(Duration::from_secs(10)).await;
        let told = stage.failures("web");
        assert_eq!(told.len(), 1, "all in one: {told:?}");
        for (suffix, value) in wrong {
            assert!(told[0].contains(&format!("{suffix} is {value:?}")), "{suffix}: {told:?}");
        }
        // Who the members are cannot be told, so they stay as they are.
        stage.joined(1).await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        assert_eq!(stage.member_nodes(), set(&nodes));
    });
}

#[test]
fn members_are_checked_at_the_port_that_is_asked_for() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        settled(&stage, &[], json!({ "externalTrafficPolicy": "Local", "healthCheckNodePort": 32001 })).await;
        let check = || {
            let listener = stage.only_listener().unwrap();
            listener.setting("HealthCheckConnectPort").unwrap_or_default().to_owned()
        };
        assert_eq!(check(), "32001");
        // The API server lets it change only by way of the other policy, with which there is none.
        change(&stage, json!({ "externalTrafficPolicy": "Cluster", "healthCheckNodePort": null })).await;
        assert_eq!(check(), "-520", "taken away");
        change(&stage, json!({ "externalTrafficPolicy": "Local", "healthCheckNodePort": 32002 })).await;
        assert_eq!(check(), "32002", "changed");
        assert_eq!(stage.failures("web"), Vec::<String>::new());
    });
}

#[test]
fn another_port_of_the_pods_gets_another_group_with_members_before_the_listener_moves() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        let all = crate::pods::addresses(&stage, 2);
        crate::pods::slice(&stage, &all);
        crate::pods::expose(&stage);
        stage.until("two members", || (crate::pods::members(&stage).len() == 2).then_some(())).await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(listeners(&stage), ["80/tcp > k8s/8080/web/default/c1"]);
        stage.clear_calls();
        stage.change("web", json!({ "spec": { "ports": [{ "port": 80, "targetPort": 9090 }] } }));
        for _ in 0..100 {
            stage.pass(Duration::from_millis(100)).await;
            let listener = stage.only_listener().unwrap();
            let its = stage.all_groups().into_iter().find(|group| Some(group.id.as_str()) == listener.group()).unwrap();
            assert_eq!(its.servers.len(), 2, "{:?}", stage.words());
        }
        assert_eq!(listeners(&stage), ["80/tcp > k8s/9090/web/default/c1"]);
        assert_eq!(stage.all_groups().len(), 1);
    });
}

/// Such a value never reaches a controller.
#[test]
fn what_the_api_server_refuses_changes_nothing() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        settled(&stage, &[], json!({})).await;
        for bad in [
            json!({ "externalTrafficPolicy": "Sometimes" }),
            json!({ "internalTrafficPolicy": "Sometimes" }),
            json!({ "sessionAffinity": "Cookie" }),
            json!({ "healthCheckNodePort": 32001 }),
            json!({ "externalTrafficPolicy": "Local", "healthCheckNodePort": 80 }),
            json!({ "ipFamilyPolicy": "RequireDualStack" }),
            json!({ "ipFamilyPolicy": "Both" }),
            json!({ "ipFamilies": ["IPv5"] }),
            json!({ "loadBalancerClass": "example.com/other" }),
            json!({ "loadBalancerSourceRanges": ["everywhere"] }),
            json!({ "type": "Balancer" }),
            json!({ "ports": [] }),
            json!({ "ports": [{ "port": 0 }] }),
            json!({ "ports": [{ "port": 80, "nodePort": 80 }] }),
            json!({ "ports": [{ "port": 80, "protocol": "QUIC" }] }),
            json!({ "ports": [{ "name": "No_Name", "port": 80 }] }),
        ] {
            let patch = json!({ "spec": bad });
            let answer = stage.world.kube.patch::<k8s_openapi::api::core::v1::Service>("default", "web", patch);
            assert!(answer.is_err(), "{bad}");
        }
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(stage.balancer_writes(), Vec::<String>::new());
    });
}
