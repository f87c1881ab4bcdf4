//! What the cloud shows of the machines behind a batch of Nodes, in as few calls as it allows:
//! one `DescribeInstances` a region and 100 nodes, one `DescribeNetworkInterfaces` for those that
//! are joining, one address lookup for those without provider id.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Node;

use super::{
    address,
    kind::{Kind, Machine},
    plan::{Interface, is_ready},
    resolve,
};
use crate::cloud::{Class, CloudProvider, Error, Instance, InstanceId, NetworkInterfaceId, RegionId};

/// How many other instances of the cluster are asked for along with one that may be gone.
const WITNESSES: usize = 3;
/// Ids in one `DescribeInstances`.
const CALL: usize = 100;

/// What the cloud shows of the machine behind one Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Present {
        instance: Box<Instance>,
        interface: Interface,
    },
    /// A Lingjun machine exists; more is not asked.
    There,
    /// A complete, successful answer lacks the instance. `witnessed`: it has another of the cluster.
    Absent {
        machine: Machine,
        witnessed: bool,
    },
    /// No instance, or no single one, fits a node without provider id. The text tells what was tried.
    Unmatched(String),
    /// The question was not answered.
    Failed(Error),
}

/// One instance in one answer.
enum Answer {
    Present(Box<Instance>),
    Absent { witnessed: bool },
    Failed(Error),
}

/// Asks the cloud on behalf of the node controller.
pub struct Observer {
    pub cloud: Arc<dyn CloudProvider>,
    /// The region of nodes whose name is a bare instance id.
    pub region: RegionId,
    /// Look at the interfaces of nodes that may still be closed.
    pub interfaces: bool,
}

// === impl Observer ===

impl Observer {
    /// Looks at the machines behind `nodes`, which are ECS or unnamed ones. `all` are the Nodes of
    /// the cluster, to find witnesses and instances that are taken; `may_be_gone` tells for which
    /// nodes an answer without the instance would matter, so that witnesses are worth asking for, and
    /// `may_be_closed` for which the state of the interface matters.
    pub async fn observe(
        &self,
        nodes: &[Arc<Node>],
        all: &[Arc<Node>],
        may_be_gone: impl Fn(&Node) -> bool,
        may_be_closed: impl Fn(&Node) -> bool,
    ) -> BTreeMap<String, Seen> {
        let mut machines = BTreeMap::new();
        let (mut searched, mut lingjun) = (Vec::new(), Vec::new());
        for node in nodes {
            let name = name_of(node);
            match Kind::of(node) {
                Kind::Ecs(machine) => _ = machines.insert(name, machine),
                Kind::Unnamed => match resolve::by_name(&name, &self.region) {
                    Some(machine) => _ = machines.insert(name, machine),
                    None => searched.push(node),
                },
                Kind::Lingjun(id) => lingjun.push((name, id)),
                Kind::Foreign(_) => {}
            }
        }
        let regions_of = |of: &dyn Fn(&Node) -> bool| -> BTreeSet<RegionId> {
            let names = nodes.iter().filter(|node| of(node)).map(|node| name_of(node));
            names.filter_map(|name| Some(machines.get(&name)?.region.clone())).collect()
        };
        let witnessed = regions_of(&is_ready);
        let mut doubtful = regions_of(&|node| !is_ready(node) && may_be_gone(node));
        doubtful.retain(|region| !witnessed.contains(region));
        let answers = self.read(&machines, &doubtful, all).await;
        let mut seen = BTreeMap::new();
        for node in nodes {
            let name = name_of(node);
            let Some(machine) = machines.get(&name) else { continue };
            match answers.get(machine) {
                Some(Answer::Present(instance)) => {
                    let instance = instance.clone();
                    seen.insert(name, Seen::Present { instance, interface: Interface::Open });
                }
                // A name that spells a region and an id leaves nothing to look for.
                Some(Answer::Absent { .. }) if Kind::of(node) == Kind::Unnamed && resolve::spelled(&name).is_none() => {
                    searched.push(node);
                }
                Some(Answer::Absent { witnessed }) => {
                    seen.insert(name, Seen::Absent { machine: machine.clone(), witnessed: *witnessed });
                }
                Some(Answer::Failed(error)) => _ = seen.insert(name, Seen::Failed(error.clone())),
                None => {}
            }
        }
        self.search(&searched, all, &mut seen).await;
        self.look_for_lingjun(lingjun, all, &mut seen).await;
        if self.interfaces {
            let looked_at = nodes.iter().filter(|node| may_be_closed(node)).map(|node| name_of(node)).collect();
            self.look_at_interfaces(&looked_at, &mut seen).await;
        }
        seen
    }

