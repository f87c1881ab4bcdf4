//! Network load balancers that are the user's, that stay behind, that were there before, and that
//! take another kind's place.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::{
    ZONES, annotate, balancers, by_hand, expose, expose_with, gone, groups, host_name, key, listeners, settled, shown,
    web, writes,
};
use crate::support::{Stage, address_of, play};

fn foreign(stage: &Stage, group: &str) -> String {
    let listeners: Vec<_> = listeners(stage).into_iter().filter(|l| l.port == 9000).collect();
    let groups: Vec<_> = groups(stage).into_iter().filter(|g| g.id == group).collect();
    format!("{listeners:?} {groups:?}")
}

#[test]
fn one_of_the_users_gets_groups_and_with_override_listeners_and_is_left_as_it_was() {
    play(|stage| async move {
        let (id, group) = by_hand(&stage).await;
        let before = foreign(&stage, &group);
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[("id", &id)], json!([{ "port": 80 }]));
        let shown = shown(&stage).await;
        assert!(shown.starts_with(&id), "{shown}");
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(listeners(&stage).len(), 1, "none without the override");
        assert_eq!(groups(&stage).len(), 2);
        annotate(&stage, json!({ (key("force-override-listeners")): "true" })).await;
        assert_eq!(listeners(&stage).len(), 2, "{:?}", stage.told("web"));
        gone(&stage).await;
        assert_eq!(balancers(&stage).len(), 1);
        assert_eq!((listeners(&stage).len(), groups(&stage).len()), (1, 1), "only ours went");
        assert_eq!(foreign(&stage, &group), before);
    });
}

#[test]
fn one_that_kubernetes_made_is_not_reused() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        shown(&stage).await;
        let id = balancers(&stage)[0].id.clone();
        let spec =
            json!({ "type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{ "port": 81 }] });
        stage.expose("other", &[(&key("id"), &id)], spec);
        stage.pass(Duration::from_secs(10)).await;
        assert!(stage.told("other").iter().any(|(_, m)| m.contains("can not be reused")), "{:?}", stage.told("other"));
        assert_eq!(listeners(&stage).len(), 1);
    });
}

#[test]
fn one_that_is_to_be_preserved_stays_working_and_without_marks() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[("preserve-lb-on-delete", "true")], json!([{ "port": 80 }]));
        settled(&stage).await;
        gone(&stage).await;
        let balancer = &balancers(&stage)[0];
        assert_eq!(
            (balancer.delete_protection.clone(), balancer.modification_protection.as_str()),
            (None, "NonProtection")
        );
        assert!(balancer.tags.is_empty() && groups(&stage)[0].tags.is_empty(), "{:?}", balancer.tags);
        assert_eq!((listeners(&stage).len(), groups(&stage)[0].servers.len()), (1, 1));
        assert!(stage.told("web").iter().any(|(reason, _)| reason == "PreservedOnDelete"));
    });
}

#[test]
fn what_another_controller_with_the_same_marks_made_is_taken_over_without_a_write() {
    play(|stage| async move {
        let replica = stage.start();
        stage.joined(2).await;
        expose(&stage, &[], json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 53, "protocol": "UDP" }]));
        settled(&stage).await;
        replica.stop().await.unwrap();
        // The released controller's hash is as good as none.
        let labels = json!({ "metadata": { "labels": { "service.beta.kubernetes.io/hash": "other" } } });
        stage.world.kube.patch::<Service>("default", "web", labels).unwrap();
        stage.clear_calls();
        let _replica = stage.start();
        stage.pass(Duration::from_secs(60)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
    });
}

