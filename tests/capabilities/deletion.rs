//! How a Service comes to its end, whatever is gone, wrong or forbidden by then.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use crate::{
    reuse::by_hand,
    support::{Stage, clb::key, config, play},
};

#[test]
fn a_service_can_be_deleted_whatever_is_gone_wrong_or_forbidden() {
    for case in
        ["", "load balancer", "by hand", "annotations", "no public", "class", "tunnel", "restarted", "all of it"]
    {
        play(|stage| async move {
            let mut replica = Some(stage.start_alone());
            stage.joined(1).await;
            stage.ask_web(&[]);
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
                stage.annotate("web", &[("bandwidth", Some("fast")), ("protocol-port", Some("what"))]);
            }
            if case == "class" {
                stage.change(
                    "web",
                    json!({ "metadata": { "annotations": { "service.beta.kubernetes.io/class": "other" } } }),
                );
            }
            if case == "tunnel" {
                stage.annotate("web", &[("tunnel-type", Some("x"))]);
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
            let id = by_hand(&stage, &[]);
            stage.ask_web(&[("id", &id), ("force-override-listeners", "true")]);
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
            stage.ask_web(&[]);
            stage.address("web").await;
            stage.change("web", json!({ "metadata": { "annotations": { (annotation): "other" } } }));
            stage.pass(Duration::from_secs(20)).await;
            let service = stage.service("web").unwrap();
            assert_eq!(stage.cloud().load_balancers().len(), 0);
            assert_eq!(service.metadata.finalizers.unwrap_or_default(), Vec::<String>::new());
            stage.world.kube.delete::<Service>("default", "web").unwrap();
        }
    });
}

/// The annotation that says of which family it is may be gone by then, too.
#[test]
fn a_service_leaves_a_load_balancer_of_ipv6_behind_and_goes() {
    for case in ["preserved", "the user's", "the user's, with the right to change it"] {
        play(|stage| async move {
            let _replica = stage.start_alone();
            stage.joined(1).await;
            let is_own = case == "preserved";
            if is_own {
                stage.ask_web(&[("ip-version", "ipv6"), ("preserve-lb-on-delete", "true")]);
            } else {
                let id = by_hand(&stage, &[("AddressIPVersion", "ipv6")]);
                let may = if case == "the user's" { "false" } else { "true" };
                stage.ask_web(&[("id", &id), ("force-override-listeners", may)]);
            }
            stage.address("web").await;
            stage.pass(Duration::from_secs(10)).await;
            stage.annotate("web", &[("ip-version", None)]);
            stage.pass(Duration::from_secs(10)).await;
            assert_eq!(stage.failures("web"), Vec::<String>::new(), "{case}");
            let id = stage.balancer().id;
            stage.world.kube.delete::<Service>("default", "web").unwrap();
            stage.pass(Duration::from_secs(20)).await;
            assert!(stage.service("web").is_none(), "{case}: {:?}", stage.told("web"));
            let left = stage.balancer();
            assert_eq!((left.id, left.ip_version.as_str()), (id.clone(), "ipv6"), "{case}");
            let (listeners, groups) = (stage.cloud().listeners(&id).len(), stage.all_groups().len());
            assert_eq!((listeners, groups), if is_own { (1, 1) } else { (0, 0) }, "{case}");
        });
    }
}

/// A client of a cluster in which nothing can be made any more, not even an event, once `closed`.
fn closing(stage: &Stage, closed: Arc<AtomicBool>) -> kube::Client {
    let client = stage.world.kube.client();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, closed) = (client.clone(), closed.clone());
        async move {
            if request.method() != http::Method::POST || !closed.load(Ordering::Relaxed) {
                return client.send(request).await;
            }
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
                "message": "unable to create new content in namespace default because it is being terminated",
            });
            let body = kube::client::Body::from(status.to_string().into_bytes());
            Ok(http::Response::builder().status(403).body(body).unwrap())
        }
    });
    kube::Client::new(service, "default")
}

#[test]
fn a_namespace_that_goes_takes_all_its_load_balancers_along() {
    play(|stage| async move {
        let closed = Arc::new(AtomicBool::new(false));
        let transport = Arc::new(ccm::alibaba::rpc::InProcess::new(stage.cloud().router()));
        let config = config(&["--leader-elect=false"], json!({}));
        let _replica = stage.start_between(closing(&stage, closed.clone()), transport, config);
        stage.joined(1).await;
        let id = by_hand(&stage, &[]);
        let port = || json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.ask("reusing", &[("id", &id), ("force-override-listeners", "true")], port());
        let limited =
            json!({ "type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"], "ports": [{ "port": 80 }] });
        stage.ask("limited", &[], limited);
        stage.ask("plain", &[], port());
        let all = ["reusing", "limited", "plain"];
        for name in all {
            stage.address(name).await;
        }
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 3);
        closed.store(true, Ordering::Relaxed);
        for name in all {
            stage.world.kube.delete::<Service>("default", name).unwrap();
        }
        stage.pass(Duration::from_secs(20)).await;
        assert!(all.iter().all(|name| stage.service(name).is_none()), "{:?}", stage.words());
        let left: Vec<String> = stage.cloud().load_balancers().into_iter().map(|lb| lb.id).collect();
        assert_eq!(left, std::slice::from_ref(&id));
        assert_eq!((stage.cloud().listeners(&id), stage.cloud().groups(&id)), (vec![], vec![]));
        assert_eq!(stage.cloud().with_state(|state| state.slb.acls.len()), 0);
    });
}