    /// One call a machine. Where one is missing, and no other was seen, a Ready one of the cluster is asked for,
    /// too: that the cloud knows it shows that the answers are about the cluster's machines.
    async fn look_for_lingjun(
        &self,
        machines: Vec<(String, InstanceId)>,
        all: &[Arc<Node>],
        seen: &mut BTreeMap<String, Seen>,
    ) {
        let mut answers = Vec::with_capacity(machines.len());
        for (name, id) in machines {
            let answer = self.cloud.lingjun_machine_exists(&id).await;
            if let Err(error) = &answer {
                tracing::warn!(%error, node = name, "cannot look for the Lingjun machine of a node");
            }
            answers.push((name, id, answer));
        }
        let mut witnessed = answers.iter().any(|(_, _, answer)| matches!(answer, Ok(true)));
        if !witnessed && answers.iter().any(|(_, _, answer)| matches!(answer, Ok(false))) {
            let ready = all.iter().filter(|node| is_ready(node)).find_map(|node| match Kind::of(node) {
                Kind::Lingjun(id) => Some(id),
                _ => None,
            });
            if let Some(other) = ready {
                witnessed = matches!(self.cloud.lingjun_machine_exists(&other).await, Ok(true));
            }
        }
        for (name, instance, answer) in answers {
            let one = match answer {
                Ok(true) => Seen::There,
                Ok(false) => Seen::Absent { machine: Machine { region: self.region.clone(), instance }, witnessed },
                Err(error) => Seen::Failed(error),
            };
            seen.insert(name, one);
        }
    }

    async fn read(
        &self,
        machines: &BTreeMap<String, Machine>,
        doubtful: &BTreeSet<RegionId>,
        all: &[Arc<Node>],
    ) -> BTreeMap<Machine, Answer> {
        let mut regions: BTreeMap<RegionId, BTreeSet<InstanceId>> = BTreeMap::new();
        for machine in machines.values() {
            regions.entry(machine.region.clone()).or_default().insert(machine.instance.clone());
        }
        let mut answers = BTreeMap::new();
        for (region, mut ids) in regions {
            if doubtful.contains(&region) {
                let others = witnesses(&region, &ids, all);
                ids.extend(others);
            }
            for (id, answer) in self.read_region(&region, ids.into_iter().collect()).await {
                answers.insert(Machine { region: region.clone(), instance: id }, answer);
            }
        }
        answers
    }

    /// Reads instances by id. A refused question is asked again in halves, so that one id that the
    /// cloud does not accept spoils no other node.
    async fn read_region(&self, region: &RegionId, ids: Vec<InstanceId>) -> Vec<(InstanceId, Answer)> {
        let mut answers = Vec::with_capacity(ids.len());
        let mut questions = vec![ids];
        while let Some(ids) = questions.pop() {
            match self.cloud.instances(region, &ids).await {
                Ok(found) => {
                    let mut found: BTreeMap<_, _> = found
                        .into_iter()
                        .filter(|i| ids.contains(&i.id))
                        .map(|i| (i.id.clone(), Box::new(i)))
                        .collect();
                    let witnessed = !found.is_empty();
                    answers.extend(ids.into_iter().map(|id| {
                        let answer = found.remove(&id).map_or(Answer::Absent { witnessed }, Answer::Present);
                        (id, answer)
                    }));
                }
                Err(error) if error.class == Class::Invalid && ids.len() > 1 => {
                    let (left, right) = ids.split_at(ids.len() / 2);
                    questions.extend([right.to_vec(), left.to_vec()]);
                }
                Err(error) => {
                    tracing::warn!(%error, region = %region, instances = ids.len(), "cannot read instances");
                    answers.extend(ids.into_iter().map(|id| (id, Answer::Failed(error.clone()))));
                }
            }
        }
        answers
    }

