//! The pods behind a Service, from its EndpointSlices, as Kubernetes means them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use k8s_openapi::api::discovery::v1::EndpointSlice;

/// One pod, or whatever else an endpoint stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The first address of the endpoint.
    pub address: IpAddr,
    pub node: Option<String>,
    /// The pod's UID; the address for endpoints that are no pods.
    pub identity: String,
    /// Name of the Service's port → the number it has on this endpoint.
    pub ports: BTreeMap<String, u16>,
}

/// The endpoints that take traffic: the ready ones, or if none at all is ready, those that are
/// terminating but still serve. A pod that is in several slices counts once.
pub fn endpoints(slices: &[Arc<EndpointSlice>]) -> Vec<Endpoint> {
    let ready = chosen(slices, |ready, _, terminating| ready && !terminating);
    if ready.is_empty() { chosen(slices, |_, serving, terminating| serving && terminating) } else { ready }
}

fn chosen(slices: &[Arc<EndpointSlice>], choose: impl Fn(bool, bool, bool) -> bool) -> Vec<Endpoint> {
    let mut seen = BTreeSet::new();
    let mut endpoints = Vec::new();
    // Addresses of the other family are the same pods again.
    for slice in slices.iter().filter(|slice| slice.address_type != "IPv6") {
        let named = |port: &k8s_openapi::api::discovery::v1::EndpointPort| {
            Some((port.name.clone().unwrap_or_default(), u16::try_from(port.port?).ok()?))
        };
        let ports: BTreeMap<String, u16> = slice.ports.iter().flatten().filter_map(named).collect();
        for endpoint in &slice.endpoints {
            let conditions = endpoint.conditions.clone().unwrap_or_default();
            // What is not said is ready, as Kubernetes defines it.
            let ready = conditions.ready.unwrap_or(true);
            let terminating = conditions.terminating.unwrap_or(false);
            let serving = conditions.serving.unwrap_or(ready);
            let Some(address) = endpoint.addresses.first().and_then(|address| address.parse().ok()) else { continue };
            let pod = endpoint.target_ref.as_ref().and_then(|target| target.uid.clone());
            let identity = pod.unwrap_or_else(|| endpoint.addresses.join(","));
            if choose(ready, serving, terminating) && seen.insert(identity.clone()) {
                endpoints.push(Endpoint { address, node: endpoint.node_name.clone(), identity, ports: ports.clone() });
            }
        }
    }
    endpoints
}
