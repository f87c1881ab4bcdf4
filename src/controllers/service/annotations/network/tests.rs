use super::*;
use crate::{
    cloud::{AllocationId, NetworkGroupSetting},
    controllers::service::{annotations::PREFIX, members::Families},
};

fn parse(pairs: &[(&str, &str)]) -> Result<NetworkRequested, String> {
    let mut service = Service::default();
    let pairs = pairs.iter().map(|(suffix, value)| (format!("{PREFIX}{suffix}"), (*value).to_owned()));
    service.metadata.annotations = Some(pairs.collect());
    Annotations::of(&service).parse_network().map_err(|mistakes| mistakes.to_string())
}

#[test]
fn zones_have_two_to_four_parts() {
    let zones =
        parse(&[("zone-maps", "a:vsw-1, b:vsw-2:10.0.0.5 ,c:vsw-3::eip-1,d:vsw-4:10.0.0.6:eip-2")]).unwrap().zones;
    let parts: Vec<_> = zones
        .iter()
        .map(|z| {
            (z.zone.as_str(), z.private_address.map(|a| a.to_string()), z.allocation.as_ref().map(AllocationId::as_str))
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("a", None, None),
            ("b", Some("10.0.0.5".to_owned()), None),
            ("c", None, Some("eip-1")),
            ("d", Some("10.0.0.6".to_owned()), Some("eip-2"))
        ]
    );
    for wrong in ["a", "a:", ":vsw-1", "a:vsw-1:x", "a:vsw-1:10.0.0.5:eip-1:more", "a:vsw-1,a:vsw-2", ","] {
        assert!(parse(&[("zone-maps", wrong)]).unwrap_err().contains("ZoneMapping format error"), "{wrong}");
    }
}

#[test]
fn empty_is_not_absent_where_it_matters() {
    let absent = parse(&[]).unwrap();
    assert_eq!((absent.security_groups, absent.bandwidth_package, absent.additional_certificates), (None, None, None));
    let empty =
        parse(&[("security-group-ids", ""), ("bandwidth-package-id", ""), ("additional-cert-ids", "")]).unwrap();
    assert_eq!(empty.security_groups, Some(BTreeSet::new()));
    assert_eq!(empty.bandwidth_package, Some(None));
    assert_eq!(empty.additional_certificates, Some(BTreeSet::new()));
    let given = parse(&[("security-group-ids", "sg-2, sg-1")]).unwrap();
    assert_eq!(given.security_groups, Some(["sg-1".into(), "sg-2".into()].into()));
}

#[test]
fn switches_become_truth_values_and_checks_need_their_flag() {
    let asked = parse(&[("proxy-protocol", "ON"), ("cps", "100"), ("health-check-interval", "5")]).unwrap();
    assert_eq!(asked.listener.get(NetworkListenerSetting::ProxyProtocol), Some("true"));
    assert_eq!(asked.listener.get(NetworkListenerSetting::Cps), Some("100"));
    assert!(asked.group.is_empty(), "{:?}", asked.group);
    let asked = parse(&[("health-check-flag", "on"), ("health-check-interval", "5"), ("scheduler", "RR")]).unwrap();
    assert_eq!(asked.group.get(NetworkGroupSetting::HealthCheckInterval), Some("5"));
    assert_eq!(asked.group.get(NetworkGroupSetting::Scheduler), Some("rr"));
}

#[test]
fn ports_have_protocols_and_ranges() {
    let asked =
        parse(&[("protocol-port", "tcpssl:443,UDP:53"), ("listener-port-range", "100-200:80,300-400:80")]).unwrap();
    assert_eq!(asked.protocol_of(443, NetworkProtocol::Tcp), NetworkProtocol::TcpSsl);
    assert_eq!(asked.protocol_of(443, NetworkProtocol::Udp), NetworkProtocol::Udp);
    assert_eq!(asked.protocol_of(53, NetworkProtocol::Tcp), NetworkProtocol::Udp);
    assert_eq!(asked.ranges[&80], [PortRange { first: 100, last: 200 }, PortRange { first: 300, last: 400 }]);
    for (suffix, wrong) in [
        ("protocol-port", "https:443"),
        ("listener-port-range", "200-100:80"),
        ("listener-port-range", "0-5:80"),
        ("listener-port-range", "5:80"),
    ] {
        assert!(parse(&[(suffix, wrong)]).unwrap_err().contains(suffix), "{wrong}");
    }
}

#[test]
fn all_mistakes_are_told_together() {
    let told = parse(&[("cps", "x"), ("address-type", "outer"), ("vgroup-port", "80")]).unwrap_err();
    for part in ["cps is \"x\"", "address-type is \"outer\"", "vgroup-port"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn what_has_no_effect_is_told() {
    let mut service = Service::default();
    let keys = ["spec", "cps", "cross-zone-enable"].map(|suffix| (format!("{PREFIX}{suffix}"), "x".to_owned()));
    service.metadata.annotations = Some(keys.into());
    let notices: Vec<String> = network_notices(&service).into_values().collect();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].ends_with("-cross-zone-enabled"), "{notices:?}");
    assert!(notices[1].ends_with("it is for classic load balancers"), "{notices:?}");
}

#[test]
fn members_are_asked_for_as_on_classic_load_balancers() {
    let asked = parse(&[
        ("id", "nlb-1"),
        ("vgroup-port", "sgp-1:80, sgp-2:443"),
        ("weight", "60"),
        ("backend-ip-version", "DualStack"),
        ("ip-version", "dualstack"),
    ])
    .unwrap()
    .members;
    let groups: Vec<(u16, &str)> = asked.user_groups.iter().map(|(port, id)| (*port, id.as_str())).collect();
    assert_eq!((groups, asked.divided_weight()), (vec![(80, "sgp-1"), (443, "sgp-2")], Some(60)));
    assert_eq!((asked.families(true), asked.families(false)), (Families::Both, Families::V4));
    let asked = parse(&[("backend-ip-version", "ipv6")]).unwrap().members;
    assert_eq!(asked.families(true), Families::V4, "the load balancer has no IPv6 address");
    for (suffix, wrong) in [("weight", "101"), ("backend-ip-version", "ipv5"), ("recreate-lb-on-loss", "yes")] {
        assert!(parse(&[(suffix, wrong)]).unwrap_err().contains(suffix), "{wrong}");
    }
}
