//! Routes to pod networks.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind};
use serde_json::json;

use crate::support::{Stage, play};

/// `NetworkUnavailable` of a node, as status and reason.
fn unavailable(stage: &Stage, name: &str) -> String {
    let conditions = stage.node(name).unwrap().status.unwrap().conditions.unwrap();
    let found = conditions.into_iter().find(|condition| condition.type_ == "NetworkUnavailable");
    found.map(|condition| format!("{} {}", condition.status, condition.reason.unwrap_or_default())).unwrap_or_default()
}

/// Joins a node with one pod CIDR of each family.
fn join_dual(stage: &Stage, number: u32) -> String {
    let name = format!("cn-hangzhou.{}", stage.world.boot(number).unwrap());
    let mut node = stage.world.node(&name, Some(&name), number);
    node.spec.as_mut().unwrap().pod_cidrs.as_mut().unwrap().push(format!("fd00:20:0:{number}::/64"));
    stage.world.kube.create(&node).unwrap();
    name
}

fn destinations(stage: &Stage, table: &str) -> Vec<String> {
    stage.cloud().routes(table).iter().map(|route| route.destination.to_string()).collect()
}

#[test]
fn dual_stack_nodes_get_a_route_for_each_family() {
    play(|stage| async move {
        let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
        let _replica = stage.start_with(&["--cluster-cidr=172.20.0.0/16,fd00:20::/48"], json!({}));
        let names = [join_dual(&stage, 1), join_dual(&stage, 2)];
        stage.pass(Duration::from_secs(10)).await;
        let all = ["172.20.1.0/24", "172.20.2.0/24", "fd00:20:0:1::/64", "fd00:20:0:2::/64"];
        assert_eq!(destinations(&stage, &table), all);
        for name in &names {
            assert_eq!(unavailable(&stage, name), "False RouteCreated");
        }
        stage.clear_calls();
        stage.pass(Duration::from_secs(1200)).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        stage.world.leave(&names[0]).unwrap();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(destinations(&stage, &table), [all[1], all[3]]);
    });
}

#[test]
fn without_an_ipv6_range_ipv6_pod_cidrs_are_somebody_elses() {
    play(|stage| async move {
        let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
        let _replica = stage.start();
        let name = join_dual(&stage, 1);
        stage.pass(Duration::from_secs(10)).await;
        assert_eq!(destinations(&stage, &table), ["172.20.1.0/24"]);
        assert_eq!(unavailable(&stage, &name), "False RouteCreated");
    });
}

#[test]
fn tables_are_the_configured_ones_or_the_system_table() {
    for (configured, kept) in [("", vec![0]), ("all", vec![0, 1, 2]), ("custom", vec![1])] {
        play(move |stage| async move {
            let vpc = ("VpcId", "vpc-bp1sim");
            let mut tables = stage.cloud().route_tables("vpc-bp1sim");
            for name in ["a", "b"] {
                let made = stage.cloud().administer("vpc.CreateRouteTable", &[vpc, ("RouteTableName", name)]).unwrap();
                tables.push(made["RouteTableId"].as_str().unwrap().to_owned());
            }
            let ids = match configured {
                "all" => format!(" {}, {},,{} ", tables[0], tables[1], tables[2]),
                "custom" => tables[1].clone(),
                _ => String::new(),
            };
            let _replica = stage.start_with(&[], json!({ "routeTableIDs": ids }));
            let name = stage.joined(1).await.remove(0);
            stage.pass(Duration::from_secs(15)).await;
            for (index, table) in tables.iter().enumerate() {
                assert_eq!(
                    stage.cloud().routes(table).len(),
                    usize::from(kept.contains(&index)),
                    "{configured:?} {index}"
                );
            }
            assert_eq!(unavailable(&stage, &name), "False RouteCreated");
        });
    }
}

#[test]
fn conditions_of_missing_routes_are_taken_back_when_routes_are_switched_off() {
    play(|stage| async move {
        stage.cloud().inject(Fault::on("vpc.CreateRouteEntries", FaultKind::Denied));
        let replica = stage.start();
        let name = stage.joined(1).await.remove(0);
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(unavailable(&stage, &name), "True NoRouteCreated");
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_with(&["--configure-cloud-routes=false"], json!({}));
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(unavailable(&stage, &name), "False NoRouteNeeded");
        let late = stage.joined(1).await.remove(0);
        stage.pass(Duration::from_secs(20)).await;
        assert_eq!(unavailable(&stage, &late), "", "nothing is said of new nodes");
        assert!(stage.words().iter().all(|word| !word.starts_with("vpc.")), "{:?}", stage.words());
    });
}

#[test]
fn a_node_is_not_called_reachable_while_its_interface_drops_what_the_route_brings() {
    play(|stage| async move {
        let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
        stage.cloud().inject(Fault::on("ecs.ModifyNetworkInterfaceAttribute", FaultKind::Denied));
        let replica = stage.start();
        let name = stage.joined(1).await.remove(0);
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.cloud().routes(&table).len(), 1);
        assert_eq!(unavailable(&stage, &name), "True NoRouteCreated");
        // Nor does a new leader take it for reachable.
        replica.stop().await.unwrap();
        let _replica = stage.start();
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(unavailable(&stage, &name), "True NoRouteCreated");
        stage.cloud().clear_faults();
        stage.pass(Duration::from_secs(120)).await;
        assert_eq!(unavailable(&stage, &name), "False RouteCreated");
    });
}
