//! The addresses that belong into a Node's status.
//!
//! Pure. Order matters: clients take the first address of the type they look for.

use std::{collections::BTreeSet, net::IpAddr};

use k8s_openapi::api::core::v1::{Node, NodeAddress};
use thiserror::Error;

use crate::cloud::Instance;

/// Written by kubelet (`--node-ip`) when a cloud provider is external: the address, or one of each
/// family separated by a comma, that it wants to be known by.
pub const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";

const EXTERNAL_IP: &str = "ExternalIP";
const INTERNAL_IP: &str = "InternalIP";
const HOSTNAME: &str = "Hostname";

/// Why a Node cannot be given addresses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    #[error("instance {0} has no address yet")]
    None(String),
    #[error(
        "annotation {PROVIDED_NODE_IP} is {0:?}: expected one IP address, or one IPv4 and one IPv6 address separated by a comma"
    )]
    Unreadable(String),
    #[error(
        "kubelet's --node-ip {wanted} is none of the instance's addresses ({}): correct the flag or attach the address",
        if .known.is_empty() { "it has none".to_owned() } else { .known.join(", ") }
    )]
    Mismatch { wanted: IpAddr, known: Vec<String> },
}

/// The addresses that `node` should have, given the instance behind it. The node's own `Hostname`
/// entries stay, last.
pub fn wanted(node: &Node, instance: &Instance, dual_stack: bool) -> Result<Vec<NodeAddress>, Problem> {
    let mut all = of_instance(instance, dual_stack);
    if all.is_empty() {
        return Err(Problem::None(instance.id.to_string()));
    }
    all.extend(current(node).iter().filter(|address| address.type_ == HOSTNAME).cloned());
    match node.metadata.annotations.as_ref().and_then(|annotations| annotations.get(PROVIDED_NODE_IP)) {
        Some(provided) => prefer(provided, all),
        None => Ok(all),
    }
}

/// Whether writing `wanted` would change something that a reader could notice: another set of
/// addresses, or another first address of a type. Mere shuffling in the cloud's answers is not.
pub fn differs(current: &[NodeAddress], wanted: &[NodeAddress]) -> bool {
    let key = |a: &NodeAddress| (a.type_.clone(), a.address.clone());
    let set = |list: &[NodeAddress]| list.iter().map(key).collect::<BTreeSet<_>>();
    let first = |list: &[NodeAddress], kind: &str| list.iter().find(|a| a.type_ == kind).map(|a| a.address.clone());
    current.len() != wanted.len()
        || set(current) != set(wanted)
        || wanted.iter().any(|a| first(current, &a.type_) != first(wanted, &a.type_))
}

/// The addresses in the Node's status.
pub fn current(node: &Node) -> &[NodeAddress] {
    node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default()
}

/// The addresses by which the instance behind a node without provider id can be looked for.
pub fn searchable(node: &Node) -> BTreeSet<IpAddr> {
    let provided = node.metadata.annotations.as_ref().and_then(|annotations| annotations.get(PROVIDED_NODE_IP));
    let provided = provided.into_iter().flat_map(|list| list.split(',')).filter_map(|ip| ip.trim().parse().ok());
    let internal = current(node).iter().filter(|a| a.type_ == INTERNAL_IP).filter_map(|a| a.address.parse().ok());
    internal.chain(provided).collect()
}

/// The names by which the node's machine calls itself, in lower case: the node's own and its `Hostname` addresses.
pub fn host_names(node: &Node) -> BTreeSet<String> {
    let own = node.metadata.name.iter();
    let told = current(node).iter().filter(|address| address.type_ == HOSTNAME).map(|address| &address.address);
    own.chain(told).map(|name| name.to_ascii_lowercase()).collect()
}

fn of_instance(instance: &Instance, dual_stack: bool) -> Vec<NodeAddress> {
    let external = instance.public_addresses.iter().map(|ip| (EXTERNAL_IP, ip));
    let internal = instance.private_addresses.iter().map(|ip| (INTERNAL_IP, ip));
    let ipv6 = instance.ipv6_addresses.iter().filter(|_| dual_stack).map(|ip| (INTERNAL_IP, ip));
    let mut all: Vec<NodeAddress> = Vec::new();
    for (kind, ip) in external.chain(internal).chain(ipv6) {
        let address = NodeAddress { type_: kind.to_owned(), address: ip.to_string() };
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all
}

/// Upstream's rule (cloud-provider `GetNodeAddressesFromNodeIP`): every address equal to a provided
/// one comes first, with each type it occurs under; other addresses of those types go; the rest stays.
fn prefer(provided: &str, all: Vec<NodeAddress>) -> Result<Vec<NodeAddress>, Problem> {
    let mut first: Vec<NodeAddress> = Vec::new();
    for wanted in parse_provided(provided)? {
        let matching = all.iter().filter(|a| a.address.parse() == Ok(wanted));
        let before = first.len();
        first.extend(matching.cloned());
        if first.len() == before {
            let known = all.iter().filter(|a| a.address.parse::<IpAddr>().is_ok()).map(|a| a.address.clone());
            return Err(Problem::Mismatch { wanted, known: known.collect() });
        }
    }
    let types: BTreeSet<String> = first.iter().map(|a| a.type_.clone()).collect();
    first.extend(all.into_iter().filter(|a| !types.contains(&a.type_)));
    Ok(first)
}

fn parse_provided(provided: &str) -> Result<Vec<IpAddr>, Problem> {
    let unreadable = || Problem::Unreadable(provided.to_owned());
    let ips: Vec<IpAddr> =
        provided.split(',').map(|ip| ip.trim().parse()).collect::<Result<_, _>>().map_err(|_| unreadable())?;
    match ips[..] {
        [_] => Ok(ips),
        [a, b] if a.is_ipv4() != b.is_ipv4() => Ok(ips),
        _ => Err(unreadable()),
    }
}

#[cfg(test)]
mod tests;
