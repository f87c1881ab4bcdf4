use super::{paper::*, *};
use crate::{
    cloud::{MemberKind, NetworkGroupSetting, NetworkListenerSetting, NetworkListenerStatus},
    controllers::service::{desired::GroupKey, members::Backends},
};

#[test]
fn a_service_with_one_port_costs_four_changes_and_the_group_does_not_wait_for_the_load_balancer() {
    let mut paper = Paper::default();
    let desired = want(WEB, &[], &["i-a", "i-b"]);
    let state = paper.converge(&desired, State::default());
    assert_eq!(
        paper.words(),
        [
            "create network load balancer a5e4dbfc9c2ae4642b0335607860aef6 (internet)",
            "create group k8s.30080.TCP.web.shop.c1",
            "add 2 members to sgp-2",
            "create listener 80/TCP on nlb-1",
        ]
    );
    assert_eq!(plan(&desired, &state, &BTreeSet::new()), Plan::default());
    assert_eq!(state.load_balancer.unwrap().listeners[0].status, NetworkListenerStatus::Running);
}

#[test]
fn while_the_load_balancer_is_made_its_groups_and_members_are_made() {
    let desired = want(WEB, &[], &["i-a"]);
    let mut paper = Paper::default();
    let mut state = State::default();
    for _ in 0..2 {
        for step in plan(&desired, &state, &BTreeSet::new()).steps {
            if step.action.lock().is_none_or(|lock| !state.is_locked(&lock)) {
                let effect = paper.effect(&step.action);
                state.apply(&step.action, &effect);
                paper.actions.push(step.action);
            }
        }
        state.settle(&crate::cloud::network_action::Lock::Group("sgp-2".into()));
    }
    assert_eq!(state.load_balancer.unwrap().load_balancer.status, NetworkStatus::Provisioning);
    assert_eq!(paper.words().last().unwrap(), "add 1 members to sgp-2");
}

#[test]
fn a_changed_member_set_adds_before_it_removes() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(WEB, &[], &["i-a", "i-b"]), State::default());
    paper.actions.clear();
    paper.converge(&want(WEB, &[], &["i-c"]), state);
    assert_eq!(paper.words(), ["add 1 members to sgp-2", "remove 2 members from sgp-2"]);
}

#[test]
fn a_group_of_another_type_takes_over_only_with_its_members() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(WEB, &[], &["i-a"]), State::default());
    paper.actions.clear();
    let desired = want(WEB, &[("server-group-type", "Ip")], &["i-a"]);
    let state = paper.converge(&desired, state);
    let words = paper.words();
    assert_eq!(words.len(), 4, "{words:?}");
    assert!(words[0].starts_with("create group") && words[1].starts_with("add 1 members"), "{words:?}");
    assert!(words[2].starts_with("update listener") && words[3] == "delete group sgp-2", "{words:?}");
    assert_eq!(state.groups.len(), 1);
    let member = &state.groups[0].members[0];
    assert_eq!((member.kind, member.server.as_str()), (MemberKind::Ip, "10.0.0.1"));
}

#[test]
fn another_protocol_takes_the_port_over_after_its_group_is_ready() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(&[(443, "TCP", 30443)], &[], &["i-a"]), State::default());
    paper.actions.clear();
    let ssl = [("protocol-port", "tcpssl:443"), ("cert-id", "cert-1")];
    paper.converge(&want(&[(443, "TCP", 30443)], &ssl, &["i-a"]), state);
    let words = paper.words();
    let at = |word: &str| words.iter().position(|w| w.starts_with(word)).unwrap_or_else(|| panic!("{word}: {words:?}"));
    assert!(at("add 1 members") < at("delete listener") && at("delete listener") < at("create listener"), "{words:?}");
    assert_eq!(words.last().unwrap(), "delete group sgp-2");
}

#[test]
fn tcp_and_udp_share_a_port_and_one_leaves_the_other() {
    let mut paper = Paper::default();
    let both = [(53, "TCP", 30053), (53, "UDP", 30053)];
    let state = paper.converge(&want(&both, &[], &["i-a"]), State::default());
    assert_eq!(state.load_balancer.as_ref().unwrap().listeners.len(), 2);
    assert_eq!(state.groups.len(), 2);
    let state = paper.converge(&want(&both[..1], &[], &["i-a"]), state);
    let listeners = &state.load_balancer.as_ref().unwrap().listeners;
    assert_eq!(listeners.iter().map(|l| l.protocol).collect::<Vec<_>>(), [NetworkProtocol::Tcp]);
    assert_eq!(state.groups.len(), 1);
}

