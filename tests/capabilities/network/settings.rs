//! What annotations set on a network load balancer: created so, changed in place, left alone when
//! it is not asked for any more, and refused when it is wrong.

use std::time::Duration;

use ccm::sim::cloud::{
    ecs::SecurityGroup,
    slb::Certificate,
    vpc::{BandwidthPackage, Eip},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ZONES, annotate, assert_told, balancers, expose, groups, key, listeners, settled, writes};
use crate::support::{Stage, play};

/// Where a setting shows.
#[derive(Clone, Copy)]
enum At {
    Listener(&'static str),
    /// In the proxy protocol's own object.
    Proxy(&'static str),
    Certificates,
    MoreCertificates,
    CaCertificates,
    Group(&'static str),
    Check(&'static str),
    Codes,
    Balancer(&'static str),
}

use At::{Balancer, Check, Group, Listener, Proxy};

/// One annotation, where it shows, two values with how they show, a wrong value, and what it needs
/// beside it.
struct Case {
    suffix: &'static str,
    at: At,
    first: (&'static str, &'static str),
    second: (&'static str, &'static str),
    wrong: &'static str,
    beside: &'static [(&'static str, &'static str)],
}

const TLS: &[(&str, &str)] = &[("protocol-port", "TCPSSL:443"), ("cert-id", "cert-1")];
const CHECKED: &[(&str, &str)] = &[("health-check-flag", "on")];

const fn case(
    suffix: &'static str,
    at: At,
    first: (&'static str, &'static str),
    second: (&'static str, &'static str),
    wrong: &'static str,
    beside: &'static [(&'static str, &'static str)],
) -> Case {
    Case { suffix, at, first, second, wrong, beside }
}

const CASES: &[Case] = &[
    case("cps", Listener("Cps"), ("100", "100"), ("200", "200"), "x", &[]),
    case("idle-timeout", Listener("IdleTimeout"), ("60", "60"), ("120", "120"), "901", &[]),
    case("proxy-protocol", Listener("ProxyProtocolEnabled"), ("on", "true"), ("OFF", "false"), "v2", &[]),
    case("ppv2-pvl-ep-id-enabled", Proxy("Ppv2PrivateLinkEpIdEnabled"), ("on", "true"), ("off", "false"), "x", &[]),
    case("ppv2-pvl-eps-id-enabled", Proxy("Ppv2PrivateLinkEpsIdEnabled"), ("on", "true"), ("off", "false"), "x", &[]),
    case("ppv2-pvl-vpc-id-enabled", Proxy("Ppv2VpcIdEnabled"), ("on", "true"), ("off", "false"), "x", &[]),
    case("cert-id", At::Certificates, ("cert-1", "cert-1"), ("cert-2,cert-3", "cert-2,cert-3"), ",", TLS.split_at(1).0),
    case(
        "additional-cert-ids",
        At::MoreCertificates,
        ("cert-2", "cert-2"),
        ("cert-2,cert-3", "cert-2,cert-3"),
        " x ",
        TLS,
    ),
    case("cacert", Listener("CaEnabled"), ("on", "true"), ("off", "false"), "x", TLS),
    case("cacert-id", At::CaCertificates, ("ca-1", "ca-1"), ("ca-2,ca-1", "ca-1,ca-2"), ",", TLS),
    case("alpn", Listener("AlpnEnabled"), ("on", "true"), ("off", "false"), "x", TLS),
    case(
        "alpn-policy",
        Listener("AlpnPolicy"),
        ("HTTP1Only", "HTTP1Only"),
        ("HTTP2Optional", "HTTP2Optional"),
        "http3",
        &[("protocol-port", "TCPSSL:443"), ("cert-id", "cert-1"), ("alpn", "on")],
    ),
    case(
        "tls-cipher-policy",
        Listener("SecurityPolicyId"),
        ("tls_cipher_policy_1_1", "tls_cipher_policy_1_1"),
        ("tls_cipher_policy_1_2", "tls_cipher_policy_1_2"),
        " x ",
        TLS,
    ),
    case("scheduler", Group("Scheduler"), ("rr", "rr"), ("WRR", "Wrr"), "best", &[]),
    case("connection-drain", Group("ConnectionDrainEnabled"), ("on", "true"), ("off", "false"), "x", &[]),
    case("connection-drain-timeout", Group("ConnectionDrainTimeout"), ("60", "60"), ("90", "90"), "901", &[]),
    case("preserve-client-ip", Group("PreserveClientIpEnabled"), ("off", "false"), ("on", "true"), "x", &[]),
    case("health-check-flag", Check("HealthCheckEnabled"), ("off", "false"), ("on", "true"), "x", &[]),
    case("health-check-type", Check("HealthCheckType"), ("http", "HTTP"), ("tcp", "TCP"), "ftp", CHECKED),
    case("health-check-uri", Check("HealthCheckUrl"), ("/a", "/a"), ("/b", "/b"), " x ", CHECKED),
    case(
        "health-check-domain",
        Check("HealthCheckDomain"),
        ("a.example.com", "a.example.com"),
        ("$SERVER_IP", "$SERVER_IP"),
        " x ",
        CHECKED,
    ),
    case(
        "health-check-httpcode",
        At::Codes,
        ("http_2xx", "http_2xx"),
        ("http_3xx,http_2xx", "http_2xx,http_3xx"),
        ",",
        CHECKED,
    ),
    case("health-check-method", Check("HttpCheckMethod"), ("get", "GET"), ("head", "HEAD"), "put", CHECKED),
    case("health-check-connect-port", Check("HealthCheckConnectPort"), ("8080", "8080"), ("0", "0"), "65536", CHECKED),
    case("healthy-threshold", Check("HealthyThreshold"), ("4", "4"), ("9", "9"), "11", CHECKED),
    case("unhealthy-threshold", Check("UnhealthyThreshold"), ("4", "4"), ("9", "9"), "1", CHECKED),
    case("health-check-interval", Check("HealthCheckInterval"), ("5", "5"), ("9", "9"), "51", CHECKED),
    case("health-check-connect-timeout", Check("HealthCheckConnectTimeout"), ("9", "9"), ("20", "20"), "301", CHECKED),
    case("address-type", Balancer("address type"), ("intranet", "Intranet"), ("internet", "Internet"), "outer", &[]),
    case("name", Balancer("name"), ("shop", "shop"), ("web", "web"), " x ", &[]),
    case("cross-zone-enabled", Balancer("cross zone"), ("off", "false"), ("on", "true"), "x", &[]),
    case(
        "ipv6-address-type",
        Balancer("ipv6"),
        ("internet", "Internet"),
        ("intranet", "Intranet"),
        "x",
        &[("ip-version", "DualStack")],
    ),
    case("additional-resource-tags", Balancer("tag"), ("team=a", "a"), ("team=b", "b"), " team=x", &[]),
    case(
        "security-group-ids",
        Balancer("groups"),
        ("sg-1,sg-2", "sg-1,sg-2"),
        ("sg-2,sg-1,sg-3", "sg-1,sg-2,sg-3"),
        " x ",
        &[],
    ),
    case(
        "zone-maps",
        Balancer("zones"),
        (ZONES, "cn-hangzhou-h,cn-hangzhou-i"),
        (
            "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi,cn-hangzhou-j:vsw-bp1simj",
            "cn-hangzhou-h,cn-hangzhou-i,cn-hangzhou-j",
        ),
        "cn-hangzhou-h",
        &[],
    ),
];

/// The annotations that are tried here, one like the other.
pub fn suffixes() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.suffix)
}

pub fn furnish(stage: &Stage) {
    stage.cloud().with_state(|state| {
        for id in ["cert-1", "cert-2", "cert-3", "ca-1", "ca-2"] {
            let certificate = Certificate {
                id: id.into(),
                name: String::new(),
                region: "cn-hangzhou".into(),
                common_name: "example.com".into(),
                fingerprint: String::new(),
                expires: "2030-01-01T00:00:00Z".parse::<Timestamp>().unwrap(),
                tags: ccm::sim::cloud::Tags::default(),
                created: Timestamp::default(),
            };
            state.slb.certificates.insert(id.into(), certificate);
        }
        for id in ["sg-1", "sg-2", "sg-3", "sg-4", "sg-5"] {
            let group = json!({ "id": id, "vpc": "vpc-bp1sim", "region": "cn-hangzhou" });
            state.ecs.security_groups.insert(id.into(), serde_json::from_value::<SecurityGroup>(group).unwrap());
        }
        for id in ["cbwp-1", "cbwp-2"] {
            let package = BandwidthPackage { id: id.into(), name: String::new(), bandwidth: 100 };
            state.network.bandwidth_packages.insert(id.into(), package);
        }
    });
}

fn at(stage: &Stage, at: At) -> String {
    let listener = || listeners(stage).pop().expect("a listener");
    let group = || groups(stage).pop().expect("a group");
    let balancer = || balancers(stage).pop().expect("a load balancer");
    let certificates = |default: bool| {
        let all = listener().certificates.into_iter().filter(|one| one.is_default == default).map(|one| one.id);
        all.collect::<Vec<_>>().join(",")
    };
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all.join(",")
    };
    match at {
        Listener(name) => listener().attributes.get(name).cloned().unwrap_or_default(),
        Proxy(name) => listener().proxy_protocol_config.get(name).map(ToString::to_string).unwrap_or_default(),
        At::Certificates => certificates(true),
        At::MoreCertificates => certificates(false),
        At::CaCertificates => sorted(listener().ca_certificates),
        Group(name) => group().attributes.get(name).cloned().unwrap_or_default(),
        Check(name) => group().health_check.get(name).cloned().unwrap_or_default(),
        At::Codes => sorted(group().health_check_codes),
        Balancer("address type") => balancer().address_type,
        Balancer("name") => balancer().name,
        Balancer("cross zone") => balancer().cross_zone.to_string(),
        Balancer("ipv6") => balancer().ipv6_address_type,
        Balancer("tag") => balancer().tags.get("team").cloned().unwrap_or_default(),
        Balancer("groups") => sorted(balancer().security_groups),
        Balancer("package") => balancer().bandwidth_package.unwrap_or_default(),
        Balancer("zones") => balancer().zones.into_iter().map(|zone| zone.zone).collect::<Vec<_>>().join(","),
        Balancer(other) => panic!("{other}"),
    }
}

fn ports() -> Value {
    json!([{ "port": 443 }])
}

#[test]
fn each_setting_is_created_changed_left_alone_and_refused_when_wrong() {
    for Case { suffix, at: place, first, second, wrong, beside } in CASES {
        play(|stage| async move {
            furnish(&stage);
            let _replica = stage.start();
            stage.joined(1).await;
            let mut pairs = beside.to_vec();
            pairs.push((suffix, first.0));
            expose(&stage, &pairs, ports());
            settled(&stage).await;
            assert_eq!(at(&stage, *place), first.1, "{suffix} on creation; {:?}", stage.told("web"));
            stage.clear_calls();
            annotate(&stage, json!({ (key(suffix)): second.0 })).await;
            assert_eq!(at(&stage, *place), second.1, "{suffix} changed; {:?} {:?}", stage.words(), stage.told("web"));
            assert_eq!(writes(&stage).len(), 1, "{suffix}: {:?}", stage.words());
            stage.clear_calls();
            annotate(&stage, json!({ (key(suffix)): null })).await;
            assert_eq!(at(&stage, *place), second.1, "{suffix} removed");
            annotate(&stage, json!({ (key(suffix)): wrong })).await;
            assert_eq!(stage.words(), Vec::<String>::new(), "{suffix}: nothing is called");
            let told = stage.told("web");
            let refused = |(reason, message): &(String, String)| {
                reason == "SyncLoadBalancerFailed" && message.contains(key(suffix).as_str())
            };
            assert!(told.iter().any(refused), "{suffix}: {told:?}");
        });
    }
}

#[test]
fn a_bandwidth_package_is_exchanged_given_back_and_left_alone() {
    play(|stage| async move {
        furnish(&stage);
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[("bandwidth-package-id", "cbwp-1")], ports());
        settled(&stage).await;
        let package = || at(&stage, Balancer("package"));
        assert_eq!(package(), "cbwp-1");
        annotate(&stage, json!({ (key("bandwidth-package-id")): "cbwp-2" })).await;
        assert_eq!(package(), "cbwp-2");
        annotate(&stage, json!({ (key("bandwidth-package-id")): null })).await;
        assert_eq!(package(), "cbwp-2");
        annotate(&stage, json!({ (key("bandwidth-package-id")): "" })).await;
        assert_eq!(package(), "");
        annotate(&stage, json!({ (key("bandwidth-package-id")): "cbwp-none" })).await;
        assert_told(&stage, "ResourceNotFound.BandwidthPackageId");
    });
}

#[test]
fn security_groups_and_certificates_go_with_an_empty_value_only() {
    play(|stage| async move {
        furnish(&stage);
        let _replica = stage.start();
        stage.joined(1).await;
        let pairs = [TLS[0], TLS[1], ("security-group-ids", "sg-1"), ("additional-cert-ids", "cert-2")];
        expose(&stage, &pairs, ports());
        settled(&stage).await;
        annotate(&stage, json!({ (key("security-group-ids")): "", (key("additional-cert-ids")): "" })).await;
        assert_eq!((at(&stage, Balancer("groups")), at(&stage, At::MoreCertificates)), (String::new(), String::new()));
        annotate(&stage, json!({ (key("security-group-ids")): "sg-1,sg-2,sg-3,sg-4" })).await;
        annotate(&stage, json!({ (key("security-group-ids")): "sg-5" })).await;
        assert_eq!(at(&stage, Balancer("groups")), "sg-5", "four are the most at a time; {:?}", stage.told("web"));
    });
}

#[test]
fn another_type_of_group_takes_over_without_a_gap() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(2).await;
        expose(&stage, &[], ports());
        settled(&stage).await;
        stage.clear_calls();
        annotate(&stage, json!({ (key("server-group-type")): "Ip" })).await;
        let [group] = &groups(&stage)[..] else { panic!("{:?}", groups(&stage)) };
        assert_eq!((group.kind.as_str(), group.servers.len()), ("Ip", 2));
        assert_eq!(listeners(&stage)[0].server_group, group.id);
        let order = [
            "nlb.CreateServerGroup",
            "nlb.AddServersToServerGroup",
            "nlb.UpdateListenerAttribute",
            "nlb.DeleteServerGroup",
        ];
        assert_eq!(writes(&stage), order);
        annotate(&stage, json!({ (key("server-group-type")): "Pod" })).await;
        assert_told(&stage, "server-group-type is \"Pod\"");
        annotate(&stage, json!({ (key("server-group-type")): null })).await;
        assert_eq!(groups(&stage)[0].kind, "Instance");
    });
}

