//! The route controller against the embedded API server and an in-memory cloud, on paused time.

use super::*;
use crate::{
    cloud::{Class, RouteTableKind},
    controllers::node::fixtures::{
        MkNode,
        cluster::{Cluster, seconds},
        mk_node,
    },
};

const TABLE: &str = "vtb-1";

fn node(instance: &str, third: usize) -> MkNode {
    let cidr = format!("10.0.{third}.0/24");
    mk_node(&format!("node-{instance}")).provider_id(&format!("cn-hangzhou.{instance}")).pod_cidrs(&[&cidr])
}

fn options() -> Options {
    Options::new(Scope { cluster_cidrs: vec!["10.0.0.0/16".parse().unwrap()], ipv6: false })
}

fn cluster() -> Cluster {
    let cluster = Cluster::new();
    cluster.cloud.add_table(TABLE, RouteTableKind::System);
    cluster
}

fn start(cluster: &Cluster, edit: impl FnOnce(&mut Options)) {
    let mut options = options();
    edit(&mut options);
    cluster.watch();
    let controller = Controller::new(
        options,
        cluster.cache.clone(),
        cluster.kube.client(),
        cluster.provider(),
        cluster.recorder.clone(),
        cluster.clock.clone(),
        cluster.entropy.fork(),
        &cluster.metrics,
    );
    tokio::spawn(controller.run(cluster.cancel.clone()));
}

/// Two nodes that have their routes.
async fn steady() -> Cluster {
    let cluster = cluster();
    cluster.add(&node("i-a", 1));
    cluster.add(&node("i-b", 2));
    start(&cluster, |_| {});
    seconds(3).await;
    assert_eq!(cluster.cloud.entries(TABLE), ["10.0.1.0/24 i-a", "10.0.2.0/24 i-b"]);
    cluster.cloud.forget_calls();
    cluster.kube.clear_requests();
    cluster
}

#[tokio::test(start_paused = true)]
async fn a_node_is_available_once_its_route_is_proven() {
    let cluster = cluster();
    start(&cluster, |_| {});
    seconds(1).await;
    cluster.cloud.forget_calls();
    cluster.add(&node("i-a", 1));
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("True/NoRouteCreated"), "still pending");
    seconds(1).await;
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("False/RouteCreated"));
    assert_eq!(cluster.cloud.entries(TABLE), ["10.0.1.0/24 i-a"]);
    let calls = cluster.cloud.edit(|state| state.calls.clone());
    assert_eq!(calls, ["CreateRouteEntries 1", "DescribeRouteEntryList 0"]);
    let want = "node-i-a: Created route for vtb-1 with node-i-a -> 10.0.1.0/24 successfully";
    assert_eq!(cluster.events("CreatedRoute"), [want]);
}

