use super::{super::plan::UNINITIALIZED_TAINT, *};

#[tokio::test(start_paused = true)]
async fn an_interface_that_stays_closed_keeps_the_taint() {
    let cluster = Cluster::new();
    cluster.cloud.boot("i-1", "10.0.0.1");
    cluster.add(&ecs("i-1").joining());
    cluster.cloud.fail("ModifyNetworkInterfaceAttribute", Class::Denied);
    start(&cluster, |_| {});
    seconds(60).await;
    assert_eq!(cluster.taints("node-i-1"), [UNINITIALIZED_TAINT]);
    let told = cluster.events("SyncNodeFailed");
    assert!(told[0].starts_with("node-i-1: Failed to disable source dest check for node: "), "{told:?}");
    cluster.cloud.heal();
    seconds(50).await;
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn interfaces_are_left_alone_on_request() {
    let cluster = Cluster::new();
    cluster.cloud.boot("i-1", "10.0.0.1");
    cluster.add(&ecs("i-1").joining());
    start(&cluster, |options| options.skip_source_destination_check = true);
    seconds(3).await;
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
    assert_eq!(cluster.cloud.edit(|state| state.calls.clone()), ["DescribeInstances 1"]);
}

#[tokio::test(start_paused = true)]
async fn where_pods_wait_for_routes_the_taint_does_not_wait_for_the_interface() {
    let cluster = Cluster::new();
    cluster.cloud.boot("i-1", "10.0.0.1");
    cluster.add(&ecs("i-1").joining().pod_cidrs(&["10.9.0.0/24"]));
    cluster.cloud.fail("ModifyNetworkInterfaceAttribute", Class::Denied);
    let openings = Arc::new(Openings::default());
    let shared = openings.clone();
    start_with(&cluster, |_| {}, |controller| controller.sharing(shared));
    seconds(3).await;
    assert_eq!(cluster.taints("node-i-1"), [""; 0]);
    assert_eq!(cluster.network_unavailable("node-i-1").as_deref(), Some("True/NoRouteCreated"));
    assert!(!openings.is_open(&cluster.node("node-i-1").unwrap()));
    let told = cluster.events("SyncNodeFailed");
    assert!(told[0].starts_with("node-i-1: Failed to disable source dest check for node: "), "{told:?}");
    cluster.cloud.heal();
    seconds(8).await;
    assert!(openings.is_open(&cluster.node("node-i-1").unwrap()));
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_interfaces_that_pods_wait_for_are_looked_at_again() {
    let cluster = Cluster::new();
    for n in 1..=2 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{n}"));
    }
    cluster.add(&ecs("i-1").ready("True").pod_cidrs(&["10.9.0.0/24"]).condition(
        "NetworkUnavailable",
        "True",
        "NoRouteCreated",
    ));
    cluster.add(&ecs("i-2").ready("True").pod_cidrs(&["10.9.1.0/24"]).condition(
        "NetworkUnavailable",
        "False",
        "RouteCreated",
    ));
    for action in ["DescribeInstances", "DescribeNetworkInterfaces"] {
        cluster.cloud.fail(action, Class::Transient);
    }
    let openings = Arc::new(Openings::default());
    let shared = openings.clone();
    start_with(&cluster, |_| {}, |controller| controller.sharing(shared));
    seconds(3).await;
    cluster.cloud.edit(|state| state.failing.remove("DescribeInstances"));
    seconds(10).await;
    cluster.cloud.heal();
    cluster.cloud.forget_calls();
    seconds(30).await;
    assert!(openings.is_open(&cluster.node("node-i-1").unwrap()));
    assert_eq!(cluster.cloud.calls("DescribeNetworkInterfaces"), ["DescribeNetworkInterfaces 1"]);
    assert_eq!(cluster.cloud.calls("ModifyNetworkInterfaceAttribute").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn opening_many_interfaces_slowly_holds_nobody_up() {
    let cluster = Cluster::new();
    for n in 0..30 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{}", n + 1));
        cluster.add(&ecs(&format!("i-{n}")).joining());
    }
    cluster.cloud.edit(|state| state.slow_openings = Some(Duration::from_secs(20)));
    start(&cluster, |_| {});
    seconds(2).await;
    assert_eq!(cluster.events("InitializedNode").len(), 0, "a moment is waited for an open interface");
    seconds(2).await;
    assert_eq!(cluster.events("InitializedNode").len(), 30, "but not in line");
    cluster.cloud.boot("i-late", "10.0.1.1");
    cluster.add(&ecs("i-late").joining());
    seconds(4).await;
    assert_eq!(cluster.events("InitializedNode").len(), 31);
    assert_eq!(cluster.cloud.edit(|state| state.closed.len()), 31);
    seconds(90).await;
    assert_eq!(cluster.cloud.edit(|state| state.closed.len()), 0);
    assert_eq!(cluster.events("SyncNodeFailed"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_interfaces_of_young_nodes_are_looked_at_again() {
    let cluster = Cluster::new();
    for n in 1..=2 {
        cluster.cloud.boot(&format!("i-{n}"), &format!("10.0.0.{n}"));
    }
    cluster.add(&ecs("i-1").ready("True"));
    seconds(3600).await;
    cluster.add(&ecs("i-2").ready("True"));
    start(&cluster, |options| options.configure_routes = false);
    seconds(5).await;
    assert_eq!(cluster.cloud.edit(|state| state.closed.len()), 1);
    assert_eq!(cluster.cloud.calls("DescribeNetworkInterfaces"), ["DescribeNetworkInterfaces 1"]);
    cluster.cloud.forget_calls();
    seconds(600).await;
    assert_eq!(cluster.cloud.calls("DescribeNetworkInterfaces"), [""; 0], "once is enough");
}
