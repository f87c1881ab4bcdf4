use k8s_openapi::{
    api::{
        core::v1::{NodeCondition, NodeSpec, NodeStatus, ObjectReference, ServiceSpec, Taint},
        discovery::v1::{Endpoint, EndpointConditions},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::*;

fn node(name: &str) -> Node {
    Node {
        metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
        spec: Some(NodeSpec { provider_id: Some(format!("cn-hangzhou.i-{name}")), ..NodeSpec::default() }),
        status: Some(NodeStatus {
            conditions: Some(vec![NodeCondition {
                type_: "Ready".into(),
                status: "True".into(),
                ..NodeCondition::default()
            }]),
            ..NodeStatus::default()
        }),
    }
}

fn unready(name: &str) -> Node {
    let mut node = node(name);
    node.status.as_mut().unwrap().conditions.as_mut().unwrap()[0].status = "Unknown".into();
    node
}

fn labelled(name: &str, key: &str, value: &str) -> Node {
    let mut node = node(name);
    node.metadata.labels = Some([(key.to_owned(), value.to_owned())].into());
    node
}

fn service(policy: &str) -> Service {
    let spec = ServiceSpec { external_traffic_policy: Some(policy.into()), ..ServiceSpec::default() };
    Service { spec: Some(spec), ..Service::default() }
}

fn endpoint(node: &str, pod: &str, ready: Option<bool>, serving: Option<bool>, terminating: Option<bool>) -> Endpoint {
    Endpoint {
        addresses: vec![pod.into()],
        node_name: Some(node.into()),
        conditions: Some(EndpointConditions { ready, serving, terminating }),
        target_ref: Some(ObjectReference { uid: Some(pod.into()), ..ObjectReference::default() }),
        ..Endpoint::default()
    }
}

fn of(service: &Service, nodes: Vec<Node>, endpoints: Vec<Endpoint>) -> Backends {
    let nodes: Vec<Arc<Node>> = nodes.into_iter().map(Arc::new).collect();
    let slice = EndpointSlice { endpoints, ..EndpointSlice::default() };
    backends(service, &Requested::default(), &nodes, &[Arc::new(slice)])
}

fn weights(backends: &Backends) -> Vec<(&str, u8)> {
    backends.instances.iter().map(|(id, weight)| (id.as_str(), *weight)).collect()
}

#[test]
fn with_the_policy_cluster_every_eligible_node_is_a_member() {
    let mut tainted = node("tainted");
    tainted.spec.as_mut().unwrap().taints =
        Some(vec![Taint { key: TO_BE_DELETED_TAINT.into(), effect: "NoSchedule".into(), ..Taint::default() }]);
    let mut cordoned = node("cordoned");
    cordoned.spec.as_mut().unwrap().unschedulable = Some(true);
    let mut nodes = vec![node("a"), unready("b"), tainted, cordoned, labelled("v", "type", "virtual-kubelet")];
    for (index, key) in MASTER_LABELS.iter().chain(&EXCLUDE_LABELS).enumerate() {
        nodes.push(labelled(&format!("x{index}"), key, ""));
    }
    assert_eq!(weights(&of(&service("Cluster"), nodes, vec![])), [("i-a", 100), ("i-cordoned", 100)]);
}

#[test]
fn nodes_that_turn_unready_together_stay() {
    let backends = of(&service("Cluster"), vec![unready("a"), unready("b")], vec![]);
    assert_eq!(weights(&backends), [("i-a", 100), ("i-b", 100)]);
}

#[test]
fn a_node_that_is_not_an_instance_is_left_out_alone() {
    let (mut foreign, mut new) = (node("f"), node("n"));
    foreign.spec.as_mut().unwrap().provider_id = Some("aws:///eu-west-1a/i-1".into());
    new.spec.as_mut().unwrap().provider_id = None;
    let backends = of(&service("Cluster"), vec![node("a"), foreign, new], vec![]);
    assert_eq!(weights(&backends), [("i-a", 100)]);
    assert_eq!(backends.left_out.len(), 1, "{:?}", backends.left_out);
}

#[test]
fn with_the_policy_local_weights_count_ready_pods() {
    let endpoints = vec![
        endpoint("a", "p1", Some(true), None, None),
        endpoint("a", "p2", None, None, None),
        endpoint("a", "p2", None, None, None),
        endpoint("b", "p3", Some(false), Some(false), None),
        endpoint("c", "p4", Some(false), Some(true), Some(true)),
        endpoint("gone", "p5", Some(true), None, None),
    ];
    let backends = of(&service("Local"), vec![node("a"), node("b"), node("c"), node("d")], endpoints);
    assert_eq!(weights(&backends), [("i-a", 2)], "ready unless told otherwise, and each pod once");
}

#[test]
fn when_no_pod_is_ready_those_that_still_serve_take_the_traffic() {
    let endpoints = vec![
        endpoint("a", "p1", Some(false), Some(true), Some(true)),
        endpoint("b", "p2", Some(false), Some(false), Some(true)),
        endpoint("c", "p3", Some(false), Some(false), None),
    ];
    let backends = of(&service("Local"), vec![node("a"), node("b"), node("c")], endpoints);
    assert_eq!(weights(&backends), [("i-a", 1)]);
}

#[test]
fn members_carry_port_and_description() {
    let backends = of(&service("Cluster"), vec![node("a")], vec![]);
    let members = members(&backends, 30080, "k8s/30080/web/shop/c1");
    assert_eq!(
        (members[0].port, members[0].weight, members[0].description.as_str()),
        (30080, 100, "k8s/30080/web/shop/c1")
    );
}

#[test]
fn annotations_choose_among_the_nodes() {
    let mut cordoned = labelled("c", "pool", "web");
    cordoned.spec.as_mut().unwrap().unschedulable = Some(true);
    let nodes: Vec<Arc<Node>> = [node("a"), labelled("b", "pool", "web"), cordoned].map(Arc::new).into();
    let with = |requested: &Requested| backends(&service("Cluster"), requested, &nodes, &[]);
    let pool = Requested { node_labels: [("pool".to_owned(), "web".to_owned())].into(), ..Requested::default() };
    assert_eq!(weights(&with(&pool)), [("i-b", 100), ("i-c", 100)]);
    let scheduled = Requested { leaves_out_cordoned: true, default_weight: Some(7), ..pool };
    assert_eq!(weights(&with(&scheduled)), [("i-b", 7)]);
}
