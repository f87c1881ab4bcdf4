use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use proptest::prelude::*;

use super::{super::*, *};
use crate::{
    cloud::{AddressType, Effect, ListenerSettings, ListenerStatus, MemberKind, Setting},
    controllers::service::{annotations::Requested, desired::desired, members::Backends, observed::after},
};

/// A cloud that does what it is told and hands out ids.
#[derive(Default)]
struct Paper {
    made: u32,
    actions: Vec<Action>,
}

impl Paper {
    fn carry_out(&mut self, state: Option<LoadBalancerState>, action: &Action) -> Option<LoadBalancerState> {
        self.made += 1;
        let effect = match action {
            Action::CreateLoadBalancer(create) => {
                Effect::LoadBalancerCreated(Box::new(create.created(format!("lb-{}", self.made).into(), "1.2.3.4")))
            }
            Action::CreateServerGroup { .. } => Effect::ServerGroupCreated(format!("rsp-{}", self.made).into()),
            Action::CreateDomainExtension { .. } => Effect::DomainExtensionCreated(format!("de-{}", self.made)),
            _ => Effect::Done,
        };
        self.actions.push(action.clone());
        after(state, action, &effect)
    }

    fn converge(&mut self, desired: &Desired, mut state: Option<LoadBalancerState>) -> Option<LoadBalancerState> {
        for _ in 0..20 {
            let plan = plan(desired, state.as_ref(), &BTreeSet::new());
            assert!(!plan.needs_groups);
            if plan.steps.is_empty() {
                return state;
            }
            for step in plan.steps {
                state = self.carry_out(state, &step.action);
            }
        }
        panic!("does not settle: {:#?}", self.actions);
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

fn backends(instances: &[(String, u8)]) -> Backends {
    Backends { instances: instances.iter().cloned().collect(), ..Backends::default() }
}

fn numbered(count: usize) -> Backends {
    backends(&(0..count).map(|n| (format!("i-{n:03}"), 100)).collect::<Vec<_>>())
}

fn want(service: &Service, requested: Requested, backends: &Backends) -> Desired {
    desired(service, requested, backends, &BTreeMap::new(), &Options::for_test())
}

fn words(actions: &[Action]) -> Vec<String> {
    actions.iter().map(ToString::to_string).collect()
}

#[test]
fn a_service_with_one_port_costs_four_changes() {
    let mut paper = Paper::default();
    let state =
        paper.converge(&want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(3)), None).unwrap();
    assert_eq!(
        words(&paper.actions),
        [
            "create load balancer a5e4dbfc9c2ae4642b0335607860aef6 (internet)",
            "create group k8s/30080/web/shop/c1 on lb-1 with 3 members",
            "create listener 80/tcp on lb-1",
            "start listener 80/tcp of lb-1",
        ]
    );
    assert_eq!(state.listeners[0].status, ListenerStatus::Running);
    assert_eq!(state.listeners[0].group, Some("rsp-2".into()));
}

#[test]
fn members_beyond_one_call_follow_before_the_listener_starts() {
    let mut paper = Paper::default();
    paper.converge(&want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(45)), None);
    let words = words(&paper.actions);
    assert_eq!(
        words[1..4].iter().filter(|w| w.starts_with("add") || w.contains("with 20 members")).count(),
        3,
        "{words:?}"
    );
    assert_eq!(words.last().unwrap(), "start listener 80/tcp of lb-1");
}

#[test]
fn a_changed_member_set_adds_before_it_removes() {
    let mut paper = Paper::default();
    let service = service(&[(80, "TCP", 30080)]);
    let all = |names: &[&str]| backends(&names.iter().map(|n| ((*n).to_owned(), 100)).collect::<Vec<_>>());
    let state = paper.converge(&want(&service, Requested::default(), &all(&["i-a", "i-b"])), None);
    paper.actions.clear();
    paper.converge(&want(&service, Requested::default(), &all(&["i-c"])), state);
    assert_eq!(words(&paper.actions), ["add 1 members to rsp-2", "remove 2 members from rsp-2"]);
}

#[test]
fn a_changed_weight_is_one_update() {
    let mut paper = Paper::default();
    let service = service(&[(80, "TCP", 30080)]);
    let state = paper.converge(&want(&service, Requested::default(), &backends(&[("i-a".into(), 1)])), None);
    paper.actions.clear();
    paper.converge(&want(&service, Requested::default(), &backends(&[("i-a".into(), 2)])), state);
    assert_eq!(words(&paper.actions), ["update 1 members of rsp-2"]);
}

