//! What many ports, members, nodes and Services cost.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use super::slb;
use crate::support::{Replica, Stage, play, play_unheard};

const LONE: &[&str] = &["--leader-elect=false"];

fn count(stage: &Stage, action: &str) -> usize {
    stage.words().iter().filter(|word| *word == action).count()
}

/// Replica and nodes of a cluster with so many Services that have what they ask for.
async fn settled(stage: &Stage, services: usize, nodes: usize) -> (Replica, Vec<String>) {
    let replica = stage.start_with(LONE, json!({}));
    let nodes = stage.joined(nodes).await;
    for number in 0..services {
        stage.expose(&format!("s{number:03}"), &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
    }
    for number in 0..services {
        stage.address(&format!("s{number:03}")).await;
    }
    stage.pass(Duration::from_secs(30)).await;
    stage.clear_calls();
    (replica, nodes)
}

/// Sizes of all groups.
fn sizes(stage: &Stage) -> Vec<usize> {
    stage.cloud().with_state(|state| state.slb.groups.values().map(|group| group.servers.len()).collect())
}

#[test]
fn three_ports_cost_three_calls_each_and_one_write_each_for_a_new_node() {
    play(|stage| async move {
        let (_replica, _) = settled(&stage, 1, 3).await;
        let port = |number: u16| json!({ "name": format!("p{number}"), "port": number });
        let ports = [port(80), port(81), port(82)];
        stage.expose("web", &[], json!({ "type": "LoadBalancer", "ports": ports }));
        stage.address("web").await;
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(slb(stage.words()).len(), 1 + 3 * 3, "{:?}", stage.words());
        for action in ["CreateVServerGroup", "CreateLoadBalancerTCPListener", "StartLoadBalancerListener"] {
            assert_eq!(count(&stage, &format!("slb.{action}")), 3, "{:?}", stage.words());
        }
        stage.clear_calls();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(30)).await;
        assert_eq!(slb(stage.words()), ["slb.AddVServerGroupBackendServers"; 4], "one more for the other Service");
    });
}

#[test]
fn a_hundred_members_cost_a_call_each_twenty() {
    play(|stage| async move {
        let (_replica, _) = settled(&stage, 1, 100).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(sizes(&stage), [100, 100]);
        let words = slb(stage.words());
        assert_eq!(
            count(&stage, "slb.AddVServerGroupBackendServers"),
            4,
            "the first 20 come with the group: {words:?}"
        );
        assert_eq!(words.len(), 8, "{words:?}");
    });
}

/// S11, G15: the load balancer checks its members itself, and reports of nodes get lost.
#[test]
fn a_node_that_turns_unready_costs_two_hundred_services_nothing_and_a_new_one_a_write_each() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        let (_replica, nodes) = settled(&stage, 200, 3).await;
        for status in ["Unknown", "True", "False", "True"] {
            stage.world.set_ready(&nodes[0], status).unwrap();
            stage.pass(Duration::from_secs(20)).await;
        }
        for node in &nodes {
            stage.world.set_ready(node, "Unknown").unwrap();
        }
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(slb(stage.words()), Vec::<String>::new());
        stage.world.join().unwrap();
        // At the pace of the cloud's limits.
        stage.pass(Duration::from_secs(240)).await;
        assert_eq!(slb(stage.words()), vec!["slb.AddVServerGroupBackendServers"; 200]);
        assert!(sizes(&stage).iter().all(|size| *size == 4), "{:?}", sizes(&stage));
    });
}

/// The old way can be had.
#[test]
fn where_only_ready_nodes_are_asked_for_an_unready_one_goes_and_the_last_ones_stay() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({ "serviceOnlyReadyNodes": true }));
        let nodes = stage.joined(3).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.world.set_ready(&nodes[0], "Unknown").unwrap();
        stage.until("two members", || (sizes(&stage) == [2]).then_some(())).await;
        for node in &nodes {
            stage.world.set_ready(node, "Unknown").unwrap();
        }
        stage.until("all three", || (sizes(&stage) == [3]).then_some(())).await;
    });
}

/// A listener that does not check its members sends traffic to whoever is one.
#[test]
fn where_members_are_not_checked_an_unready_node_goes() {
    play(|stage| async move {
        let (_replica, nodes) = settled(&stage, 1, 3).await;
        let off = ("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-health-check-switch", "off");
        stage.expose("web", &[off], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        stage.world.set_ready(&nodes[0], "Unknown").unwrap();
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(slb(stage.words()), ["slb.RemoveVServerGroupBackendServers"], "of one Service only");
        // From now on it is checked: it may come back, and go no more.
        let on = json!({ "metadata": { "annotations": { (off.0): "on" } } });
        stage.world.kube.patch::<k8s_openapi::api::core::v1::Service>("default", "web", on).unwrap();
        stage.until("all three", || (sizes(&stage) == [3, 3]).then_some(())).await;
    });
}

/// An instance that is switched off is refused by the cloud, and one that is being set up serves nobody yet.
#[test]
fn an_instance_that_is_switched_off_is_no_member() {
    use ccm::sim::cloud::ecs::InstanceStatus;
    play(|stage| async move {
        let (_replica, nodes) = settled(&stage, 1, 3).await;
        let instance = nodes[0].split_once('.').unwrap().1;
        stage.cloud().set_instance_status(instance, InstanceStatus::Stopped);
        stage.world.set_ready(&nodes[0], "Unknown").unwrap();
        stage.until("two members", || (sizes(&stage) == [2]).then_some(())).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(stage.told("web").iter().filter(|(reason, _)| reason.contains("Fail")).count(), 0);
        stage.cloud().set_instance_status(instance, InstanceStatus::Running);
        stage.world.set_ready(&nodes[0], "True").unwrap();
        stage.until("all three", || (sizes(&stage) == [3, 3]).then_some(())).await;
    });
}

#[test]
fn fifty_nodes_that_join_together_cost_a_write_each_twenty_and_group() {
    play(|stage| async move {
        let (_replica, _) = settled(&stage, 3, 1).await;
        (0..50).for_each(|_| drop(stage.world.join().unwrap()));
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(sizes(&stage), [51, 51, 51]);
        assert_eq!(slb(stage.words()), vec!["slb.AddVServerGroupBackendServers"; 9]);
        stage.clear_calls();
        let leaving: Vec<Node> = stage.world.kube.list::<Node>().into_iter().take(40).collect();
        for node in leaving {
            stage.world.kube.delete::<Node>("", node.metadata.name.as_deref().unwrap()).unwrap();
        }
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(slb(stage.words()), vec!["slb.RemoveVServerGroupBackendServers"; 6]);
    });
}

#[test]
fn a_restart_with_two_hundred_services_reads_each_group_once_and_writes_nothing() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        let (replica, _) = settled(&stage, 200, 3).await;
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_with(LONE, json!({}));
        stage.pass(Duration::from_secs(120)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        assert_eq!(count(&stage, "slb.DescribeLoadBalancers"), 2, "a hundred a page");
        assert_eq!(count(&stage, "slb.DescribeLoadBalancerListeners"), 2, "a hundred a page");
        assert_eq!(count(&stage, "slb.DescribeVServerGroupAttribute"), 200, "a group each");
        assert_eq!(slb(stage.words()).len(), 204, "{:?}", stage.cloud().call_counts());
    });
}