#[test]
fn zones_have_addresses_of_choice_and_come_and_go() {
    play(|stage| async move {
        furnish(&stage);
        let eip = json!({ "id": "eip-1", "region": "cn-hangzhou", "address": "47.0.0.9" });
        stage.cloud().with_state(|state| {
            state.network.eips.insert("eip-1".into(), serde_json::from_value::<Eip>(eip.clone()).unwrap())
        });
        let _replica = stage.start();
        stage.joined(1).await;
        let zones = "cn-hangzhou-h:vsw-bp1simh:10.0.5.5,cn-hangzhou-i:vsw-bp1simi::eip-1,cn-hangzhou-j:vsw-bp1simj";
        expose(&stage, &[("zone-maps", zones)], ports());
        settled(&stage).await;
        let mappings = balancers(&stage).pop().unwrap().zones;
        assert_eq!(
            (mappings[0].private_ip.to_string(), mappings[1].eip.as_deref()),
            ("10.0.5.5".to_owned(), Some("eip-1"))
        );
        stage.clear_calls();
        annotate(
            &stage,
            json!({ (key("zone-maps")): "cn-hangzhou-h:vsw-bp1simh:10.0.5.5,cn-hangzhou-i:vsw-bp1simi::eip-1" }),
        )
        .await;
        assert_eq!(at(&stage, Balancer("zones")), "cn-hangzhou-h,cn-hangzhou-i", "{:?}", stage.told("web"));
        assert_eq!(writes(&stage), ["nlb.UpdateLoadBalancerZones"]);
        assert_eq!(balancers(&stage).pop().unwrap().zones, mappings[..2], "those that stay stay as they are");
        stage.clear_calls();
        annotate(
            &stage,
            json!({ (key("zone-maps")): "cn-hangzhou-h:vsw-bp1simh:10.0.5.6,cn-hangzhou-i:vsw-bp1simi::eip-1" }),
        )
        .await;
        assert!(writes(&stage).is_empty());
        assert_told(&stage, "the private address in zone cn-hangzhou-h");
    });
}

