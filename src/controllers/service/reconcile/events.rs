//! What a pass tells people on the Service, besides what it logs.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{ObjectReference, Service};

use super::{Outcome, failure::Failure, shown_id};
use crate::{
    controllers::service::{
        Controller, Key,
        annotations::Requested,
        apply::Refused,
        desired::Desired,
        members::Names,
        ownership::{self, Owner},
    },
    kubernetes::events::reference_of,
};

impl Controller {
    /// Logs a failure, tells it on the Service, and decides when to try again.
    pub(in crate::controllers::service) fn tell(
        &self,
        key: &Key,
        service: &Service,
        reason: &str,
        what: &str,
        result: Result<(), Failure>,
    ) -> Outcome {
        let over_quota = result.as_ref().err().map(Failure::over_quota).unwrap_or_default();
        for notice in self.records.new_notices(key, "quota", over_quota) {
            self.recorder.warning(&reference_of(service), "QuotaExceeded", notice);
        }
        let Err(failure) = result else {
            self.records.succeeded(key);
            return Outcome::Done;
        };
        let outcome = failure.outcome();
        if failure.is_about_leadership() {
            tracing::info!("stopped: this replica does not lead any more");
            return Outcome::Done;
        }
        if let Failure::Overtaken(text) = &failure {
            tracing::info!("{text}; trying again");
            return outcome;
        }
        tracing::warn!(error = %failure, "{what}");
        let told = self.records.failure_text(key, failure.stable_text(), failure.to_string());
        let (reason, message) = match &failure {
            Failure::Cluster { reason, text } => (*reason, text.clone()),
            Failure::Unfulfillable(text) if text.starts_with("create public") => (reason, text.clone()),
            _ => (reason, format!("{what} [{}]: {told}", self.id_to_tell(key, service))),
        };
        self.recorder.warning(&reference_of(service), reason, message);
        outcome
    }
    /// The load balancer that a failure is about. A pass that made it may fail before the cache shows it.
    fn id_to_tell(&self, key: &Key, service: &Service) -> String {
        let shown = || shown_id(service).unwrap_or_default().to_owned();
        self.records.id(key).map_or_else(shown, |id| id.to_string())
    }

    /// What to tell of members that the cloud did not take.
    pub(in crate::controllers::service) fn left_out(&self, key: &Key, refused: &[Refused]) -> Vec<String> {
        if refused.is_empty() {
            return Vec::new();
        }
        let names = self.names(key);
        refused.iter().map(|refused| refused.told(names.of(&refused.member))).collect()
    }

    /// Addresses of pods, with the pods' names.
    pub(in crate::controllers::service) fn named(&self, key: &Key, pods: &[IpAddr]) -> Vec<String> {
        if pods.is_empty() {
            return Vec::new();
        }
        let names = self.names(key);
        let text = |ip: &IpAddr| names.at(*ip).map_or_else(|| ip.to_string(), |name| format!("{ip} ({name})"));
        pods.iter().map(text).collect()
    }

    fn names(&self, key: &Key) -> Names {
        Names::new(&self.cache.nodes.list(), &self.slices(key))
    }

    /// What to tell of pods that no interface has the address of.
    pub(in crate::controllers::service) fn without_interface(&self, key: &Key, pods: &[IpAddr]) -> Option<String> {
        (!pods.is_empty()).then(|| {
            format!(
                "Not sync pods [{}] whose eni is invalid: the cloud shows no network interface with these addresses; \
                 pods can be members only where the pod network gives them addresses of the VPC",
                self.named(key, pods).join(",")
            )
        })
    }

    pub(in crate::controllers::service) fn tell_of_no_members(
        &self,
        key: &Key,
        object: &ObjectReference,
        desired: &Desired,
    ) {
        let none = !desired.groups.is_empty() && desired.groups.values().all(Vec::is_empty);
        if self.records.lost_all_members(key, none) {
            let message = "There are no available nodes for LoadBalancer: no node or pod qualifies as a member; see the Service's \
                           endpoints, the nodes' exclusion labels, and the annotation backend-label";
            self.recorder.normal(object, "UnAvailableLoadBalancer", message);
        }
    }

    /// `needed` is the value that goes with members of IPv6.
    pub(in crate::controllers::service) fn tell_of_ipv6(
        &self,
        key: &Key,
        object: &ObjectReference,
        requested: &Requested,
        needed: &str,
    ) {
        let in_vain = requested.families != requested.families(self.options.ipv6_members);
        let notice = in_vain.then(|| {
            format!(
                "members keep their IPv4 addresses: backend-ip-version needs the annotation ip-version to be {needed}, too, \
                 and the feature gate IPv6DualStack"
            )
        });
        for notice in self.records.new_notices(key, "ipv6", notice) {
            self.recorder.warning(object, "UnsupportedAnnotation", notice);
        }
    }

    /// Tells of further load balancers that carry the Service's mark. They are nobody's to delete
    /// without a word: one of them may be in use.
    pub(in crate::controllers::service) fn tell_doubles(&self, key: &Key, service: &Service, owner: &Owner) {
        let doubles = self.known.doubles(owner).into_iter().map(|id| {
            format!(
                "load balancer {id} carries the mark of this Service, too, but is not the one that it shows; delete it by \
                 hand, or take its tag {} off",
                ownership::OWNER_TAG
            )
        });
        for notice in self.records.new_notices(key, "doubles", doubles) {
            self.recorder.warning(&reference_of(service), "MultipleLoadBalancers", notice);
        }
    }
}