#[test]
fn a_removed_port_goes_after_its_successor_came() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(1)), None);
    paper.actions.clear();
    let state = paper.converge(&want(&service(&[(81, "TCP", 30081)]), Requested::default(), &numbered(1)), state);
    let words = words(&paper.actions);
    assert_eq!(words[words.len() - 2], "delete listener 80/tcp of lb-1");
    assert_eq!(words[words.len() - 1], "delete group rsp-2 of lb-1");
    assert_eq!(words.len(), 5, "{words:?}");
    assert_eq!(state.unwrap().groups.len(), 1);
}

#[test]
fn one_setting_is_one_change_and_what_is_not_asked_for_is_left_alone() {
    let mut paper = Paper::default();
    let service = service(&[(80, "TCP", 30080)]);
    let mut state = paper.converge(&want(&service, Requested::default(), &numbered(1)), None);
    paper.actions.clear();
    let asked = Requested::default().with_listener(Setting::Scheduler, "wrr");
    state = paper.converge(&want(&service, asked, &numbered(1)), state);
    assert_eq!(words(&paper.actions), ["update listener 80/tcp of lb-1"]);
    paper.actions.clear();
    state = paper.converge(&want(&service, Requested::default(), &numbered(1)), state);
    assert_eq!(words(&paper.actions), Vec::<String>::new());
    assert_eq!(state.unwrap().listeners[0].settings.get(Setting::Scheduler), Some("wrr"));
}

#[test]
fn attributes_are_changed_one_by_one() {
    let service = service(&[(80, "TCP", 30080)]);
    let charged = |how: &str| Requested { instance_charge_type: Some(how.into()), ..Requested::default() };
    let (by_spec, by_use) = (charged("PayBySpec"), charged("PayByCLCU"));
    let table: [(Requested, Requested, Vec<&str>); 9] = [
        (
            Requested::default(),
            Requested { name: Some("shop".into()), ..Requested::default() },
            vec!["rename lb-1 to shop"],
        ),
        (
            Requested::default(),
            Requested { tags: [("team".to_owned(), "shop".to_owned())].into(), ..Requested::default() },
            vec!["tag lb-1 with team=shop"],
        ),
        (
            Requested { tags: [("team".to_owned(), "shop".to_owned())].into(), ..Requested::default() },
            Requested::default(),
            vec![],
        ),
        (
            Requested::default(),
            Requested { delete_protection: Some(false), ..Requested::default() },
            vec!["turn delete protection of lb-1 off"],
        ),
        (by_spec.clone(), by_use, vec!["set instance charge type of lb-1 to PayByCLCU"]),
        (
            by_spec.clone(),
            Requested { spec: Some("slb.s2.small".into()), ..by_spec.clone() },
            vec!["set specification of lb-1 to slb.s2.small"],
        ),
        (Requested::default(), Requested { spec: Some("slb.s2.small".into()), ..Requested::default() }, vec![]),
        (
            by_spec,
            Requested { charge_type: Some("paybybandwidth".into()), bandwidth: Some(45), ..Requested::default() },
            vec!["set internet charge of lb-1 to paybybandwidth 45 Mbit/s"],
        ),
        (Requested::default(), Requested { bandwidth: Some(45), ..Requested::default() }, vec![]),
    ];
    for (before, asked, expected) in table {
        let mut paper = Paper::default();
        let state = paper.converge(&want(&service, before, &numbered(1)), None);
        paper.actions.clear();
        paper.converge(&want(&service, asked.clone(), &numbered(1)), state);
        assert_eq!(words(&paper.actions), expected, "{asked:?}");
    }
}

#[test]
fn what_is_paid_by_use_stays_so_without_a_call() {
    let service = service(&[(80, "TCP", 30080)]);
    let mut paper = Paper::default();
    let state = paper.converge(&want(&service, Requested::default(), &numbered(1)), None);
    for (asked, expected) in [
        (
            Requested { instance_charge_type: Some("PayBySpec".into()), ..Requested::default() },
            "can not change LoadBalancer InstanceChargeType once created",
        ),
        (
            Requested { charge_type: Some("paybybandwidth".into()), bandwidth: Some(45), ..Requested::default() },
            "can not change LoadBalancer InternetChargeType of lb-1 to paybybandwidth: it is paid by use",
        ),
    ] {
        let plan = plan(&want(&service, asked, &numbered(1)), state.as_ref(), &BTreeSet::new());
        assert!(plan.conflicts.len() == 1 && plan.conflicts[0].starts_with(expected), "{:?}", plan.conflicts);
        assert_eq!(plan.steps, []);
    }
}

