//! Load balancers of the user's: which ones a Service may use, and which ports on them.
//!
//! Several Services, also of other clusters, may share one. A port belongs to the Service that had
//! it first; those that come later are told, and get it once it is free.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::Service;

use super::failure::Failure;
use crate::{
    cloud::{LoadBalancer, LoadBalancerId, LoadBalancerState, Protocol, VpcId},
    controllers::{
        queue::Priority,
        service::{
            Controller, Key,
            annotations::{Annotations, Requested, Shows},
            class,
            desired::Desired,
            ownership::{CLUSTER_TAG, OWNER_TAG, Owner},
            publish,
        },
    },
};

/// A load balancer of either kind that a Service names as the user's.
#[derive(Clone, Copy)]
pub(in crate::controllers::service) struct Candidate<'a> {
    pub id: &'a LoadBalancerId,
    pub tags: &'a BTreeMap<String, String>,
    pub vpc: Option<&'a VpcId>,
}

impl Controller {
    /// Whether it may be the user's, and reaches this cluster.
    pub(in crate::controllers::service) fn check_candidate(
        &self,
        owner: &Owner,
        there: Candidate<'_>,
    ) -> Result<(), Failure> {
        let Candidate { id, tags, vpc } = there;
        if let Some(mark) = tags.get(OWNER_TAG) {
            let whose = if *mark == owner.default_name() {
                "it is this Service's own; remove the annotation id".to_owned()
            } else {
                let made_for = |service: &Service| Owner::of(service, &self.options.cluster_id).default_name() == *mark;
                match self.cache.services.list().into_iter().find(|other| made_for(other)) {
                    Some(other) => format!("it was made for the Service {}", Key::of(&other)),
                    None => format!("it was made for a Service of another cluster (tag {OWNER_TAG}={mark})"),
                }
            };
            return refuse(format!(
                "load balancer {id} can not be reused, can not reuse loadbalancer created by kubernetes: {whose}"
            ));
        }
        if let Some(cluster) = tags.get(CLUSTER_TAG) {
            return refuse(format!(
                "load balancer {id} can not be reused, can not reuse loadbalancer created by kubernetes: it serves the API \
                 server of the cluster {cluster} (tag {CLUSTER_TAG})"
            ));
        }
        if let (Some(theirs), Some(ours)) = (vpc, &self.options.vpc)
            && theirs != ours
        {
            return refuse(format!(
                "load balancer {id} can not be reused: it is in the VPC {theirs} and cannot reach this cluster, which is \
                 in {ours}"
            ));
        }
        Ok(())
    }

    /// Whether a Service may use a load balancer of the user's. What speaks against it is found
    /// before anything is changed.
    pub(super) fn check_reuse(
        &self,
        service: &Service,
        owner: &Owner,
        requested: &Requested,
        there: &LoadBalancer,
    ) -> Result<(), Failure> {
        let id = &there.id;
        self.check_candidate(owner, Candidate { id, tags: &there.tags, vpc: there.vpc.as_ref() })?;
        if let Some(asked) = requested.address_type.filter(|asked| *asked != there.address_type) {
            return refuse(format!(
                "load balancer {id} can not be reused: its address is {}, the annotation address-type asks for {}",
                there.address_type.as_str(),
                asked.as_str()
            ));
        }
        match publish::shown_address(service) {
            // Another address may be shown on purpose.
            Some(shown) if shown != there.address && requested.shows != Shows::ElasticAddresses => refuse(format!(
                "service has been associated with ip [{shown}], cannot be bound to ip [{}]: clients would lose the address; \
                 take the annotation id back, or delete the Service and create it again",
                there.address
            )),
            _ => Ok(()),
        }
    }

    /// Leaves out ports that are free, but that a Service of this cluster wanted earlier.
    pub(super) fn yield_ports(&self, service: &Service, desired: &mut Desired, state: &LoadBalancerState) {
        let Some(id) = desired.requested.id.clone().filter(|_| desired.requested.force_override_listeners) else {
            return;
        };
        let claims = self.earlier_claims(service, &id, &state.load_balancer);
        if claims.is_empty() {
            return;
        }
        let is_there = |port: u16, protocol: Protocol| {
            state.listeners.iter().any(|listener| (listener.port, listener.protocol) == (port, protocol))
        };
        let taken: Vec<((u16, Protocol), &Key)> = desired
            .listeners
            .keys()
            .filter(|(port, protocol)| !is_there(*port, *protocol))
            .filter_map(|(port, protocol)| {
                let mut rivals = claims.iter().filter(|((p, other), _)| p == port && !protocol.goes_with(*other));
                rivals.next().map(|(_, key)| ((*port, *protocol), key))
            })
            .collect();
        for ((port, protocol), other) in taken {
            desired.listeners.remove(&(port, protocol));
            desired.troubled_ports.insert(port);
            desired.problems.push(format!(
                "port {port}/{protocol} of {id} is wanted by the Service {other}, which came first; use another port or \
                 load balancer"
            ));
        }
    }

    /// The ports that Services before this one want on the load balancer.
    fn earlier_claims(
        &self,
        service: &Service,
        id: &LoadBalancerId,
        there: &LoadBalancer,
    ) -> BTreeMap<(u16, Protocol), Key> {
        let mut claims = BTreeMap::new();
        for other in self.earlier_sharers(service, id) {
            let Ok(requested) = Annotations::of(&other).parse() else { continue };
            let owner = Owner::of(&other, &self.options.cluster_id);
            if !requested.force_override_listeners || self.check_reuse(&other, &owner, &requested, there).is_err() {
                continue;
            }
            for port in other.spec.iter().flat_map(|spec| spec.ports.iter().flatten()) {
                let own = if port.protocol.as_deref() == Some("UDP") { Protocol::Udp } else { Protocol::Tcp };
                if let Ok(number) = u16::try_from(port.port) {
                    claims.entry((number, requested.protocol_of(number, own))).or_insert_with(|| Key::of(&other));
                }
            }
        }
        claims
    }

    /// Those of the Services that use the load balancer which were there before this one.
    pub(in crate::controllers::service) fn earlier_sharers(
        &self,
        service: &Service,
        id: &LoadBalancerId,
    ) -> impl Iterator<Item = Arc<Service>> {
        let age = |service: &Service| (service.metadata.creation_timestamp.clone(), Key::of(service));
        let own = age(service);
        self.sharers(id).filter(move |other| age(other) < own)
    }

    /// The Services of this cluster that use the load balancer and are to go on doing so.
    fn sharers(&self, id: &LoadBalancerId) -> impl Iterator<Item = Arc<Service>> + use<> {
        let stays = |service: &Service| {
            class::wants(service, self.options.type_annotation) == self.kind.wanted() && !class::is_deleting(service)
        };
        let uses = |service: &Service| Annotations::of(service).load_balancer_id().as_ref() == Some(id);
        let found: Vec<_> = self.cache.services.list().into_iter().filter(|one| stays(one) && uses(one)).collect();
        found.into_iter()
    }

    /// Has those Services tried again at once that wait for something on the load balancer.
    pub(in crate::controllers::service) fn wake_sharers(&self, id: &LoadBalancerId, but: &Key) {
        for key in self.sharers(id).map(|service| Key::of(&service)).filter(|key| key != but) {
            if self.records.has_failed(&key) {
                self.queue.forget(&key);
                self.queue.add(key, Priority::Fresh);
            }
        }
    }
}

pub(in crate::controllers::service) fn refuse(why: String) -> Result<(), Failure> {
    Err(Failure::Unfulfillable(why))
}
