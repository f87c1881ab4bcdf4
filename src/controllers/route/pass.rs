//! One pass: read what has to be read, change what is wrong, tell Kubernetes how it stands.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use tokio::time::Instant;

use super::{
    Options,
    apply::apply,
    desired::{Desired, Need},
    memory::Memory,
    plan::{Index, Remembered, State, Step, plan},
};
use crate::{
    clock::Clock,
    cloud::{Class, CloudProvider, Error, RouteChange, RouteOutcome, RouteTableId, RouteTableKind},
    controllers::node::{observe::name_of, opening::Openings, plan::NETWORK_UNAVAILABLE},
    kubernetes::{
        cache::Store,
        condition,
        events::{Recorder, reference_of},
    },
    metrics::Routes,
};

/// How soon a condition that could not be written is written again.
const WRITE_AGAIN: Duration = Duration::from_secs(5);
/// A failure that will probably pass is told to users only when it happened this often in a row.
const LASTING: u32 = 3;

pub(super) struct Pass {
    pub(super) options: Options,
    pub(super) nodes: Store<Node>,
    pub(super) api: Api<Node>,
    pub(super) cloud: Arc<dyn CloudProvider>,
    pub(super) recorder: Recorder,
    pub(super) clock: Clock,
    pub(super) latencies: Routes,
    /// Tells whether a node's interface is open; without it, all are taken to be.
    pub(super) openings: Option<Arc<Openings>>,
}

/// What a pass leaves open.
#[derive(Default)]
struct Open {
    /// Something is between two states, or was found to be other than believed.
    settling: bool,
    /// Something could not be read or changed.
    failed: bool,
    /// A table was changed or a new suspect found, so that it should be looked at again.
    changed: bool,
}

// === impl Pass ===

impl Pass {
    /// Tells when the next pass is due even if no node changes.
    pub(super) async fn run(&self, memory: &mut Memory) -> Option<Instant> {
        let started = Instant::now();
        let nodes: BTreeMap<String, Arc<Node>> =
            self.nodes.list().into_iter().map(|node| (name_of(&node), node)).collect();
        if !self.options.configure {
            let written = self.write_conditions(&nodes, |node| self.without_routes(node)).await;
            return (!written).then(|| Instant::now() + WRITE_AGAIN);
        }
        let all: Vec<_> = nodes.values().cloned().collect();
        let desired = Desired::of(&all, &self.options.scope);
        memory.holds.retain(|destination| desired.routes.contains_key(destination));
        memory.reports.retain(|key| key.split(' ').next().is_some_and(|name| nodes.contains_key(name)));

        let mut open = Open::default();
        let reading = started >= memory.next_reading;
        if reading {
            self.read(memory, &nodes, &desired, &mut open).await;
        }
        for table in memory.tables.clone().unwrap_or_default() {
            self.change(memory, &table, &nodes, &desired, reading, &mut open).await;
        }
        let mut states = states(memory, &desired);
        doubt_missing(memory, &nodes, &mut states);
        open.settling |= states.values().any(|state| *state == State::Settling);
        for (name, need) in &desired.nodes {
            match &need.problem {
                Some(problem) => self.report(memory, &nodes, name, "pod CIDR", "CreateRouteFailed", problem),
                None => memory.reports.clear(&format!("{name} pod CIDR")),
            }
        }
        let written = self.write_conditions(&nodes, |node| self.condition(node, &desired, &states)).await;

        let now = Instant::now();
        if reading || open.changed || open.failed {
            memory.schedule(open.settling, open.failed, self.options.period, now);
        }
        self.latencies.observe("reconcile", now - started);
        let again = (!written).then(|| now + WRITE_AGAIN);
        [Some(memory.next_reading), memory.holds.next(now), again].into_iter().flatten().min()
    }

    /// Reads the tables. One that cannot be read is not known any more.
    async fn read(&self, memory: &mut Memory, nodes: &BTreeMap<String, Arc<Node>>, desired: &Desired, open: &mut Open) {
        memory.readings += 1;
        let mut failures = Vec::new();
        if memory.tables.is_none() {
            match self.find_tables().await {
                Ok(tables) => memory.tables = Some(tables),
                Err(reason) => failures.push(reason),
            }
        }
        for table in memory.tables.clone().unwrap_or_default() {
            match self.cloud.routes(&table).await {
                Ok(entries) => _ = memory.entries.insert(table, entries),
                Err(error) => {
                    memory.entries.remove(&table);
                    failures.push(error.stable_text());
                    // A table found earlier may have been replaced.
                    if error.class == Class::NotFound {
                        memory.tables = None;
                    }
                }
            }
        }
        if failures.is_empty() {
            return;
        }
        open.failed = true;
        let message = format!("Reconciling route error: {}", failures.join("; "));
        tracing::warn!("{message}");
        for name in desired.nodes.keys() {
            let waits =
                nodes.get(name).is_some_and(|node| condition::status(node, NETWORK_UNAVAILABLE) != Some("False"));
            if waits {
                self.report(memory, nodes, name, "tables", "SyncRouteFailed", &message);
            }
        }
    }