#[test]
fn the_audit_repairs_what_is_ours_and_leaves_the_rest_alone() {
    play(|stage| async move {
        let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
        stage.joined(2).await;
        web(&stage);
        settled(&stage).await;
        let (group, listener) = (groups(&stage).remove(0), listeners(&stage).remove(0));
        stage.cloud().administer("nlb.StopListener", &[("ListenerId", listener.id.as_str())]).unwrap();
        let server = &group.servers[0];
        let port = server.port.to_string();
        let gone = [
            ("ServerGroupId", group.id.as_str()),
            ("Servers.1.ServerId", server.id.as_str()),
            ("Servers.1.ServerType", "Ecs"),
            ("Servers.1.Port", port.as_str()),
        ];
        stage.cloud().administer("nlb.RemoveServersFromServerGroup", &gone).unwrap();
        stage.pass(Duration::from_secs(3)).await;
        assert_eq!(groups(&stage)[0].servers.len(), 1);
        stage.clear_calls();
        stage.pass(Duration::from_secs(6 * 60 * 60 + 600)).await;
        assert_eq!(groups(&stage)[0].servers.len(), 2, "{:?}", stage.told("web"));
        assert_eq!(format!("{:?}", listeners(&stage)[0].status), "Running");
        let mut words = writes(&stage);
        words.sort();
        assert_eq!(words, ["nlb.AddServersToServerGroup", "nlb.StartListener"]);
        assert!(stage.told("web").iter().any(|(reason, _)| reason == "RepairedLoadBalancer"));
    });
}

#[test]
fn a_service_that_stops_being_a_load_balancer_is_cleaned_up_and_stays() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        web(&stage);
        shown(&stage).await;
        let plain = |service: &mut Service| {
            let spec = service.spec.get_or_insert_default();
            spec.type_ = Some("ClusterIP".into());
            spec.load_balancer_class = None;
        };
        stage.world.kube.modify::<Service>("default", "web", plain).unwrap();
        stage
            .until("no load balancer", || (balancers(&stage).is_empty() && groups(&stage).is_empty()).then_some(()))
            .await;
        stage.pass(Duration::from_secs(10)).await;
        let service = stage.service("web").unwrap();
        assert_eq!(service.metadata.finalizers.clone().unwrap_or_default(), Vec::<String>::new());
        assert_eq!(service.metadata.labels.clone().unwrap_or_default().len(), 0);
        assert_eq!(host_name(&service), None);
    });
}

#[test]
fn the_kind_changes_by_annotation_one_after_the_other_and_nothing_is_left() {
    play(|stage| async move {
        let _replica = stage.start_with(&[], json!({ "featureGates": "LoadBalancerTypeAnnotation=true" }));
        stage.joined(1).await;
        let (kind, zones) = (key("type"), key("zone-maps"));
        let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose("web", &[(&kind, "clb"), (&zones, ZONES)], spec);
        stage.address("web").await;
        assert_eq!((stage.cloud().load_balancers().len(), balancers(&stage).len()), (1, 0));
        annotate(&stage, json!({ (kind.as_str()): "nlb" })).await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!((stage.cloud().load_balancers().len(), balancers(&stage).len()), (0, 1), "{:?}", stage.told("web"));
        let service = stage.service("web").unwrap();
        assert!(host_name(&service).is_some() && address_of(&service).is_none());
        assert_eq!(service.metadata.finalizers.unwrap(), ["service.k8s.alibaba/nlb"]);
        annotate(&stage, json!({ (kind.as_str()): "clb" })).await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!((stage.cloud().load_balancers().len(), balancers(&stage).len()), (1, 0), "{:?}", stage.told("web"));
        assert!(groups(&stage).is_empty());
        let service = stage.service("web").unwrap();
        assert_eq!(service.metadata.finalizers.clone().unwrap(), ["service.k8s.alibaba/resources"]);
        assert!(address_of(&service).is_some());
    });
}

#[test]
fn a_dry_run_changes_nothing() {
    play(|stage| async move {
        let _replica = stage.start_with(&["--dry-run"], json!({}));
        stage.world.join().unwrap();
        web(&stage);
        stage.pass(Duration::from_secs(60)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        let service = stage.service("web").unwrap();
        assert_eq!((service.metadata.finalizers.clone(), host_name(&service)), (None, None));
        let polls = stage.words().into_iter().filter(|word| word.starts_with("nlb.")).count();
        assert!(polls < 6, "nothing is waited for that nobody makes: {:?}", stage.words());
    });
}

#[test]
fn another_class_is_left_alone() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose(
            "web",
            &[],
            json!({ "type": "LoadBalancer", "loadBalancerClass": "other.io/x", "ports": [{ "port": 80 }] }),
        );
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(stage.service("web").unwrap().metadata.finalizers, None);
        gone(&stage).await;
        assert!(balancers(&stage).is_empty() && stage.cloud().load_balancers().is_empty());
    });
}

