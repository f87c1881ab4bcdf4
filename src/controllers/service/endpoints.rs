//! The pods behind a Service, from its EndpointSlices, as Kubernetes means them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use crate::kubernetes::slice::{self, Slice};

/// One pod, or whatever else an endpoint stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The first address of the endpoint.
    pub address: IpAddr,
    /// Its first one of the other family.
    pub other: Option<IpAddr>,
    pub node: Option<Arc<str>>,
    /// The pod's UID; the addresses for endpoints that are no pods.
    pub identity: Arc<str>,
    /// The pod's name; `None` for endpoints that are no pods.
    pub pod: Option<Arc<str>>,
    /// Name of the Service's port → the number it has on this endpoint.
    pub ports: Arc<BTreeMap<String, u16>>,
}

/// The endpoints that take traffic: the ready ones, or if none at all is ready, those that are
/// terminating but still serve. A pod that is in several slices counts once; of its addresses, one of
/// the family asked for goes first if there is one.
///
/// `admitted`: UIDs of pods that are not ready only because they wait to be members. They are
/// taken for ready, or they would wait for ever.
pub fn endpoints(slices: &[Arc<Slice>], ipv6: bool, admitted: &BTreeSet<String>) -> Vec<Endpoint> {
    let ready = chosen(slices, ipv6, |e| !e.terminating && (e.ready || admitted.contains(&*e.identity)));
    if ready.is_empty() { chosen(slices, ipv6, |e| e.serving && e.terminating) } else { ready }
}

/// The pods that are not ready, and are not on their way out either.
pub fn unready(slices: &[Arc<Slice>]) -> Vec<Endpoint> {
    chosen(slices, false, |e| e.pod.is_some() && !e.ready && !e.terminating)
}

/// The pods that are not on their way out.
pub fn staying(slices: &[Arc<Slice>]) -> Vec<Endpoint> {
    chosen(slices, false, |e| e.pod.is_some() && !e.terminating)
}

fn chosen(slices: &[Arc<Slice>], ipv6: bool, choose: impl Fn(&slice::Endpoint) -> bool) -> Vec<Endpoint> {
    // UID → where in the list.
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for slice in slices {
        for endpoint in slice.endpoints.iter().filter(|endpoint| choose(endpoint)) {
            let address = endpoint.address;
            let new = Endpoint {
                address,
                other: None,
                node: endpoint.node.clone(),
                identity: endpoint.identity.clone(),
                pod: endpoint.pod.clone(),
                ports: slice.ports.clone(),
            };
            match seen.get(&*endpoint.identity).and_then(|index| endpoints.get_mut(*index)) {
                // Addresses of the other family are the same pods again.
                Some(there) if there.address.is_ipv6() != ipv6 && address.is_ipv6() == ipv6 => {
                    *there = Endpoint { other: Some(there.address), ..new };
                }
                // A pod whose ports are divided over slices.
                Some(there) if there.address == address => {
                    let more = new.ports.iter().map(|(name, number)| (name.clone(), *number));
                    Arc::make_mut(&mut there.ports).extend(more);
                }
                Some(there) if there.address.is_ipv6() != address.is_ipv6() => {
                    there.other.get_or_insert(address);
                }
                Some(_) => {}
                None => {
                    seen.insert(&endpoint.identity, endpoints.len());
                    endpoints.push(new);
                }
            }
        }
    }
    endpoints
}
