//! The changes that bring one route table to what the Nodes need.
//!
//! Pure. An entry can be ours only if it lies inside the cluster's CIDRs and points at exactly one
//! instance. Of those, it is ours at once if the instance stands behind a node we look after or if
//! we have seen the entry wanted before; an entry that points at a stranger may be a leftover, and
//! is taken for one only after it was seen to stay that way for a while. Everything else is foreign
//! and stays, even where it is in the way.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use super::desired::{Desired, Scope};
use crate::cloud::{InstanceId, Route, RouteChange, RouteStatus};

/// Changes of one kind; those of one step do not depend on one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Delete(Vec<RouteChange>),
    Create(Vec<RouteChange>),
}

/// What to do about one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Wrong entries in the way of wanted ones go first; leftovers go last, so that new nodes need
    /// not wait for them.
    pub steps: Vec<Step>,
    /// Wanted destinations that a foreign entry occupies, with its next hop.
    pub obstacles: BTreeMap<IpNet, String>,
    /// Entries to strangers that may be leftovers.
    pub suspects: BTreeSet<RouteChange>,
}

/// What is remembered of entries seen earlier.
#[derive(Clone, Copy, Debug)]
pub struct Remembered<'a> {
    /// Entries that were wanted at some time.
    pub ours: &'a BTreeSet<RouteChange>,
    /// Entries that have been suspects for long enough.
    pub leftovers: &'a BTreeSet<RouteChange>,
    /// Destinations whose change failed lately and that are to be left alone for now.
    pub held: &'a BTreeSet<IpNet>,
}

/// The entries of one table by destination.
#[derive(Debug, Default)]
pub struct Index<'a>(BTreeMap<IpNet, Vec<&'a Route>>);

/// How far a wanted route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Settled,
    /// Between two states at the cloud.
    Settling,
    /// The table could not be read.
    Unknown,
    Missing,
}

enum Owner {
    Us,
    Suspect,
    Stranger,
}

/// Plans the changes to a table with these entries.
pub fn plan(desired: &Desired, scope: &Scope, entries: &[Route], remembered: Remembered<'_>) -> Plan {
    let mut plan = Plan::default();
    let (mut wrong, mut missing, mut leftover) = (Vec::new(), Vec::new(), Vec::new());
    let Index(mut by_destination) = Index::of(entries);
    for (destination, wanted) in &desired.routes {
        let create = RouteChange { destination: *destination, instance: wanted.instance.clone() };
        let there = by_destination.remove(destination).unwrap_or_default();
        if there.iter().any(|entry| entry.instance.as_ref() == Some(&wanted.instance)) {
            continue;
        }
        let held = remembered.held.contains(destination);
        let mut free = true;
        for entry in there {
            match (owner(desired, entry, remembered), change(entry)) {
                (Owner::Us, Some(old)) if entry.status == RouteStatus::Available && !held => wrong.push(old),
                (Owner::Us, _) => free = false,
                (Owner::Suspect, old) => {
                    plan.suspects.extend(old);
                    free = false;
                }
                (Owner::Stranger, _) => {
                    plan.obstacles.insert(*destination, entry.next_hop.clone());
                    free = false;
                }
            }
        }
        if free && !held {
            missing.push(create);
        }
    }
    for (destination, there) in by_destination {
        if !may_be_leftover(desired, scope, &destination) {
            continue;
        }
        for entry in there {
            let Some(old) = change(entry) else { continue };
            match owner(desired, entry, remembered) {
                Owner::Us if entry.status == RouteStatus::Available && !remembered.held.contains(&destination) => {
                    leftover.push(old);
                }
                Owner::Suspect => _ = plan.suspects.insert(old),
                Owner::Us | Owner::Stranger => {}
            }
        }
    }
    let steps = [Step::Delete(wrong), Step::Create(missing), Step::Delete(leftover)];
    plan.steps.extend(steps.into_iter().filter(|step| !step.is_empty()));
    plan
}

/// The entry in the form in which it is deleted; `None` if it does not point at one instance.
pub fn change(entry: &Route) -> Option<RouteChange> {
    let instance = entry.instance.clone()?;
    Some(RouteChange { destination: entry.destination, instance })
}

/// Not what lies outside our range, not what nodes quarrel about, not what spans a node's CIDR (no
/// node ever had such a route, so someone else made it), and nothing at all while no node is known:
/// an empty list of nodes proves nothing.
fn may_be_leftover(desired: &Desired, scope: &Scope, destination: &IpNet) -> bool {
    let spans = |wanted: &IpNet| destination.contains(wanted) && destination != wanted;
    scope.covers(destination)
        && !desired.backing.is_empty()
        && !desired.contested.contains(destination)
        && !desired.routes.keys().chain(&desired.contested).any(spans)
}

fn owner(desired: &Desired, entry: &Route, remembered: Remembered<'_>) -> Owner {
    let Some(change) = change(entry) else { return Owner::Stranger };
    if desired.excluded.contains(&change.instance) {
        return Owner::Stranger;
    }
    let known = desired.backing.contains(&change.instance);
    if known || remembered.ours.contains(&change) || remembered.leftovers.contains(&change) {
        Owner::Us
    } else {
        Owner::Suspect
    }
}

// === impl Index ===

impl<'a> Index<'a> {
    pub fn of(entries: &'a [Route]) -> Self {
        let mut index: BTreeMap<IpNet, Vec<&Route>> = BTreeMap::new();
        for entry in entries {
            index.entry(entry.destination).or_default().push(entry);
        }
        Self(index)
    }

    /// How far the route to `destination` by `instance` is.
    pub fn state(&self, destination: &IpNet, instance: &InstanceId) -> State {
        let there = self.0.get(destination).map(Vec::as_slice).unwrap_or_default();
        match there.iter().find(|entry| entry.instance.as_ref() == Some(instance)).map(|entry| entry.status) {
            Some(RouteStatus::Available) => State::Settled,
            Some(RouteStatus::Pending | RouteStatus::Modifying | RouteStatus::Deleting) => State::Settling,
            None => State::Missing,
        }
    }
}

// === impl Step ===

impl Step {
    pub fn is_empty(&self) -> bool {
        self.changes().is_empty()
    }

    pub fn changes(&self) -> &[RouteChange] {
        match self {
            Self::Delete(changes) | Self::Create(changes) => changes,
        }
    }
}

#[cfg(test)]
mod tests;