#[test]
fn a_private_load_balancer_needs_no_addresses_of_choice() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[("address-type", "intranet")], ports());
        settled(&stage).await;
        let zones = balancers(&stage).pop().unwrap().zones;
        assert_eq!(zones.len(), 2);
        assert!(zones.iter().all(|zone| !zone.private_ip.is_unspecified()), "the cloud chose: {zones:?}");
        for wrong in ["cn-hangzhou-h:", "cn-hangzhou-h:vsw-bp1simh:x", ",", "cn-hangzhou-h:vsw-1:10.0.0.1:eip-1:more"] {
            stage.clear_calls();
            annotate(&stage, json!({ (key("zone-maps")): wrong })).await;
            assert_eq!(stage.words(), Vec::<String>::new(), "{wrong}");
        }
        assert_told(&stage, "ZoneMapping format error");
    });
}

#[test]
fn what_is_fixed_is_told_and_holds_nothing_else_back() {
    play(|stage| async move {
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[("ip-version", "ipv4"), ("resource-group-id", "rg-1")], ports());
        settled(&stage).await;
        for (suffix, other, what) in
            [("ip-version", "DualStack", "AddressIpVersion"), ("resource-group-id", "rg-2", "ResourceGroupId")]
        {
            annotate(&stage, json!({ (key(suffix)): other, (key("name")): suffix })).await;
            assert_eq!(at(&stage, Balancer("name")), suffix, "the rest goes on");
            assert_told(&stage, &format!("{what} cannot be changed"));
            let before = if suffix == "ip-version" { "ipv4" } else { "rg-1" };
            annotate(&stage, json!({ (key(suffix)): before })).await;
        }
        annotate(&stage, json!({ (key("ip-version")): "ipv6" })).await;
        assert_told(&stage, "ip-version is \"ipv6\"");
    });
}