#[test]
fn the_address_type_cannot_change() {
    let mut paper = Paper::default();
    let service = service(&[(80, "TCP", 30080)]);
    let state = paper.converge(&want(&service, Requested::default(), &numbered(1)), None);
    let asked =
        Requested { address_type: Some(AddressType::Intranet), name: Some("shop".into()), ..Requested::default() };
    let plan = plan(&want(&service, asked, &numbered(1)), state.as_ref(), &BTreeSet::new());
    assert!(plan.conflicts[0].starts_with("can not change LoadBalancer AddressType once created. delete and retry"));
    assert_eq!(plan.steps.len(), 1, "the rest goes on");
}

#[test]
fn a_port_without_node_port_does_not_hold_back_others_and_keeps_what_it_has() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(1)), None);
    paper.actions.clear();
    let desired = want(&service(&[(80, "TCP", 0), (81, "TCP", 30081)]), Requested::default(), &numbered(1));
    assert_eq!(
        desired.problems,
        [
            "port 80 has no node port; set spec.allocateLoadBalancerNodePorts to true, or use pods as members with the annotation service.beta.kubernetes.io/backend-type: eni"
        ]
    );
    let state = paper.converge(&desired, state).unwrap();
    let ports: BTreeSet<u16> = state.listeners.iter().map(|l| l.port).collect();
    assert_eq!(ports, [80, 81].into());
    assert_eq!(state.groups.len(), 2);
}

#[test]
fn groups_are_looked_up_before_one_is_made_on_a_load_balancer_not_seen_in_full() {
    let mut paper = Paper::default();
    let desired = want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(1));
    let mut state = paper.converge(&desired, None).unwrap();
    state.groups_view = GroupsView::Referenced;
    let settled = plan(&desired, Some(&state), &BTreeSet::new());
    assert_eq!(settled, Plan::default(), "what is there is enough");
    state.groups.clear();
    let plan = plan(&desired, Some(&state), &BTreeSet::new());
    assert!(plan.needs_groups && plan.steps.is_empty());
}

#[test]
fn nothing_is_cleaned_up_after_a_failure_of_what_is_wanted() {
    let mut paper = Paper::default();
    let state = paper.converge(&want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(1)), None);
    let desired = want(&service(&[(81, "TCP", 30081)]), Requested::default(), &numbered(1));
    let failed = BTreeSet::from([Scope::Group("k8s/30081/web/shop/c1".into())]);
    assert!(plan(&desired, state.as_ref(), &failed).steps.is_empty());
    let failed = BTreeSet::from([Scope::Attribute("name")]);
    assert!(!plan(&desired, state.as_ref(), &failed).steps.is_empty());
}

fn request(pairs: &[(&str, &str)]) -> Requested {
    let mut service = Service::default();
    let key = |suffix: &str| format!("{}{suffix}", annotations::PREFIX);
    service.metadata.annotations = Some(pairs.iter().map(|(suffix, value)| (key(suffix), (*value).into())).collect());
    annotations::Annotations::of(&service).parse().unwrap()
}

#[test]
fn a_forwarding_port_waits_for_its_target_and_is_made_anew_when_it_changes() {
    let mut paper = Paper::default();
    let service = service(&[(80, "TCP", 30080), (443, "TCP", 30443)]);
    let base = [("protocol-port", "http:80,https:443"), ("cert-id", "cert-1")];
    let forwarding = request(&[base[0], base[1], ("forward-port", "80:443")]);
    let state = paper.converge(&want(&service, forwarding, &numbered(1)), None);
    let listeners: Vec<String> = words(&paper.actions).into_iter().filter(|w| w.contains("listener")).collect();
    let at = |word: &str| listeners.iter().position(|w| w == word).unwrap();
    assert!(at("create listener 443/https on lb-1") < at("create listener 80/http on lb-1"), "{listeners:?}");
    let http = |state: &Option<LoadBalancerState>| {
        state
            .as_ref()
            .unwrap()
            .listeners
            .iter()
            .find(|l| l.port == 80)
            .unwrap()
            .settings
            .get(Setting::ForwardPort)
            .map(str::to_owned)
    };
    assert_eq!(http(&state).as_deref(), Some("443"));
    paper.actions.clear();
    let state = paper.converge(&want(&service, request(&base), &numbered(1)), state);
    assert_eq!(
        words(&paper.actions),
        ["delete listener 80/http of lb-1", "create listener 80/http on lb-1", "start listener 80/http of lb-1"]
    );
    assert_eq!(http(&state), None);
}

