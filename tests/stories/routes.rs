//! Routes to pod networks.

use k8s_openapi::api::core::v1::Node;

use crate::stage::Stage;

pub async fn every_node_gets_its_route_and_foreign_entries_stay(stage: Stage) {
    let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
    let foreign = stage.boot();
    let params = [
        ("RouteTableId", table.as_str()),
        ("DestinationCidrBlock", "192.168.7.0/24"),
        ("NextHopType", "Instance"),
        ("NextHopId", foreign.as_str()),
    ];
    stage.cloud().administer("vpc.CreateRouteEntry", &params).unwrap();
    let _replica = stage.start();
    let nodes = stage.joined(3).await;
    for name in &nodes {
        let instance = name.split_once('.').unwrap().1;
        let routed = || async {
            let cidr = stage.node(name).await?.spec?.pod_cidr?;
            let mut entries = stage.cloud().routes(&table).into_iter();
            entries.any(|entry| entry.destination.to_string() == cidr && entry.next_hop == instance).then_some(())
        };
        stage.until("a route to the node", routed).await;
        let available =
            || async { (condition(&stage.node(name).await?, "NetworkUnavailable")? == "False").then_some(()) };
        stage.until("the network told available", available).await;
    }
    let routes = stage.cloud().routes(&table);
    assert_eq!(routes.len(), 4, "{routes:?}");
    let outside = routes.iter().find(|route| route.destination.to_string() == "192.168.7.0/24");
    assert_eq!(outside.map(|route| &route.next_hop), Some(&foreign), "outside the cluster's range nothing is ours");
}

fn condition(node: &Node, kind: &str) -> Option<String> {
    let mut all = node.status.as_ref()?.conditions.as_ref()?.iter();
    Some(all.find(|condition| condition.type_ == kind)?.status.clone())
}
