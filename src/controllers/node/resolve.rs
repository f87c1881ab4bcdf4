//! Finding the instance behind a node to which kubelet gave no provider id.
//!
//! Pure. Clues are taken in order of strength: the node's name as an instance id, its private addresses in
//! the cluster's VPC, narrowed down by host name where several match, and for a node that has no
//! address (kubelet reports none while it waits for this program) its host name. Exactly one instance
//! must fit: a wrong guess would tie the node to a stranger for good, because a provider id cannot
//! change.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use k8s_openapi::api::core::v1::Node;

use super::{
    address,
    kind::{Machine, is_ecs_id},
};
use crate::{
    cloud::{Instance, InstanceId, RegionId},
    kubernetes::provider_id::{self, ProviderId},
};

/// The instance that the node's name spells: `REGION.i-…` or `i-…`.
pub fn by_name(name: &str, region: &RegionId) -> Option<Machine> {
    if is_ecs_id(name) {
        return Some(Machine { region: region.clone(), instance: name.into() });
    }
    spelled(name)
}

/// The instance that the node's name spells in full, `REGION.i-…`: no other can be meant.
pub fn spelled(name: &str) -> Option<Machine> {
    match provider_id::parse(name) {
        ProviderId::Ecs { region, instance } if is_ecs_id(&instance) => {
            Some(Machine { region: region.into(), instance: instance.into() })
        }
        _ => None,
    }
}

/// The one instance among `candidates` that has an address of the node, or what to tell the user.
/// `taken` are the instances that other nodes stand for, with those nodes' names.
pub fn by_address(
    node: &Node,
    candidates: &[Instance],
    taken: &BTreeMap<InstanceId, String>,
) -> Result<Instance, String> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let addresses = address::searchable(node);
    let has = |instance: &&Instance, ip: &IpAddr| {
        instance.private_addresses.contains(ip) || instance.ipv6_addresses.contains(ip)
    };
    let mut fitting: Vec<&Instance> =
        candidates.iter().filter(|instance| addresses.iter().any(|ip| has(instance, ip))).collect();
    if fitting.len() > 1 {
        let named: Vec<_> = fitting.iter().filter(|i| i.host_name == name || i.name == name).copied().collect();
        if named.len() == 1 {
            fitting = named;
        }
    }
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    exactly_one(&fitting, taken, &format!("{}, addresses {} in the VPC", tried(name), addresses.join(", ")))
}

/// The one instance among `candidates` with the node's host name, or failing that, with its name as
/// display name; or what to tell the user.
pub fn by_host_name(
    node: &Node,
    candidates: &[Instance],
    taken: &BTreeMap<InstanceId, String>,
) -> Result<Instance, String> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let hosts = address::host_names(node);
    // Kubernetes lowers the case of names, ECS does not.
    let by_host = candidates.iter().filter(|instance| hosts.contains(&instance.host_name.to_ascii_lowercase()));
    let mut fitting: Vec<&Instance> = by_host.collect();
    if fitting.is_empty() {
        fitting = candidates.iter().filter(|instance| instance.name == name).collect();
    }
    let hosts: Vec<_> = hosts.into_iter().collect();
    exactly_one(&fitting, taken, &format!("{}, host name {} in the VPC", tried(name), hosts.join(", ")))
}

fn exactly_one(fitting: &[&Instance], taken: &BTreeMap<InstanceId, String>, tried: &str) -> Result<Instance, String> {
    match *fitting {
        [] => Err(format!("no ECS instance fits this node, which has no provider id; {tried}; {REMEDY}")),
        [one] => match taken.get(&one.id) {
            Some(other) => Err(format!(
                "instance {} fits this node but belongs to node {other} already; {tried}; {REMEDY}",
                one.id
            )),
            None => Ok(one.clone()),
        },
        ref many => {
            let ids: BTreeSet<_> = many.iter().map(|instance| instance.id.as_str()).collect();
            let ids = ids.into_iter().collect::<Vec<_>>().join(", ");
            Err(format!("several ECS instances fit this node ({ids}); {tried}; {REMEDY}"))
        }
    }
}

const REMEDY: &str = "start kubelet with --provider-id=REGION.INSTANCE_ID";

fn tried(name: &str) -> String {
    format!("tried: node name {name} as REGION.i-… or i-…")
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixtures::{mk_instance, mk_node},
        *,
    };

    #[test]
    fn names_spell_instances() {
        let region = RegionId::from("cn-hangzhou");
        let machine = |region: &str, instance: &str| Some(Machine { region: region.into(), instance: instance.into() });
        for (name, want) in [
            ("cn-beijing.i-2zeabc", machine("cn-beijing", "i-2zeabc")),
            ("i-2zeabc", machine("cn-hangzhou", "i-2zeabc")),
            ("worker-1", None),
            ("cn-beijing.worker-1", None),
            ("cn-hangzhou.10.0.0.1", None),
            ("i-", None),
        ] {
            assert_eq!(by_name(name, &region), want, "{name}");
        }
    }

    #[test]
    fn exactly_one_address_must_fit() {
        let node = mk_node("worker-1").address("InternalIP", "10.0.0.5").build();
        let (a, b) = (mk_instance("i-a", "10.0.0.5"), mk_instance("i-b", "10.0.0.6"));
        let free = BTreeMap::new();
        assert_eq!(by_address(&node, &[b.clone(), a.clone()], &free), Ok(a.clone()));
        let missing = by_address(&node, &[b], &free).unwrap_err();
        assert!(missing.contains("worker-1") && missing.contains("10.0.0.5"), "{missing}");
        let twin = mk_instance("i-c", "10.0.0.5");
        let several = by_address(&node, &[twin.clone(), a.clone()], &free).unwrap_err();
        assert!(several.contains("(i-a, i-c)"), "{several}");
        let named = Instance { host_name: "worker-1".to_owned(), ..twin };
        assert_eq!(by_address(&node, &[a.clone(), named.clone()], &free), Ok(named));
        let taken = BTreeMap::from([(a.id.clone(), "worker-0".to_owned())]);
        let claimed = by_address(&node, &[a], &taken).unwrap_err();
        assert!(claimed.contains("node worker-0"), "{claimed}");
    }

    #[test]
    fn a_node_without_addresses_is_known_by_its_host_name() {
        let node = mk_node("worker-1").address("Hostname", "izbp1az").build();
        let named = |id: &str, host: &str, name: &str| Instance {
            host_name: host.to_owned(),
            name: name.to_owned(),
            ..mk_instance(id, "10.0.0.5")
        };
        let (a, b) = (named("i-a", "iZbp1aZ", "x"), named("i-b", "other", "worker-1"));
        let free = BTreeMap::new();
        assert_eq!(by_host_name(&node, &[b.clone(), a.clone()], &free), Ok(a.clone()), "host names count first");
        assert_eq!(by_host_name(&node, std::slice::from_ref(&b), &free), Ok(b.clone()), "then display names");
        let twin = named("i-c", "WORKER-1", "y");
        let several = by_host_name(&node, &[a, twin, b], &free).unwrap_err();
        assert!(several.contains("(i-a, i-c)") && several.contains("izbp1az, worker-1"), "{several}");
        let unknown = by_host_name(&node, &[], &free).unwrap_err();
        assert!(unknown.contains("no ECS instance fits") && unknown.contains("--provider-id"), "{unknown}");
    }
}
