use ipnet::IpNet;
use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use proptest::prelude::*;

use super::*;
use crate::{
    cloud::{
        JobId, Made, MemberKind, NetworkEffect, NetworkGroupSetting, NetworkListenerSetting, NetworkListenerStatus,
        SecurityGroup,
    },
    controllers::service::{
        Options, annotations,
        annotations::{Annotations, NetworkRequested},
        members::{Backends, Families},
        nlb::desired::{self, Around},
    },
};

/// A cloud that does what it is told, hands out ids, and is busy until told otherwise.
#[derive(Default)]
struct Paper {
    made: u32,
    actions: Vec<NetworkAction>,
    /// Stops after so many actions.
    most: Option<usize>,
    /// Whether only some may come.
    limited: bool,
}

impl Paper {
    fn effect(&mut self, action: &NetworkAction) -> NetworkEffect {
        self.made += 1;
        let n = self.made;
        let made = match action {
            NetworkAction::CreateLoadBalancer(_) => Made::LoadBalancer(format!("nlb-{n}").into()),
            NetworkAction::CreateGroup(_) => Made::Group(format!("sgp-{n}").into()),
            NetworkAction::CreateListener(_) => Made::Listener(format!("lsn-{n}").into()),
            NetworkAction::CreateSecurityGroup(_) => Made::SecurityGroup(format!("sg-{n}").into()),
            _ => Made::Nothing,
        };
        let is_a_job = action.lock().is_some() || matches!(action, NetworkAction::CreateGroup(_));
        NetworkEffect { job: is_a_job.then(|| JobId::new(format!("job-{n}"))), made }
    }

    /// Runs until nothing is left to do, or as many actions as may be are done.
    fn run(&mut self, next: impl Fn(&State) -> Plan, mut state: State) -> State {
        for _ in 0..200 {
            let plan = next(&state);
            if plan.needs_sources {
                state.sources = Some(state.sources.flatten());
            }
            for id in &plan.needs_certificates {
                let all = state.load_balancer.iter_mut().flat_map(|there| &mut there.listeners);
                all.filter(|l| l.id == *id).for_each(|l| l.additional_certificates = Some(BTreeSet::new()));
            }
            let looked = plan.needs_sources || !plan.needs_certificates.is_empty();
            let mut ran = false;
            for step in plan.steps {
                if step.action.lock().is_some_and(|lock| state.is_locked(&lock)) {
                    continue;
                }
                if self.most.is_some_and(|most| self.actions.len() >= most) {
                    return state;
                }
                let effect = self.effect(&step.action);
                state.apply(&step.action, &effect);
                self.actions.push(step.action);
                if self.limited {
                    check(&state);
                }
                ran = true;
            }
            if ran || looked {
                continue;
            }
            if state.locks().is_empty() {
                return state;
            }
            settle(&mut state);
        }
        panic!("does not settle: {:#?}", self.actions);
    }

    fn converge(&mut self, desired: &Desired, state: State) -> State {
        self.limited = desired.sources.is_some();
        self.run(|state| plan(desired, state, &BTreeSet::new()), state)
    }

    fn words(&self) -> Vec<String> {
        self.actions.iter().map(ToString::to_string).collect()
    }
}

/// The cloud is done with everything.
fn settle(state: &mut State) {
    for lock in state.locks() {
        state.settle(&lock);
    }
    if let Some(there) = &mut state.load_balancer
        && there.load_balancer.status == NetworkStatus::Provisioning
    {
        there.load_balancer.status = NetworkStatus::Active;
        there.load_balancer.cross_zone = Some(true);
    }
}

/// What must hold at every moment: with source ranges, no listener without the group that keeps
/// others out.
fn check(state: &State) {
    if let (Some(there), Some(Some(own))) = (&state.load_balancer, &state.sources)
        && own.name.starts_with("k8s-nlb-")
        && !there.listeners.is_empty()
        && there.listeners.iter().all(|l| l.description.starts_with("k8s."))
        && !there.load_balancer.tags.contains_key("open before")
    {
        let joined = there.load_balancer.security_groups.contains(&own.id);
        assert!(joined && !own.rules.is_empty(), "open to everybody: {state:#?}");
    }
}

