use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::controllers::node::fixtures::{MkNode, mk_node};

fn scope() -> Scope {
    Scope { cluster_cidrs: vec!["10.0.0.0/16".parse().unwrap(), "fd00::/48".parse().unwrap()], ipv6: true }
}

fn node(instance: &str, cidrs: &[&str]) -> MkNode {
    mk_node(&format!("node-{instance}")).provider_id(&format!("cn-hangzhou.{instance}")).pod_cidrs(cidrs)
}

fn desired(nodes: Vec<MkNode>) -> Desired {
    Desired::of(&nodes.into_iter().map(|node| Arc::new(node.build())).collect::<Vec<_>>(), &scope())
}

/// `10.0.1.0/24 i-a` is an entry to an instance, `10.0.1.0/24 vpn-1` one to something else.
fn entries(lines: &[&str]) -> Vec<Route> {
    let entry = |line: &&str| {
        let (destination, hop) = line.split_once(' ').unwrap();
        Route {
            destination: destination.parse().unwrap(),
            instance: hop.starts_with("i-").then(|| hop.into()),
            next_hop: hop.to_owned(),
            status: RouteStatus::Available,
        }
    };
    lines.iter().map(entry).collect()
}

#[derive(Default)]
struct Memory {
    ours: BTreeSet<RouteChange>,
    leftovers: BTreeSet<RouteChange>,
    held: BTreeSet<IpNet>,
}

impl Memory {
    fn leftovers(lines: &[&str]) -> Self {
        Self { leftovers: entries(lines).iter().filter_map(change).collect(), ..Self::default() }
    }

    fn borrow(&self) -> Remembered<'_> {
        Remembered { ours: &self.ours, leftovers: &self.leftovers, held: &self.held }
    }
}

fn show(plan: &Plan) -> Vec<String> {
    let word = |step: &Step| if matches!(step, Step::Create(_)) { "+" } else { "-" };
    let line = |step: &Step, c: &RouteChange| format!("{}{} {}", word(step), c.destination, c.instance);
    plan.steps.iter().flat_map(|step| step.changes().iter().map(move |change| line(step, change))).collect()
}

fn planned(nodes: Vec<MkNode>, table: &[&str]) -> Vec<String> {
    show(&plan(&desired(nodes), &scope(), &entries(table), Memory::default().borrow()))
}

#[test]
fn single_stack_tables() {
    let two = || vec![node("i-a", &["10.0.1.0/24"]), node("i-b", &["10.0.2.0/24"])];
    for (what, nodes, table, want) in [
        ("already right", two(), &["10.0.1.0/24 i-a", "10.0.2.0/24 i-b"][..], &[][..]),
        ("one of two", two(), &["10.0.1.0/24 i-a"], &["+10.0.2.0/24 i-b"]),
        ("none", two(), &[], &["+10.0.1.0/24 i-a", "+10.0.2.0/24 i-b"]),
        ("too many", two(), &["10.0.1.0/24 i-a", "10.0.2.0/24 i-b", "10.0.3.0/24 i-a"], &["-10.0.3.0/24 i-a"]),
        ("one wrong", two(), &["10.0.1.0/24 i-b", "10.0.2.0/24 i-b"], &["-10.0.1.0/24 i-b", "+10.0.1.0/24 i-a"]),
        (
            "a node without CIDR",
            vec![node("i-a", &["10.0.1.0/24"]), node("i-b", &[])],
            &["10.0.1.0/24 i-a", "10.0.2.0/24 i-b"],
            &["-10.0.2.0/24 i-b"],
        ),
        (
            "inside a node's CIDR, to another",
            two(),
            &["10.0.1.0/24 i-a", "10.0.2.0/24 i-b", "10.0.1.128/25 i-b"],
            &["-10.0.1.128/25 i-b"],
        ),
        ("outside the cluster", two(), &["10.0.1.0/24 i-a", "10.0.2.0/24 i-b", "10.1.0.0/24 i-a"], &[]),
        ("spanning a node's CIDR", two(), &["10.0.1.0/24 i-a", "10.0.2.0/24 i-b", "10.0.0.0/16 i-a"], &[]),
        ("the default route", two(), &["10.0.1.0/24 i-a", "10.0.2.0/24 i-b", "0.0.0.0/0 i-a"], &[]),
        ("no nodes", vec![], &["10.0.1.0/24 i-a"], &[]),
    ] {
        assert_eq!(planned(nodes, table), want, "{what}");
    }
}