#[test]
fn ranges_of_ports_have_groups_for_any_port_and_must_not_overlap() {
    let mut backends = Backends::default();
    let pod = crate::controllers::service::members::PodBackend {
        identity: "u".into(),
        ports: std::sync::Arc::new([("p80-tcp".to_owned(), 8080)].into()),
        weight: 100,
    };
    backends.pods.insert("10.0.0.9".parse().unwrap(), pod);
    let mut asked = request(&[("listener-port-range", "100-200:80"), ("server-group-type", "Ip")]);
    let refused = want_with(&service(WEB), asked.clone(), &backends, &[]);
    assert!(refused.problems[0].contains("listener port range can only be used for eni backend type service"));
    asked.members.eni = Some(true);
    let desired = want_with(&service(WEB), asked.clone(), &backends, &[]);
    let group = &desired.groups[&GroupKey::Own("k8s.100_200.TCP.web.shop.c1".to_owned())];
    assert!(group.create.any_port);
    assert_eq!(group.create.settings.get(NetworkGroupSetting::HealthCheckConnectPort), Some("80"));
    assert_eq!(group.members[0].port, 0);
    assert_eq!(desired.listeners.keys().next().unwrap().1, PortRange { first: 100, last: 200 });
    let overlapping = want_with(&service(&[(80, "TCP", 30080), (150, "TCP", 30150)]), asked, &backends, &[]);
    assert!(overlapping.problems[0].contains("overlaps with listener"), "{:?}", overlapping.problems);
}

#[test]
fn attributes_are_changed_in_place() {
    for (before, after, expected) in [
        (vec![], vec![("address-type", "intranet")], vec!["change nlb-1 to the address type intranet"]),
        (vec![], vec![("name", "shop")], vec!["set on nlb-1: name shop"]),
        (vec![], vec![("cross-zone-enabled", "off")], vec!["set on nlb-1: cross-zone forwarding off"]),
        (vec![("cross-zone-enabled", "off")], vec![], vec![]),
        (vec![], vec![("additional-resource-tags", "team=shop")], vec!["tag nlb-1 with team=shop"]),
        (vec![], vec![("bandwidth-package-id", "cbwp-1")], vec!["attach bandwidth package cbwp-1 to nlb-1"]),
        (
            vec![("bandwidth-package-id", "cbwp-1")],
            vec![("bandwidth-package-id", "cbwp-2")],
            vec!["detach bandwidth package cbwp-1 from nlb-1", "attach bandwidth package cbwp-2 to nlb-1"],
        ),
        (
            vec![("bandwidth-package-id", "cbwp-1")],
            vec![("bandwidth-package-id", "")],
            vec!["detach bandwidth package cbwp-1 from nlb-1"],
        ),
        (vec![("bandwidth-package-id", "cbwp-1")], vec![], vec![]),
        (vec![], vec![("security-group-ids", "sg-1,sg-2")], vec!["put nlb-1 into security groups sg-1, sg-2"]),
        (
            vec![("security-group-ids", "sg-1,sg-2")],
            vec![("security-group-ids", "sg-2,sg-3")],
            vec!["put nlb-1 into security groups sg-3", "take nlb-1 out of security groups sg-1"],
        ),
        (
            vec![("security-group-ids", "sg-1,sg-2,sg-3,sg-4")],
            vec![("security-group-ids", "sg-5")],
            vec!["take nlb-1 out of security groups sg-1, sg-2, sg-3, sg-4", "put nlb-1 into security groups sg-5"],
        ),
        (vec![("security-group-ids", "sg-1")], vec![], vec![]),
        (vec![], vec![("zone-maps", "a:vsw-1,b:vsw-2,c:vsw-3")], vec!["put nlb-1 into the zones a b c"]),
        (
            vec![("zone-maps", "a:vsw-1,b:vsw-2,c:vsw-3")],
            vec![("zone-maps", "a:vsw-1,c:vsw-3")],
            vec!["put nlb-1 into the zones a c"],
        ),
        (
            vec![("ip-version", "DualStack")],
            vec![("ipv6-address-type", "internet")],
            vec!["change the IPv6 addresses of nlb-1 to internet"],
        ),
        (vec![], vec![("scheduler", "rr")], vec!["update group sgp-2"]),
        (vec![("scheduler", "rr")], vec![], vec![]),
        (vec![], vec![("idle-timeout", "60")], vec!["update listener lsn-4 of nlb-1"]),
    ] {
        let mut paper = Paper::default();
        let state = paper.converge(&want(WEB, &before, &["i-a"]), State::default());
        paper.actions.clear();
        let state = paper.converge(&want(WEB, &after, &["i-a"]), state);
        assert_eq!(paper.words(), expected, "{before:?} {after:?}");
        assert_eq!(plan(&want(WEB, &after, &["i-a"]), &state, &BTreeSet::new()).steps, []);
    }
}