#[test]
fn tls_without_a_certificate_makes_no_listener_and_a_missing_one_is_told() {
    play(|stage| async move {
        furnish(&stage);
        let _replica = stage.start();
        stage.joined(1).await;
        expose(&stage, &[TLS[0]], json!([{ "name": "tls", "port": 443 }, { "name": "web", "port": 80 }]));
        stage.until("the other port", || (listeners(&stage).len() == 1).then_some(())).await;
        stage.pass(Duration::from_secs(5)).await;
        assert_told(&stage, "TCPSSL needs a certificate");
        annotate(&stage, json!({ (key("cert-id")): "cert-none" })).await;
        assert_told(&stage, "ResourceNotFound.Certificate");
        annotate(&stage, json!({ (key("cert-id")): "cert-1" })).await;
        assert_eq!(listeners(&stage).len(), 2);
        annotate(&stage, json!({ (key("protocol-port")): "HTTPS:443" })).await;
        assert_told(&stage, "protocol-port is \"HTTPS:443\"");
    });
}

#[test]
fn members_follow_labels_weights_and_cordons() {
    play(|stage| async move {
        let _replica = stage.start();
        let nodes = stage.joined(3).await;
        expose(&stage, &[("default-weight", "30")], ports());
        settled(&stage).await;
        let weights = || groups(&stage)[0].servers.iter().map(|server| server.weight).collect::<Vec<_>>();
        assert_eq!(weights(), [30, 30, 30]);
        stage.clear_calls();
        annotate(&stage, json!({ (key("default-weight")): "40" })).await;
        assert_eq!(
            (weights(), writes(&stage)),
            (vec![40, 40, 40], vec!["nlb.UpdateServerGroupServersAttribute".to_owned()])
        );
        annotate(&stage, json!({ (key("ignore-weight-update")): "on", (key("default-weight")): "50" })).await;
        assert_eq!(weights(), [40, 40, 40]);
        annotate(&stage, json!({ (key("ignore-weight-update")): "maybe", (key("default-weight")): "101" })).await;
        let told = stage.told("web");
        assert!(
            told.iter().any(|(_, m)| m.contains("default-weight is \"101\"") && m.contains("ignore-weight-update")),
            "{told:?}"
        );
        annotate(&stage, json!({ (key("ignore-weight-update")): null, (key("default-weight")): null, (key("remove-unscheduled-backend")): "on" })).await;
        assert_eq!(weights(), [100, 100, 100], "removed: the default");
        let cordon = json!({ "spec": { "unschedulable": true } });
        stage.world.kube.patch::<k8s_openapi::api::core::v1::Node>("", &nodes[0], cordon).unwrap();
        stage.pass(Duration::from_secs(15)).await;
        assert_eq!(weights(), [100, 100]);
        let label = json!({ "metadata": { "labels": { "pool": "a" } } });
        stage.world.kube.patch::<k8s_openapi::api::core::v1::Node>("", &nodes[1], label).unwrap();
        annotate(&stage, json!({ (key("backend-label")): "pool=a" })).await;
        assert_eq!(weights(), [100]);
    });
}
