//! What holds for plans whatever is wanted, and wherever they are interrupted.

use proptest::prelude::*;

use super::{paper::*, *};
use crate::cloud::SecurityGroup;

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
