//! What a Service's load balancer is like from the first day, and what is kept so.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::support::{address_of, clb::key, play};

#[test]
fn an_address_of_ones_own_is_had_where_the_cloud_gives_one() {
    for (address_type, expected) in [("intranet", None), ("internet", Some("the cloud chooses internet addresses"))] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let spec = json!({ "type": "LoadBalancer", "loadBalancerIP": "10.0.0.77", "ports": [{ "port": 80 }] });
            stage.ask("web", &[("address-type", address_type)], spec);
            let address = stage.address("web").await;
            assert_eq!(address == "10.0.0.77", address_type == "intranet", "{address}");
            stage.pass(Duration::from_secs(5)).await;
            let told = stage.texts("web", "FeatureNotSupported");
            assert_eq!(told.len(), usize::from(expected.is_some()), "{told:?}");
            assert!(expected.is_none_or(|text| told[0].contains(text)), "{told:?}");
            // Once there, it stays, and the Service does not fail for it.
            let patch = json!({ "spec": { "loadBalancerIP": "10.0.0.78" } });
            stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
            stage.pass(Duration::from_secs(20)).await;
            assert_eq!(stage.address("web").await, address);
            assert!(stage.texts("web", "FeatureNotSupported").iter().any(|text| text.contains("cannot be changed")));
            assert_eq!(stage.failures("web"), Vec::<String>::new());
        });
    }
}

#[test]
fn a_status_or_finalizer_that_somebody_changed_is_put_right_at_once() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.ask_web(&[]);
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
        let told = stage.failures("web");
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