#[test]
fn tcp_and_udp_on_one_port_come_and_go_each_by_itself() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        let ports = json!([{ "name": "t", "port": 53 }, { "name": "u", "port": 53, "protocol": "UDP" }]);
        expose(&stage, &[], ports);
        shown(&stage).await;
        stage.until("two listeners", || (listeners(&stage).len() == 2).then_some(())).await;
        stage
            .world
            .kube
            .modify::<Service>("default", "web", |service| {
                service
                    .spec
                    .get_or_insert_default()
                    .ports
                    .get_or_insert_default()
                    .retain(|port| port.name.as_deref() == Some("t"));
            })
            .unwrap();
        stage.pass(Duration::from_secs(10)).await;
        let left: Vec<String> = listeners(&stage).into_iter().map(|l| l.protocol).collect();
        assert_eq!((left, groups(&stage).len()), (vec!["TCP".to_owned()], 1));
    });
}

#[test]
fn pods_are_members_at_their_own_addresses_and_a_range_reaches_all_their_ports() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        let pairs = [("service.beta.kubernetes.io/backend-type", "eni"), ("listener-port-range", "30000-30100:80")];
        expose_with(&stage, &pairs, json!({ "ports": [{ "port": 80, "targetPort": 8080 }] }));
        settled(&stage).await;
        let [listener] = &listeners(&stage)[..] else { panic!("{:?}", stage.told("web")) };
        assert_eq!((listener.port, listener.range), (0, Some((30000, 30100))));
        assert_eq!(listener.attributes["ListenerDescription"], "k8s.30000_30100.TCP.web.default.c1");
        let group = &groups(&stage)[0];
        assert_eq!(
            (group.name.as_str(), group.attributes["AnyPortEnabled"].as_str()),
            ("k8s.30000_30100.TCP.web.default.c1", "true")
        );
        assert_eq!(group.health_check["HealthCheckConnectPort"], "8080");
        annotate(&stage, json!({ (key("listener-port-range")): "200-100:80" })).await;
        assert!(stage.told("web").iter().any(|(_, m)| m.contains("listener-port-range is \"200-100:80\"")));
        annotate(&stage, json!({ (key("listener-port-range")): "30000-30050:80" })).await;
        assert_eq!(listeners(&stage)[0].range, Some((30000, 30050)), "{:?}", stage.told("web"));
        assert_eq!((listeners(&stage).len(), groups(&stage).len()), (1, 1));
    });
}

#[test]
fn a_status_or_finalizer_that_somebody_changed_is_put_right_at_once() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        web(&stage);
        let name = settled(&stage).await;
        stage.clear_calls();
        for ingress in [json!([{ "ip": "9.9.9.9" }]), json!([{ "hostname": "elsewhere.example.com" }]), Value::Null] {
            let wrong = json!({ "status": { "loadBalancer": { "ingress": ingress } } });
            stage.world.kube.patch_status::<Service>("default", "web", wrong).unwrap();
            stage.pass(Duration::from_secs(5)).await;
            assert_eq!(host_name(&stage.service("web").unwrap()).as_ref(), Some(&name));
        }
        stage.world.kube.modify::<Service>("default", "web", |service| service.metadata.finalizers = None).unwrap();
        stage.pass(Duration::from_secs(5)).await;
        assert_eq!(stage.service("web").unwrap().metadata.finalizers.unwrap(), ["service.k8s.alibaba/nlb"]);
        assert!(!stage.words().iter().any(|word| word.starts_with("nlb.")), "{:?}", stage.words());
    });
}
