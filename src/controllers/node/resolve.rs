//! Finding the instance behind a node to which kubelet gave no provider id.
//!
//! Pure. Clues are taken in order of strength: the node's name, then its private addresses in the
//! cluster's VPC, narrowed down by host name where several match. Exactly one instance must fit:
//! a wrong guess would tie the node to a stranger for good, because a provider id cannot change.

use std::{collections::BTreeMap, net::IpAddr};

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
    let has = |instance: &&Instance, ip: &IpAddr| instance.private_addresses.contains(ip);
    let mut fitting: Vec<&Instance> =
        candidates.iter().filter(|instance| addresses.iter().any(|ip| has(instance, ip))).collect();
    if fitting.len() > 1 {
        let named: Vec<_> = fitting.iter().filter(|i| i.host_name == name || i.name == name).copied().collect();
        if named.len() == 1 {
            fitting = named;
        }
    }
    let tried = tried(name, &addresses.iter().map(ToString::to_string).collect::<Vec<_>>());
    match fitting[..] {
        [] => Err(format!("no ECS instance fits this node, which has no provider id; {tried}; {REMEDY}")),
        [one] => match taken.get(&one.id) {
            Some(other) => Err(format!(
                "instance {} fits this node but belongs to node {other} already; {tried}; {REMEDY}",
                one.id
            )),
            None => Ok(one.clone()),
        },
        ref many => {
            let mut ids: Vec<_> = many.iter().map(|instance| instance.id.as_str()).collect();
            ids.sort_unstable();
            Err(format!("several ECS instances fit this node ({}); {tried}; {REMEDY}", ids.join(", ")))
        }
    }
}

const REMEDY: &str = "start kubelet with --provider-id=REGION.INSTANCE_ID";

fn tried(name: &str, addresses: &[String]) -> String {
    let addresses = match addresses {
        [] => "it has no address to look for".to_owned(),
        some => format!("addresses {} in the VPC", some.join(", ")),
    };
    format!("tried: node name {name} as REGION.i-… or i-…, {addresses}")
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
    fn a_node_without_addresses_says_so() {
        let found = by_address(&mk_node("w").build(), &[mk_instance("i-a", "10.0.0.5")], &BTreeMap::new());
        assert!(found.unwrap_err().contains("no address to look for"));
    }
}