#[test]
fn another_protocol_takes_the_port_over_at_once() {
    let mut paper = Paper::default();
    let service = service(&[(443, "TCP", 30443)]);
    let state = paper.converge(&want(&service, Requested::default(), &numbered(1)), None);
    paper.actions.clear();
    let https = request(&[("protocol-port", "https:443"), ("cert-id", "cert-1")]);
    let state = paper.converge(&want(&service, https, &numbered(1)), state);
    assert_eq!(
        words(&paper.actions),
        ["delete listener 443/tcp of lb-1", "create listener 443/https on lb-1", "start listener 443/https of lb-1"]
    );
    assert_eq!(state.unwrap().groups.len(), 1, "with the same group");
}

#[test]
fn https_without_a_certificate_is_told_and_makes_no_listener() {
    let desired = want(&service(&[(443, "TCP", 30443)]), request(&[("protocol-port", "https:443")]), &numbered(1));
    let state = Paper::default().converge(&desired, None);
    let plan = plan(&desired, state.as_ref(), &BTreeSet::new());
    assert_eq!(plan.conflicts, ["port 443: https needs a certificate; set the annotation cert-id"]);
    assert!(state.unwrap().listeners.is_empty());
}

#[test]
fn domain_extensions_are_added_changed_and_removed() {
    let mut paper = Paper::default();
    let service = service(&[(443, "TCP", 30443)]);
    let asked =
        |domains: &str| request(&[("protocol-port", "https:443"), ("cert-id", "c"), ("domain-extensions", domains)]);
    let state = paper.converge(&want(&service, asked("a.com:1,b.com:2"), &numbered(1)), None);
    let extensions = |state: &Option<LoadBalancerState>| -> Vec<(String, String)> {
        let all = state.as_ref().unwrap().listeners[0].domain_extensions.clone().unwrap();
        let mut all: Vec<_> = all.into_iter().map(|e| (e.domain, e.certificate)).collect();
        all.sort();
        all
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(extensions(&state), [pair("a.com", "1"), pair("b.com", "2")]);
    let state = paper.converge(&want(&service, asked("b.com:3"), &numbered(1)), state);
    assert_eq!(extensions(&state), [pair("b.com", "3")]);
    let untouched = request(&[("protocol-port", "https:443"), ("cert-id", "c")]);
    let state = paper.converge(&want(&service, untouched, &numbered(1)), state);
    assert_eq!(extensions(&state), [pair("b.com", "3")], "not asked for is left alone");
    let mut unread = state.clone().unwrap();
    unread.listeners[0].domain_extensions = None;
    let wanted = want(&service, asked("b.com:3"), &numbered(1));
    assert_eq!(plan(&wanted, Some(&unread), &BTreeSet::new()).needs_domain_extensions, [443]);
    let state = paper.converge(&want(&service, asked(""), &numbered(1)), state);
    assert_eq!(extensions(&state), []);
}

fn foreign_listener(port: u16, description: &str) -> Listener {
    Listener {
        port,
        protocol: Protocol::Tcp,
        status: ListenerStatus::Stopped,
        description: description.into(),
        group: None,
        settings: ListenerSettings::default(),
        domain_extensions: None,
    }
}

fn foreign_member(server: &str) -> Member {
    Member {
        kind: MemberKind::Ecs,
        server: server.into(),
        address: None,
        port: 8080,
        weight: 7,
        description: "by hand".into(),
    }
}

/// A load balancer of the user's with a listener and a group.
fn users_own() -> LoadBalancerState {
    let create = want(&service(&[]), Requested::default(), &numbered(0)).create;
    let mut load_balancer = create.created("lb-user".into(), "5.6.7.8");
    load_balancer.tags.clear();
    LoadBalancerState {
        load_balancer,
        listeners: vec![foreign_listener(80, "by hand"), foreign_listener(81, "k8s/81/other/shop/c1")],
        groups: vec![ServerGroup {
            id: "rsp-user".into(),
            name: "by hand".into(),
            members: vec![foreign_member("i-x")],
        }],
        groups_view: GroupsView::Complete,
    }
}

#[test]
fn on_a_users_load_balancer_listeners_need_the_override() {
    let service = service(&[(80, "TCP", 30080), (81, "TCP", 30081), (82, "TCP", 30082)]);
    let mut paper = Paper::default();
    let asked = Requested { id: Some("lb-user".into()), ..Requested::default() };
    let state = paper.converge(&want(&service, asked.clone(), &numbered(1)), Some(users_own())).unwrap();
    assert_eq!(state.listeners, users_own().listeners);
    assert_eq!(state.groups.len(), 4);
    assert_eq!(state.load_balancer.tags, BTreeMap::from([("kubernetes.reused.by.user".into(), "true".into())]));

    let asked = Requested { force_override_listeners: true, ..asked };
    let desired = want(&service, asked, &numbered(1));
    let state = paper.converge(&desired, Some(state)).unwrap();
    let found = plan(&desired, Some(&state), &BTreeSet::new());
    assert_eq!(
        found.conflicts,
        ["listener 81/tcp of lb-user belongs to the Service shop/other; use another port or load balancer"]
    );
    let of = |port| state.listeners.iter().find(|l| l.port == port).unwrap();
    assert_eq!(of(80).description, "k8s/80/web/shop/c1", "taken over");
    assert_eq!(of(81), &users_own().listeners[1], "another Service's");
    assert_eq!(of(82).status, ListenerStatus::Running);

    let mut state = Some(state);
    for step in detach(&desired.owner, state.as_ref().unwrap()).steps {
        state = paper.carry_out(state, &step.action);
    }
    let state = state.unwrap();
    assert_eq!(state.listeners, [users_own().listeners[1].clone()]);
    assert_eq!(state.groups, users_own().groups);
}

#[test]
fn a_load_balancer_of_ours_is_deleted_in_two_calls_and_released_without_loss() {
    let mut paper = Paper::default();
    let desired = want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(1));
    let state = paper.converge(&desired, None).unwrap();
    let first = delete(&state.load_balancer).steps.remove(0).action;
    assert_eq!(first.to_string(), "turn delete protection of lb-1 off");
    let state = paper.carry_out(Some(state), &first).unwrap();
    let second = delete(&state.load_balancer).steps.remove(0).action;
    assert_eq!(second.to_string(), "delete load balancer lb-1");

    let mut state = Some(paper.converge(&desired, None).unwrap());
    let before = state.clone().unwrap();
    for step in release(&desired.owner, &before.load_balancer).steps {
        state = paper.carry_out(state, &step.action);
    }
    let state = state.unwrap();
    assert_eq!((&state.listeners, &state.groups), (&before.listeners, &before.groups));
    assert!(state.load_balancer.tags.is_empty());
    assert!(release(&desired.owner, &state.load_balancer).steps.is_empty());
}

