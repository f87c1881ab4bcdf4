//! What things cost in API calls: the cloud's rate limits set the pace.

mod many;
mod pods;

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::support::play;

fn slb(words: Vec<String>) -> Vec<String> {
    words.into_iter().filter(|word| word.starts_with("slb.")).collect()
}

#[test]
fn a_service_with_one_port_costs_four_calls_and_nothing_more_for_ten_minutes() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(3).await;
        // The inventory is read with the first Service.
        stage.expose("first", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        stage.address("first").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(
            slb(stage.words()),
            [
                "slb.CreateLoadBalancer",
                "slb.CreateVServerGroup",
                "slb.CreateLoadBalancerTCPListener",
                "slb.StartLoadBalancerListener",
            ]
        );
    });
}

#[test]
fn with_the_inventory_unread_it_is_one_call_more() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(3).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(slb(stage.words()).len(), 5, "{:?}", stage.words());
        assert_eq!(slb(stage.words())[0], "slb.DescribeLoadBalancers");
    });
}

#[test]
fn a_member_that_comes_or_goes_costs_one_call_a_group() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(slb(stage.words()), ["slb.AddVServerGroupBackendServers"]);
        stage.clear_calls();
        stage.world.kube.delete::<Node>("", &nodes[0]).unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(slb(stage.words()), ["slb.RemoveVServerGroupBackendServers"]);
    });
}

#[test]
fn a_deletion_costs_two_calls() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        stage.world.kube.delete::<k8s_openapi::api::core::v1::Service>("default", "web").unwrap();
        stage.until("the Service gone", || stage.service("web").is_none().then_some(())).await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(slb(stage.words()), ["slb.SetLoadBalancerDeleteProtection", "slb.DeleteLoadBalancer"]);
    });
}

#[test]
fn a_restart_reads_once_and_writes_nothing() {
    play(|stage| async move {
        let replica = stage.start();
        stage.joined(3).await;
        stage.expose_web();
        stage.expose("other", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "name": "http" }, { "port": 443, "name": "tls" }] }));
        stage.address("web").await;
        stage.address("other").await;
        stage.pass(Duration::from_secs(10)).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start();
        stage.pass(Duration::from_secs(120)).await;
        let words = slb(stage.words());
        assert_eq!(words.iter().filter(|word| *word == "slb.DescribeVServerGroupAttribute").count(), 3);
        assert_eq!(words.len(), 5, "one for load balancers, one for listeners, one a group: {words:?}");
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
    });
}

#[test]
fn nodes_that_join_together_are_looked_up_together() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(30)).await;
        stage.clear_calls();
        stage.joined(60).await;
        stage.pass(Duration::from_secs(30)).await;
        let words = stage.words();
        let count = |action: &str| words.iter().filter(|word| *word == action).count();
        assert_eq!(count("ecs.DescribeInstances"), 1, "{words:?}");
        assert_eq!(count("ecs.DescribeNetworkInterfaces"), 1, "{words:?}");
        assert_eq!(count("slb.AddVServerGroupBackendServers"), 3, "20 members a call: {words:?}");
        assert_eq!(count("vpc.CreateRouteEntries"), 2, "50 routes a call: {words:?}");
    });
}