#[test]
fn what_cannot_change_is_told_and_does_not_hold_back_the_rest() {
    let mut paper = Paper::default();
    let first = [("zone-maps", "a:vsw-1:10.0.0.5,b:vsw-2"), ("ip-version", "ipv4"), ("resource-group-id", "rg-1")];
    let state = paper.converge(&want(WEB, &first, &["i-a"]), State::default());
    for (changed, told) in [
        (("zone-maps", "a:vsw-9,b:vsw-2"), "the vSwitch in zone a of nlb-1 cannot be changed from vsw-1 to vsw-9"),
        (("zone-maps", "a:vsw-1:10.0.0.6,b:vsw-2"), "the private address in zone a"),
        (("zone-maps", "a:vsw-1,b:vsw-2::eip-1"), "the elastic address in zone b"),
        (("ip-version", "DualStack"), "AddressIpVersion cannot be changed"),
        (("resource-group-id", "rg-2"), "ResourceGroupId cannot be changed"),
        (("ipv6-address-type", "internet"), "has no IPv6 addresses"),
    ] {
        let plan = plan(&want(WEB, &[changed, ("name", "shop")], &["i-a"]), &state, &BTreeSet::new());
        assert!(plan.conflicts.iter().any(|conflict| conflict.contains(told)), "{:?}", plan.conflicts);
        assert_eq!(plan.steps.len(), 1, "the name: {:?}", plan.steps);
    }
}

#[test]
fn source_ranges_are_in_place_before_anybody_is_let_in_and_go_in_the_opposite_order() {
    let mut paper = Paper::default();
    let service = service(WEB);
    let limited =
        want_with(&service, request(&[("ip-version", "DualStack")]), &nodes(&["i-a"]), &["10.0.0.0/8", "fd00::/8"]);
    let state = paper.converge(&limited, State::default());
    let words = paper.words();
    let at = |word: &str| words.iter().position(|w| w.starts_with(word)).unwrap_or_else(|| panic!("{word}: {words:?}"));
    assert!(at("create security group") < at("add 4 rules") && at("add 4 rules") < at("put nlb-1 into"), "{words:?}");
    assert!(at("put nlb-1 into") < at("create listener"), "{words:?}");
    assert_eq!(plan(&limited, &state, &BTreeSet::new()), Plan::default());
    paper.actions.clear();
    let other =
        want_with(&service, request(&[("ip-version", "DualStack")]), &nodes(&["i-a"]), &["10.1.0.0/16", "fd00::/8"]);
    let mut state = state;
    for (rule, n) in state.sources.as_mut().unwrap().as_mut().unwrap().rules.iter_mut().zip(1..) {
        rule.id = format!("sgr-{n}");
    }
    let state = paper.converge(&other, state);
    assert_eq!(paper.words(), ["add 1 rules to sg-3", "remove 1 rules from sg-3"]);
    paper.actions.clear();
    let mut open = want_with(&service, request(&[("ip-version", "DualStack")]), &nodes(&["i-a"]), &[]);
    open.may_have_sources = true;
    let state = paper.converge(&open, state);
    assert_eq!(paper.words(), ["take nlb-1 out of security groups sg-3", "delete security group sg-3"]);
    assert_eq!(state.sources, Some(None));
}

#[test]
fn tls_needs_a_certificate_and_further_ones_follow() {
    let ports = [(443, "TCP", 30443)];
    let none = want(&ports, &[("protocol-port", "TCPSSL:443")], &["i-a"]);
    let mut paper = Paper::default();
    let state = paper.converge(&none, State::default());
    assert!(plan(&none, &state, &BTreeSet::new()).conflicts[0].contains("needs a certificate"));
    let pairs =
        [("protocol-port", "TCPSSL:443"), ("cert-id", "cert-1,cert-0"), ("additional-cert-ids", "cert-2,cert-3")];
    paper.actions.clear();
    let state = paper.converge(&want(&ports, &pairs, &["i-a"]), state);
    assert_eq!(
        paper.words(),
        ["create listener 443/TCPSSL on nlb-1", "add certificates cert-2, cert-3 to listener lsn-4"]
    );
    let settings = &state.load_balancer.as_ref().unwrap().listeners[0].settings;
    assert_eq!(settings.get(NetworkListenerSetting::Certificates), Some("cert-0,cert-1"));
    paper.actions.clear();
    let fewer = [pairs[0], pairs[1], ("additional-cert-ids", "")];
    paper.converge(&want(&ports, &fewer, &["i-a"]), state);
    assert_eq!(paper.words(), ["remove certificates cert-2, cert-3 from listener lsn-4"]);
}

