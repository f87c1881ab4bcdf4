//! Annotations about the load balancer itself, four ways: given from the start, changed, removed,
//! and wrong.

use std::time::Duration;

use ccm::sim::cloud::slb::LoadBalancer;
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, clb::PREFIX, play};

/// What a change does to a load balancer that is there.
enum Change {
    /// One call, and it is so.
    Made,
    /// Told, and left as it is until the change is taken back.
    Refused(&'static str),
    /// Nothing.
    Ignored,
}

use Change::{Ignored, Made, Refused};

struct Case {
    suffix: &'static str,
    /// What else the Service asks for.
    with: &'static [(&'static str, &'static str)],
    values: [&'static str; 2],
    /// A value that cannot be used; empty if there is none.
    wrong: &'static str,
    /// How it shows in the cloud.
    shows: fn(&LoadBalancer) -> String,
    /// How the values show.
    as_shown: [&'static str; 2],
    change: Change,
}

const INTRANET: &[(&str, &str)] = &[("address-type", "intranet")];
const BY_SPEC: &[(&str, &str)] = &[("instance-charge-type", "PayBySpec")];
const BY_BANDWIDTH: &[(&str, &str)] = &[("charge-type", "paybybandwidth"), ("instance-charge-type", "PayBySpec")];

const CASES: &[Case] = &[
    Case {
        suffix: "address-type",
        with: &[],
        values: ["intranet", "internet"],
        wrong: "Intranet",
        shows: |lb| lb.address_type.clone(),
        as_shown: ["intranet", "internet"],
        change: Refused("can not change LoadBalancer AddressType once created"),
    },
    Case {
        suffix: "name",
        with: &[],
        values: ["shop", "shop-2"],
        wrong: " shop",
        shows: |lb| lb.name.clone(),
        as_shown: ["shop", "shop-2"],
        change: Made,
    },
    Case {
        suffix: "additional-resource-tags",
        with: &[],
        values: ["team=shop,empty", "team=web,empty="],
        wrong: " ",
        shows: |lb| format!("{:?} {:?}", lb.tags.get("team"), lb.tags.get("empty")),
        as_shown: ["Some(\"shop\") Some(\"\")", "Some(\"web\") Some(\"\")"],
        change: Made,
    },
    Case {
        suffix: "delete-protection",
        with: &[],
        values: ["off", "on"],
        wrong: "yes",
        shows: |lb| lb.delete_protection.to_string(),
        as_shown: ["false", "true"],
        change: Made,
    },
    Case {
        suffix: "modification-protection",
        with: &[],
        values: ["NonProtection", "ConsoleProtection"],
        wrong: "none",
        shows: |lb| format!("{} {}", lb.modification_protection, lb.modification_protection_reason),
        as_shown: ["NonProtection ", "ConsoleProtection managed.by.ack"],
        change: Made,
    },
    Case {
        suffix: "vswitch-id",
        with: INTRANET,
        values: ["vsw-bp1simi", "vsw-bp1simj"],
        wrong: " vsw",
        shows: |lb| lb.vswitch.clone(),
        as_shown: ["vsw-bp1simi", "vsw-bp1simj"],
        change: Ignored,
    },
    Case {
        suffix: "charge-type",
        with: &[("bandwidth", "5"), ("instance-charge-type", "PayBySpec")],
        values: ["paybytraffic", "paybybandwidth"],
        wrong: "free",
        shows: |lb| lb.internet_charge_type.clone(),
        as_shown: ["paybytraffic", "paybybandwidth"],
        change: Made,
    },
    Case {
        suffix: "bandwidth",
        with: BY_BANDWIDTH,
        values: ["5", "50"],
        wrong: "fast",
        shows: |lb| lb.bandwidth.to_string(),
        as_shown: ["5", "50"],
        change: Made,
    },
    Case {
        suffix: "instance-charge-type",
        with: &[],
        values: ["PayBySpec", "PayByCLCU"],
        wrong: "Free",
        shows: |lb| lb.instance_charge_type.clone(),
        as_shown: ["PayBySpec", "PayByCLCU"],
        change: Made,
    },
    Case {
        suffix: "spec",
        with: BY_SPEC,
        values: ["slb.s1.small", "slb.s2.small"],
        wrong: " slb",
        shows: |lb| lb.spec.clone(),
        as_shown: ["slb.s1.small", "slb.s2.small"],
        change: Made,
    },
    Case {
        suffix: "resource-group-id",
        with: &[],
        values: ["rg-one", "rg-two"],
        wrong: " rg",
        shows: |lb| lb.resource_group.clone(),
        as_shown: ["rg-one", "rg-two"],
        change: Refused("can not change LoadBalancer ResourceGroupId once created"),
    },
    Case {
        suffix: "master-zoneid",
        with: &[],
        values: ["cn-hangzhou-i", "cn-hangzhou-j"],
        wrong: " cn",
        shows: |lb| lb.master_zone.clone(),
        as_shown: ["cn-hangzhou-i", "cn-hangzhou-j"],
        change: Refused("can not change LoadBalancer master zone id once created"),
    },
    Case {
        suffix: "slave-zoneid",
        with: &[],
        values: ["cn-hangzhou-i", "cn-hangzhou-j"],
        wrong: " cn",
        shows: |lb| lb.slave_zone.clone(),
        as_shown: ["cn-hangzhou-i", "cn-hangzhou-j"],
        change: Refused("can not change LoadBalancer slave zone id once created"),
    },
    Case {
        suffix: "ip-version",
        with: &[],
        values: ["ipv6", "ipv4"],
        wrong: "dual",
        shows: |lb| lb.ip_version.clone(),
        as_shown: ["ipv6", "ipv4"],
        change: Refused("can not change LoadBalancer AddressIPVersion once created"),
    },
    Case {
        suffix: "ip",
        with: INTRANET,
        values: ["10.0.0.77", "10.0.0.78"],
        wrong: "ten",
        shows: |lb| lb.address.to_string(),
        as_shown: ["10.0.0.77", "10.0.0.78"],
        change: Refused("can not change LoadBalancer address once created"),
    },
    Case {
        suffix: "preserve-lb-on-delete",
        with: &[],
        values: ["true", "on"],
        wrong: "",
        shows: |lb| lb.name.chars().take(1).collect(),
        as_shown: ["a", "a"],
        change: Ignored,
    },
    Case {
        suffix: "recreate-lb-on-loss",
        with: &[],
        values: ["on", "off"],
        wrong: "yes",
        shows: |lb| lb.name.chars().take(1).collect(),
        as_shown: ["a", "a"],
        change: Ignored,
    },
];

async fn annotate(stage: &Stage, key: &str, value: Option<&str>) {
    let patch = json!({ "metadata": { "annotations": { (key): value } } });
    stage.world.kube.patch::<Service>("default", "web", patch).unwrap();
    stage.pass(Duration::from_secs(15)).await;
}

async fn four_ways(stage: Stage, case: &Case) {
    let _replica = stage.start_alone();
    stage.joined(1).await;
    let key = format!("{PREFIX}{}", case.suffix);
    let with: Vec<(String, &str)> = case.with.iter().map(|(key, value)| (format!("{PREFIX}{key}"), *value)).collect();
    let mut annotations: Vec<(&str, &str)> = with.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    annotations.push((&key, case.values[0]));
    let spec: Value = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
    stage.expose("web", &annotations, spec);
    stage.address("web").await;
    stage.pass(Duration::from_secs(10)).await;
    let shows = || (case.shows)(&stage.cloud().load_balancers().pop().unwrap());
    let suffix = case.suffix;
    assert_eq!(shows(), case.as_shown[0], "{suffix} from the start");
    stage.clear_calls();
    annotate(&stage, &key, Some(case.values[1])).await;
    match case.change {
        Made => {
            assert_eq!(shows(), case.as_shown[1], "{suffix} changed: {:?}", stage.failures("web"));
            assert_eq!(stage.balancer_writes().len(), 1, "{suffix}: {:?}", stage.balancer_writes());
        }
        Refused(text) => {
            assert_eq!((shows().as_str(), stage.balancer_writes().len()), (case.as_shown[0], 0), "{suffix}");
            let told = stage.failures("web");
            assert!(told.iter().any(|told| told.contains(text)), "{suffix}: {told:?}");
            annotate(&stage, &key, Some(case.values[0])).await;
            assert_eq!(stage.balancer_writes().len(), 0, "{suffix} taken back");
        }
        Ignored => assert_eq!((shows().as_str(), stage.balancer_writes().len()), (case.as_shown[0], 0), "{suffix}"),
    }
    let before = shows();
    stage.clear_calls();
    annotate(&stage, &key, None).await;
    if case.suffix == "address-type" {
        // Nothing asked for means the internet, as it does from the start.
        assert!(stage.failures("web").iter().any(|text| text.contains("AddressType")));
    }
    assert_eq!((shows(), stage.balancer_writes().len()), (before.clone(), 0), "{suffix} removed");
    if case.wrong.is_empty() {
        return;
    }
    stage.clear_calls();
    annotate(&stage, &key, Some(case.wrong)).await;
    assert!(
        stage.failures("web").iter().any(|text| text.contains(&key)),
        "{suffix} wrong: {:?}",
        stage.failures("web")
    );
    assert_eq!(
        stage.words().iter().filter(|word| word.starts_with("slb.")).count(),
        0,
        "{suffix}: {:?}",
        stage.words()
    );
    assert_eq!(shows(), before, "{suffix} wrong");
}

#[test]
fn each_attribute_is_had_from_the_start_changed_if_it_can_be_and_refused_when_wrong() {
    for case in CASES {
        play(|stage| four_ways(stage, case));
    }
}

#[test]
fn what_the_status_shows_follows_its_annotations() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let (kind, intranet) = (format!("{PREFIX}external-ip-type"), format!("{PREFIX}address-type"));
        let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose("web", &[(&intranet, "intranet")], spec);
        let own = stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        annotate(&stage, &kind, Some("eip")).await;
        let told = stage.told("web");
        assert!(told.iter().any(|(reason, _)| reason == "FailedSetEIPAddress"), "{told:?}");
        assert_eq!(stage.address("web").await, own, "without one, its own");
        let made = stage.cloud().administer("vpc.AllocateEipAddress", &[]).unwrap();
        let (id, elastic) = (made["AllocationId"].as_str().unwrap(), made["EipAddress"].as_str().unwrap());
        let load_balancer = stage.cloud().load_balancers().pop().unwrap().id;
        let bind = [("AllocationId", id), ("InstanceId", &load_balancer), ("InstanceType", "SlbInstance")];
        stage.cloud().administer("vpc.AssociateEipAddress", &bind).unwrap();
        stage.pass(Duration::from_secs(10)).await;
        annotate(&stage, "unrelated", Some("x")).await;
        assert_eq!(stage.address("web").await, elastic);
        // That it cannot be looked up does not take it away from clients.
        let fault = ccm::sim::cloud::FaultKind::Denied;
        stage.cloud().inject(ccm::sim::cloud::Fault::on("vpc.DescribeEipAddresses", fault));
        annotate(&stage, "unrelated", Some("y")).await;
        assert_eq!(stage.address("web").await, elastic);
        assert!(stage.told("web").iter().any(|(_, text)| text.contains("the external ip stays as it is")));
        stage.cloud().clear_faults();
        annotate(&stage, &kind, None).await;
        assert_eq!(stage.address("web").await, own);
        annotate(&stage, &kind, Some("EIP")).await;
        assert!(stage.failures("web").iter().any(|text| text.contains(&kind)), "{:?}", stage.failures("web"));
        assert_eq!(stage.address("web").await, own);
    });
}

