//! The pods behind a Service, from its EndpointSlices, as Kubernetes means them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use k8s_openapi::api::discovery::v1::{Endpoint as SliceEndpoint, EndpointSlice};

/// One pod, or whatever else an endpoint stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The first address of the endpoint.
    pub address: IpAddr,
    /// Its first one of the other family.
    pub other: Option<IpAddr>,
    pub node: Option<String>,
    /// The pod's UID; the address for endpoints that are no pods.
    pub identity: String,
    /// The pod's name; `None` for endpoints that are no pods.
    pub pod: Option<String>,
    /// Name of the Service's port → the number it has on this endpoint.
    pub ports: BTreeMap<String, u16>,
}

/// What an endpoint's conditions say.
#[derive(Clone, Copy)]
struct Conditions {
    ready: bool,
    serving: bool,
    terminating: bool,
}

/// The endpoints that take traffic: the ready ones, or if none at all is ready, those that are
/// terminating but still serve. A pod that is in several slices counts once; of its addresses, one of
/// the family asked for goes first if there is one.
///
/// `admitted`: UIDs of pods that are not ready only because they wait to be members. They are
/// taken for ready, or they would wait for ever.
pub fn endpoints(slices: &[Arc<EndpointSlice>], ipv6: bool, admitted: &BTreeSet<String>) -> Vec<Endpoint> {
    let ready = chosen(slices, ipv6, |identity, is| !is.terminating && (is.ready || admitted.contains(identity)));
    if ready.is_empty() { chosen(slices, ipv6, |_, is| is.serving && is.terminating) } else { ready }
}

/// The pods that are not ready, and are not on their way out either.
pub fn unready(slices: &[Arc<EndpointSlice>]) -> Vec<Endpoint> {
    let mut unready = chosen(slices, false, |_, is| !is.ready && !is.terminating);
    unready.retain(|endpoint| endpoint.pod.is_some());
    unready
}

/// The pods that are not on their way out.
pub fn staying(slices: &[Arc<EndpointSlice>]) -> Vec<Endpoint> {
    let mut staying = chosen(slices, false, |_, is| !is.terminating);
    staying.retain(|endpoint| endpoint.pod.is_some());
    staying
}

fn chosen(slices: &[Arc<EndpointSlice>], ipv6: bool, choose: impl Fn(&str, Conditions) -> bool) -> Vec<Endpoint> {
    // UID → where in the list.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for slice in slices {
        let named = |port: &k8s_openapi::api::discovery::v1::EndpointPort| {
            Some((port.name.clone().unwrap_or_default(), u16::try_from(port.port?).ok()?))
        };
        let ports: BTreeMap<String, u16> = slice.ports.iter().flatten().filter_map(named).collect();
        for endpoint in &slice.endpoints {
            let Some(address) = endpoint.addresses.first().and_then(|address| address.parse().ok()) else { continue };
            let identity = identity_of(endpoint);
            if !choose(&identity, Conditions::of(endpoint)) {
                continue;
            }
            let target = endpoint.target_ref.as_ref().filter(|target| target.kind.as_deref() == Some("Pod"));
            let new = Endpoint {
                address,
                other: None,
                node: endpoint.node_name.clone(),
                identity: identity.clone(),
                pod: target.and_then(|target| target.name.clone()),
                ports: ports.clone(),
            };
            match seen.get(&identity).and_then(|index| endpoints.get_mut(*index)) {
                // Addresses of the other family are the same pods again.
                Some(there) if there.address.is_ipv6() != ipv6 && address.is_ipv6() == ipv6 => {
                    *there = Endpoint { other: Some(there.address), ..new };
                }
                // A pod whose ports are divided over slices.
                Some(there) if there.address == address => there.ports.extend(new.ports),
                Some(there) if there.address.is_ipv6() != address.is_ipv6() => {
                    there.other.get_or_insert(address);
                }
                Some(_) => {}
                None => {
                    seen.insert(identity, endpoints.len());
                    endpoints.push(new);
                }
            }
        }
    }
    endpoints
}

fn identity_of(endpoint: &SliceEndpoint) -> String {
    let pod = endpoint.target_ref.as_ref().and_then(|target| target.uid.clone());
    pod.unwrap_or_else(|| endpoint.addresses.join(","))
}

// === impl Conditions ===

impl Conditions {
    /// What is not said is ready, as Kubernetes defines it.
    fn of(endpoint: &SliceEndpoint) -> Self {
        let conditions = endpoint.conditions.as_ref();
        let ready = conditions.and_then(|c| c.ready).unwrap_or(true);
        Self {
            ready,
            serving: conditions.and_then(|c| c.serving).unwrap_or(ready),
            terminating: conditions.and_then(|c| c.terminating).unwrap_or(false),
        }
    }
}
