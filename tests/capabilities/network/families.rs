//! Pods as members at their addresses of IPv6, or of both families (`backend-ip-version`).

use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::{annotate, assert_told, expose_with, groups, key, listeners, settled, writes};
use crate::support::{Stage, play};

const ENI: (&str, &str) = ("service.beta.kubernetes.io/backend-type", "eni");
const DUAL: (&str, &str) = ("ip-version", "DualStack");

/// Two pods with an address of each family, and slices of the Service `web` with them.
fn furnish(stage: &Stage) {
    let mut addresses = Vec::new();
    for number in 0..2 {
        stage.world.boot(number).unwrap();
    }
    stage.cloud().with_state(|state| {
        for (number, interface) in state.ecs.interfaces.values_mut().take(2).enumerate() {
            let ipv6 = format!("2001:db8::{}", number + 1);
            interface.ipv6.push(ipv6.parse().unwrap());
            addresses.push((interface.private_ips[0].to_string(), ipv6));
        }
    });
    let slice = |name: &str, family: &str, of: &dyn Fn(&(String, String)) -> String| {
        let pod = |(number, both): (usize, &(String, String))| {
            let target = json!({ "kind": "Pod", "name": format!("web-{number}"), "uid": format!("uid-{number}") });
            json!({ "addresses": [of(both)], "conditions": { "ready": true }, "targetRef": target })
        };
        let endpoints: Vec<Value> = addresses.iter().enumerate().map(pod).collect();
        let slice = json!({
            "metadata": { "name": name, "namespace": "default", "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": family, "endpoints": endpoints,
            "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
        });
        stage.world.kube.create::<EndpointSlice>(&serde_json::from_value(slice).unwrap()).unwrap();
    };
    slice("web-4", "IPv4", &|both| both.0.clone());
    slice("web-6", "IPv6", &|both| both.1.clone());
}

/// How many members of either family the one group has, and its own words about it.
fn members(stage: &Stage) -> (usize, usize, String, String) {
    let [group] = &groups(stage)[..] else { panic!("{:?} {:?}", groups(stage), stage.told("web")) };
    assert_eq!(listeners(stage)[0].server_group, group.id);
    let of = |ipv6: bool| group.servers.iter().filter(|server| server.ip.contains(':') == ipv6).count();
    let word = |name: &str| group.attributes[name].clone();
    (of(false), of(true), word("AddressIPVersion"), word("IpVersionAffinityMode"))
}

fn words(v4: usize, v6: usize, version: &str, affinity: &str) -> (usize, usize, String, String) {
    (v4, v6, version.to_owned(), affinity.to_owned())
}

#[test]
fn members_have_the_families_asked_for_and_a_change_leaves_no_gap() {
    play(|stage| async move {
        furnish(&stage);
        let _replica = stage.start_with(&[], json!({ "featureGates": "IPv6DualStack=true" }));
        let spec = json!({ "ports": [{ "port": 80, "targetPort": 8080 }] });
        expose_with(&stage, &[ENI, DUAL, ("backend-ip-version", "ipv6")], spec);
        settled(&stage).await;
        assert_eq!(members(&stage), words(0, 2, "DualStack", "NonAffinity"));
        stage.clear_calls();
        annotate(&stage, json!({ (key("backend-ip-version")): "DualStack" })).await;
        assert_eq!(members(&stage), words(2, 2, "DualStack", "Affinity"));
        assert_eq!(writes(&stage), ["nlb.AddServersToServerGroup", "nlb.UpdateServerGroupAttribute"]);
        annotate(&stage, json!({ (key("backend-ip-version")): null })).await;
        assert_eq!(members(&stage), words(2, 0, "DualStack", "Affinity"), "the group serves IPv4 as well");
        stage.clear_calls();
        annotate(&stage, json!({ (key("backend-ip-version")): "ipv5" })).await;
        assert_told(&stage, "backend-ip-version is \"ipv5\"");
        assert_eq!(stage.words(), Vec::<String>::new());
    });
}

#[test]
fn a_group_of_ipv4_is_followed_by_one_of_both() {
    play(|stage| async move {
        furnish(&stage);
        let _replica = stage.start_with(&[], json!({ "featureGates": "IPv6DualStack=true" }));
        expose_with(&stage, &[ENI, DUAL], json!({ "ports": [{ "port": 80, "targetPort": 8080 }] }));
        settled(&stage).await;
        assert_eq!(members(&stage), words(2, 0, "ipv4", "NonAffinity"));
        stage.clear_calls();
        annotate(&stage, json!({ (key("backend-ip-version")): "dualstack" })).await;
        assert_eq!(members(&stage), words(2, 2, "DualStack", "Affinity"));
        let order = [
            "nlb.CreateServerGroup",
            "nlb.AddServersToServerGroup",
            "nlb.UpdateListenerAttribute",
            "nlb.DeleteServerGroup",
        ];
        assert_eq!(writes(&stage), order);
    });
}

#[test]
fn without_what_it_needs_members_keep_ipv4_and_that_is_told() {
    for (gate, version) in [("IPv6DualStack=false", "DualStack"), ("IPv6DualStack=true", "ipv4")] {
        play(|stage| async move {
            furnish(&stage);
            let _replica = stage.start_with(&[], json!({ "featureGates": gate }));
            let pairs = [ENI, ("ip-version", version), ("backend-ip-version", "ipv6")];
            expose_with(&stage, &pairs, json!({ "ports": [{ "port": 80, "targetPort": 8080 }] }));
            settled(&stage).await;
            assert_eq!(members(&stage), words(2, 0, "ipv4", "NonAffinity"), "{gate} {version}");
            let told = stage.told("web");
            let notice = |(reason, message): &(String, String)| {
                reason == "UnsupportedAnnotation" && message.contains("members keep their IPv4 addresses")
            };
            assert!(told.iter().any(notice), "{told:?}");
        });
    }
}