/// A key that nobody knows is told once for each change of the Service, with the nearest that is
/// known; wrong values are told together, and a Service that has one keeps what it has.
#[test]
fn typing_mistakes_in_keys_and_values_are_found() {
    play(|stage| async move {
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let spec = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose("web", &[], spec);
        stage.address("web").await;
        stage.pass(Duration::from_secs(10)).await;
        stage.clear_calls();
        annotate(&stage, &format!("{PREFIX}shceduler"), Some("wrr")).await;
        annotate(&stage, "service.beta.kubernetes.io/alicloud-loadbalancer-bandwith", Some("5")).await;
        stage.joined(1).await;
        stage.pass(Duration::from_secs(60)).await;
        let told = stage.told("web");
        let unknown: Vec<&String> =
            told.iter().filter(|(reason, _)| reason == "UnsupportedAnnotation").map(|(_, text)| text).collect();
        assert_eq!(unknown.len(), 2, "{told:?}");
        assert!(unknown.iter().any(|text| text.ends_with("-scheduler")), "{unknown:?}");
        assert!(unknown.iter().any(|text| text.ends_with("-bandwidth")), "{unknown:?}");
        assert_eq!(stage.failures("web"), Vec::<String>::new(), "an unknown key does no harm");
        annotate(&stage, &format!("{PREFIX}scheduler"), Some("best")).await;
        annotate(&stage, &format!("{PREFIX}acl-type"), Some("grey")).await;
        let told = stage.failures("web");
        let both = |text: &String| text.contains("scheduler is \"best\"") && text.contains("acl-type is \"grey\"");
        assert!(told.iter().any(both), "{told:?}");
        let load_balancer = stage.cloud().load_balancers().pop().unwrap();
        assert_eq!(stage.cloud().listeners(&load_balancer.id).len(), 1);
    });
}