    /// The configured tables, or the VPC's system table.
    async fn find_tables(&self) -> Result<Vec<RouteTableId>, String> {
        if !self.options.tables.is_empty() {
            return Ok(self.options.tables.clone());
        }
        let tables = self.cloud.route_tables().await.map_err(|error| error.stable_text())?;
        let custom = tables.iter().filter(|table| table.kind == RouteTableKind::Custom).count();
        let system: Vec<_> =
            tables.into_iter().filter(|table| table.kind == RouteTableKind::System).map(|table| table.id).collect();
        match &system[..] {
            [] => Err("the VPC shows no system route table: set routeTableIDs in the cloud config".to_owned()),
            [table, ..] => {
                tracing::info!(%table, custom, "keeping routes in the VPC's system route table {table}");
                Ok(system)
            }
        }
    }

    async fn change(
        &self,
        memory: &mut Memory,
        table: &RouteTableId,
        nodes: &BTreeMap<String, Arc<Node>>,
        desired: &Desired,
        reading: bool,
        open: &mut Open,
    ) {
        let now = Instant::now();
        let Some(entries) = memory.entries.get(table) else { return };
        let index = Index::of(entries);
        for (destination, wanted) in &desired.routes {
            let state = index.state(destination, &wanted.instance);
            if state != State::Missing {
                memory.ours.extend(desired.change(destination));
            }
            if state == State::Settled {
                memory.holds.clear(table, destination);
            }
        }
        // Only a new reading can show that a suspect is still what it was.
        let leftovers = if reading { memory.leftovers(table, now) } else { BTreeSet::new() };
        let held = memory.holds.held(table, now);
        let remembered = Remembered { ours: &memory.ours, leftovers: &leftovers, held: &held };
        let planned = plan(desired, &self.options.scope, entries, remembered);
        let suspected = memory.suspects.len();
        memory.suspect(table, &planned.suspects.union(&leftovers).cloned().collect(), now);
        open.changed |= memory.suspects.len() > suspected;
        for (destination, wanted) in &desired.routes {
            let subject = format!("{table} {destination} obstacle");
            match planned.obstacles.get(destination) {
                Some(hop) => {
                    let message = format!(
                        "Error creating route entry in {table}: {destination} leads to {hop}, an entry that was not made \
                         for a node; remove it or give the node another pod CIDR"
                    );
                    self.report(memory, nodes, &wanted.node, &subject, "CreateRouteFailed", &message);
                }
                None => memory.reports.clear(&format!("{} {subject}", wanted.node)),
            }
        }
        let mut stuck = BTreeSet::new();
        for step in planned.steps {
            let step = without(step, &stuck);
            if step.is_empty() {
                continue;
            }
            open.changed = true;
            let started = Instant::now();
            let outcomes = apply(self.cloud.as_ref(), table, &step, self.options.batch_size).await;
            for (change, outcome) in step.changes().iter().zip(outcomes) {
                match &step {
                    Step::Create(_) => self.created(memory, table, nodes, desired, change, outcome, open),
                    Step::Delete(_) if !deleted(memory, table, change, outcome, open) => {
                        stuck.insert(change.destination);
                    }
                    Step::Delete(_) => {}
                }
            }
            if !memory.entries.contains_key(table) {
                return;
            }
            if matches!(step, Step::Create(_)) {
                self.latencies.observe("create", started.elapsed());
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one outcome touches all that a pass knows")]
    fn created(
        &self,
        memory: &mut Memory,
        table: &RouteTableId,
        nodes: &BTreeMap<String, Arc<Node>>,
        desired: &Desired,
        change: &RouteChange,
        outcome: RouteOutcome,
        open: &mut Open,
    ) {
        let Some(node) = desired.routes.get(&change.destination).map(|wanted| &wanted.node) else { return };
        let subject = format!("{table} {}", change.destination);
        let error = match outcome {
            RouteOutcome::Done => {
                memory.created(table, change);
                memory.reports.clear(&format!("{node} {subject}"));
                let message = format!("Created route for {table} with {node} -> {} successfully", change.destination);
                tracing::info!(node, %table, destination = %change.destination, instance = %change.instance, "{message}");
                if let Some(node) = nodes.get(node) {
                    self.recorder.normal(&reference_of(node.as_ref()), "CreatedRoute", message);
                }
                return;
            }
            // What is there has to be read before anything is said of it.
            RouteOutcome::Busy => {
                open.settling = true;
                return;
            }
            RouteOutcome::Duplicate => {
                open.settling = true;
                let message = "an entry with this destination exists that the route table does not show";
                Error::new(Class::Busy, "CreateRouteEntries", change.destination.to_string(), message)
            }
            RouteOutcome::Failed(error) => {
                doubt(memory, table, &error, open);
                error
            }
        };
        let slow = matches!(error.class, Class::Quota | Class::Denied | Class::Invalid);
        let failures = memory.holds.fail(table, &change.destination, slow, Instant::now());
        if slow || failures >= LASTING {
            let message = format!("Error creating route entry in {table}: {}", error.stable_text());
            self.report(memory, nodes, node, &subject, "CreateRouteFailed", &message);
        } else {
            tracing::info!(node, %table, destination = %change.destination, %error, "route not created yet");
        }
    }

    /// Tells the user of a node, once.
    fn report(
        &self,
        memory: &mut Memory,
        nodes: &BTreeMap<String, Arc<Node>>,
        node: &str,
        subject: &str,
        reason: &str,
        message: &str,
    ) {
        if memory.reports.is_news(&format!("{node} {subject}"), message, Instant::now()) {
            tracing::warn!(node, reason, "{message}");
            if let Some(node) = nodes.get(node) {
                self.recorder.warning(&reference_of(node.as_ref()), reason, message);
            }
        }
    }
}

/// Enters the outcome of a deletion. Tells whether the entry is gone.
fn deleted(
    memory: &mut Memory,
    table: &RouteTableId,
    change: &RouteChange,
    outcome: RouteOutcome,
    open: &mut Open,
) -> bool {
    let RouteChange { destination, instance } = change;
    match outcome {
        RouteOutcome::Done => {
            tracing::info!(%table, %destination, %instance, "deleted route {destination} to {instance} from {table}");
            memory.deleted(table, change);
            true
        }
        RouteOutcome::Busy | RouteOutcome::Duplicate => {
            open.settling = true;
            false
        }
        RouteOutcome::Failed(error) => {
            tracing::warn!(%error, %table, %destination, %instance, "cannot delete a route");
            let slow = matches!(error.class, Class::Quota | Class::Denied | Class::Invalid);
            memory.holds.fail(table, destination, slow, Instant::now());
            open.failed = true;
            doubt(memory, table, &error, open);
            false
        }
    }
}

/// A change that may or may not have been made: what the table holds is not known until it is read.
fn doubt(memory: &mut Memory, table: &RouteTableId, error: &Error, open: &mut Open) {
    if error.class == Class::Unknown {
        memory.entries.remove(table);
        open.settling = true;
    }
}

/// The step without changes to destinations that are still occupied.
fn without(step: Step, stuck: &BTreeSet<IpNet>) -> Step {
    let free = |changes: Vec<RouteChange>| changes.into_iter().filter(|c| !stuck.contains(&c.destination)).collect();
    match step {
        Step::Delete(changes) => Step::Delete(free(changes)),
        Step::Create(changes) => Step::Create(free(changes)),
    }
}

/// The state of each node's least advanced route.
fn states(memory: &Memory, desired: &Desired) -> BTreeMap<String, State> {
    let index = |table: &RouteTableId| memory.entries.get(table).map(|entries| Index::of(entries));
    let tables: Option<Vec<_>> = memory.tables.as_ref().map(|tables| tables.iter().map(index).collect());
    let of = |need: &Need| {
        let mut least = if need.incomplete { State::Missing } else { State::Settled };
        let Some(tables) = &tables else { return least.max(State::Unknown) };
        for table in tables {
            let Some(entries) = table else {
                least = least.max(State::Unknown);
                continue;
            };
            for destination in &need.destinations {
                least = least.max(entries.state(destination, &need.instance));
            }
        }
        least
    };
    desired.nodes.iter().map(|(name, need)| (name.clone(), of(need))).collect()
}

/// What was there and is missing from one reading counts as unsettled, so that it is soon looked at again.
fn doubt_missing(memory: &mut Memory, nodes: &BTreeMap<String, Arc<Node>>, states: &mut BTreeMap<String, State>) {
    memory.retain_doubts(|name| states.get(name) == Some(&State::Missing));
    for (name, state) in states.iter_mut().filter(|(_, state)| **state == State::Missing) {
        let reachable = |node: &Arc<Node>| condition::status(node, NETWORK_UNAVAILABLE) == Some("False");
        if nodes.get(name).is_some_and(reachable) && !memory.is_proven_missing(name) {
            *state = State::Settling;
        }
    }
}
