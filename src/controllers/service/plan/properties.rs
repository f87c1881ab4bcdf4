//! What holds for plans whatever is wanted, and wherever they are interrupted.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Service;
use proptest::prelude::*;

use super::{paper::*, *};
use crate::{
    cloud::ListenerStatus,
    controllers::service::{annotations::Requested, members::Backends},
};

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