#[test]
fn dual_stack_tables() {
    let two =
        || vec![node("i-a", &["10.0.1.0/24", "fd00:0:0:1::/64"]), node("i-b", &["10.0.2.0/24", "fd00:0:0:2::/64"])];
    let all = ["+10.0.1.0/24 i-a", "+10.0.2.0/24 i-b", "+fd00:0:0:1::/64 i-a", "+fd00:0:0:2::/64 i-b"];
    assert_eq!(planned(two(), &[]), all);
    let some = ["10.0.1.0/24 i-a", "fd00:0:0:1::/64 i-a"];
    assert_eq!(planned(two(), &some), ["+10.0.2.0/24 i-b", "+fd00:0:0:2::/64 i-b"]);
    let swapped = ["10.0.1.0/24 i-a", "10.0.2.0/24 i-b", "fd00:0:0:1::/64 i-b", "fd00:0:0:2::/64 i-a"];
    let want = ["-fd00:0:0:1::/64 i-b", "-fd00:0:0:2::/64 i-a", "+fd00:0:0:1::/64 i-a", "+fd00:0:0:2::/64 i-b"];
    assert_eq!(planned(two(), &swapped), want);
}

#[test]
fn ipv6_entries_are_foreign_while_ipv6_routes_are_off() {
    let scope = Scope { ipv6: false, ..scope() };
    let nodes = [Arc::new(node("i-a", &["10.0.1.0/24", "fd00:0:0:1::/64"]).build())];
    let desired = Desired::of(&nodes, &scope);
    let table = entries(&["10.0.1.0/24 i-a", "fd00:0:0:9::/64 i-a"]);
    assert_eq!(plan(&desired, &scope, &table, Memory::default().borrow()), Plan::default());
}

#[test]
fn an_entry_to_a_stranger_goes_only_after_a_while() {
    let desired = desired(vec![node("i-a", &["10.0.1.0/24"])]);
    let table = ["10.0.1.0/24 i-old", "10.0.7.0/24 i-gone"];
    let first = plan(&desired, &scope(), &entries(&table), Memory::default().borrow());
    assert!(first.steps.is_empty());
    assert_eq!(first.suspects, entries(&table).iter().filter_map(change).collect());
    let later = plan(&desired, &scope(), &entries(&table), Memory::leftovers(&table).borrow());
    assert_eq!(show(&later), ["-10.0.1.0/24 i-old", "+10.0.1.0/24 i-a", "-10.0.7.0/24 i-gone"]);
    assert!(later.suspects.is_empty());
}

#[test]
fn what_was_wanted_once_goes_at_once() {
    let table = entries(&["10.0.7.0/24 i-gone"]);
    let memory = Memory { ours: table.iter().filter_map(change).collect(), ..Memory::default() };
    let found = plan(&desired(vec![node("i-a", &[])]), &scope(), &table, memory.borrow());
    assert_eq!(show(&found), ["-10.0.7.0/24 i-gone"]);
}

#[test]
fn foreign_entries_stay_even_in_the_way() {
    let desired = desired(vec![node("i-a", &["10.0.1.0/24"]), node("i-b", &["10.0.2.0/24"])]);
    let table = entries(&["10.0.1.0/24 vpn-1", "10.0.9.0/24 vpn-1"]);
    let found = plan(&desired, &scope(), &table, Memory::default().borrow());
    assert_eq!(show(&found), ["+10.0.2.0/24 i-b"]);
    assert_eq!(found.obstacles, BTreeMap::from([("10.0.1.0/24".parse().unwrap(), "vpn-1".to_owned())]));
}

#[test]
fn entries_of_excluded_nodes_stay() {
    let excluded = node("i-x", &["10.0.3.0/24"]).label("service.alibabacloud.com/exclude-node", "");
    let table = ["10.0.3.0/24 i-x", "10.0.1.0/24 i-x"];
    let found = plan(
        &desired(vec![node("i-a", &["10.0.1.0/24"]), excluded]),
        &scope(),
        &entries(&table),
        Memory::leftovers(&table).borrow(),
    );
    assert!(found.steps.is_empty());
    assert_eq!(found.obstacles.len(), 1);
}

#[test]
fn what_two_nodes_claim_is_neither_made_nor_taken() {
    let twins = || vec![node("i-a", &["10.0.1.0/24"]), node("i-b", &["10.0.1.0/24"])];
    assert_eq!(planned(twins(), &[]), [""; 0]);
    assert_eq!(planned(twins(), &["10.0.1.0/24 i-a"]), [""; 0]);
    assert_eq!(planned(twins(), &["10.0.1.0/24 i-b"]), [""; 0]);
}

#[test]
fn entries_between_two_states_and_held_destinations_are_waited_for() {
    let desired = desired(vec![node("i-a", &["10.0.1.0/24"]), node("i-b", &["10.0.2.0/24"])]);
    for status in [RouteStatus::Pending, RouteStatus::Modifying, RouteStatus::Deleting] {
        let mut table = entries(&["10.0.1.0/24 i-b", "10.0.2.0/24 i-b", "10.0.3.0/24 i-a"]);
        for entry in &mut table {
            entry.status = status;
        }
        assert_eq!(plan(&desired, &scope(), &table, Memory::default().borrow()), Plan::default(), "{status:?}");
    }
    let held =
        Memory { held: ["10.0.1.0/24", "10.0.3.0/24"].map(|cidr| cidr.parse().unwrap()).into(), ..Memory::default() };
    let table = entries(&["10.0.1.0/24 i-b", "10.0.3.0/24 i-a"]);
    assert_eq!(show(&plan(&desired, &scope(), &table, held.borrow())), ["+10.0.2.0/24 i-b"]);
}

