//! Whether a Service may use a load balancer of the user's.

use k8s_openapi::api::core::v1::Service;

use super::failure::Failure;
use crate::{
    cloud::LoadBalancerState,
    controllers::service::{
        annotations::{Requested, Shows},
        ownership::{CLUSTER_TAG, OWNER_TAG},
        publish,
    },
};

/// Whether a Service may use a load balancer of the user's.
pub(super) fn check_reuse(service: &Service, requested: &Requested, state: &LoadBalancerState) -> Result<(), Failure> {
    let load_balancer = &state.load_balancer;
    let id = &load_balancer.id;
    if let Some(tag) = [OWNER_TAG, CLUSTER_TAG].into_iter().find(|tag| load_balancer.tags.contains_key(*tag)) {
        return Err(Failure::Unfulfillable(format!(
            "load balancer {id} can not be reused, can not reuse loadbalancer created by kubernetes (it has the tag {tag})"
        )));
    }
    match publish::shown_address(service) {
        // Another address may be shown on purpose.
        Some(shown) if shown != load_balancer.address && requested.shows != Shows::ElasticAddresses => {
            Err(Failure::Unfulfillable(format!(
                "service has been associated with ip [{shown}], cannot be bound to ip [{}]",
                load_balancer.address
            )))
        }
        _ => Ok(()),
    }
}