fn service(ports: &[(i32, &str, i32)]) -> Service {
    let ports = ports
        .iter()
        .map(|(port, protocol, node_port)| ServicePort {
            port: *port,
            protocol: Some((*protocol).into()),
            node_port: Some(*node_port),
            name: Some(format!("p{port}-{}", protocol.to_lowercase())),
            ..ServicePort::default()
        })
        .collect();
    Service {
        metadata: ObjectMeta {
            name: Some("web".into()),
            namespace: Some("shop".into()),
            uid: Some("5e4dbfc9-c2ae-4642-b033-5607860aef6a".into()),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec { type_: Some("LoadBalancer".into()), ports: Some(ports), ..ServiceSpec::default() }),
        ..Service::default()
    }
}

fn request(pairs: &[(&str, &str)]) -> NetworkRequested {
    let mut service = Service::default();
    let key = |suffix: &str| format!("{}{suffix}", annotations::PREFIX);
    let zones = ("zone-maps", "a:vsw-1,b:vsw-2");
    let given = pairs.iter().any(|(suffix, _)| *suffix == "zone-maps" || *suffix == "id");
    let pairs = pairs.iter().copied().chain((!given).then_some(zones));
    service.metadata.annotations = Some(pairs.map(|(suffix, value)| (key(suffix), value.to_owned())).collect());
    Annotations::of(&service).parse_network().unwrap()
}

fn nodes(names: &[&str]) -> Backends {
    Backends { instances: names.iter().map(|name| ((*name).to_owned(), 100)).collect(), ..Backends::default() }
}

fn want_with(service: &Service, requested: NetworkRequested, backends: &Backends, ranges: &[&str]) -> Desired {
    let ranges: BTreeSet<IpNet> = ranges.iter().map(|range| range.parse().unwrap()).collect();
    let addresses = backends.instances.keys().zip(1..).map(|(id, n)| (id.clone(), [10, 0, 0, n].into())).collect();
    let around = Around {
        backends,
        interfaces: &BTreeMap::new(),
        addresses: &addresses,
        ranges: &ranges,
        families: Families::V4,
        options: &Options::for_test(),
    };
    desired::desired(service, requested, around)
}

fn want(ports: &[(i32, &str, i32)], pairs: &[(&str, &str)], names: &[&str]) -> Desired {
    want_with(&service(ports), request(pairs), &nodes(names), &[])
}

const WEB: &[(i32, &str, i32)] = &[(80, "TCP", 30080)];

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
        ports: [("p80-tcp".to_owned(), 8080)].into(),
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

#[derive(Clone, Debug)]
struct Wish {
    ports: Vec<(u16, bool)>,
    nodes: BTreeSet<u8>,
    pairs: Vec<(&'static str, &'static str)>,
    limited: bool,
}

