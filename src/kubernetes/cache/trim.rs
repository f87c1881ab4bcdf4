//! What is left out of cached objects to save memory.

use k8s_openapi::api::{
    core::v1::{Node, Service},
    discovery::v1::EndpointSlice,
};
use kube::ResourceExt;

/// Drops the parts of an object that no controller reads. Annotations of Services stay, all of them: the
/// Service controllers answer for unknown ones too.
pub trait Trim {
    fn trim(&mut self);
}

impl Trim for Node {
    /// `status.images` alone is often more than the rest of a Node.
    fn trim(&mut self) {
        self.managed_fields_mut().clear();
        if let Some(status) = &mut self.status {
            status.allocatable = None;
            status.capacity = None;
            status.images = None;
            status.node_info = None;
            status.volumes_attached = None;
            status.volumes_in_use = None;
        }
    }
}

impl Trim for Service {
    fn trim(&mut self) {
        self.managed_fields_mut().clear();
    }
}

impl Trim for EndpointSlice {
    /// There are more endpoints than anything else.
    fn trim(&mut self) {
        self.managed_fields_mut().clear();
        self.metadata.annotations = None;
        self.metadata.owner_references = None;
        for endpoint in &mut self.endpoints {
            endpoint.deprecated_topology = None;
            endpoint.hints = None;
            endpoint.hostname = None;
            endpoint.zone = None;
            if let Some(target) = &mut endpoint.target_ref {
                target.api_version = None;
                target.field_path = None;
                target.namespace = None;
                target.resource_version = None;
            }
        }
        self.endpoints.shrink_to_fit();
    }
}