prop_compose! {
    fn any_service()(ports in prop::collection::btree_map((1u16..2000, any::<bool>()), 30000u16..30020, 0..6)) -> Service {
        // A node port belongs to one port and protocol.
        let mut taken = BTreeSet::new();
        let ports: Vec<(i32, &str, i32)> = ports
            .into_iter()
            .filter(|(_, node_port)| taken.insert(*node_port))
            .map(|((port, udp), node_port)| (i32::from(port), if udp { "UDP" } else { "TCP" }, i32::from(node_port)))
            .collect();
        service(&ports)
    }
}

fn any_backends() -> impl Strategy<Value = Backends> {
    prop::collection::btree_map(0u32..60, 1u8..=100, 0..50)
        .prop_map(|all| backends(&all.into_iter().map(|(n, weight)| (format!("i-{n:03}"), weight)).collect::<Vec<_>>()))
}

fn any_request() -> impl Strategy<Value = Requested> {
    (
        prop::option::of("[a-z]{1,8}"),
        prop::option::of(prop::sample::select(vec!["rr", "wrr"])),
        prop::option::of(any::<bool>()),
        prop::option::of(prop::sample::select(vec!["PayBySpec", "PayByCLCU"])),
        prop::option::of(prop::sample::select(vec!["paybytraffic", "paybybandwidth"])),
        prop::option::of(1u32..100),
    )
        .prop_map(|(name, scheduler, delete_protection, charge, internet, bandwidth)| Requested {
            name,
            delete_protection,
            instance_charge_type: charge.map(Into::into),
            charge_type: internet.map(Into::into),
            bandwidth,
            ..scheduler
                .map_or_else(Requested::default, |word| Requested::default().with_listener(Setting::Scheduler, word))
        })
}

