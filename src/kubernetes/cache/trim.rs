//! What is left out of cached objects to save memory.

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt;

use crate::kubernetes::slice::Slice;

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

impl Trim for Slice {
    /// Nothing is left that could go.
    fn trim(&mut self) {}
}
