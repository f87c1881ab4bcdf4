use k8s_openapi::{
    api::{
        core::v1::{NodeCondition, NodeSpec, NodeStatus, ObjectReference, ServiceSpec, Taint},
        discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{nodes::TO_BE_DELETED_TAINT, *};

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
    among(service, &Requested::default(), &nodes, &[slice(endpoints, &[])])
}

fn among(service: &Service, requested: &Requested, nodes: &[Arc<Node>], slices: &[Arc<Slice>]) -> Backends {
    backends(service, requested, &around(nodes, slices))
}

static NOBODY: BTreeSet<String> = BTreeSet::new();

fn around<'a>(nodes: &'a [Arc<Node>], slices: &'a [Arc<Slice>]) -> Around<'a> {
    let control_plane = ControlPlaneNodes::Legacy;
    Around { eni: false, families: Families::V4, control_plane, only_ready: true, nodes, slices, admitted: &NOBODY }
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

/// S01, S02: whatever is said of readiness, a group is not emptied. What a user excludes stays out.
#[test]
fn the_best_nodes_there_are_become_members() {
    let tainted = |name: &str| {
        let mut node = node(name);
        let taint = Taint { key: TO_BE_DELETED_TAINT.into(), ..Taint::default() };
        node.spec.as_mut().unwrap().taints = Some(vec![taint]);
        node
    };
    let excluded = |name: &str| labelled(name, "node.kubernetes.io/exclude-from-external-load-balancers", "");
    let new = |name: &str| {
        let mut node = node(name);
        node.spec.as_mut().unwrap().provider_id = None;
        node
    };
    for (nodes, wanted) in [
        (vec![node("a"), unready("b"), tainted("c")], vec!["i-a"]),
        (vec![unready("b"), tainted("c"), excluded("d")], vec!["i-b"]),
        (vec![tainted("c"), tainted("d"), excluded("e")], vec!["i-c", "i-d"]),
        (vec![new("a"), unready("b")], vec!["i-b"]),
        (vec![excluded("a"), excluded("b")], vec![]),
        (vec![], vec![]),
    ] {
        let names: Vec<_> = nodes.iter().map(|node| node.metadata.name.clone().unwrap()).collect();
        let backends = of(&service("Cluster"), nodes, vec![]);
        assert_eq!(backends.instances.keys().collect::<Vec<_>>(), wanted, "{names:?}");
    }
}

/// S01, S11: where the load balancer checks its members, readiness makes no difference. Whether an instance
/// is switched off does: the cloud takes none that is.
#[test]
fn unready_nodes_stay_where_the_load_balancer_checks_them() {
    let tainted = |name: &str, key: &str| {
        let mut node = unready(name);
        node.spec.as_mut().unwrap().taints = Some(vec![Taint { key: key.into(), ..Taint::default() }]);
        node
    };
    let off = tainted("off", "node.cloudprovider.kubernetes.io/shutdown");
    let new = tainted("new", "node.cloudprovider.kubernetes.io/uninitialized");
    for (only_ready, nodes, wanted) in [
        (false, vec![node("a"), unready("b"), off.clone(), new.clone()], vec!["i-a", "i-b"]),
        (true, vec![node("a"), unready("b"), off.clone(), new.clone()], vec!["i-a"]),
        (false, vec![unready("b"), off.clone()], vec!["i-b"]),
        (false, vec![off.clone()], vec!["i-off"]),
        (true, vec![unready("b")], vec!["i-b"]),
    ] {
        let nodes: Vec<Arc<Node>> = nodes.into_iter().map(Arc::new).collect();
        let around = Around { only_ready, ..around(&nodes, &[]) };
        let found = backends(&service("Cluster"), &Requested::default(), &around);
        assert_eq!(found.instances.into_keys().collect::<Vec<_>>(), wanted, "only ready ones: {only_ready}");
    }
}

/// S01 for the traffic policy Local: other nodes that are ready do not help.
#[test]
fn a_pods_node_that_turns_unready_stays_if_no_other_has_a_pod() {
    let pod = || vec![endpoint("b", "10.1.0.1", Some(true), None, None)];
    assert_eq!(weights(&of(&service("Local"), vec![node("a"), unready("b")], pod())), [("i-b", 1)]);
}

/// S17: a switch, both labels, and the cluster whose only nodes are of the control plane.
#[test]
fn nodes_of_the_control_plane_are_members_as_configured() {
    use ControlPlaneNodes::{Exclude, Include, Legacy};
    let master = || labelled("m", "node-role.kubernetes.io/master", "");
    let control = || labelled("c", "node-role.kubernetes.io/control-plane", "");
    for (mode, wanted) in [(Legacy, vec!["i-a", "i-c"]), (Include, vec!["i-a", "i-c", "i-m"]), (Exclude, vec!["i-a"])] {
        let of = |nodes: Vec<Node>| {
            let nodes: Vec<Arc<Node>> = nodes.into_iter().map(Arc::new).collect();
            let around = Around { control_plane: mode, ..around(&nodes, &[]) };
            backends(&service("Cluster"), &Requested::default(), &around).instances.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of(vec![node("a"), control(), master()]), wanted, "{mode:?}");
        assert_eq!(of(vec![master()]), ["i-m"], "{mode:?}, all in one");
        assert_eq!(of(vec![control()]), ["i-c"], "{mode:?}, all in one");
    }
}

/// S12: what the policy Local makes of pods.
#[test]
fn with_the_policy_local_only_nodes_with_pods_are_members_and_each_once() {
    let nodes: Vec<Arc<Node>> = [
        node("a"),
        labelled("b", "service.beta.kubernetes.io/exclude-node", ""),
        node("c"),
        labelled("v", "type", "virtual-kubelet"),
    ]
    .map(Arc::new)
    .into();
    let mut nowhere = endpoint("a", "10.1.0.6", Some(true), None, None);
    nowhere.node_name = None;
    let endpoints = vec![
        endpoint("a", "10.1.0.1", Some(true), None, None),
        endpoint("a", "10.1.0.2", Some(true), None, None),
        endpoint("a", "10.1.0.3", Some(true), None, None),
        endpoint("b", "10.1.0.4", Some(true), None, None),
        endpoint("v", "10.1.0.5", Some(true), None, None),
        endpoint("v", "10.1.0.5", Some(true), None, None),
        nowhere,
    ];
    let found = among(&service("Local"), &Requested::default(), &nodes, &[slice(endpoints, &[("", 80)])]);
    assert_eq!(weights(&found), [("i-a", 3)]);
    assert_eq!(found.pods.len(), 1, "the pod without a node of its own, once: {:?}", found.pods);
    assert_eq!(found.left_out, Vec::<String>::new());
    let none = among(&service("Local"), &Requested::default(), &nodes, &[]);
    assert_eq!(none, Backends::default(), "no pod, no member, and no error");
}

/// S15: weights are whole numbers from 0 to 100, and nobody who serves gets 0 unasked.
#[test]
fn weights_are_divided_without_losing_anybody() {
    let requested = |weight: u8| Requested {
        id: Some("lb-1".into()),
        user_groups: [(80, "rsp-1".into())].into(),
        weight: Some(weight),
        default_weight: Some(50),
        ..Requested::default()
    };
    let nodes = |count: usize| (0..count).map(|n| Arc::new(node(&format!("n{n:03}")))).collect::<Vec<_>>();
    let cluster = |weight: u8, count: usize| {
        let found = among(&service("Cluster"), &requested(weight), &nodes(count), &[]);
        found.instances.into_values().collect::<BTreeSet<u8>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(cluster(100, 1), [100]);
    assert_eq!(cluster(100, 3), [33]);
    assert_eq!(cluster(60, 200), [1]);
    assert_eq!(cluster(0, 3), [0]);
    assert_eq!(cluster(60, 0), Vec::<u8>::new());
    let local = |weight: Option<u8>, pods: &[usize]| {
        let endpoints = pods.iter().enumerate().flat_map(|(node, count)| {
            let pod = move |pod| format!("10.{node}.{}.{}", pod / 200, pod % 200);
            (0..*count).map(move |n| endpoint(&format!("n{node:03}"), &pod(n), Some(true), None, None))
        });
        let requested = weight.map_or_else(Requested::default, requested);
        let slices = [slice(endpoints.collect(), &[("", 80)])];
        let found = among(&service("Local"), &requested, &nodes(pods.len()), &slices);
        found.instances.into_values().collect::<Vec<_>>()
    };
    assert_eq!(local(None, &[1, 99, 100, 200]), [1, 99, 100, 100]);
    assert_eq!(local(Some(100), &[3, 1]), [75, 25]);
    assert_eq!(local(Some(10), &[200, 1]), [9, 1]);
    assert_eq!(local(Some(0), &[3, 1]), [0, 0]);
    assert_eq!(local(Some(100), &[0, 0]), Vec::<u8>::new());
    // On a virtual node, too.
    let virtual_node = [Arc::new(labelled("v", "type", "virtual-kubelet"))];
    let pods = (0..200).map(|n| endpoint("v", &format!("10.1.0.{n}"), Some(true), None, None)).collect();
    let found = among(&service("Local"), &requested(60), &virtual_node, &[slice(pods, &[("", 80)])]);
    assert!(found.pods.values().all(|pod| pod.weight == 1), "{:?}", found.pods.values().next());
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
    let with = |requested: &Requested| among(&service("Cluster"), requested, &nodes, &[]);
    let pool = Requested { node_labels: [("pool".to_owned(), "web".to_owned())].into(), ..Requested::default() };
    assert_eq!(weights(&with(&pool)), [("i-b", 100), ("i-c", 100)]);
    let scheduled = Requested { leaves_out_cordoned: true, default_weight: Some(7), ..pool };
    assert_eq!(weights(&with(&scheduled)), [("i-b", 7)]);
}

fn slice(endpoints: Vec<Endpoint>, ports: &[(&str, i32)]) -> Arc<Slice> {
    let port = |(name, port): &(&str, i32)| EndpointPort {
        name: Some((*name).into()),
        port: Some(*port),
        ..Default::default()
    };
    let ports = Some(ports.iter().map(port).collect());
    Arc::new(EndpointSlice { endpoints, ports, ..EndpointSlice::default() }.into())
}

#[test]
fn with_eni_the_pods_are_members_each_at_its_own_port() {
    // Two versions of an application whose named port differs, so there are two slices.
    let old = slice(vec![endpoint("a", "10.1.0.1", Some(true), None, None)], &[("http", 8080)]);
    let new = slice(vec![endpoint("gone", "10.1.0.2", Some(true), None, None)], &[("http", 9090)]);
    let slices = [old, new];
    let around = Around { eni: true, ..around(&[], &slices) };
    let backends = backends(&service("Local"), &Requested::default(), &around);
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
    let of = |policy| among(&service(policy), &Requested::default(), &nodes, &[slice(endpoints(), &[("", 80)])]);
    let pods =
        |backends: &Backends| backends.pods.iter().map(|(ip, pod)| (ip.to_string(), pod.weight)).collect::<Vec<_>>();
    assert_eq!(
        (weights(&of("Cluster")), pods(&of("Cluster"))),
        (vec![("i-a", 100)], vec![("10.1.0.2".to_owned(), 100)])
    );
    assert_eq!((weights(&of("Local")), pods(&of("Local"))), (vec![("i-a", 1)], vec![("10.1.0.2".to_owned(), 1)]));
}

/// A pod that is not ready because it waits to be a member counts as ready.
#[test]
fn a_pod_that_waits_to_be_a_member_becomes_one() {
    let pods = || {
        vec![
            endpoint("a", "10.1.0.1", Some(true), None, None),
            endpoint("a", "10.1.0.2", Some(false), Some(false), None),
            endpoint("a", "10.1.0.3", Some(false), Some(true), Some(true)),
        ]
    };
    let mut waiting = pods();
    for pod in &mut waiting {
        let target = pod.target_ref.as_mut().unwrap();
        (target.kind, target.name) = (Some("Pod".into()), Some("web-1".into()));
    }
    let slices = [slice(waiting, &[("", 80)])];
    let of = |admitted: &[&str]| {
        let admitted = admitted.iter().map(|uid| (*uid).to_owned()).collect();
        let around = Around { eni: true, admitted: &admitted, ..around(&[], &slices) };
        backends(&service("Cluster"), &Requested::default(), &around)
    };
    let addresses = |found: &Backends| found.pods.keys().map(ToString::to_string).collect::<Vec<_>>();
    let (out, inside) = (of(&[]), of(&["10.1.0.2", "10.1.0.3"]));
    assert_eq!(addresses(&out), ["10.1.0.1"]);
    assert_eq!(addresses(&inside), ["10.1.0.1", "10.1.0.2"], "one that is leaving does not come back");
    assert_eq!((out.waiting.len(), inside.waiting["10.1.0.2"]), (1, true));
}

/// Pods of a dual-stack Service are in slices of both families.
#[test]
fn pods_are_members_at_the_family_asked_for() {
    let pod = |address: &str, uid: &str| {
        let mut pod = endpoint("a", address, Some(true), None, None);
        pod.target_ref.as_mut().unwrap().uid = Some(uid.into());
        pod
    };
    let v4 = slice(vec![pod("10.1.0.1", "u-1"), pod("10.1.0.2", "u-2")], &[("", 80)]);
    let v6 = slice(vec![pod("2001:db8::1", "u-1"), pod("2001:db8::3", "u-3")], &[("", 80)]);
    let slices = [v4, v6];
    let of = |families| {
        let around = Around { eni: true, families, ..around(&[], &slices) };
        let found = backends(&service("Cluster"), &Requested::default(), &around);
        found.pods.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of(Families::V4), ["10.1.0.1", "10.1.0.2"]);
    assert_eq!(of(Families::V6), ["2001:db8::1", "2001:db8::3"]);
    assert_eq!(of(Families::Both), ["10.1.0.1", "10.1.0.2", "2001:db8::1", "2001:db8::3"]);
    // Behind node ports the family makes no difference, and a pod counts once.
    let found = among(&service("Local"), &Requested::default(), &[Arc::new(node("a"))], &slices);
    assert_eq!(weights(&found), [("i-a", 3)]);
}