#[test]
fn deletion_unprotects_deletes_and_then_takes_the_groups_and_release_leaves_all_working() {
    let mut paper = Paper::default();
    let limited = want_with(&service(WEB), request(&[]), &nodes(&["i-a"]), &["10.0.0.0/8"]);
    let full = paper.converge(&limited, State::default());
    paper.actions.clear();
    let left = paper.run(|state| delete(&limited.owner, state), full.clone());
    assert_eq!(
        paper.words(),
        [
            "turn protections of nlb-1 off",
            "delete network load balancer nlb-1",
            "delete group sgp-2",
            "delete security group sg-3"
        ]
    );
    assert_eq!(left, State { sources: Some(None), ..State::default() });
    paper.actions.clear();
    let left = paper.run(|state| release(&limited.owner, state), full);
    assert_eq!(
        paper.words(),
        [
            "remove tags ack.aliyun.com, kubernetes.do.not.delete from groups sgp-2",
            "turn protections of nlb-1 off",
            "remove tags ack.aliyun.com, kubernetes.do.not.delete from nlb-1"
        ]
    );
    assert_eq!(left.load_balancer.unwrap().listeners.len(), 1);
}

#[test]
fn what_others_made_is_neither_changed_nor_deleted() {
    let mut paper = Paper::default();
    let mut state = paper.converge(&want(WEB, &[], &["i-a"]), State::default());
    let there = state.load_balancer.as_mut().unwrap();
    let mut by_hand = there.listeners[0].clone();
    by_hand.id = "lsn-hand".into();
    by_hand.ports = PortRange::one(8443);
    by_hand.description = "made by hand".into();
    by_hand.group = Some("sgp-hand".into());
    there.listeners.push(by_hand.clone());
    let ours = state.groups[0].members[0].clone();
    state.groups[0].members.push(Member { server: "i-hand".into(), description: String::new(), ..ours });
    paper.actions.clear();
    let desired = want(&[(81, "TCP", 30081)], &[], &["i-b"]);
    let state = paper.converge(&desired, state);
    let words = paper.words();
    assert!(!words.iter().any(|word| word.contains("hand")), "{words:?}");
    assert!(
        words.contains(&"remove 1 members from sgp-2".to_owned()),
        "only ours leave a group that others use: {words:?}"
    );
    assert!(state.load_balancer.as_ref().unwrap().listeners.contains(&by_hand));
    let desired = want(&[(8443, "TCP", 30443)], &[], &["i-b"]);
    let state = paper.converge(&desired, state);
    let taken = plan(&desired, &state, &BTreeSet::new());
    assert!(taken.conflicts[0].contains("was not made for this Service"), "{:?}", taken.conflicts);
}

#[test]
fn nothing_is_cleaned_up_after_a_failure_or_while_something_is_under_way() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(WEB, &[], &["i-a"]), State::default());
    let desired = want(&[(81, "TCP", 30081)], &[], &["i-a"]);
    let failed = BTreeSet::from([Scope::Group("k8s.30081.TCP.web.shop.c1".into())]);
    assert_eq!(plan(&desired, &state, &failed).steps, []);
    let mut state = paper.converge(&want(WEB, &[], &["i-a"]), state);
    state.groups[0].status = crate::cloud::NetworkGroupStatus::Changing;
    let none = want(&[], &[], &["i-a"]);
    assert_eq!(plan(&none, &state, &BTreeSet::new()).steps, []);
}

#[test]
fn attributes_and_listeners_of_a_load_balancer_of_the_users_are_left_alone_unless_told_otherwise() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(WEB, &[], &["i-a"]), State::default());
    let asked = [("id", "nlb-1"), ("name", "shop"), ("security-group-ids", "sg-1"), ("cps", "7")];
    for (force, steps) in [("false", 0), ("true", 3)] {
        let pairs: Vec<_> = asked.into_iter().chain([("force-override-listeners", force)]).collect();
        let plan = plan(&want(WEB, &pairs, &["i-a"]), &state, &BTreeSet::new());
        assert_eq!(plan.steps.len(), steps, "{force}: {:?}", plan.steps);
    }
}

#[test]
fn while_a_group_of_the_users_cannot_be_used_members_elsewhere_stay() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(WEB, &[("id", "nlb-0")], &["i-a"]), State::default());
    let desired = want(WEB, &[("id", "nlb-1"), ("vgroup-port", "sgp-none:80")], &["i-a"]);
    let refused = plan(&desired, &state, &BTreeSet::new());
    assert_eq!(refused.steps, []);
    assert!(refused.conflicts[0].contains("reused server group id sgp-none not found"), "{:?}", refused.conflicts);
}
