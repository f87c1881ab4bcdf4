//! Load balancers of the user's that Services use, alone or together.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, clb::PREFIX, play};

/// A load balancer made by hand.
pub fn by_hand(stage: &Stage, params: &[(&str, &str)]) -> String {
    let params: Vec<(&str, &str)> = [("LoadBalancerName", "by-hand"), ("LoadBalancerSpec", "slb.s1.small")]
        .into_iter()
        .chain(params.iter().copied())
        .collect();
    let made = stage.cloud().administer("slb.CreateLoadBalancer", &params).unwrap();
    made["LoadBalancerId"].as_str().unwrap().to_owned()
}

fn listener_by_hand(stage: &Stage, id: &str, port: &str, description: &str) {
    let params = [
        ("LoadBalancerId", id),
        ("ListenerPort", port),
        ("Bandwidth", "-1"),
        ("BackendServerPort", "80"),
        ("Description", description),
    ];
    stage.cloud().administer("slb.CreateLoadBalancerTCPListener", &params).unwrap();
}

pub fn tag(stage: &Stage, id: &str, key: &str, value: &str) {
    stage.cloud().with_state(|state| {
        let load_balancer = state.slb.load_balancers.get_mut(id).unwrap();
        load_balancer.tags.insert(key.to_owned(), value.to_owned());
    });
}

/// A Service that uses the load balancer, with the right to make listeners on it.
pub fn share(stage: &Stage, name: &str, id: &str, ports: &[(u16, &str)]) {
    let ports: Vec<Value> = ports
        .iter()
        .map(|(port, protocol)| json!({ "name": format!("p{port}{}", protocol.to_lowercase()), "port": port, "protocol": protocol }))
        .collect();
    let (id_key, force) = (format!("{PREFIX}id"), format!("{PREFIX}force-override-listeners"));
    stage.expose(name, &[(&id_key, id), (&force, "true")], json!({ "type": "LoadBalancer", "ports": ports }));
}

/// Port, protocol and description of each listener.
fn listeners(stage: &Stage, id: &str) -> Vec<String> {
    let one = |listener: ccm::sim::cloud::slb::Listener| {
        format!(
            "{}/{} {}",
            listener.port,
            listener.protocol.as_str(),
            listener.setting("Description").unwrap_or_default()
        )
    };
    stage.cloud().listeners(id).into_iter().map(one).collect()
}

#[test]
fn the_later_of_two_services_on_one_port_is_told_of_the_first_and_follows_it() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let id = by_hand(&stage, &[]);
        share(&stage, "first", &id, &[(80, "TCP")]);
        stage.address("first").await;
        stage.pass(Duration::from_secs(10)).await;
        share(&stage, "second", &id, &[(80, "TCP"), (81, "TCP")]);
        stage.pass(Duration::from_secs(200)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/first/default/c1", "81/tcp k8s/81/second/default/c1"]);
        let told = stage.failures("second");
        assert!(told.iter().any(|text| text.contains("listener 80/tcp") && text.contains("default/first")), "{told:?}");
        let ensured = || stage.told("second").iter().any(|(reason, _)| reason == "EnsuredLoadBalancer");
        assert!(!ensured());
        assert_eq!(stage.failures("first"), Vec::<String>::new());
        stage.world.kube.delete::<Service>("default", "first").unwrap();
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/second/default/c1", "81/tcp k8s/81/second/default/c1"]);
        assert!(stage.service("first").is_none());
        assert!(ensured(), "{:?}", stage.told("second"));
    });
}

#[test]
fn a_port_that_the_first_gives_up_goes_to_the_second() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let id = by_hand(&stage, &[]);
        share(&stage, "first", &id, &[(80, "TCP")]);
        stage.address("first").await;
        share(&stage, "second", &id, &[(80, "TCP")]);
        stage.pass(Duration::from_secs(200)).await;
        let ports = json!({ "spec": { "ports": [{ "name": "p", "port": 90 }] } });
        stage.world.kube.patch::<Service>("default", "first", ports).unwrap();
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/second/default/c1", "90/tcp k8s/90/first/default/c1"]);
    });
}

#[test]
fn the_older_service_gets_the_port_whichever_is_seen_first() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        replica.stop().await.unwrap();
        let id = by_hand(&stage, &[]);
        share(&stage, "zeta", &id, &[(80, "TCP")]);
        stage.pass(Duration::from_secs(10)).await;
        share(&stage, "alpha", &id, &[(80, "TCP")]);
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/zeta/default/c1"]);
        let told = stage.failures("alpha");
        assert!(told.iter().all(|text| text.contains("default/zeta")) && !told.is_empty(), "{told:?}");
        assert_eq!(stage.failures("zeta"), Vec::<String>::new());
    });
}

#[test]
fn tcp_and_udp_on_one_port_are_no_conflict() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let id = by_hand(&stage, &[]);
        share(&stage, "tcp", &id, &[(53, "TCP")]);
        share(&stage, "udp", &id, &[(53, "UDP")]);
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(listeners(&stage, &id), ["53/tcp k8s/53/tcp/default/c1", "53/udp k8s/53/udp/default/c1"]);
        assert_eq!(stage.failures("tcp").len() + stage.failures("udp").len(), 0);
    });
}

