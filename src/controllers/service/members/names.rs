//! What people call a member: they know pods and nodes, and neither interfaces nor instances.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use k8s_openapi::api::core::v1::Node;
use kube::Resource;

use super::nodes::{address_of, instance_of};
use crate::{cloud::Member, kubernetes::slice::Slice};

/// Names such as `pod default/web-1` and `node worker-1`.
#[derive(Debug, Default)]
pub struct Names {
    by_address: BTreeMap<IpAddr, String>,
    /// Those of nodes.
    by_instance: BTreeMap<String, String>,
}

// === impl Names ===

impl Names {
    /// The names of these nodes, and of the pods in these slices.
    pub fn new(nodes: &[Arc<Node>], slices: &[Arc<Slice>]) -> Self {
        let mut names = Self::default();
        for node in nodes {
            let name = format!("node {}", node.metadata.name.as_deref().unwrap_or_default());
            if let Some(address) = address_of(node) {
                names.by_address.insert(address, name.clone());
            }
            if let Ok(Some(instance)) = instance_of(node) {
                names.by_instance.insert(instance, name);
            }
        }
        for slice in slices {
            let namespace = slice.meta().namespace.as_deref().unwrap_or_default();
            for endpoint in &*slice.endpoints {
                if let Some(pod) = &endpoint.pod {
                    names.by_address.insert(endpoint.address, format!("pod {namespace}/{pod}"));
                }
            }
        }
        names
    }

    /// Who has this address.
    pub fn at(&self, address: IpAddr) -> Option<&str> {
        self.by_address.get(&address).map(String::as_str)
    }

    /// Whom the member stands for; `None` if that is gone from the cluster.
    pub fn of(&self, member: &Member) -> Option<&str> {
        match member.address {
            Some(address) => self.at(address),
            None => self.by_instance.get(&member.server).map(String::as_str),
        }
    }
}
