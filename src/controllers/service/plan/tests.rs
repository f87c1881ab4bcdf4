use std::collections::{BTreeMap, BTreeSet};

use super::{paper::*, *};
use crate::{
    cloud::{AddressType, ListenerStatus, Setting},
    controllers::service::annotations::Requested,
};

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

/// A creation whose answer nobody heard may have made it.
#[test]
fn of_two_groups_with_one_name_the_one_that_no_listener_uses_goes() {
    let desired = want(&service(&[(80, "TCP", 30080)]), Requested::default(), &numbered(2));
    let settled = Paper::default().converge(&desired, None).unwrap();
    for place in [0, 1] {
        let mut state = settled.clone();
        state.groups.insert(place, ServerGroup { id: "rsp-again".into(), ..settled.groups[0].clone() });
        let mut paper = Paper::default();
        assert_eq!(paper.converge(&desired, Some(state)).as_ref(), Some(&settled), "{place}");
        assert!(
            matches!(&paper.actions[..], [Action::DeleteServerGroup { group, .. }] if group.as_str() == "rsp-again")
        );
    }
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
