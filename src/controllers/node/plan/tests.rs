use super::{
    super::{
        address::PROVIDED_NODE_IP,
        desired::desired,
        fixtures::{MkNode, mk_instance, mk_node},
    },
    *,
};
use crate::cloud::{Instance, InstanceStatus};

fn instance() -> Instance {
    mk_instance("i-1", "10.0.0.1")
}

fn plan_for(node: &Node, instance: &Instance) -> Plan {
    plan(node, &desired(node, instance, false), &Interface::Open, false)
}

/// What the node looks like after the plan, as the API server would have it.
fn applied(node: &Node, plan: &Plan) -> Node {
    let mut node = node.clone();
    for step in &plan.steps {
        match step {
            Step::Status(change) => {
                let status = node.status.get_or_insert_default();
                if let Some(addresses) = &change.addresses {
                    status.addresses = Some(addresses.clone());
                }
                if change.awaits_route {
                    let conditions = status.conditions.get_or_insert_default();
                    conditions.retain(|condition| condition.type_ != NETWORK_UNAVAILABLE);
                    conditions.push(k8s_openapi::api::core::v1::NodeCondition {
                        type_: NETWORK_UNAVAILABLE.to_owned(),
                        status: "True".to_owned(),
                        reason: Some(NO_ROUTE_CREATED.to_owned()),
                        ..Default::default()
                    });
                }
            }
            Step::Node(change) => {
                let labels = node.metadata.labels.get_or_insert_default();
                labels.extend(change.labels.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
                let spec = node.spec.get_or_insert_default();
                spec.provider_id = change.provider_id.clone().or_else(|| spec.provider_id.take());
                if let Some(taints) = &change.taints {
                    spec.taints = Some(taints.clone());
                }
            }
        }
    }
    node
}

fn joined() -> Node {
    let node = mk_node("n").joining().build();
    applied(&node, &plan_for(&node, &instance()))
}

fn taint_keys(node: &Node) -> Vec<&str> {
    current_taints(node).iter().map(|taint| taint.key.as_str()).collect()
}

fn node_with(edit: impl FnOnce(MkNode) -> MkNode) -> Node {
    edit(mk_node("n").provider_id("cn-hangzhou.i-1")).build()
}

#[test]
fn a_joining_node_gets_everything_and_then_loses_its_taint() {
    let node = mk_node("n").joining().taint("dedicated", "NoExecute").address("Hostname", "h").build();
    let found = plan_for(&node, &instance());
    let kinds: Vec<_> = found.steps.iter().map(std::mem::discriminant).collect();
    let order = [Step::Status(StatusChange::default()), Step::Node(NodeChange::default())];
    assert_eq!(kinds, order.iter().map(std::mem::discriminant).collect::<Vec<_>>());
    let after = applied(&node, &found);
    assert_eq!(taint_keys(&after), ["dedicated"]);
    assert_eq!(after.spec.as_ref().unwrap().provider_id.as_deref(), Some("cn-hangzhou.i-1"));
    let addresses: Vec<_> = address::current(&after).iter().map(|a| (a.type_.as_str(), a.address.as_str())).collect();
    assert_eq!(addresses, [("InternalIP", "10.0.0.1"), ("Hostname", "h")]);
    assert_eq!(label(&after, "topology.kubernetes.io/zone").map(String::as_str), Some("cn-hangzhou-h"));
}

#[test]
fn nothing_is_written_to_a_node_that_is_as_it_should_be() {
    assert_eq!(plan_for(&joined(), &instance()), Plan::default());
    let mut shuffled = instance();
    shuffled.ipv6_addresses = vec!["fc::1".parse().unwrap(), "fc::2".parse().unwrap()];
    let node = joined();
    let first = plan(&node, &desired(&node, &shuffled, true), &Interface::Open, true);
    let node = applied(&node, &first);
    shuffled.private_addresses.push("10.0.0.1".parse().unwrap());
    assert_eq!(plan(&node, &desired(&node, &shuffled, true), &Interface::Open, true), Plan::default());
}

#[test]
fn a_provider_id_is_never_overwritten() {
    let node = mk_node("n").joining().provider_id("alicloud://cn-hangzhou.i-1").build();
    let after = applied(&node, &plan_for(&node, &instance()));
    assert_eq!(after.spec.unwrap().provider_id.as_deref(), Some("alicloud://cn-hangzhou.i-1"));
}

#[test]
fn labels_are_corrected_and_others_kept() {
    let mut node = joined();
    node.metadata.labels.get_or_insert_default().extend([
        ("topology.kubernetes.io/zone".to_owned(), "elsewhere".to_owned()),
        ("team".to_owned(), "blue".to_owned()),
    ]);
    let found = plan_for(&node, &instance());
    let change = NodeChange {
        labels: BTreeMap::from([("topology.kubernetes.io/zone", "cn-hangzhou-h".to_owned())]),
        ..NodeChange::default()
    };
    assert_eq!(found.steps, [Step::Node(change)]);
    assert_eq!(label(&applied(&node, &found), "team").map(String::as_str), Some("blue"));
}

#[test]
fn a_node_keeps_its_taint_while_something_is_wrong() {
    let mut without_address = instance();
    without_address.private_addresses.clear();
    for (what, node, instance, interface) in [
        (
            "unreadable address",
            node_with(|n| n.annotation(PROVIDED_NODE_IP, "invalid-ip")),
            instance(),
            Interface::Open,
        ),
        ("foreign address", node_with(|n| n.annotation(PROVIDED_NODE_IP, "10.0.0.2")), instance(), Interface::Open),
        ("no address", node_with(|n| n), without_address, Interface::Open),
        ("unseen interface", node_with(|n| n), instance(), Interface::Unknown("denied".to_owned())),
    ] {
        let mut node = node;
        node.spec.as_mut().unwrap().taints = mk_node("t").joining().build().spec.unwrap().taints;
        let found = plan(&node, &desired(&node, &instance, false), &interface, false);
        assert!(found.problem.is_some(), "{what}");
        assert_eq!(taint_keys(&applied(&node, &found)), [UNINITIALIZED_TAINT], "{what}");
    }
}

#[test]
fn the_taint_waits_for_the_interface_where_nothing_else_keeps_pods_away() {
    let (closed, unknown) = (Interface::Closed("eni-1".into()), Interface::Unknown("denied".to_owned()));
    let routed = || node_with(|n| n.joining().pod_cidrs(&["10.1.0.0/24"]));
    let reachable =
        node_with(|n| n.joining().pod_cidrs(&["10.1.0.0/24"]).condition(NETWORK_UNAVAILABLE, "False", "RouteCreated"));
    for (what, node, routes, waits) in [
        ("waits for its route", routed(), true, false),
        ("routes are off", routed(), false, true),
        ("no pod CIDR", node_with(MkNode::joining), true, true),
        ("pods come already", reachable, true, true),
    ] {
        for interface in [&closed, &unknown] {
            let found = plan(&node, &desired(&node, &instance(), false), interface, routes);
            let after = applied(&node, &found);
            assert_eq!(is_joining(&after), waits, "{what}: {interface:?}");
            assert_eq!(found.problem.is_some(), waits && *interface == unknown, "{what}: {interface:?}");
            assert!(has_provider_id(&after) && !address::current(&after).is_empty(), "{what}: {interface:?}");
        }
    }
}

#[test]
fn an_empty_address_list_is_never_written() {
    let mut blank = instance();
    blank.private_addresses.clear();
    let found = plan_for(&joined(), &blank);
    assert!(found.steps.is_empty());
    assert!(found.problem.is_some());
}

#[test]
fn addresses_follow_the_instance() {
    let mut with_eip = instance();
    with_eip.public_addresses = vec!["47.0.0.1".parse().unwrap()];
    let node = joined();
    let bound = applied(&node, &plan_for(&node, &with_eip));
    assert_eq!(address::current(&bound).len(), 2);
    let unbound = applied(&bound, &plan_for(&bound, &instance()));
    assert_eq!(address::current(&unbound), address::current(&node));
}

#[test]
fn a_joining_node_with_a_pod_cidr_waits_for_its_route() {
    for (what, node, routes, want) in [
        ("fresh", node_with(|n| n.joining().pod_cidrs(&["10.1.0.0/24"])), true, true),
        ("routes are off", node_with(|n| n.joining().pod_cidrs(&["10.1.0.0/24"])), false, false),
        ("no pod CIDR", node_with(MkNode::joining), true, false),
        ("not joining", node_with(|n| n.pod_cidrs(&["10.1.0.0/24"])), true, false),
        (
            "route exists",
            node_with(|n| {
                n.joining().pod_cidrs(&["10.1.0.0/24"]).condition(NETWORK_UNAVAILABLE, "False", "RouteCreated")
            }),
            true,
            false,
        ),
        (
            "already waiting",
            node_with(|n| {
                n.joining().pod_cidrs(&["10.1.0.0/24"]).condition(NETWORK_UNAVAILABLE, "True", NO_ROUTE_CREATED)
            }),
            true,
            false,
        ),
        (
            "unknown",
            node_with(|n| n.joining().pod_cidrs(&["10.1.0.0/24"]).condition(NETWORK_UNAVAILABLE, "Unknown", "")),
            true,
            true,
        ),
    ] {
        let found = plan(&node, &desired(&node, &instance(), false), &Interface::Open, routes);
        let waits = found.steps.iter().any(|step| matches!(step, Step::Status(change) if change.awaits_route));
        assert_eq!(waits, want, "{what}");
    }
}

#[test]
fn the_shutdown_taint_follows_the_instance_unless_the_node_is_ready() {
    let off = |status| Instance { status, ..instance() };
    let running = InstanceStatus::Running;
    for (what, ready, before, status, after) in [
        ("not ready and stopped", "False", false, InstanceStatus::Stopped, true),
        ("unknown and stopping", "Unknown", false, InstanceStatus::Stopping, true),
        ("added once", "Unknown", true, InstanceStatus::Stopped, true),
        ("ready but stopping", "True", false, InstanceStatus::Stopping, false),
        ("ready again", "True", true, InstanceStatus::Stopped, false),
        ("not ready but running", "False", false, running.clone(), false),
        ("running again", "False", true, running, false),
    ] {
        let mut node = joined();
        node.status.as_mut().unwrap().conditions = mk_node("r").ready(ready).build().status.unwrap().conditions;
        let others = mk_node("t").taint("node.kubernetes.io/out-of-service", "NoExecute");
        let others = if before { others.taint(SHUTDOWN_TAINT, "NoSchedule") } else { others };
        node.spec.as_mut().unwrap().taints = others.build().spec.unwrap().taints;
        let found = applied(&node, &plan_for(&node, &off(status)));
        let mut want = vec!["node.kubernetes.io/out-of-service"];
        want.extend(after.then_some(SHUTDOWN_TAINT));
        assert_eq!(taint_keys(&found), want, "{what}");
    }
}

#[test]
fn a_ready_node_loses_the_shutdown_taint_without_the_cloud() {
    let node = node_with(|n| n.ready("True").taint(SHUTDOWN_TAINT, "NoSchedule").taint("mine", "NoSchedule"));
    assert_eq!(taint_keys(&applied(&node, &plan_blind(&node))), ["mine"]);
    let node = node_with(|n| n.ready("Unknown").taint(SHUTDOWN_TAINT, "NoSchedule"));
    assert_eq!(plan_blind(&node), Plan::default());
    assert_eq!(plan_blind(&node_with(|n| n.ready("Unknown"))), Plan::default());
    assert_eq!(plan_blind(&node_with(MkNode::joining)), Plan::default());
}

#[test]
fn a_released_machine_only_loses_its_taint() {
    let node = mk_node("n").joining().taint("mine", "NoSchedule").build();
    assert_eq!(taint_keys(&applied(&node, &plan_release(&node))), ["mine"]);
    assert_eq!(plan_release(&mk_node("n").build()), Plan::default());
}
