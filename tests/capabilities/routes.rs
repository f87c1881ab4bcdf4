//! Routes to pod networks.

use std::time::Duration;

use crate::support::play;

#[test]
fn every_node_gets_its_route_and_foreign_entries_stay() {
    play(|stage| async move {
        let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
        let foreign = stage.world.boot(1).unwrap();
        for (destination, inside) in [("192.168.7.0/24", false), ("172.20.200.0/24", true)] {
            let params = [
                ("RouteTableId", table.as_str()),
                ("DestinationCidrBlock", destination),
                ("NextHopType", "Instance"),
                ("NextHopId", foreign.as_str()),
            ];
            stage.cloud().administer("vpc.CreateRouteEntry", &params).unwrap();
            stage.pass(Duration::from_secs(5)).await;
            let _ = inside;
        }
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        stage.pass(Duration::from_secs(30)).await;
        let routes = stage.cloud().routes(&table);
        for name in &nodes {
            let node = stage.node(name).unwrap();
            let cidr = node.spec.unwrap().pod_cidr.unwrap();
            let route = routes.iter().find(|route| route.destination.to_string() == cidr).unwrap();
            assert_eq!(Some(route.next_hop.as_str()), name.split_once('.').map(|(_, id)| id));
        }
        let outside = |destination: &str| routes.iter().any(|route| route.destination.to_string() == destination);
        assert!(outside("192.168.7.0/24"), "outside the cluster's range nothing is ours");
    });
}
