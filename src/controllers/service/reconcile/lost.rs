//! What to do about a load balancer that a Service shows and that is not there any more.
//!
//! The address is gone for good, and whoever knows it knows a dead one. So nothing is made anew
//! unless the user said so beforehand, and never on less than the cloud's word that it is gone.

use k8s_openapi::api::core::v1::Service;

use super::failure::Failure;
use crate::{
    cloud::LoadBalancerId,
    controllers::service::{
        Controller, Key,
        annotations::{PREFIX, RECREATE},
        ownership::{OWNER_TAG, Owner},
    },
    kubernetes::events::reference_of,
};

/// A load balancer that a Service shows and that was not found for it.
pub(in crate::controllers::service) struct Lost<'a> {
    /// Its id, if the Service shows that as well.
    pub id: Option<LoadBalancerId>,
    /// The address or name under which clients know it.
    pub shown: &'a str,
    /// Whether it is there all the same.
    pub is_there: bool,
    /// Whether the user wants another one made.
    pub recreates: bool,
}

impl Controller {
    /// Answers nothing if a new one may be made.
    pub(in crate::controllers::service) fn lost(
        &self,
        key: &Key,
        service: &Service,
        owner: &Owner,
        lost: Lost<'_>,
    ) -> Result<(), Failure> {
        let Lost { id, shown, is_there, recreates } = lost;
        if let Some(id) = id.as_ref().filter(|_| is_there) {
            let name = owner.default_name();
            return Err(Failure::Unfulfillable(format!(
                "load balancer {id}, which the Service shows, is not marked as made for it: put its tag {OWNER_TAG}={name} \
                 back; or, if it is yours, name it in the annotation id"
            )));
        }
        if let Some(id) = id.filter(|_| recreates) {
            let notice = format!(
                "load balancer {id} with the address {shown} was deleted by somebody else; a new one is made, with \
                 another address"
            );
            for notice in self.records.new_notices(key, "lost", [notice]) {
                self.recorder.warning(&reference_of(service), "RecreatedLoadBalancer", notice);
            }
            return Ok(());
        }
        Err(Failure::Unfulfillable(format!(
            "alicloud: can not find loadbalancer, but it's defined in service [{shown}] this may happen when you delete \
             the loadbalancer; to get a new one with a new address, set the annotation {PREFIX}{RECREATE}: \"on\", or \
             delete the Service and create it again"
        )))
    }
}