#[test]
fn states_tell_how_far_a_route_is() {
    let to = "10.0.1.0/24".parse().unwrap();
    let with = |status| {
        let mut table = entries(&["10.0.1.0/24 i-a"]);
        table[0].status = status;
        Index::of(&table).state(&to, &"i-a".into())
    };
    assert_eq!(with(RouteStatus::Available), State::Settled);
    assert_eq!(with(RouteStatus::Pending), State::Settling);
    assert_eq!(Index::of(&entries(&["10.0.1.0/24 i-b"])).state(&to, &"i-a".into()), State::Missing);
    assert_eq!(Index::of(&[]).state(&to, &"i-a".into()), State::Missing);
}

/// The table after the first `count` changes of the plan.
fn applied(mut table: Vec<Route>, plan: &Plan, count: usize) -> Vec<Route> {
    let all = plan.steps.iter().flat_map(|step| step.changes().iter().map(move |change| (step, change)));
    for (step, wanted) in all.take(count) {
        match step {
            Step::Delete(_) => table.retain(|entry| change(entry).as_ref() != Some(wanted)),
            Step::Create(_) => {
                assert!(table.iter().all(|entry| entry.destination != wanted.destination), "{wanted:?} is taken");
                table.extend(entries(&[&format!("{} {}", wanted.destination, wanted.instance)]));
            }
        }
    }
    table
}

fn foreign(table: &[Route]) -> Vec<Route> {
    let ours = |entry: &&Route| entry.instance.is_none() || !scope().covers(&entry.destination);
    table.iter().filter(ours).cloned().collect()
}

prop_compose! {
    /// Up to 12 nodes with a CIDR each (sometimes the same), some excluded.
    fn nodes()(specs in prop::collection::vec((0u8..14, prop::bool::weighted(0.1)), 0..12)) -> Vec<(String, u8, bool)> {
        specs.into_iter().enumerate().map(|(n, (cidr, excluded))| (format!("i-{n}"), cidr, excluded)).collect()
    }
}

prop_compose! {
    /// One entry a destination: inside, outside, to nodes, strangers and other things.
    fn table()(hops in prop::collection::btree_map(0u8..40, 0usize..18, 0..20)) -> Vec<Route> {
        let line = |(to, hop): (u8, usize)| {
            let destination = if to < 30 { format!("10.0.{to}.0/24") } else { format!("10.9.{to}.0/24") };
            let hop = if hop < 16 { format!("i-{hop}") } else { format!("vpn-{hop}") };
            format!("{destination} {hop}")
        };
        let lines: Vec<_> = hops.into_iter().map(line).collect();
        entries(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

proptest! {
    #[test]
    fn from_any_interrupted_plan_the_same_end_is_reached(nodes in nodes(), table in table(), cut in 0usize..40) {
        let mk = |(instance, cidr, excluded): &(String, u8, bool)| {
            let node = node(instance, &[&format!("10.0.{cidr}.0/24")]);
            if *excluded { node.label("service.alibabacloud.com/exclude-node", "") } else { node }
        };
        let desired = desired(nodes.iter().map(mk).collect());
        let mut memory = Memory::default();
        // By now everything that looks like a leftover has looked so for long enough.
        memory.leftovers = plan(&desired, &scope(), &table, memory.borrow()).suspects;
        let once = |table: Vec<Route>, count| {
            let found = plan(&desired, &scope(), &table, memory.borrow());
            applied(table, &found, count)
        };
        let straight = once(table.clone(), usize::MAX);
        let interrupted = once(once(table.clone(), cut), usize::MAX);
        let sorted = |table: &[Route]| {
            let mut lines: Vec<_> = table.iter().map(|e| format!("{} {}", e.destination, e.next_hop)).collect();
            lines.sort();
            lines
        };
        prop_assert_eq!(sorted(&straight), sorted(&interrupted));
        let converged = plan(&desired, &scope(), &straight, memory.borrow());
        prop_assert_eq!(&converged.steps, &vec![]);
        prop_assert_eq!(sorted(&foreign(&straight)), sorted(&foreign(&table)));
        for (destination, wanted) in &desired.routes {
            let there = Index::of(&straight).state(destination, &wanted.instance) == State::Settled;
            prop_assert!(there || converged.obstacles.contains_key(destination), "{} is missing", destination);
        }
    }
}
