//! An EndpointSlice, as far as it is read here.
//!
//! There are more endpoints in a cluster than anything else, and the API's own type takes over 500 bytes for each,
//! most of it for what nobody here reads. So a slice is reduced to this as soon as it is parsed, one at a
//! time.

use std::{borrow::Cow, collections::BTreeMap, net::IpAddr, sync::Arc};

use k8s_openapi::{
    api::discovery::v1::{self, EndpointSlice},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Resource, core::NamespaceResourceScope};
use serde::Deserialize;

/// Label of slices with the name of the Service they belong to.
pub const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";

/// An EndpointSlice without what nobody reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "EndpointSlice")]
pub struct Slice {
    /// Name, namespace, UID and version.
    metadata: ObjectMeta,
    /// The name of the Service that it belongs to.
    pub service: Option<String>,
    pub endpoints: Box<[Endpoint]>,
    /// Name of the Service's port → the number it has on these endpoints.
    pub ports: Arc<BTreeMap<String, u16>>,
}

/// One pod, or whatever else takes traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The first of its addresses, which all stand for the same.
    pub address: IpAddr,
    pub node: Option<Arc<str>>,
    /// The pod's UID; the addresses for endpoints that are no pods.
    pub identity: Arc<str>,
    /// The pod's name; `None` for endpoints that are no pods.
    pub pod: Option<Arc<str>>,
    pub ready: bool,
    pub serving: bool,
    pub terminating: bool,
}

// === impl Slice ===

impl From<EndpointSlice> for Slice {
    fn from(slice: EndpointSlice) -> Self {
        let EndpointSlice { metadata, endpoints, ports, .. } = slice;
        let ObjectMeta { name, namespace, uid, resource_version, labels, .. } = metadata;
        let number = |port: v1::EndpointPort| Some((port.name.unwrap_or_default(), u16::try_from(port.port?).ok()?));
        Self {
            metadata: ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() },
            service: labels.and_then(|mut labels| labels.remove(SERVICE_NAME_LABEL)),
            endpoints: endpoints.into_iter().filter_map(Endpoint::of).collect(),
            ports: Arc::new(ports.into_iter().flatten().filter_map(number).collect()),
        }
    }
}

/// It is read like any other object.
impl Resource for Slice {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(none: &()) -> Cow<'_, str> {
        EndpointSlice::kind(none)
    }

    fn group(none: &()) -> Cow<'_, str> {
        EndpointSlice::group(none)
    }

    fn version(none: &()) -> Cow<'_, str> {
        EndpointSlice::version(none)
    }

    fn plural(none: &()) -> Cow<'_, str> {
        EndpointSlice::plural(none)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

// === impl Endpoint ===

impl Endpoint {
    /// `None` if it has no address of a network; names take no traffic of ours.
    fn of(endpoint: v1::Endpoint) -> Option<Self> {
        let address = endpoint.addresses.first()?.parse().ok()?;
        let conditions = endpoint.conditions.unwrap_or_default();
        // What is not said is ready, as Kubernetes defines it.
        let ready = conditions.ready.unwrap_or(true);
        let target = endpoint.target_ref.unwrap_or_default();
        Some(Self {
            address,
            node: endpoint.node_name.map(Arc::from),
            identity: target.uid.unwrap_or_else(|| endpoint.addresses.join(",")).into(),
            pod: target.name.filter(|_| target.kind.as_deref() == Some("Pod")).map(Arc::from),
            ready,
            serving: conditions.serving.unwrap_or(ready),
            terminating: conditions.terminating.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_slice_only_what_makes_members_is_kept() {
        let slice: Slice = serde_json::from_value(json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {
                "name": "web-1", "namespace": "shop", "uid": "u-s", "resourceVersion": "7",
                "labels": { SERVICE_NAME_LABEL: "web", "app": "web" }, "annotations": { "a": "b" },
            },
            "endpoints": [
                { "addresses": ["10.0.0.1"], "nodeName": "a", "zone": "z", "hostname": "h",
                  "conditions": { "ready": false, "serving": true, "terminating": true },
                  "targetRef": { "kind": "Pod", "name": "p", "namespace": "shop", "uid": "u-p" } },
                { "addresses": ["10.0.0.2", "10.0.0.3"], "targetRef": { "kind": "Machine", "name": "m" } },
                { "addresses": ["example.com"] },
                { "addresses": ["10.0.0.4"], "conditions": { "ready": false } },
            ],
            "ports": [{ "name": "web", "port": 8080 }, { "port": 9090 }, { "name": "all" }, { "name": "x", "port": 70000 }],
        }))
        .unwrap();
        assert_eq!(slice.service.as_deref(), Some("web"));
        assert_eq!(*slice.ports, [("web".to_owned(), 8080), (String::new(), 9090)].into());
        let pod = Endpoint {
            address: "10.0.0.1".parse().unwrap(),
            node: Some("a".into()),
            identity: "u-p".into(),
            pod: Some("p".into()),
            ready: false,
            serving: true,
            terminating: true,
        };
        let other = Endpoint {
            address: "10.0.0.2".parse().unwrap(),
            node: None,
            identity: "10.0.0.2,10.0.0.3".into(),
            pod: None,
            ready: true,
            serving: true,
            terminating: false,
        };
        let unready = Endpoint {
            address: "10.0.0.4".parse().unwrap(),
            identity: "10.0.0.4".into(),
            ready: false,
            serving: false,
            ..other.clone()
        };
        assert_eq!(*slice.endpoints, [pod, other, unready]);
        let metadata = ObjectMeta {
            name: Some("web-1".into()),
            namespace: Some("shop".into()),
            uid: Some("u-s".into()),
            resource_version: Some("7".into()),
            ..ObjectMeta::default()
        };
        assert_eq!(slice.metadata, metadata);
    }
}
