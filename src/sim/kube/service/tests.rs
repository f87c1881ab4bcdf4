use serde_json::{Value, json};

use crate::{
    clock::Clock,
    entropy::Entropy,
    sim::kube::{
        failure::Failure,
        resource::find,
        store::Store,
        write::{Options, Part, Preconditions, Target},
    },
};

fn store() -> Store {
    let mut store = Store::new(Clock::system(), Entropy::seeded(1));
    let namespaces = find("", "namespaces").unwrap();
    store.create(namespaces, "", json!({ "metadata": { "name": "default" } }), Options::default()).unwrap();
    store
}

fn target(name: &str) -> Target<'_> {
    Target { resource: find("", "services").unwrap(), namespace: "default", name }
}

fn create(store: &mut Store, name: &str, spec: Value) -> Result<Value, Failure> {
    let mut body = json!({ "metadata": { "name": name } });
    body["spec"] = spec;
    store.create(target(name).resource, "default", body, Options::default()).map(|s| s["spec"].clone())
}

fn update(store: &mut Store, name: &str, spec: Value) -> Result<Value, Failure> {
    let mut body = json!({ "metadata": { "name": name } });
    body["spec"] = spec;
    store.update(target(name), Part::Main, body, Options::default()).map(|s| s["spec"].clone())
}

#[test]
fn a_load_balancer_gets_what_the_real_server_gives() {
    let mut store = store();
    let spec = create(&mut store, "web", json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] })).unwrap();
    assert_eq!(
        spec,
        json!({
            "type": "LoadBalancer",
            "allocateLoadBalancerNodePorts": true,
            "clusterIP": "10.96.0.17",
            "clusterIPs": ["10.96.0.17"],
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{ "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30001 }],
            "sessionAffinity": "None",
        })
    );
}

#[test]
fn a_put_without_allocations_keeps_them_and_a_change_of_type_gives_them_back() {
    let mut store = store();
    let local = json!({ "type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{ "port": 80 }] });
    let first = create(&mut store, "web", local.clone()).unwrap();
    assert_eq!(first["healthCheckNodePort"], 30002);
    assert_eq!(update(&mut store, "web", local).unwrap(), first);

    // The whole object with only the type changed, as `kubectl edit` sends it.
    let mut plain = first.clone();
    plain["type"] = "ClusterIP".into();
    let plain = update(&mut store, "web", plain).unwrap();
    assert_eq!(plain["clusterIP"], first["clusterIP"]);
    for field in ["healthCheckNodePort", "externalTrafficPolicy", "allocateLoadBalancerNodePorts"] {
        assert_eq!(plain[field], Value::Null, "{field}");
    }
    assert_eq!(plain["ports"], json!([{ "port": 80, "protocol": "TCP", "targetPort": 80 }]));

    // The port is free again.
    let fixed = json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 30001 }] });
    assert_eq!(create(&mut store, "other", fixed).unwrap()["ports"][0]["nodePort"], 30001);
}

#[test]
fn node_ports_are_exclusive_until_their_service_goes() {
    let mut store = store();
    let fixed = json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 30080 }] });
    create(&mut store, "a", fixed.clone()).unwrap();
    let failure = create(&mut store, "b", fixed.clone()).unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (
            422,
            "Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"
        )
    );
    let local = json!({
        "type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30080, "ports": [{ "port": 1 }],
    });
    assert!(create(&mut store, "c", local).unwrap_err().message.contains("spec.healthCheckNodePort"));
    store.delete(target("a"), &Preconditions::default(), false).unwrap();
    create(&mut store, "b", fixed).unwrap();
}

#[test]
fn node_ports_can_be_declined_and_shared_between_protocols() {
    let mut store = store();
    let none = json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80 }] });
    assert_eq!(create(&mut store, "none", none).unwrap()["ports"][0]["nodePort"], Value::Null);
    let both = json!({ "type": "LoadBalancer", "ports": [
        { "name": "tcp", "port": 53 }, { "name": "udp", "port": 53, "protocol": "UDP" },
    ] });
    let ports = create(&mut store, "dns", both).unwrap()["ports"].clone();
    assert_eq!(ports[0]["nodePort"], 30001);
    assert_eq!(ports[1]["nodePort"], 30001);
}

#[test]
fn headless_and_external_names_get_no_address() {
    let mut store = store();
    let headless = create(&mut store, "headless", json!({ "clusterIP": "None" })).unwrap();
    assert_eq!(headless["clusterIPs"], json!(["None"]));
    let alias = create(&mut store, "alias", json!({ "type": "ExternalName", "externalName": "example.com" })).unwrap();
    assert_eq!(alias["clusterIP"], Value::Null);
}

