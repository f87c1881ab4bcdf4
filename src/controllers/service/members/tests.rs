use k8s_openapi::{
    api::{
        core::v1::{NodeCondition, NodeSpec, NodeStatus, ObjectReference, ServiceSpec, Taint},
        discovery::v1::{Endpoint, EndpointConditions, EndpointPort},
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
    backends(service, &Requested::default(), false, &nodes, &[Arc::new(slice)])
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
    let keys = [
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/control-plane",
        "node.kubernetes.io/exclude-from-external-load-balancers",
        "alpha.service-controller.kubernetes.io/exclude-balancer",
        "service.beta.kubernetes.io/exclude-node",
        "service.alibabacloud.com/exclude-node",
    ];
    for (index, key) in keys.iter().enumerate() {
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
        endpoint("a", "10.1.0.1", Some(true), None, None),
        endpoint("a", "10.1.0.2", None, None, None),
        endpoint("a", "10.1.0.2", None, None, None),
        endpoint("b", "10.1.0.3", Some(false), Some(false), None),
        endpoint("c", "10.1.0.4", Some(false), Some(true), Some(true)),
        endpoint("gone", "10.1.0.5", Some(true), None, None),
    ];
    let backends = of(&service("Local"), vec![node("a"), node("b"), node("c"), node("d")], endpoints);
    assert_eq!(weights(&backends), [("i-a", 2)], "ready unless told otherwise, and each pod once");
}

#[test]
fn when_no_pod_is_ready_those_that_still_serve_take_the_traffic() {
    let endpoints = vec![
        endpoint("a", "10.1.0.1", Some(false), Some(true), Some(true)),
        endpoint("b", "10.1.0.2", Some(false), Some(false), Some(true)),
        endpoint("c", "10.1.0.3", Some(false), Some(false), None),
    ];
    let backends = of(&service("Local"), vec![node("a"), node("b"), node("c")], endpoints);
    assert_eq!(weights(&backends), [("i-a", 1)]);
}

#[test]
fn members_carry_port_and_description() {
    let backends = of(&service("Cluster"), vec![node("a")], vec![]);
    let ports = Ports { node_port: Some(30080), name: "" };
    let members = members(&backends, &BTreeMap::new(), ports, "k8s/30080/web/shop/c1");
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
    let with = |requested: &Requested| backends(&service("Cluster"), requested, false, &nodes, &[]);
    let pool = Requested { node_labels: [("pool".to_owned(), "web".to_owned())].into(), ..Requested::default() };
    assert_eq!(weights(&with(&pool)), [("i-b", 100), ("i-c", 100)]);
    let scheduled = Requested { leaves_out_cordoned: true, default_weight: Some(7), ..pool };
    assert_eq!(weights(&with(&scheduled)), [("i-b", 7)]);
}

fn slice(endpoints: Vec<Endpoint>, ports: &[(&str, i32)]) -> Arc<EndpointSlice> {
    let port = |(name, port): &(&str, i32)| EndpointPort {
        name: Some((*name).into()),
        port: Some(*port),
        ..Default::default()
    };
    Arc::new(EndpointSlice {
        address_type: "IPv4".into(),
        endpoints,
        ports: Some(ports.iter().map(port).collect()),
        ..EndpointSlice::default()
    })
}

#[test]
fn with_eni_the_pods_are_members_each_at_its_own_port() {
    // Two versions of an application whose named port differs, so there are two slices.
    let old = slice(vec![endpoint("a", "10.1.0.1", Some(true), None, None)], &[("http", 8080)]);
    let new = slice(vec![endpoint("gone", "10.1.0.2", Some(true), None, None)], &[("http", 9090)]);
    let backends = backends(&service("Local"), &Requested::default(), true, &[], &[old, new]);
    let interfaces = BTreeMap::from([
        ("10.1.0.1".parse().unwrap(), "eni-1".to_owned()),
        ("10.1.0.2".parse().unwrap(), "eni-2".to_owned()),
    ]);
    let of = |name| {
        let members = members(&backends, &interfaces, Ports { node_port: None, name }, "d");
        members.into_iter().map(|m| format!("{}/{}:{}", m.server, m.address.unwrap(), m.port)).collect::<Vec<_>>()
    };
    assert_eq!(of("http"), ["eni-1/10.1.0.1:8080", "eni-2/10.1.0.2:9090"]);
    assert_eq!(of("metrics"), Vec::<String>::new(), "pods without that port");
}

#[test]
fn pods_on_virtual_nodes_are_members_beside_instances() {
    let nodes: Vec<Arc<Node>> = [node("a"), labelled("v", "type", "virtual-kubelet")].map(Arc::new).into();
    let endpoints =
        || vec![endpoint("a", "10.1.0.1", Some(true), None, None), endpoint("v", "10.1.0.2", Some(true), None, None)];
    let of =
        |policy| backends(&service(policy), &Requested::default(), false, &nodes, &[slice(endpoints(), &[("", 80)])]);
    let pods =
        |backends: &Backends| backends.pods.iter().map(|(ip, pod)| (ip.to_string(), pod.weight)).collect::<Vec<_>>();
    assert_eq!(
        (weights(&of("Cluster")), pods(&of("Cluster"))),
        (vec![("i-a", 100)], vec![("10.1.0.2".to_owned(), 100)])
    );
    assert_eq!((weights(&of("Local")), pods(&of("Local"))), (vec![("i-a", 1)], vec![("10.1.0.2".to_owned(), 1)]));
}