#[test]
fn a_port_that_another_cluster_gives_up_is_taken_over() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let id = by_hand(&stage, &[]);
        listener_by_hand(&stage, &id, "80", "k8s/80/web/default/c2");
        share(&stage, "web", &id, &[(80, "TCP")]);
        stage.pass(Duration::from_secs(900)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/web/default/c2"]);
        assert!(stage.failures("web")[0].contains("default/web in the cluster c2"), "{:?}", stage.failures("web"));
        let gone = [("LoadBalancerId", id.as_str()), ("ListenerPort", "80"), ("ListenerProtocol", "tcp")];
        stage.cloud().administer("slb.DeleteLoadBalancerListener", &gone).unwrap();
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/web/default/c1"]);
    });
}

#[test]
fn what_cannot_be_used_is_refused_for_its_own_reason_before_anything_is_changed() {
    for (case, expected) in [
        ("api server", "it serves the API server of the cluster c1"),
        ("other service", "it was made for the Service default/other"),
        ("other cluster", "it was made for a Service of another cluster"),
        ("vpc", "it is in the VPC vpc-elsewhere and cannot reach this cluster"),
        ("address type", "its address is internet, the annotation address-type asks for intranet"),
        ("missing", "does not exist in this region"),
    ] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let mut id = by_hand(&stage, &[]);
            match case {
                "api server" => tag(&stage, &id, "ack.aliyun.com", "c1"),
                "other service" => {
                    stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
                    stage.address("other").await;
                    let own = stage.cloud().load_balancers().into_iter().find(|lb| lb.id != id).unwrap();
                    id = own.id;
                }
                "other cluster" => tag(&stage, &id, "kubernetes.do.not.delete", "a0123"),
                "vpc" => stage.cloud().with_state(|state| {
                    "vpc-elsewhere".clone_into(&mut state.slb.load_balancers.get_mut(&id).unwrap().vpc);
                }),
                "missing" => "lb-nowhere".clone_into(&mut id),
                _ => {}
            }
            stage.pass(Duration::from_secs(10)).await;
            stage.clear_calls();
            let keys = ["id", "force-override-listeners", "address-type"].map(|suffix| format!("{PREFIX}{suffix}"));
            let mut annotations = vec![(keys[0].as_str(), id.as_str()), (keys[1].as_str(), "true")];
            if case == "address type" {
                annotations.push((&keys[2], "intranet"));
            }
            stage.expose("web", &annotations, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
            stage.pass(Duration::from_secs(120)).await;
            let told = stage.failures("web");
            assert!(!told.is_empty() && told.iter().all(|text| text.contains(expected)), "{case}: {told:?}");
            assert_eq!(stage.balancer_writes(), Vec::<String>::new(), "{case}");
            // A Service that never had anything there goes without a trace.
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.pass(Duration::from_secs(10)).await;
            assert!(stage.service("web").is_none(), "{case}");
            assert_eq!(stage.balancer_writes(), Vec::<String>::new(), "{case}");
        });
    }
}

#[test]
fn a_load_balancer_that_was_refused_is_used_once_nothing_speaks_against_it() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let id = by_hand(&stage, &[]);
        tag(&stage, &id, "ack.aliyun.com", "c1");
        share(&stage, "web", &id, &[(80, "TCP")]);
        stage.pass(Duration::from_secs(60)).await;
        stage.cloud().with_state(|state| state.slb.load_balancers.get_mut(&id).unwrap().tags.remove("ack.aliyun.com"));
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/web/default/c1"]);
    });
}