#[test]
fn wrong_services_are_refused_with_the_field() {
    let mut store = store();
    create(&mut store, "taken", json!({ "clusterIP": "10.96.0.5", "ports": [{ "port": 1 }] })).unwrap();
    let table = [
        (json!({}), "spec.ports: Required value"),
        (
            json!({ "ports": [{ "port": 0 }] }),
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (json!({ "type": "Balancer", "ports": [{ "port": 1 }] }), "spec.type: Unsupported value: \"Balancer\""),
        (json!({ "ports": [{ "port": 1 }, { "port": 2, "name": "b" }] }), "spec.ports[0].name: Required value"),
        (
            json!({ "ports": [{ "port": 1, "name": "a" }, { "port": 1, "name": "b" }] }),
            "spec.ports[1]: Duplicate value: {\"port\":1,\"protocol\":\"TCP\"}",
        ),
        (
            json!({ "ports": [{ "port": 1, "nodePort": 30000 }] }),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            json!({ "type": "LoadBalancer", "ports": [{ "port": 1 }], "loadBalancerSourceRanges": ["10.0.0.0/33"] }),
            "spec.LoadBalancerSourceRanges: Invalid value: \"10.0.0.0/33\"",
        ),
        (json!({ "clusterIP": "10.96.0.5", "ports": [{ "port": 1 }] }), "provided IP is already allocated"),
        (json!({ "clusterIP": "192.168.0.1", "ports": [{ "port": 1 }] }), "not in the valid range"),
    ];
    for (spec, wanted) in table {
        let failure = create(&mut store, "web", spec).unwrap_err();
        assert_eq!(failure.code, 422);
        assert!(failure.message.contains(wanted), "{failure} has no {wanted}");
    }
}

#[test]
fn class_and_address_do_not_change() {
    let mut store = store();
    let with_class =
        |class: &str| json!({ "type": "LoadBalancer", "loadBalancerClass": class, "ports": [{ "port": 1 }] });
    create(&mut store, "web", with_class("a/b")).unwrap();
    let failure = update(&mut store, "web", with_class("c/d")).unwrap_err();
    assert!(failure.message.contains("spec.loadBalancerClass: Invalid value: \"c/d\": may not change once set"));
    let failure =
        update(&mut store, "web", json!({ "clusterIP": "10.96.0.99", "ports": [{ "port": 1 }] })).unwrap_err();
    assert!(failure.message.contains("spec.clusterIPs[0]"), "{failure}");
}

#[test]
fn a_status_with_an_address_needs_a_load_balancer() {
    let mut store = store();
    create(&mut store, "web", json!({ "ports": [{ "port": 1 }] })).unwrap();
    let body = json!({
        "metadata": { "name": "web" }, "status": { "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }] } },
    });
    let failure = store.update(target("web"), Part::Status, body, Options::default()).unwrap_err();
    assert_eq!(failure.code, 422);
}

#[test]
fn a_status_is_there_from_the_start_and_goes_with_the_load_balancer() {
    let mut store = store();
    create(&mut store, "web", json!({ "type": "LoadBalancer", "ports": [{ "port": 1 }] })).unwrap();
    let status = |store: &Store| store.get(target("web")).unwrap()["status"].clone();
    assert_eq!(status(&store), json!({ "loadBalancer": {} }));
    let body = json!({
        "metadata": { "name": "web" },
        "status": { "loadBalancer": { "ingress": [{ "ip": "1.2.3.4" }, { "hostname": "a.b" }] } },
    });
    store.update(target("web"), Part::Status, body, Options::default()).unwrap();
    let shown = json!({ "loadBalancer": { "ingress": [{ "ip": "1.2.3.4", "ipMode": "VIP" }, { "hostname": "a.b" }] } });
    assert_eq!(status(&store), shown);
    update(&mut store, "web", json!({ "type": "ClusterIP", "ports": [{ "port": 1 }] })).unwrap();
    assert_eq!(status(&store), json!({ "loadBalancer": {} }));
}

#[test]
fn a_headless_service_without_selector_is_open_to_both_families() {
    let mut store = store();
    let open = create(&mut store, "open", json!({ "clusterIP": "None" })).unwrap();
    assert_eq!((&open["ipFamilies"], &open["ipFamilyPolicy"]), (&json!(["IPv4", "IPv6"]), &json!("RequireDualStack")));
    let closed = create(&mut store, "closed", json!({ "clusterIP": "None", "selector": { "a": "b" } })).unwrap();
    assert_eq!((&closed["ipFamilies"], &closed["ipFamilyPolicy"]), (&json!(["IPv4"]), &json!("SingleStack")));
}
