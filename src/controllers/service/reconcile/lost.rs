//! What to do about a load balancer that a Service shows and that is not there any more.
//!
//! The address is gone for good, and whoever knows it knows a dead one. So nothing is made anew
//! unless the user said so beforehand, and never on less than the cloud's word that it is gone.

use k8s_openapi::api::core::v1::Service;

use super::{failure::Failure, shown_id};
use crate::{
    cloud::{LoadBalancerId, LoadBalancerState},
    controllers::service::{
        Controller, Key,
        annotations::{PREFIX, RECREATE, Requested},
        ownership::{OWNER_TAG, Owner},
    },
    kubernetes::events::reference_of,
};

impl Controller {
    /// Answers `None` if a new one may be made.
    pub(super) async fn lost(
        &self,
        key: &Key,
        service: &Service,
        owner: &Owner,
        requested: &Requested,
        address: &str,
    ) -> Result<Option<LoadBalancerState>, Failure> {
        // It may be back, or tagged again, by the next try.
        self.known.doubt_absence(owner);
        let id = shown_id(service).map(LoadBalancerId::from);
        if let Some(id) = &id
            && self.known.state(&*self.cloud, id).await?.is_some()
        {
            self.known.doubt(id);
            let name = owner.default_name();
            return Err(Failure::Unfulfillable(format!(
                "load balancer {id}, which the Service shows, is not marked as made for it: put its tag {OWNER_TAG}={name} \
                 back; or, if it is yours, name it in the annotation id"
            )));
        }
        if let Some(id) = id.filter(|_| requested.recreates) {
            let notice = format!(
                "load balancer {id} with the address {address} was deleted by somebody else; a new one is made, with \
                 another address"
            );
            for notice in self.records.new_notices(key, "lost", [notice]) {
                self.recorder.warning(&reference_of(service), "RecreatedLoadBalancer", notice);
            }
            return Ok(None);
        }
        Err(Failure::Unfulfillable(format!(
            "alicloud: can not find loadbalancer, but it's defined in service [{address}] this may happen when you delete \
             the loadbalancer; to get a new one with a new address, set the annotation {PREFIX}{RECREATE}: \"on\", or \
             delete the Service and create it again"
        )))
    }
}
