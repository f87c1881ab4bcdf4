//! Every call of the node and route path against everything that can go wrong with it: no Node is
//! deleted wrongly, nothing foreign is touched, and all is as it should be one backoff after the
//! trouble ends.

use std::time::Duration;

use ccm::sim::cloud::{Fault, FaultKind, vpc::RouteEntry};
use serde_json::json;

use crate::support::{Stage, play, taints};

/// The longest wait between two attempts at anything, with its spread.
const BACKOFF: Duration = Duration::from_secs(360);

fn kinds() -> [(&'static str, FaultKind); 9] {
    let internal = FaultKind::Error { status: 500, code: "InternalError".into(), message: String::new() };
    [
        ("denied", FaultKind::Denied),
        ("throttled", FaultKind::Throttle { retry_after: None }),
        ("failing", internal),
        ("timing out", FaultKind::Slow(Duration::from_secs(30))),
        ("losing answers", FaultKind::DropAfter),
        ("malformed", FaultKind::TruncatedJson),
        ("empty", FaultKind::EmptyList),
        ("missing a page", FaultKind::MissingPage),
        ("of another region", FaultKind::OtherRegion),
    ]
}

/// Entries that are none of ours: one outside the cluster's range, one inside it that does not lead to
/// an instance.
async fn foreign_entries(stage: &Stage, table: &str) -> Vec<RouteEntry> {
    let instance = stage.world.boot(1).unwrap();
    let interface = stage.cloud().with_state(|state| state.ecs.instances[&instance].interfaces[0].clone());
    for (destination, kind, hop) in
        [("192.168.7.0/24", "Instance", instance), ("172.20.250.0/24", "NetworkInterface", interface)]
    {
        let params = [
            ("RouteTableId", table),
            ("DestinationCidrBlock", destination),
            ("NextHopType", kind),
            ("NextHopId", hop.as_str()),
        ];
        stage.cloud().administer("vpc.CreateRouteEntry", &params).unwrap();
        stage.pass(Duration::from_secs(1)).await;
    }
    stage.cloud().routes(table)
}

/// Whether the node is in service, and its pods reachable.
fn is_served(stage: &Stage, table: &str, name: &str) -> bool {
    let Some(node) = stage.node(name) else { return false };
    let available = |condition: &k8s_openapi::api::core::v1::NodeCondition| {
        condition.type_ == "NetworkUnavailable" && condition.status == "False"
    };
    let instance = name.split_once('.').unwrap().1;
    let cidr = node.spec.as_ref().unwrap().pod_cidr.clone().unwrap();
    let closed = stage.cloud().with_state(|state| {
        let mut interfaces = state.ecs.interfaces.values();
        interfaces.any(|i| i.instance.as_deref() == Some(instance) && i.source_dest_check)
    });
    taints(&node).is_empty()
        && !closed
        && node.status.unwrap().conditions.unwrap().iter().any(available)
        && stage.cloud().routes(table).iter().any(|e| e.destination.to_string() == cidr && e.next_hop == instance)
}

fn trouble_with(action: &'static str) {
    for (what, kind) in kinds() {
        play(move |stage| async move {
            let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
            let foreign = foreign_entries(&stage, &table).await;
            let untouched = |stage: &Stage| {
                let all = stage.cloud().routes(&table);
                foreign.iter().all(|entry| all.contains(entry))
            };
            let served = |stage: &Stage, name: &str| is_served(stage, &table, name);

            // From the start on.
            stage.cloud().inject(Fault::on(action, kind.clone()));
            let _replica = stage.start_with(&["--leader-elect=false"], json!({}));
            let mut nodes: Vec<String> = (0..4).map(|_| stage.world.join().unwrap()).collect();
            stage.pass(Duration::from_secs(400)).await;
            assert!(nodes.iter().all(|name| stage.node(name).is_some()), "{action} {what}: a Node was deleted");
            stage.cloud().clear_faults();
            stage.pass(BACKOFF).await;
            for name in &nodes {
                assert!(served(&stage, name), "{action} {what}: {name} is not served after the start");
            }

            // In the middle of changes: one comes, one is really gone, one only falls silent.
            stage.cloud().inject(Fault::on(action, kind));
            nodes.push(stage.world.join().unwrap());
            let gone = nodes.remove(0);
            stage.world.leave(&gone).unwrap();
            stage.world.set_ready(&nodes[0], "Unknown").unwrap();
            stage.pass(Duration::from_secs(400)).await;
            assert!(nodes.iter().all(|name| stage.node(name).is_some()), "{action} {what}: a Node was deleted wrongly");
            assert!(untouched(&stage), "{action} {what}: foreign entries were touched");
            stage.cloud().clear_faults();
            stage.world.set_ready(&nodes[0], "True").unwrap();
            stage.pass(BACKOFF).await;
            for name in &nodes {
                assert!(served(&stage, name), "{action} {what}: {name} is not served");
            }
            assert!(stage.node(&gone).is_none(), "{action} {what}: the Node of a released instance stays");
            assert!(untouched(&stage), "{action} {what}: foreign entries were touched");
            let ours = stage.cloud().routes(&table).len() - foreign.len();
            assert_eq!(ours, nodes.len(), "{action} {what}: {:?}", stage.cloud().routes(&table));
        });
    }
}

#[test]
fn trouble_with_reading_instances_passes() {
    trouble_with("ecs.DescribeInstances");
}

#[test]
fn trouble_with_reading_interfaces_passes() {
    trouble_with("ecs.DescribeNetworkInterfaces");
}

#[test]
fn trouble_with_opening_interfaces_passes() {
    trouble_with("ecs.ModifyNetworkInterfaceAttribute");
}

#[test]
fn trouble_with_finding_the_route_table_passes() {
    trouble_with("vpc.DescribeRouteTableList");
}

#[test]
fn trouble_with_reading_routes_passes() {
    trouble_with("vpc.DescribeRouteEntryList");
}

#[test]
fn trouble_with_creating_routes_passes() {
    trouble_with("vpc.CreateRouteEntries");
}

#[test]
fn trouble_with_deleting_routes_passes() {
    trouble_with("vpc.DeleteRouteEntries");
}
