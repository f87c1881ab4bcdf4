//! The writes that bring a Node to what it should say.
//!
//! Pure. The order is by construction: addresses and the condition that keeps pods away go first, and the
//! taint falls last, in the same write that sets provider id and labels. Whoever sees the node without
//! taint sees it complete. The taint also waits until the interface lets pod traffic through, unless
//! the condition keeps pods away as well as the taint would: see [`awaits_network`].

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeAddress, Taint};

use super::{address, desired::Desired};
use crate::cloud::NetworkInterfaceId;

/// Put on by kubelet with an external cloud provider, taken off here.
pub const UNINITIALIZED_TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// Put on nodes whose instance is switched off, so that volumes can move (upstream lifecycle contract).
pub const SHUTDOWN_TAINT: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// The condition that keeps pods away until routes exist.
pub const NETWORK_UNAVAILABLE: &str = "NetworkUnavailable";
/// Its reason while a route is missing.
pub const NO_ROUTE_CREATED: &str = "NoRouteCreated";

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Of the status.
    Status(StatusChange),
    /// Of labels and spec.
    Node(NodeChange),
}

/// A write of a Node's status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusChange {
    /// The whole new list.
    pub addresses: Option<Vec<NodeAddress>>,
    /// Set `NetworkUnavailable` to true until the route controller has seen to the routes.
    pub awaits_route: bool,
}

/// A write of a Node's labels and spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeChange {
    pub provider_id: Option<String>,
    /// Only those that differ.
    pub labels: BTreeMap<&'static str, String>,
    /// The whole new list: needs a precondition, or someone else's taint is lost.
    pub taints: Option<Vec<Taint>>,
    /// The write takes the node into service.
    pub initializes: bool,
}

/// What to do, and what stands in the way of doing all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Why the node is not as it should be even after the steps.
    pub problem: Option<String>,
}

/// What is known of the interface that carries pod traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Nothing to do: open already, not to be opened, or the instance has none.
    Open,
    /// Drops traffic of pods.
    Closed(NetworkInterfaceId),
    /// Could not be looked at, for this reason.
    Unknown(String),
}

/// The plan for a node whose instance is known. `routes`: pod routes are this program's task.
pub fn plan(node: &Node, desired: &Desired, interface: &Interface, routes: bool) -> Plan {
    let joining = is_joining(node);
    let mut problem = None;
    let mut status = StatusChange { addresses: None, awaits_route: joining && routes && awaits_route(node) };
    match &desired.addresses {
        Ok(wanted) if address::differs(address::current(node), wanted) => status.addresses = Some(wanted.clone()),
        Ok(_) => {}
        Err(reason) => problem = Some(reason.to_string()),
    }
    let mut steps = Vec::new();
    if status != StatusChange::default() {
        steps.push(Step::Status(status));
    }
    let guarded = routes && awaits_network(node);
    let mut waits = false;
    match interface {
        Interface::Closed(_) => waits = !guarded,
        Interface::Unknown(reason) if joining && !guarded => problem = problem.or_else(|| Some(reason.clone())),
        Interface::Unknown(_) | Interface::Open => {}
    }
    let initializes = joining && problem.is_none() && !waits;
    let taints = taints(node, initializes, desired.stopped);
    let change = NodeChange {
        provider_id: (!has_provider_id(node)).then(|| desired.provider_id.clone()),
        labels: desired.labels.iter().filter(|&(key, value)| label(node, key) != Some(value)).map(own).collect(),
        taints: (taints != current_taints(node)).then_some(taints),
        initializes,
    };
    if change != NodeChange::default() {
        steps.push(Step::Node(change));
    }
    Plan { steps, problem }
}

/// The plan where only the mark of being switched off is this program's task.
pub fn plan_taints(node: &Node, desired: &Desired) -> Plan {
    Plan { steps: taint_step(node, taints(node, false, desired.stopped), false), problem: None }
}

/// The plan while nothing is known of the instance: a node that is Ready is not switched off,
/// whatever the cloud is unable to say.
pub fn plan_blind(node: &Node) -> Plan {
    let taints = taints(node, false, !is_ready(node) && has_taint(node, SHUTDOWN_TAINT));
    Plan { steps: taint_step(node, taints, false), problem: None }
}

/// The plan for a machine that ECS does not know but that is ours to release into service.
pub fn plan_release(node: &Node) -> Plan {
    let mut taints = current_taints(node).to_vec();
    taints.retain(|taint| taint.key != UNINITIALIZED_TAINT);
    Plan { steps: taint_step(node, taints, true), problem: None }
}

/// Whether the node waits for being initialised.
pub fn is_joining(node: &Node) -> bool {
    has_taint(node, UNINITIALIZED_TAINT)
}

/// Whether kubelet reports that it is ready. No report at all counts as not ready, as upstream has it.
pub fn is_ready(node: &Node) -> bool {
    condition(node, "Ready").is_some_and(|(status, _)| status == "True")
}

/// Whether `NetworkUnavailable` keeps pods away, or is about to: the scheduler puts none on such a node
/// until the route controller says that its network is there. Not so for a node without pod CIDR: it
/// gets no route, so nothing would ever take the condition off again.
pub fn awaits_network(node: &Node) -> bool {
    has_pod_cidr(node) && condition(node, NETWORK_UNAVAILABLE).is_none_or(|(status, _)| status != "False")
}

/// Whether addresses for pods were given to the node.
pub fn has_pod_cidr(node: &Node) -> bool {
    let spec = node.spec.as_ref();
    let one = spec.and_then(|spec| spec.pod_cidr.as_deref()).is_some_and(|cidr| !cidr.is_empty());
    let many = spec.and_then(|spec| spec.pod_cidrs.as_ref()).is_some_and(|cidrs| !cidrs.is_empty());
    one || many
}

/// Whether the node carries a taint with this key.
pub fn has_taint(node: &Node, key: &str) -> bool {
    current_taints(node).iter().any(|taint| taint.key == key)
}

fn taint_step(node: &Node, taints: Vec<Taint>, initializes: bool) -> Vec<Step> {
    if taints == current_taints(node) {
        return Vec::new();
    }
    vec![Step::Node(NodeChange { taints: Some(taints), initializes, ..NodeChange::default() })]
}

fn taints(node: &Node, initializes: bool, stopped: bool) -> Vec<Taint> {
    let mut taints = current_taints(node).to_vec();
    taints.retain(|taint| !(initializes && taint.key == UNINITIALIZED_TAINT));
    let off = stopped && !is_ready(node);
    if !off {
        taints.retain(|taint| taint.key != SHUTDOWN_TAINT);
    } else if !has_taint(node, SHUTDOWN_TAINT) {
        taints.push(Taint { key: SHUTDOWN_TAINT.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() });
    }
    taints
}

/// The condition has still to be set.
fn awaits_route(node: &Node) -> bool {
    awaits_network(node) && condition(node, NETWORK_UNAVAILABLE) != Some(("True", NO_ROUTE_CREATED))
}

fn condition<'a>(node: &'a Node, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some((&found.status, found.reason.as_deref().unwrap_or_default()))
}

fn current_taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

fn has_provider_id(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).is_some_and(|id| !id.is_empty())
}

fn label<'a>(node: &'a Node, key: &str) -> Option<&'a String> {
    node.metadata.labels.as_ref()?.get(key)
}

fn own((key, value): (&&'static str, &String)) -> (&'static str, String) {
    (*key, value.clone())
}

#[cfg(test)]
mod tests;
