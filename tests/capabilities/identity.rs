//! Which load balancer is a Service's own, and what happens when it is gone, or seems to be.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use k8s_openapi::api::core::v1::Service;

use crate::support::{address_of, clb::key, play};

#[test]
fn a_lost_load_balancer_is_told_with_a_way_out_and_made_anew_only_if_asked_for() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        stage.ask_web(&[]);
        let address = stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let lost = stage.cloud().load_balancers().pop().unwrap().id;
        stage.cloud().remove_load_balancer(&lost);
        // The next change finds out.
        stage.joined(1).await;
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 0);
        let told = stage.failures("web");
        let remedy =
            |text: &String| text.contains("can not find loadbalancer") && text.contains(&key("recreate-lb-on-loss"));
        assert!(told.iter().any(remedy), "{told:?}");
        stage.annotate("web", &[("recreate-lb-on-loss", Some("on"))]);
        stage.pass(Duration::from_secs(60)).await;
        let made = stage.cloud().load_balancers();
        assert_eq!(made.len(), 1, "{:?}", stage.told("web"));
        let service = stage.service("web").unwrap();
        assert_eq!(address_of(&service), Some(made[0].address.to_string()));
        assert_ne!(address_of(&service), Some(address));
        assert_eq!(service.metadata.labels.unwrap()["service.k8s.alibaba/loadbalancer-id"], made[0].id);
        assert_eq!(stage.cloud().groups(&made[0].id)[0].servers.len(), 2);
        assert_eq!(stage.texts("web", "RecreatedLoadBalancer").len(), 1);
    });
}

#[test]
fn a_load_balancer_that_only_lost_its_mark_is_never_made_anew() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        stage.ask_web(&[("recreate-lb-on-loss", "on"), ("name", "shop")]);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        let before = stage.cloud().load_balancers().pop().unwrap();
        stage.cloud().with_state(|state| state.slb.load_balancers.get_mut(&before.id).unwrap().tags.clear());
        replica.stop().await.unwrap();
        let _replica = stage.start_alone();
        stage.pass(Duration::from_secs(120)).await;
        assert_eq!(stage.cloud().load_balancers().len(), 1);
        let told = stage.failures("web");
        assert!(told.iter().any(|text| text.contains("put its tag kubernetes.do.not.delete=")), "{told:?}");
        stage.cloud().with_state(|state| {
            state.slb.load_balancers.get_mut(&before.id).unwrap().tags.clone_from(&before.tags);
        });
        stage.pass(Duration::from_secs(400)).await;
        assert_eq!(stage.texts("web", "EnsuredLoadBalancer").len(), 2, "{:?}", stage.told("web"));
    });
}

#[test]
fn empty_answers_prove_no_loss() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        stage.ask_web(&[("recreate-lb-on-loss", "on")]);
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
fn of_two_load_balancers_with_its_mark_a_service_uses_the_one_it_shows_and_the_other_is_never_touched() {
    play(|stage| async move {
        let replica = stage.start_alone();
        stage.joined(1).await;
        stage.ask_web(&[]);
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
        let told = stage.texts("web", "MultipleLoadBalancers");
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
        stage.ask_web(&[]);
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