fn shape(state: &LoadBalancerState) -> impl PartialEq + fmt::Debug + use<> {
    let group_names: BTreeMap<_, _> = state.groups.iter().map(|g| (g.id.clone(), g.name.clone())).collect();
    let mut listeners: Vec<_> = state
        .listeners
        .iter()
        .map(|l| {
            (
                l.port,
                l.protocol,
                l.status == ListenerStatus::Running,
                l.description.clone(),
                l.group.as_ref().map(|g| group_names[g].clone()),
            )
        })
        .collect();
    listeners.sort();
    let mut groups: Vec<_> = state
        .groups
        .iter()
        .map(|g| {
            let mut members = g.members.clone();
            members.sort();
            (g.name.clone(), members)
        })
        .collect();
    groups.sort();
    (listeners, groups)
}

proptest! {
    #[test]
    fn a_converged_state_needs_nothing(service in any_service(), asked in any_request(), backends in any_backends()) {
        let desired = want(&service, asked, &backends);
        let state = Paper::default().converge(&desired, None);
        prop_assert_eq!(plan(&desired, state.as_ref(), &BTreeSet::new()), Plan::default());
    }

    #[test]
    fn from_any_interruption_the_same_end_is_reached_with_one_load_balancer(
        before in any_service(), after_edit in any_service(), asked in any_request(),
        old in any_backends(), new in any_backends(), stops in prop::collection::vec(0usize..6, 0..12),
    ) {
        let mut paper = Paper::default();
        let mut state = paper.converge(&want(&before, Requested::default(), &old), None);
        let desired = want(&after_edit, asked, &new);
        // Some plans are cut short after a few steps; a new process plans anew from what is there.
        for stop in stops {
            for step in plan(&desired, state.as_ref(), &BTreeSet::new()).steps.into_iter().take(stop) {
                state = paper.carry_out(state, &step.action);
            }
        }
        let state = paper.converge(&desired, state).unwrap();
        let direct = Paper::default().converge(&desired, None).unwrap();
        prop_assert_eq!(shape(&state), shape(&direct));
        let creations = paper.actions.iter().filter(|a| matches!(a, Action::CreateLoadBalancer(_))).count();
        prop_assert_eq!(creations, 1);
    }

    #[test]
    fn a_group_that_had_members_is_never_empty_while_some_are_wanted(
        service in any_service(), old in any_backends(), new in any_backends(),
    ) {
        prop_assume!(!new.instances.is_empty());
        let mut paper = Paper::default();
        let mut state = paper.converge(&want(&service, Requested::default(), &old), None);
        let desired = want(&service, Requested::default(), &new);
        loop {
            let steps = plan(&desired, state.as_ref(), &BTreeSet::new()).steps;
            if steps.is_empty() {
                break;
            }
            for step in steps {
                let had: BTreeSet<_> = state.iter().flat_map(|s| &s.groups).filter(|g| !g.members.is_empty()).map(|g| g.id.clone()).collect();
                state = paper.carry_out(state, &step.action);
                for group in state.iter().flat_map(|s| &s.groups) {
                    prop_assert!(!had.contains(&group.id) || !group.members.is_empty(), "{} emptied by {}", group.name, step.action);
                }
            }
        }
    }

    #[test]
    fn what_is_not_ours_is_never_touched(service in any_service(), forced in any::<bool>(), backends in any_backends()) {
        let mut foreign = users_own();
        // Foreign listeners on ports that the Service does not ask for.
        foreign.listeners = vec![foreign_listener(4000, "by hand"), foreign_listener(4001, "k8s/4001/other/shop/c1")];
        let asked = Requested { id: Some("lb-user".into()), force_override_listeners: forced, ..Requested::default() };
        let desired = want(&service, asked, &backends);
        let mut paper = Paper::default();
        let mut state = paper.converge(&desired, Some(foreign.clone()));
        for step in detach(&desired.owner, state.as_ref().unwrap()).steps {
            state = paper.carry_out(state, &step.action);
        }
        let state = state.unwrap();
        prop_assert_eq!(shape(&state), shape(&foreign));
        for action in &paper.actions {
            let deletes = matches!(action, Action::DeleteLoadBalancer { .. });
            prop_assert!(!deletes);
        }
    }
}