    /// Looks for the instances of nodes without provider id by their addresses; where they have none,
    /// by their host names among all instances of the VPC.
    async fn search(&self, nodes: &[&Arc<Node>], all: &[Arc<Node>], seen: &mut BTreeMap<String, Seen>) {
        let (reachable, bare): (Vec<&Arc<Node>>, Vec<&Arc<Node>>) =
            nodes.iter().copied().partition(|node| !address::searchable(node).is_empty());
        let mut taken: BTreeMap<_, _> =
            all.iter().filter_map(|node| Some((Kind::of(node).machine()?.instance.clone(), name_of(node)))).collect();
        if !reachable.is_empty() {
            let addresses: BTreeSet<_> = reachable.iter().flat_map(|node| address::searchable(node)).collect();
            let addresses: Vec<_> = addresses.into_iter().collect();
            let found = self.cloud.instances_by_address(&addresses).await;
            fit(&reachable, &found, resolve::by_address, &mut taken, seen);
        }
        if !bare.is_empty() {
            fit(&bare, &self.cloud.instances_of_vpc().await, resolve::by_host_name, &mut taken, seen);
        }
    }

    async fn look_at_interfaces(&self, names: &BTreeSet<String>, seen: &mut BTreeMap<String, Seen>) {
        let mut wanted: BTreeMap<RegionId, BTreeMap<NetworkInterfaceId, String>> = BTreeMap::new();
        for (name, seen) in seen.iter() {
            let Seen::Present { instance, .. } = seen else { continue };
            let Some(id) = instance.primary_interface.clone().filter(|_| names.contains(name)) else { continue };
            wanted.entry(instance.region.clone()).or_default().insert(id, name.clone());
        }
        for (region, interfaces) in wanted {
            let ids: Vec<_> = interfaces.keys().cloned().collect();
            let found = self.cloud.network_interfaces(&region, &ids).await;
            if let Err(error) = &found {
                tracing::warn!(%error, region = %region, interfaces = ids.len(), "cannot read network interfaces");
            }
            for (id, name) in interfaces {
                let state = match &found {
                    Ok(found) => match found.iter().find(|interface| interface.id == id) {
                        Some(found) if found.source_destination_check == Some(true) => Interface::Closed(id),
                        Some(_) => Interface::Open,
                        None => Interface::Unknown(format!("the cloud does not show network interface {id} yet")),
                    },
                    Err(error) => Interface::Unknown(format!(
                        "Failed to disable source dest check for node: {}",
                        error.stable_text()
                    )),
                };
                if let Some(Seen::Present { interface, .. }) = seen.get_mut(&name) {
                    *interface = state;
                }
            }
        }
    }
}

type Fit = fn(&Node, &[Instance], &BTreeMap<InstanceId, String>) -> Result<Instance, String>;

/// Enters what `by` makes of the candidates that were found for `nodes`.
fn fit(
    nodes: &[&Arc<Node>],
    found: &Result<Vec<Instance>, Error>,
    by: Fit,
    taken: &mut BTreeMap<InstanceId, String>,
    seen: &mut BTreeMap<String, Seen>,
) {
    if let Err(error) = found {
        tracing::warn!(%error, nodes = nodes.len(), "cannot look for the instances of nodes without provider id");
    }
    for node in nodes {
        let name = name_of(node);
        let one = match found {
            Ok(candidates) => match by(node, candidates, taken) {
                Ok(instance) => {
                    taken.insert(instance.id.clone(), name.clone());
                    Seen::Present { instance: Box::new(instance), interface: Interface::Open }
                }
                Err(tried) => Seen::Unmatched(tried),
            },
            Err(error) => Seen::Failed(error.clone()),
        };
        seen.insert(name, one);
    }
}

/// Instances of the cluster in `region` beside `ids`, those of Ready nodes first, and no
/// more than fit into the call that is made anyway.
fn witnesses(region: &RegionId, ids: &BTreeSet<InstanceId>, all: &[Arc<Node>]) -> Vec<InstanceId> {
    let mut others: Vec<_> = all
        .iter()
        .filter_map(|node| Some((!is_ready(node), Kind::of(node).machine()?.clone())))
        .filter(|(_, machine)| machine.region == *region && !ids.contains(&machine.instance))
        .collect();
    others.sort();
    // A full call has witnesses enough in itself, or many are gone at once.
    let room = ids.len().next_multiple_of(CALL) - ids.len();
    others.into_iter().take(WITNESSES.min(room)).map(|(_, machine)| machine.instance).collect()
}

/// The Node's name.
pub fn name_of(node: &Node) -> String {
    node.metadata.name.clone().unwrap_or_default()
}