#[tokio::test(start_paused = true)]
async fn a_route_that_exists_clears_the_condition() {
    let cluster = cluster();
    cluster.cloud.enter(TABLE, "10.0.1.0/24 i-a");
    cluster.add(&node("i-a", 1).condition("NetworkUnavailable", "True", "NoRouteCreated"));
    cluster.add(&mk_node("node-i-b").provider_id("alicloud://cn-hangzhou.i-b").pod_cidrs(&["10.0.2.0/24"]));
    cluster.cloud.enter(TABLE, "10.0.2.0/24 i-b");
    start(&cluster, |_| {});
    seconds(1).await;
    for name in ["node-i-a", "node-i-b"] {
        assert_eq!(cluster.network_unavailable(name).as_deref(), Some("False/RouteCreated"));
    }
    seconds(20 * 60).await;
    assert_eq!(cluster.cloud.calls("CreateRouteEntries").len() + cluster.cloud.calls("DeleteRouteEntries").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_steady_cluster_costs_a_read_a_period_and_no_writes() {
    let cluster = steady().await;
    seconds(30 * 60).await;
    let calls = cluster.cloud.edit(|state| state.calls.clone());
    assert!(calls.iter().all(|call| call == "DescribeRouteEntryList 0"), "{calls:?}");
    // A period is up to a tenth longer.
    assert!((5..=6).contains(&calls.len()), "{calls:?}");
    assert_eq!(cluster.writes(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_route_of_a_node_that_goes_goes_too() {
    let cluster = steady().await;
    cluster.kube.delete::<Node>("", "node-i-b").unwrap();
    seconds(2).await;
    assert_eq!(cluster.cloud.entries(TABLE), ["10.0.1.0/24 i-a"]);
    assert_eq!(cluster.cloud.calls("DeleteRouteEntries"), ["DeleteRouteEntries 1"]);
}

#[tokio::test(start_paused = true)]
async fn many_nodes_share_calls() {
    let cluster = cluster();
    for n in 0..120 {
        cluster.add(&node(&format!("i-{n}"), n));
    }
    start(&cluster, |_| {});
    seconds(3).await;
    assert_eq!(cluster.cloud.entries(TABLE).len(), 120);
    let created = cluster.cloud.calls("CreateRouteEntries");
    assert_eq!(created, ["CreateRouteEntries 50", "CreateRouteEntries 50", "CreateRouteEntries 20"]);
    assert_eq!(cluster.network_unavailable("node-i-119").as_deref(), Some("False/RouteCreated"));
}

#[tokio::test(start_paused = true)]
async fn leftovers_from_before_the_start_go_after_a_while_and_foreign_entries_stay() {
    let cluster = cluster();
    let foreign = ["10.0.9.0/24 vpn-1", "10.1.0.0/24 i-gone", "10.0.0.0/16 i-appliance", "0.0.0.0/0 i-nat"];
    foreign.iter().chain(&["10.0.7.0/24 i-gone"]).for_each(|line| cluster.cloud.enter(TABLE, line));
    cluster.add(&node("i-a", 1));
    start(&cluster, |_| {});
    seconds(5).await;
    assert_eq!(cluster.cloud.calls("DeleteRouteEntries"), [""; 0], "seen once is no proof");
    seconds(15).await;
    let mut want: Vec<_> = foreign.iter().map(|&line| line.to_owned()).collect();
    want.push("10.0.1.0/24 i-a".to_owned());
    want.sort();
    assert_eq!(cluster.cloud.entries(TABLE), want);
    seconds(30 * 60).await;
    assert_eq!(cluster.cloud.entries(TABLE), want);
}

#[tokio::test(start_paused = true)]
async fn without_nodes_nothing_is_deleted() {
    let cluster = cluster();
    cluster.cloud.enter(TABLE, "10.0.7.0/24 i-x");
    start(&cluster, |_| {});
    seconds(60 * 60).await;
    assert_eq!(cluster.cloud.entries(TABLE), ["10.0.7.0/24 i-x"]);
}

#[tokio::test(start_paused = true)]
async fn an_entry_to_another_node_is_replaced_and_one_to_something_else_is_told() {
    let cluster = cluster();
    cluster.cloud.enter(TABLE, "10.0.1.0/24 i-b");
    cluster.cloud.enter(TABLE, "10.0.3.0/24 vpn-1");
    cluster.cloud.enter(TABLE, "10.0.4.0/24 i-stranger");
    for (instance, third) in [("i-a", 1), ("i-b", 2), ("i-c", 3), ("i-d", 4)] {
        cluster.add(&node(instance, third));
    }
    start(&cluster, |_| {});
    seconds(3).await;
    let want = ["10.0.1.0/24 i-a", "10.0.2.0/24 i-b", "10.0.3.0/24 vpn-1", "10.0.4.0/24 i-stranger"];
    assert_eq!(cluster.cloud.entries(TABLE), want);
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("False/RouteCreated"));
    assert_eq!(cluster.network_unavailable("node-i-c").as_deref(), Some("True/NoRouteCreated"));
    let told = cluster.events("CreateRouteFailed");
    assert!(told.len() == 1 && told[0].starts_with("node-i-c: ") && told[0].contains("vpn-1"), "{told:?}");
    seconds(15).await;
    assert!(cluster.cloud.entries(TABLE).contains(&"10.0.4.0/24 i-d".to_owned()));
    seconds(30 * 60).await;
    assert_eq!(cluster.events("CreateRouteFailed").len(), 1, "told once");
}

#[tokio::test(start_paused = true)]
async fn a_full_table_holds_up_only_who_finds_no_room() {
    let cluster = cluster();
    cluster.cloud.edit(|state| state.quota = Some(3));
    for n in 0..5 {
        cluster.add(&node(&format!("i-{n}"), n));
    }
    start(&cluster, |_| {});
    seconds(3).await;
    assert_eq!(cluster.cloud.entries(TABLE).len(), 3);
    assert_eq!(cluster.network_unavailable("node-i-2").as_deref(), Some("False/RouteCreated"));
    assert_eq!(cluster.network_unavailable("node-i-4").as_deref(), Some("True/NoRouteCreated"));
    let told = cluster.events("CreateRouteFailed");
    assert!(told.len() == 2 && told[0].contains("quota"), "{told:?}");
    seconds(30 * 60).await;
    assert!(cluster.cloud.calls("CreateRouteEntries").len() < 30, "retried slowly");
    cluster.cloud.edit(|state| state.quota = None);
    seconds(5 * 60).await;
    assert_eq!(cluster.network_unavailable("node-i-4").as_deref(), Some("False/RouteCreated"));
}

#[tokio::test(start_paused = true)]
async fn room_made_by_a_leftover_is_used_at_once() {
    let cluster = cluster();
    cluster.cloud.edit(|state| state.quota = Some(1));
    cluster.cloud.enter(TABLE, "10.0.7.0/24 i-gone");
    cluster.add(&node("i-a", 1));
    start(&cluster, |_| {});
    seconds(15).await;
    assert_eq!(cluster.cloud.entries(TABLE), ["10.0.1.0/24 i-a"]);
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_never_shows_is_not_hammered() {
    let cluster = cluster();
    cluster.cloud.edit(|state| state.forgetful = true);
    cluster.add(&node("i-a", 1));
    start(&cluster, |_| {});
    seconds(30 * 60).await;
    let tries = cluster.cloud.calls("CreateRouteEntries").len();
    assert!((8..20).contains(&tries), "{tries}");
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("True/NoRouteCreated"));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_up_and_not_repeated_blindly() {
    let cluster = cluster();
    cluster.cloud.edit(|state| state.lose_creations = 1);
    cluster.add(&node("i-a", 1));
    start(&cluster, |_| {});
    seconds(10).await;
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("False/RouteCreated"));
    assert_eq!(cluster.cloud.calls("CreateRouteEntries").len(), 1);
    assert_eq!(cluster.events("CreateRouteFailed"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn tables_that_cannot_be_read_change_no_condition() {
    for class in [Class::Denied, Class::Throttled, Class::Transient, Class::Malformed, Class::Unknown] {
        let cluster = steady().await;
        cluster.cloud.fail("DescribeRouteEntryList", class);
        seconds(6 * 60).await;
        cluster.add(&node("i-c", 3));
        cluster.add(&node("i-d", 4).condition("NetworkUnavailable", "True", "NoRouteCreated"));
        seconds(6 * 60).await;
        assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("False/RouteCreated"), "{class:?}");
        assert_eq!(cluster.network_unavailable("node-i-c"), None);
        assert_eq!(cluster.network_unavailable("node-i-d").as_deref(), Some("True/NoRouteCreated"));
        assert_eq!(cluster.cloud.entries(TABLE).len(), 2);
        let told: Vec<_> =
            cluster.events("SyncRouteFailed").iter().map(|e| e.split(':').next().unwrap().to_owned()).collect();
        assert_eq!(told, ["node-i-c", "node-i-d"]);
        cluster.cloud.heal();
        seconds(6 * 60).await;
        assert_eq!(cluster.network_unavailable("node-i-c").as_deref(), Some("False/RouteCreated"), "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_creations_are_retried_and_lasting_ones_told() {
    for (class, at_once) in [(Class::Denied, true), (Class::Throttled, false), (Class::Busy, false)] {
        let cluster = steady().await;
        cluster.cloud.fail("CreateRouteEntries", class);
        cluster.add(&node("i-c", 3));
        seconds(3).await;
        assert_eq!(cluster.network_unavailable("node-i-c").as_deref(), Some("True/NoRouteCreated"), "{class:?}");
        assert_eq!(cluster.events("CreateRouteFailed").len(), usize::from(at_once), "{class:?}");
        seconds(60).await;
        assert_eq!(cluster.events("CreateRouteFailed").len(), 1, "{class:?}");
        cluster.cloud.heal();
        seconds(6 * 60).await;
        assert_eq!(cluster.network_unavailable("node-i-c").as_deref(), Some("False/RouteCreated"), "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_is_available_when_all_tables_have_its_route() {
    let cluster = cluster();
    cluster.cloud.add_table("vtb-2", RouteTableKind::Custom);
    cluster.cloud.enter("vtb-2", "10.0.1.0/24 vpn-1");
    cluster.add(&node("i-a", 1));
    cluster.add(&node("i-b", 2));
    start(&cluster, |options| options.tables = vec![TABLE.into(), "vtb-2".into()]);
    seconds(3).await;
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("True/NoRouteCreated"));
    assert_eq!(cluster.network_unavailable("node-i-b").as_deref(), Some("False/RouteCreated"));
    assert_eq!(cluster.cloud.entries("vtb-2"), ["10.0.1.0/24 vpn-1", "10.0.2.0/24 i-b"]);
    assert_eq!(cluster.cloud.calls("DescribeRouteTableList"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn of_several_tables_the_system_table_is_kept_by_default() {
    let cluster = cluster();
    cluster.cloud.add_table("vtb-0", RouteTableKind::Custom);
    cluster.cloud.add_table("vtb-2", RouteTableKind::Other);
    cluster.add(&node("i-a", 1));
    start(&cluster, |_| {});
    seconds(3).await;
    assert_eq!(cluster.cloud.entries(TABLE).len(), 1);
    assert_eq!(cluster.cloud.entries("vtb-0").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_vpc_without_system_table_is_told_to_waiting_nodes() {
    let cluster = Cluster::new();
    cluster.cloud.add_table("vtb-0", RouteTableKind::Custom);
    cluster.add(&node("i-a", 1));
    start(&cluster, |_| {});
    seconds(60).await;
    let told = cluster.events("SyncRouteFailed");
    assert!(told.len() == 1 && told[0].contains("routeTableIDs"), "{told:?}");
    assert_eq!(cluster.network_unavailable("node-i-a"), None);
}

#[tokio::test(start_paused = true)]
async fn without_cloud_routes_only_stale_conditions_are_taken_back() {
    let cluster = cluster();
    cluster.add(&node("i-a", 1).condition("NetworkUnavailable", "True", "NoRouteCreated"));
    cluster.add(&node("i-b", 2).condition("NetworkUnavailable", "True", "CalicoIsDown"));
    cluster.add(&node("i-c", 3));
    start(&cluster, |options| options.configure = false);
    seconds(10 * 60).await;
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("False/NoRouteNeeded"));
    assert_eq!(cluster.network_unavailable("node-i-b").as_deref(), Some("True/CalicoIsDown"));
    assert_eq!(cluster.network_unavailable("node-i-c"), None);
    assert_eq!(cluster.cloud.edit(|state| state.calls.len()), 0);
}

#[tokio::test(start_paused = true)]
async fn a_pod_cidr_that_comes_later_or_is_wrong() {
    let cluster = steady().await;
    cluster.add(&mk_node("late").provider_id("cn-hangzhou.i-l").condition(
        "NetworkUnavailable",
        "True",
        "NoRouteCreated",
    ));
    cluster.add(&mk_node("outside").provider_id("cn-hangzhou.i-o").pod_cidrs(&["172.16.0.0/24"]));
    cluster.add(&mk_node("six").provider_id("cn-hangzhou.i-6").pod_cidrs(&["fd00::/64"]));
    seconds(3).await;
    assert_eq!(cluster.network_unavailable("late").as_deref(), Some("False/NoRouteNeeded"));
    assert_eq!(cluster.network_unavailable("outside").as_deref(), Some("True/NoRouteCreated"));
    assert_eq!(cluster.network_unavailable("six"), None);
    let told = cluster.events("CreateRouteFailed");
    assert!(told.len() == 1 && told[0].contains("172.16.0.0/24"), "{told:?}");
    let assigned = serde_json::json!({ "spec": { "podCIDR": "10.0.8.0/24", "podCIDRs": ["10.0.8.0/24"] } });
    cluster.kube.patch::<Node>("", "late", assigned).unwrap();
    seconds(3).await;
    assert_eq!(cluster.network_unavailable("late").as_deref(), Some("False/RouteCreated"));
    assert!(cluster.cloud.entries(TABLE).contains(&"10.0.8.0/24 i-l".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn two_nodes_with_one_pod_cidr_do_not_take_the_route_from_each_other() {
    let cluster = steady().await;
    cluster.add(&node("i-c", 1));
    seconds(30 * 60).await;
    assert_eq!(cluster.cloud.entries(TABLE), ["10.0.1.0/24 i-a", "10.0.2.0/24 i-b"]);
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("False/RouteCreated"));
    assert_eq!(cluster.network_unavailable("node-i-c").as_deref(), Some("True/NoRouteCreated"));
    assert_eq!(cluster.events("CreateRouteFailed").len(), 2);
    cluster.kube.delete::<Node>("", "node-i-a").unwrap();
    seconds(3).await;
    assert_eq!(cluster.cloud.entries(TABLE), ["10.0.1.0/24 i-c", "10.0.2.0/24 i-b"]);
}

#[tokio::test(start_paused = true)]
async fn one_reading_that_lacks_a_route_makes_no_node_unreachable() {
    let cluster = steady().await;
    cluster.cloud.fail("CreateRouteEntries", Class::Denied);
    let entries = cluster.cloud.edit(|state| std::mem::take(&mut state.tables.get_mut(&TABLE.into()).unwrap().1));
    cluster.cloud.forget_calls();
    while cluster.cloud.calls("DescribeRouteEntryList").is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("False/RouteCreated"));
    cluster.cloud.edit(|state| state.tables.get_mut(&TABLE.into()).unwrap().1 = entries);
    seconds(900).await;
    assert_eq!(cluster.writes(), [""; 0], "nothing was said of it");
    // A second one that agrees is believed.
    cluster.cloud.edit(|state| state.tables.get_mut(&TABLE.into()).unwrap().1.clear());
    seconds(340).await;
    assert_eq!(cluster.network_unavailable("node-i-a").as_deref(), Some("True/NoRouteCreated"));
}
