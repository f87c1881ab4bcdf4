use super::*;

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
        scheduler: Some("wrr".into()),
        delete_protection: Some(false),
    };
    assert_eq!(requested, Ok(expected));
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
fn what_would_build_something_else_is_refused() {
    assert!(parse(&[("protocol-port", "https:443")]).is_err());
    let mut service = service(&[]);
    service.metadata.annotations.get_or_insert_default().insert(BACKEND_TYPE.into(), "eni".into());
    assert!(Annotations::of(&service).parse().is_err());
}

#[test]
fn annotations_without_effect_are_told_with_the_nearest_known_key() {
    let notices =
        notices(&service(&[("adress-type", "intranet"), ("cert-id", "1"), ("name", "shop"), ("type", "clb")]));
    let texts: Vec<&String> = notices.values().collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].ends_with("it is not known; the nearest known one is service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type"), "{texts:?}");
    assert!(texts[1].ends_with("cert-id has no effect: this version does not handle it"), "{texts:?}");
}

#[test]
fn what_deletion_needs_is_readable_however_wrong_the_rest() {
    let service = service(&[("id", "lb-1"), ("bandwidth", "fast"), ("preserve-lb-on-delete", "true")]);
    let annotations = Annotations::of(&service);
    assert!(annotations.parse().is_err());
    assert_eq!(annotations.load_balancer_id(), Some("lb-1".into()));
    assert!(annotations.preserves_load_balancer());
}