impl Wish {
    fn desired(&self) -> Desired {
        let mut seen = BTreeSet::new();
        let ports: Vec<(i32, &str, i32)> = self
            .ports
            .iter()
            .filter(|port| seen.insert(**port))
            .map(|(port, udp)| {
                (i32::from(*port), if *udp { "UDP" } else { "TCP" }, i32::from(*port) + 30000 + i32::from(*udp) * 1000)
            })
            .collect();
        let names: Vec<String> = self.nodes.iter().map(|n| format!("i-{n:03}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ranges: &[&str] = if self.limited { &["10.0.0.0/8"] } else { &[] };
        let mut desired = want_with(&service(&ports), request(&self.pairs), &nodes(&names), ranges);
        desired.may_have_sources = true;
        desired
    }
}

fn wishes() -> impl Strategy<Value = Wish> {
    let pair = prop::sample::select(vec![
        ("scheduler", "rr"),
        ("scheduler", "wrr"),
        ("idle-timeout", "60"),
        ("cps", "100"),
        ("name", "shop"),
        ("server-group-type", "Ip"),
        ("address-type", "intranet"),
        ("cross-zone-enabled", "off"),
        ("security-group-ids", "sg-a,sg-b"),
        ("security-group-ids", "sg-b"),
        ("bandwidth-package-id", "cbwp-1"),
        ("zone-maps", "a:vsw-1,b:vsw-2,c:vsw-3"),
        ("health-check-flag", "off"),
    ]);
    let ports = prop::collection::vec((80u16..84, any::<bool>()), 0..4);
    (ports, prop::collection::btree_set(0u8..90, 0..60), prop::collection::vec(pair, 0..4), any::<bool>()).prop_map(
        |(ports, nodes, mut pairs, limited)| {
            pairs.sort_unstable();
            pairs.dedup_by_key(|pair| pair.0);
            Wish { ports, nodes, pairs, limited }
        },
    )
}

/// Ids differ with the way; everything else must not.
fn shape(state: &State) -> String {
    let name = |id: Option<&ServerGroupId>| {
        let group = state.groups.iter().find(|group| Some(&group.id) == id);
        group.map(|group| (group.name.clone(), group.kind))
    };
    let there = state.load_balancer.as_ref().unwrap();
    let mut listeners: Vec<_> = there
        .listeners
        .iter()
        .map(|l| (l.protocol, l.ports, l.description.clone(), name(l.group.as_ref()), format!("{:?}", l.settings)))
        .collect();
    listeners.sort();
    let mut groups: Vec<_> = state
        .groups
        .iter()
        .map(|group| {
            let mut members = group.members.clone();
            members.sort();
            (group.name.clone(), group.kind, members, format!("{:?}", group.settings))
        })
        .collect();
    groups.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let lb = &there.load_balancer;
    let foreign: Vec<_> = lb
        .security_groups
        .iter()
        .filter(|id| id.as_str().starts_with("sg-a") || id.as_str().starts_with("sg-b"))
        .collect();
    format!(
        "{:?}",
        (&lb.name, lb.address_type, &lb.bandwidth_package, lb.cross_zone, lb.zones.len(), foreign, listeners, groups)
    )
}

fn ids_of_rules(state: &mut State) {
    if let Some(Some(SecurityGroup { rules, .. })) = &mut state.sources {
        rules.iter_mut().zip(1..).for_each(|(rule, n)| rule.id = format!("sgr-{n}"));
    }
}

/// Listeners are there before the limit if they came before it was asked for.
fn note_that_it_was_open(state: &mut State, wish: &Wish) {
    if let Some(there) = state.load_balancer.as_mut().filter(|_| !wish.limited) {
        there.load_balancer.tags.insert("open before".into(), String::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn what_is_in_place_needs_nothing_and_any_interruption_leads_to_the_same_end(
        first in wishes(), second in wishes(), stop in 0usize..25,
    ) {
        let mut state = Paper::default().converge(&first.desired(), State::default());
        prop_assert_eq!(plan(&first.desired(), &state, &BTreeSet::new()).steps, vec![]);
        ids_of_rules(&mut state);
        note_that_it_was_open(&mut state, &first);
        let desired = second.desired();
        let whole = Paper { made: 1000, ..Paper::default() }.converge(&desired, state.clone());
        prop_assert_eq!(plan(&desired, &whole, &BTreeSet::new()).steps, vec![]);
        // Stopped anywhere, and begun again by a process that only sees what is there.
        let mut half = Paper { made: 1000, most: Some(stop), ..Paper::default() }.converge(&desired, state);
        settle(&mut half);
        half.sources = Some(half.sources.flatten());
        ids_of_rules(&mut half);
        let end = Paper { made: 2000, ..Paper::default() }.converge(&desired, half);
        prop_assert_eq!(shape(&end), shape(&whole));
    }

    #[test]
    fn no_group_in_use_is_emptied_on_the_way(first in wishes(), second in wishes()) {
        let state = Paper::default().converge(&first.desired(), State::default());
        let desired = second.desired();
        if second.nodes.is_empty() {
            return Ok(());
        }
        for stop in 0..25 {
            let mut state = state.clone();
            ids_of_rules(&mut state);
            note_that_it_was_open(&mut state, &first);
            let had: BTreeSet<ServerGroupId> =
                state.groups.iter().filter(|group| !group.members.is_empty()).map(|group| group.id.clone()).collect();
            let half = Paper { made: 1000, most: Some(stop), ..Paper::default() }.converge(&desired, state);
            for listener in half.load_balancer.iter().flat_map(|there| &there.listeners) {
                let group = half.groups.iter().find(|group| listener.group.as_ref() == Some(&group.id));
                let emptied = group.is_some_and(|group| had.contains(&group.id) && group.members.is_empty());
                prop_assert!(!emptied, "after {stop} changes {listener:?} has nobody behind it");
            }
        }
    }
}