#[test]
fn without_the_override_attributes_and_listeners_are_the_users() {
    for value in [None, Some("false"), Some("true")] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let id = by_hand(&stage, &[]);
            listener_by_hand(&stage, &id, "443", "mine");
            listener_by_hand(&stage, &id, "8443", "mine too");
            let keys = ["id", "name", "delete-protection", "additional-resource-tags", "force-override-listeners"]
                .map(|suffix| format!("{PREFIX}{suffix}"));
            let mut annotations = vec![
                (keys[0].as_str(), id.as_str()),
                (&keys[1], "new-name"),
                (&keys[2], "on"),
                (&keys[3], "team=shop"),
            ];
            annotations.extend(value.map(|value| (keys[4].as_str(), value)));
            stage.expose("web", &annotations, json!({ "type": "LoadBalancer", "ports": [{ "port": 443 }] }));
            stage.address("web").await;
            stage.pass(Duration::from_secs(20)).await;
            let now = || stage.cloud().load_balancers().into_iter().find(|lb| lb.id == id).unwrap();
            let told = stage.told("web");
            let unheeded = told.iter().find(|(reason, _)| reason == "FeatureNotSupported");
            assert_eq!(stage.cloud().groups(&id).len(), 1, "the group is there in any case");
            assert_eq!(now().tags.get("kubernetes.reused.by.user").map(String::as_str), Some("true"));
            if value == Some("true") {
                assert_eq!(listeners(&stage, &id), ["443/tcp k8s/443/web/default/c1", "8443/tcp mine too"]);
                assert_eq!((now().name.as_str(), now().delete_protection), ("new-name", true));
                assert_eq!(unheeded, None);
            } else {
                assert_eq!(listeners(&stage, &id), ["443/tcp mine", "8443/tcp mine too"]);
                assert_eq!((now().name.as_str(), now().delete_protection), ("by-hand", false));
                assert_eq!(now().tags.len(), 1);
                assert!(
                    unheeded.is_some_and(|(_, text)| text.contains("name, delete-protection, additional")),
                    "{told:?}"
                );
            }
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
            let left = if value == Some("true") {
                vec!["8443/tcp mine too"]
            } else {
                vec!["443/tcp mine", "8443/tcp mine too"]
            };
            assert_eq!(listeners(&stage, &id), left);
            assert_eq!(stage.cloud().groups(&id), []);
            assert_eq!(now().tags.get("kubernetes.reused.by.user"), None, "nobody uses it any more");
            assert_eq!(now().delete_protection, value == Some("true"), "protection is left as it is");
        });
    }
}

#[test]
fn a_preserved_load_balancer_goes_on_working_and_is_the_users() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(2).await;
        let preserve = format!("{PREFIX}preserve-lb-on-delete");
        let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose("web", &[(&preserve, "true")], spec);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let before = stage.cloud().load_balancers().pop().unwrap();
        let (listeners_before, groups_before) = (stage.cloud().listeners(&before.id), stage.cloud().groups(&before.id));
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        stage.pass(Duration::from_secs(60)).await;
        let after = stage.cloud().load_balancers().pop().unwrap();
        assert_eq!((after.delete_protection, after.modification_protection.as_str()), (false, "NonProtection"));
        assert_eq!(after.tags.len(), 0, "{:?}", after.tags);
        assert_eq!(stage.cloud().listeners(&before.id), listeners_before);
        assert_eq!(stage.cloud().groups(&before.id), groups_before);
        assert_eq!(groups_before[0].servers.len(), 2);
        let told = stage.told("web");
        assert_eq!(told.iter().filter(|(reason, _)| reason == "PreservedOnDelete").count(), 1, "{told:?}");
    });
}

#[test]
fn a_service_stays_with_the_load_balancer_that_it_shows() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (id, other) = (by_hand(&stage, &[]), by_hand(&stage, &[]));
        share(&stage, "web", &id, &[(80, "TCP")]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let annotate = |value: Value| {
            let patch = json!({ "metadata": { "annotations": { (format!("{PREFIX}id")): value } } });
            stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
        };
        for (value, expected) in [
            (json!(other), "cannot be bound to ip"),
            (Value::Null, "name it in the annotation id"),
            (json!("lb-nowhere"), "does not exist in this region"),
        ] {
            stage.clear_calls();
            annotate(value.clone());
            stage.pass(Duration::from_secs(30)).await;
            let told = stage.failures("web");
            assert!(told.iter().any(|text| text.contains(expected)), "{value}: {told:?}");
            assert_eq!(stage.balancer_writes(), Vec::<String>::new(), "{value}");
        }
        annotate(json!(id));
        stage.joined(1).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(stage.cloud().groups(&id)[0].servers.len(), 2, "{:?}", stage.told("web"));
        assert_eq!(stage.cloud().load_balancers().len(), 2);
    });
}

#[test]
fn the_override_can_be_given_later_and_taken_back_and_is_refused_when_wrong() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let id = by_hand(&stage, &[]);
        listener_by_hand(&stage, &id, "80", "mine");
        let (id_key, force) = (format!("{PREFIX}id"), format!("{PREFIX}force-override-listeners"));
        let spec =
            json!({ "type": "LoadBalancer", "ports": [{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }] });
        stage.expose("web", &[(&id_key, &id)], spec);
        stage.address("web").await;
        let annotate = async |value: Value| {
            let patch = json!({ "metadata": { "annotations": { (force.as_str()): value } } });
            stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
            stage.pass(Duration::from_secs(20)).await;
        };
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp mine"]);
        stage.clear_calls();
        annotate(json!("yes")).await;
        assert!(stage.failures("web").iter().any(|text| text.contains("force-override-listeners")));
        assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        annotate(json!("true")).await;
        assert_eq!(listeners(&stage, &id), ["80/tcp k8s/80/web/default/c1", "81/tcp k8s/81/web/default/c1"]);
        stage.clear_calls();
        annotate(json!("false")).await;
        annotate(Value::Null).await;
        assert_eq!(listeners(&stage, &id).len(), 2, "they go with the Service");
        assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        stage.world.kube.delete::<Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        assert_eq!(listeners(&stage, &id), Vec::<String>::new());
    });
}
