use super::{value::Value, *};
use crate::cloud::{Protocol, Setting};

fn service(annotations: &[(&str, &str)]) -> Service {
    let mut service = Service::default();
    service.metadata.annotations =
        Some(annotations.iter().map(|(suffix, value)| (format!("{PREFIX}{suffix}"), (*value).into())).collect());
    service
}

fn parse(annotations: &[(&str, &str)]) -> Result<Requested, Mistakes> {
    Annotations::of(&service(annotations)).parse()
}

#[test]
fn nothing_asked_for_is_nothing_requested() {
    assert_eq!(Annotations::of(&Service::default()).parse(), Ok(Requested::default()));
    assert_eq!(parse(&[("name", ""), ("bandwidth", "")]), Ok(Requested::default()), "empty is absent");
}

#[test]
fn every_handled_annotation_is_read() {
    let requested = parse(&[
        ("id", "lb-1"),
        ("force-override-listeners", "true"),
        ("address-type", "intranet"),
        ("name", "shop"),
        ("spec", "slb.s2.small"),
        ("instance-charge-type", "paybyspec"),
        ("charge-type", "paybybandwidth"),
        ("bandwidth", "45"),
        ("vswitch-id", "vsw-1"),
        ("scheduler", "wrr"),
        ("delete-protection", "off"),
    ]);
    let requested = requested.unwrap();
    let expected = Requested {
        id: Some("lb-1".into()),
        force_override_listeners: true,
        address_type: Some(AddressType::Intranet),
        name: Some("shop".into()),
        spec: Some("slb.s2.small".into()),
        instance_charge_type: Some("PayBySpec".into()),
        charge_type: Some("paybybandwidth".into()),
        bandwidth: Some(45),
        vswitch: Some("vsw-1".into()),
        delete_protection: Some(false),
        ..Requested::default().with_listener(Setting::Scheduler, "wrr")
    };
    assert_eq!(requested, expected);
}

#[test]
fn the_older_prefix_works_and_the_newer_one_wins() {
    let mut service = service(&[]);
    let annotations = service.metadata.annotations.get_or_insert_default();
    annotations.insert(format!("{LEGACY_PREFIX}name"), "old".into());
    assert_eq!(Annotations::of(&service).parse().unwrap().name.as_deref(), Some("old"));
    service.metadata.annotations.get_or_insert_default().insert(format!("{PREFIX}name"), "new".into());
    assert_eq!(Annotations::of(&service).parse().unwrap().name.as_deref(), Some("new"));
    service.metadata.annotations.get_or_insert_default().insert(format!("{PREFIX}name"), String::new());
    assert_eq!(Annotations::of(&service).parse().unwrap().name, None, "an empty newer one hides the older");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let mistakes = parse(&[
        ("address-type", "Internet"),
        ("bandwidth", "fast"),
        ("charge-type", "free"),
        ("delete-protection", "yes"),
        ("force-override-listeners", "True"),
        ("instance-charge-type", "PayMe"),
        ("scheduler", "random"),
        ("name", " shop"),
    ])
    .unwrap_err();
    assert_eq!(mistakes.0.len(), 8, "{mistakes}");
    let text = mistakes.to_string();
    for part in [
        r#"annotation service.beta.kubernetes.io/alibaba-cloud-loadbalancer-bandwidth is "fast" but must be a whole number from 1 to 5120"#,
        r#"-address-type is "Internet" but must be internet or intranet"#,
        r#"-scheduler is "random" but must be rr, wrr, wlc, sch, tch or qch"#,
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn what_contradicts_itself_is_a_mistake() {
    for (annotations, key, expected) in [
        (
            &[("charge-type", "paybybandwidth"), ("instance-charge-type", "PayByCLCU")][..],
            "charge-type is \"paybybandwidth\" but must be paybytraffic beside instance-charge-type: PayByCLCU",
            1,
        ),
        (&[("charge-type", "paybybandwidth"), ("instance-charge-type", "payBySpec")], "", 0),
        (
            &[("address-type", "intranet"), ("ip", "10.0.0.5"), ("ip-version", "ipv6")],
            "ip is \"10.0.0.5\" but must be an ipv6 address, because ip-version is ipv6",
            1,
        ),
        (&[("ip", "10.0.0.5")], "ip is \"10.0.0.5\" but must be absent: without address-type: intranet", 1),
        (&[("protocol-port", "http:80,https:80")], "pairs that do not contradict one another", 1),
        (&[("protocol-port", "http:80,http:80")], "", 0),
        (&[("domain-extensions", "a.example.com:")], "example.com:certificate-id", 1),
        (&[("health-check-httpcode", "http_2xx,http_6xx")], "one or more of http_2xx, http_3xx", 1),
        (&[("health-check-connect-port", "-1")], "a port number or -520", 1),
    ] {
        let told = parse(annotations).map_or_else(|mistakes| mistakes.0, |_| Vec::new());
        let text = Mistakes(told.clone()).to_string();
        assert!(told.len() == expected && text.contains(key), "{annotations:?}: {text}");
    }
}

#[test]
fn groups_of_the_users_own_are_given_by_port() {
    let requested = parse(&[("id", "lb-1"), ("vgroup-port", "rsp-1:80, rsp-2:443"), ("weight", "60")]).unwrap();
    let groups: Vec<(u16, &str)> = requested.user_groups.iter().map(|(port, id)| (*port, id.as_str())).collect();
    assert_eq!((groups, requested.divided_weight()), (vec![(80, "rsp-1"), (443, "rsp-2")], Some(60)));
    // A weight for all together counts only there.
    assert_eq!(parse(&[("weight", "60")]).unwrap().divided_weight(), None);
    assert_eq!(parse(&[("vgroup-port", "rsp-1:80"), ("weight", "60")]).unwrap().divided_weight(), None);
    for wrong in ["80:rsp-1", "rsp-1", "rsp-1:0", ":80"] {
        assert!(parse(&[("id", "lb-1"), ("vgroup-port", wrong)]).is_err(), "{wrong}");
    }
    assert!(parse(&[("weight", "101")]).is_err());
}

#[test]
fn annotations_that_need_another_say_so() {
    let notices = notices(&service(&[("vgroup-port", "rsp-1:80"), ("weight", "60")]));
    let texts: Vec<&String> = notices.values().collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].ends_with("it needs service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id"), "{texts:?}");
}

