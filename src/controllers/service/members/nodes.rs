//! Which nodes take traffic, and how good a choice each is.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Node;

use crate::{
    controllers::{
        node::plan::{SHUTDOWN_TAINT, UNINITIALIZED_TAINT},
        service::annotations::Requested,
    },
    kubernetes::provider_id::ProviderId,
};

/// Taint of nodes that the cluster autoscaler is about to remove.
pub(super) const TO_BE_DELETED_TAINT: &str = "ToBeDeletedByClusterAutoscaler";

/// Whether nodes of the control plane are members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlPlaneNodes {
    /// As the released controller has it: those with the label `node-role.kubernetes.io/master` are
    /// none, those that only have `node-role.kubernetes.io/control-plane` are.
    #[default]
    Legacy,
    /// As Kubernetes has it: the role makes no difference.
    Include,
    /// Those with either label are none.
    Exclude,
}

/// How nodes are told apart.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) control_plane: ControlPlaneNodes,
    /// Whether a node that is not ready is worse than one that is. Where the load balancer checks its
    /// members it knows better: what is called not ready is that the node's reports are missing.
    pub(super) only_ready: bool,
}

/// How good a choice a node is. Only the best there are become members, because an empty group helps nobody:
/// an idle node is none while another is not, but when all turn unready together, it is more likely that
/// their reports got lost. The same goes for nodes that are about to be removed, and for a cluster whose
/// only nodes are of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Serving,
    /// Switched off, not initialised, or not ready where that counts.
    Idle,
    Leaving,
    ControlPlane,
}

/// Those of `nodes` that take traffic, with their instances. Why one cannot although it should is
/// added to `left_out`.
pub(super) fn chosen<'a>(
    nodes: impl Iterator<Item = &'a Node>,
    rules: Rules,
    left_out: &mut Vec<String>,
) -> Vec<(&'a Node, String)> {
    let mut best = None;
    let mut chosen = Vec::new();
    for node in nodes {
        let Some(standing) = standing(node, rules) else { continue };
        if best.is_some_and(|best| best < standing) {
            continue;
        }
        match instance_of(node) {
            Ok(Some(instance)) => {
                if best != Some(standing) {
                    best = Some(standing);
                    chosen.clear();
                }
                chosen.push((node, instance));
            }
            Ok(None) => {}
            Err(problem) => left_out.push(problem),
        }
    }
    chosen
}

/// What a node's labels make of it as a member; `None` for none at all. One walk over a node's labels
/// asks for all of them: it is done for every node and every Service.
fn keeps_out(node: &Node, control_plane: ControlPlaneNodes) -> Option<Standing> {
    use ControlPlaneNodes::{Exclude, Include};
    let mut standing = Standing::Serving;
    for (key, value) in node.metadata.labels.iter().flatten() {
        match key.as_str() {
            "node.kubernetes.io/exclude-from-external-load-balancers"
            | "alpha.service-controller.kubernetes.io/exclude-balancer"
            | "service.beta.kubernetes.io/exclude-node"
            | "service.alibabacloud.com/exclude-node" => return None,
            "type" if value == "virtual-kubelet" => return None,
            "node-role.kubernetes.io/master" if control_plane != Include => standing = Standing::ControlPlane,
            "node-role.kubernetes.io/control-plane" if control_plane == Exclude => standing = Standing::ControlPlane,
            _ => {}
        }
    }
    Some(standing)
}

fn standing(node: &Node, rules: Rules) -> Option<Standing> {
    match keeps_out(node, rules.control_plane)? {
        Standing::ControlPlane => Some(Standing::ControlPlane),
        _ if is_leaving(node) => Some(Standing::Leaving),
        _ if is_off(node) || (rules.only_ready && !is_ready(node)) => Some(Standing::Idle),
        _ => Some(Standing::Serving),
    }
}

fn has_taint(node: &Node, key: &str) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.is_some_and(|all| all.iter().any(|taint| taint.key == key))
}

/// Whether the node is about to be removed.
fn is_leaving(node: &Node) -> bool {
    node.metadata.deletion_timestamp.is_some() || has_taint(node, TO_BE_DELETED_TAINT)
}

/// Whether the instance is known to be switched off, or not known yet at all: the cloud takes neither.
fn is_off(node: &Node) -> bool {
    has_taint(node, SHUTDOWN_TAINT) || has_taint(node, UNINITIALIZED_TAINT)
}

/// Whether the annotations of a Service let the node be a member.
pub(super) fn is_asked_for(node: &Node, requested: &Requested) -> bool {
    let labels = node.metadata.labels.as_ref();
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    requested.node_labels.iter().all(|(key, value)| labels.and_then(|all| all.get(key)) == Some(value))
        && !(requested.leaves_out_cordoned && cordoned)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
}

/// Whether two versions of a node may differ as members of any Service.
pub fn differ(old: &Node, new: &Node) -> bool {
    let spec = |node: &Node| {
        let spec = node.spec.clone().unwrap_or_default();
        (spec.provider_id, spec.unschedulable.unwrap_or(false))
    };
    is_leaving(old) != is_leaving(new)
        || is_off(old) != is_off(new)
        || is_ready(old) != is_ready(new)
        || spec(old) != spec(new)
        || old.metadata.labels != new.metadata.labels
        || address_of(old) != address_of(new)
}

/// Where the cluster reaches the node.
pub(super) fn address_of(node: &Node) -> Option<IpAddr> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    let mut internal = addresses.iter().filter(|a| a.type_ == "InternalIP").filter_map(|a| a.address.parse().ok());
    internal.find(IpAddr::is_ipv4)
}

/// Whether the node stands for elastic container instances, which have no node ports.
pub(super) fn is_virtual(node: &Node) -> bool {
    node.metadata.labels.as_ref().and_then(|labels| labels.get("type")).map(String::as_str) == Some("virtual-kubelet")
}

/// The instance behind a node; `None` while that is not known yet or if it has none.
pub fn instance_of(node: &Node) -> Result<Option<String>, String> {
    match ProviderId::of(node) {
        ProviderId::Ecs { instance, .. } => Ok(Some(instance)),
        // A node without one is not initialised yet; it comes back when it is.
        ProviderId::Hybrid | ProviderId::Missing => Ok(None),
        ProviderId::Foreign(id) => {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            Err(format!("node {name} has the provider id {id:?}, which is not <region>.<instance id>"))
        }
    }
}
