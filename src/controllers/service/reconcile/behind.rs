//! What stands behind a Service, as far as the cluster tells.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Service};

use crate::{
    controllers::service::{
        Controller, Key,
        annotations::Requested,
        members::{self, Around, Backends},
        triggers,
    },
    kubernetes::{events::reference_of, slice::Slice},
};

impl Controller {
    /// The members for a Service now that it is known whether the load balancer checks them; `before` is
    /// what they were without knowing it.
    pub(in crate::controllers::service) fn backends_if_checked(
        &self,
        key: &Key,
        service: &Service,
        requested: &Requested,
        checked: bool,
        before: Backends,
    ) -> Backends {
        let backends = if self.records.set_checked(key, checked) {
            self.compute_backends(key, service, requested, &self.cache.nodes.list(), &self.slices(key))
        } else {
            before
        };
        for notice in self.records.new_notices(key, "members", backends.left_out.clone()) {
            let message = format!("not a member of the load balancer: {notice}");
            self.recorder.warning(&reference_of(service), "SkipSyncBackends", message);
        }
        backends
    }

    /// The members for a Service with these slices among these nodes.
    pub(in crate::controllers::service) fn compute_backends(
        &self,
        key: &Key,
        service: &Service,
        requested: &Requested,
        nodes: &[Arc<Node>],
        slices: &[Arc<Slice>],
    ) -> Backends {
        let around = Around {
            eni: requested.eni.unwrap_or(self.options.eni_by_default),
            families: requested.families(self.options.ipv6_members),
            control_plane: self.options.control_plane_nodes,
            only_ready: self.options.only_ready_nodes || !self.records.is_checked(key),
            nodes,
            slices,
            admitted: &self.gates.admitted(key),
        };
        members::backends(service, requested, &around)
    }

    pub(in crate::controllers::service) fn slices(&self, key: &Key) -> Vec<Arc<Slice>> {
        let of_service = |slice: &Arc<Slice>| triggers::belongs_to(slice, key);
        self.cache.slices.list().into_iter().filter(of_service).collect()
    }
}