#[test]
fn the_backend_type_is_read_as_before() {
    for (value, eni) in [("eni", Some(true)), ("ecs", Some(false)), ("ENI", Some(false)), ("", None)] {
        let mut service = service(&[]);
        service.metadata.annotations.get_or_insert_default().insert(BACKEND_TYPE.into(), value.into());
        assert_eq!(Annotations::of(&service).parse().unwrap().eni, eni, "{value:?}");
    }
}

#[test]
fn each_value_is_held_to_its_kind() {
    for annotation in catalogue::ALL {
        let (wrong, suffix) = match annotation.value {
            Value::Word(_)
            | Value::AnyCase(_)
            | Value::Number(..)
            | Value::Port(_)
            | Value::Words(_)
            | Value::Pairs => ("?", annotation.suffix),
            Value::Colons(_) => ("nothing", annotation.suffix),
            Value::List => (",", annotation.suffix),
            Value::Text(_) => (" spaced ", annotation.suffix),
            Value::Present => continue,
        };
        let mistakes = parse(&[(suffix, wrong)]).unwrap_err();
        assert!(mistakes.0[0].key.ends_with(suffix), "{mistakes}");
        assert_eq!(mistakes.0[0].value, wrong);
        assert!(!mistakes.0[0].expected.is_empty());
    }
}

#[test]
fn settings_go_to_the_listeners_that_have_them() {
    let asked = parse(&[
        ("acl-id", "acl-2, acl-1"),
        ("acl-status", "on"),
        ("cert-id", "cert-1"),
        ("connection-drain-timeout", "30"),
        ("health-check-flag", "on"),
        ("health-check-switch", "off"),
        ("idle-timeout", "20"),
        ("persistence-timeout", "0"),
        ("proxy-protocol", "on"),
    ])
    .unwrap();
    let of = |protocol| {
        let settings = asked.listener_settings(protocol);
        settings.iter().map(|(setting, value)| format!("{setting:?}={value}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        of(Protocol::Tcp),
        "PersistenceTimeout=0 HealthCheck=off AclStatus=on AclId=acl-1,acl-2 ProxyProtocol=true"
    );
    assert_eq!(of(Protocol::Udp), "HealthCheck=off AclStatus=on AclId=acl-1,acl-2 ProxyProtocol=true");
    assert_eq!(of(Protocol::Http), "IdleTimeout=20 HealthCheck=on AclStatus=on AclId=acl-1,acl-2");
    assert_eq!(of(Protocol::Https), "IdleTimeout=20 HealthCheck=on AclStatus=on AclId=acl-1,acl-2 Certificate=cert-1");
    let off = parse(&[("acl-id", "acl-1"), ("acl-status", "off")]).unwrap();
    assert_eq!(off.listener_settings(Protocol::Tcp).get(Setting::AclId), None, "lists mean nothing while off");
}

#[test]
fn ports_get_other_protocols_but_udp_stays_udp() {
    let asked = parse(&[("protocol-port", "https:443, http:80,udp:53")]).unwrap();
    assert_eq!(asked.protocol_of(443, Protocol::Tcp), Protocol::Https);
    assert_eq!(asked.protocol_of(443, Protocol::Udp), Protocol::Udp);
    assert_eq!(asked.protocol_of(80, Protocol::Tcp), Protocol::Http);
    assert_eq!(asked.protocol_of(81, Protocol::Tcp), Protocol::Tcp);
    assert_eq!(parse(&[("domain-extensions", "")]).unwrap().domain_extensions, Some(BTreeMap::new()), "none at all");
    assert_eq!(parse(&[]).unwrap().domain_extensions, None, "whatever there is");
}

#[test]
fn annotations_without_effect_are_told_with_the_nearest_known_key() {
    let notices = notices(&service(&[("adress-type", "intranet"), ("cps", "1"), ("name", "shop"), ("type", "clb")]));
    let texts: Vec<&String> = notices.values().collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].ends_with("it is not known; the nearest known one is service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type"), "{texts:?}");
    assert!(texts[1].ends_with("cps has no effect: it is for network load balancers"), "{texts:?}");
}

#[test]
fn what_deletion_needs_is_readable_however_wrong_the_rest() {
    let service = service(&[("id", "lb-1"), ("bandwidth", "fast"), ("preserve-lb-on-delete", "true")]);
    let annotations = Annotations::of(&service);
    assert!(annotations.parse().is_err());
    assert_eq!(annotations.load_balancer_id(), Some("lb-1".into()));
    assert!(annotations.preserves_load_balancer());
}
