//! One pass over one Service.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{
    core::v1::{LoadBalancerIngress, ObjectReference, Service},
    discovery::v1::EndpointSlice,
};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{
    Controller, Key,
    annotations::{self, Annotations, Mistakes, Requested, Shows},
    apply::Pass,
    class::{self, Wants},
    desired::{self, Desired},
    hash,
    members::{self, Backends},
    ownership::{CLUSTER_TAG, OWNER_TAG, Owner},
    plan, publish,
};
use crate::{
    cloud::{
        AddressType, Class, Error, LoadBalancer, LoadBalancerId, LoadBalancerState, Setting, action::CreateLoadBalancer,
    },
    kubernetes::{events::reference_of, patch},
};

/// What to do with the Service's key after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Again, later each time.
    Retry,
    /// Again after the time that the cloud asked for.
    RetryAfter(Duration),
}

/// Why a pass did not reach its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{0}")]
    Mistakes(#[from] Mistakes),
    /// What the user has to change; trying again does not help.
    #[error("{0}")]
    Unfulfillable(String),
    #[error("{}", join(.errors, .others))]
    Cloud { errors: Vec<Error>, others: Vec<String> },
    #[error("{text}")]
    Cluster { reason: &'static str, text: String },
}

fn join(errors: &[Error], others: &[String]) -> String {
    errors.iter().map(ToString::to_string).chain(others.iter().cloned()).collect::<Vec<_>>().join("; ")
}

impl Controller {
    /// Brings one Service to what it asks for, or cleans up after it.
    #[tracing::instrument(name = "service", skip_all, fields(service = %key))]
    pub(super) async fn reconcile(&self, key: &Key) -> Outcome {
        let Some(service) = self.cache.services.get(Some(&key.namespace), &key.name) else {
            self.records.remove(key);
            return Outcome::Done;
        };
        let wants = class::wants(&service, self.options.type_annotation);
        let started = Instant::now();
        let measure = |verb, succeeded| self.latencies.observe("CLBType", verb, started.elapsed(), succeeded);
        if wants == Wants::Clb && !class::is_deleting(&service) {
            let verb = if class::has_finalizer(&service) { "Update" } else { "Creation" };
            let result = self.ensure(key, &service).await;
            measure(verb, result.is_ok());
            return self.tell(key, &service, "SyncLoadBalancerFailed", "Error syncing load balancer", result);
        }
        if class::has_finalizer(&service) {
            let result = self.clean_up(key, &service).await;
            measure("Deletion", result.is_ok());
            return self.tell(key, &service, "CleanLoadBalancerFailed", "Error deleting load balancer", result);
        }
        if wants == Wants::Nlb && !class::is_deleting(&service) {
            let notice = "this version does not handle network load balancers; the Service gets none".to_owned();
            for notice in self.records.new_notices(key, "class", [notice]) {
                self.recorder.warning(&reference_of(&*service), "UnsupportedLoadBalancer", notice);
            }
        }
        Outcome::Done
    }

    async fn ensure(&self, key: &Key, service: &Service) -> Result<(), Failure> {
        let object = reference_of(service);
        for notice in self.records.new_notices(key, "annotations", annotations::notices(service).into_values()) {
            self.recorder.warning(&object, "UnsupportedAnnotation", notice);
        }
        let ranges = service.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.as_ref());
        let ignored = ranges.filter(|ranges| !ranges.is_empty()).map(|_| {
            "loadBalancerSourceRanges does not limit access: this version does not handle it on a classic load balancer; \
             use an access control list with the annotations acl-id, acl-status and acl-type"
                .to_owned()
        });
        for notice in self.records.new_notices(key, "spec", ignored) {
            self.recorder.warning(&object, "FeatureNotSupported", notice);
        }
        let requested = Annotations::of(service).parse()?;
        let owner = Owner::of(service, &self.options.cluster_id);
        let had_finalizer = class::has_finalizer(service);
        let public = requested.address_type.unwrap_or(AddressType::Internet) == AddressType::Internet;
        // Only new ones are refused: what exists stays, and can be deleted.
        if self.options.disable_public && public && requested.id.is_none() && !had_finalizer {
            return Err(Failure::Unfulfillable("create public address slb is not allowed".into()));
        }
        if !self.options.dry_run {
            let added = publish::add_finalizer(&self.client, service).await;
            added.map_err(|error| cluster("FailedAddFinalizer", "Error adding finalizer", &error))?;
        }
        let audit = self.records.take_audit(key);
        if audit {
            requested.id.as_ref().map_or_else(|| self.known.doubt_made_for(&owner), |id| self.known.doubt(id));
        }
        let backends = self.compute_backends(key, service, &requested);
        for notice in self.records.new_notices(key, "members", backends.left_out.clone()) {
            self.recorder.warning(&object, "SkipSyncBackends", format!("not a member of the load balancer: {notice}"));
        }
        self.records.set_backends(key, &backends);
        let _turn = match &requested.id {
            Some(id) => Some(self.known.turn(id).await),
            None => None,
        };
        let state = self.find(service, &owner, &requested, had_finalizer).await?;
        let there = state.iter().flat_map(|state| &state.groups).flat_map(|group| &group.members);
        let interfaces = self.interfaces.resolve(&*self.cloud, &backends.pods, there).await?;
        let mut desired = desired::desired(service, requested, &backends, &interfaces, &self.options);
        if desired.groups.values().all(Vec::is_empty) && !desired.groups.is_empty() {
            if self.records.lost_all_members(key, true) {
                let message = "There are no available nodes for LoadBalancer".to_owned();
                self.recorder.normal(&object, "UnAvailableLoadBalancer", message);
            }
        } else {
            self.records.lost_all_members(key, false);
        }
        let shows = desired.requested.shows.clone();
        let uses_proxy = desired.listeners.values().any(|l| l.keep.get(Setting::ProxyProtocol) == Some("true"));
        desired.create.token = token(&desired, self.known.deletions(&owner));
        let mut problems = desired.problems.clone();
        let nowhere: Vec<String> =
            backends.pods.keys().filter(|ip| !interfaces.contains_key(ip)).map(ToString::to_string).collect();
        if !nowhere.is_empty() {
            problems.push(format!("Not sync pods [{}] whose eni is invalid", nowhere.join(",")));
        }
        let mut pass = Pass::new(&*self.cloud, &self.known, self.clock.now(), state);
        pass.converge(desired).await;
        if pass.state.is_none() && pass.failures.iter().any(|e| matches!(e.class, Class::Unknown | Class::Malformed)) {
            self.known.doubt_absence(&owner);
        }
        if audit && !pass.changes.is_empty() {
            let message =
                format!("somebody else had changed the load balancer; put right: {}", pass.changes.join("; "));
            self.recorder.warning(&object, "RepairedLoadBalancer", message);
        }
        let id = pass.state.as_ref().map(|state| state.load_balancer.id.clone());
        let others: Vec<String> = problems.into_iter().chain(pass.conflicts).chain(pass.left_out).collect();
        let mut shown_is_new = false;
        // The address is worth showing even if some port failed.
        if let (Some(state), false) = (&pass.state, self.options.dry_run) {
            let complete = pass.failures.is_empty() && others.is_empty();
            let hash = complete.then(|| hash::of(service));
            let ingress = self.ingress(&object, &state.load_balancer, &shows, uses_proxy).await;
            let id = &state.load_balancer.id;
            let published = publish::show(&self.client, service, id, &ingress, hash.as_deref()).await;
            shown_is_new =
                published.map_err(|e| cluster("FailedUpdateStatus", "Error updating load balancer status", &e))?;
        }
        if !pass.failures.is_empty() || !others.is_empty() {
            return Err(Failure::Cloud { errors: pass.failures, others });
        }
        if !pass.changes.is_empty() || shown_is_new || self.records.succeeded(key) {
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            self.recorder.normal(&object, "EnsuredLoadBalancer", format!("Ensured load balancer [{id}]"));
        }
        Ok(())
    }

    /// What the status shows.
    async fn ingress(
        &self,
        object: &ObjectReference,
        load_balancer: &LoadBalancer,
        shows: &Shows,
        uses_proxy: bool,
    ) -> Vec<LoadBalancerIngress> {
        let addresses = match shows {
            Shows::HostName(name) => return vec![publish::host_name(name)],
            Shows::Address => Vec::new(),
            Shows::ElasticAddresses => self.cloud.elastic_addresses(&load_balancer.id).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot look up the elastic addresses of a load balancer");
                Vec::new()
            }),
        };
        if addresses.is_empty() {
            if *shows == Shows::ElasticAddresses {
                let message = "get eip error, set external ip to slb ip";
                self.recorder.warning(object, "FailedSetEIPAddress", message);
            }
            return vec![publish::address(&load_balancer.address, uses_proxy)];
        }
        addresses.iter().map(|address| publish::address(address, uses_proxy)).collect()
    }

    /// The members for a Service, from the cache.
    pub(super) fn compute_backends(&self, key: &Key, service: &Service, requested: &Requested) -> Backends {
        let eni = requested.eni.unwrap_or(self.options.eni_by_default);
        members::backends(service, requested, eni, &self.cache.nodes.list(), &self.slices(key))
    }

    fn slices(&self, key: &Key) -> Vec<Arc<EndpointSlice>> {
        let of_service = |slice: &Arc<EndpointSlice>| super::triggers::service_of(slice).as_ref() == Some(key);
        self.cache.slices.list().into_iter().filter(of_service).collect()
    }

    /// The load balancer to work on; `None` if one is to be made.
    async fn find(
        &self,
        service: &Service,
        owner: &Owner,
        requested: &Requested,
        had_finalizer: bool,
    ) -> Result<Option<LoadBalancerState>, Failure> {
        if let Some(id) = &requested.id {
            let state = self.known.state(&*self.cloud, id).await?;
            let state = state.ok_or_else(|| {
                Failure::Unfulfillable(format!("load balancer {id} of the annotation id does not exist in this region"))
            })?;
            check_reuse(service, requested, &state)?;
            return Ok(Some(state));
        }
        let shown = publish::shown_address(service);
        let may_be_older = had_finalizer || shown.is_some();
        let state = self.known.find(&*self.cloud, owner, may_be_older).await?;
        match (&state, shown) {
            (None, Some(address)) => {
                // It may be back, or tagged again, by the next try.
                self.known.doubt_absence(owner);
                Err(Failure::Unfulfillable(format!(
                    "alicloud: can not find loadbalancer, but it's defined in service [{address}] this may happen \
                     when you delete the loadbalancer; to get a new one with a new address, delete the Service and \
                     create it again"
                )))
            }
            (None, None) => {
                self.known.note_absent(owner);
                Ok(None)
            }
            (Some(_), _) => Ok(state),
        }
    }

    async fn clean_up(&self, key: &Key, service: &Service) -> Result<(), Failure> {
        let owner = Owner::of(service, &self.options.cluster_id);
        let annotations = Annotations::of(service);
        if let Some(id) = annotations.load_balancer_id() {
            self.detach(&owner, &id).await?;
        }
        // Even with an id given now, an own one may be left from before.
        if let Some(load_balancer) = self.known.locate(&*self.cloud, &owner, true).await? {
            self.delete(&owner, load_balancer, annotations.preserves_load_balancer(), service).await?;
        }
        if !self.options.dry_run {
            let hidden = publish::hide(&self.client, service).await;
            let hidden =
                hidden.map_err(|e| cluster("FailedUpdateStatus", "Error removing load balancer status", &e))?;
            let removed = publish::remove_finalizer(&self.client, &hidden).await;
            removed.map_err(|e| cluster("FailedRemoveFinalizer", "Error removing load balancer finalizer", &e))?;
        }
        self.records.remove(key);
        if class::is_deleting(service) {
            self.known.forget_service(&owner);
        }
        self.recorder.normal(&reference_of(service), "CleanLoadBalancer", "Clean load balancer");
        Ok(())
    }

    /// Takes what is ours off a load balancer that is the user's.
    async fn detach(&self, owner: &Owner, id: &LoadBalancerId) -> Result<(), Failure> {
        let _turn = self.known.turn(id).await;
        let Some(mut state) = self.known.state(&*self.cloud, id).await? else { return Ok(()) };
        if owner.owns_load_balancer(&state.load_balancer) {
            return Ok(());
        }
        if state.groups_view == crate::cloud::GroupsView::Referenced {
            state.groups = self.cloud.server_groups(id).await?;
        }
        let mut pass = Pass::new(&*self.cloud, &self.known, self.clock.now(), Some(state));
        pass.dismantle(|state| plan::detach(owner, state)).await;
        finished(pass)
    }

    async fn delete(
        &self,
        owner: &Owner,
        load_balancer: LoadBalancer,
        preserve: bool,
        service: &Service,
    ) -> Result<(), Failure> {
        if !owner.owns_load_balancer(&load_balancer) {
            return Ok(());
        }
        let id = load_balancer.id.clone();
        // What hangs on it goes with it, and need not be read.
        self.known.doubt(&id);
        let mut pass = Pass::on_the_outside(&*self.cloud, &self.known, self.clock.now(), load_balancer);
        if preserve {
            pass.dismantle(|state| plan::release(owner, &state.load_balancer)).await;
            if pass.failures.is_empty() {
                let message = format!("The lb [{id}] will be preserved after the service is deleted.");
                self.recorder.warning(&reference_of(service), "PreservedOnDelete", message);
            }
        } else {
            pass.dismantle(|state| plan::delete(&state.load_balancer)).await;
        }
        // Gone already is as good as deleted, if a fresh look says so too.
        if pass.failures.iter().any(|error| error.class == Class::NotFound) && self.cloud.observe(&id).await?.is_none()
        {
            pass.failures.clear();
        }
        finished(pass)?;
        self.known.note_deleted(owner, &id);
        Ok(())
    }

    /// Logs a failure, tells it on the Service, and decides when to try again.
    fn tell(&self, key: &Key, service: &Service, reason: &str, what: &str, result: Result<(), Failure>) -> Outcome {
        let Err(failure) = result else {
            self.records.succeeded(key);
            return Outcome::Done;
        };
        let outcome = failure.outcome();
        if failure.is_about_leadership() {
            tracing::info!("stopped: this replica does not lead any more");
            return Outcome::Done;
        }
        tracing::warn!(error = %failure, "{what}");
        let id = service.metadata.labels.as_ref().and_then(|all| all.get(super::ownership::ID_LABEL));
        let told = self.records.failure_text(key, failure.stable_text(), failure.to_string());
        let (reason, message) = match &failure {
            Failure::Cluster { reason, text } => (*reason, text.clone()),
            Failure::Unfulfillable(text) if text.starts_with("create public") => (reason, text.clone()),
            _ => (reason, format!("{what} [{}]: {told}", id.map_or("", String::as_str))),
        };
        self.recorder.warning(&reference_of(service), reason, message);
        outcome
    }
}

/// Whether a Service may use a load balancer of the user's.
fn check_reuse(service: &Service, requested: &Requested, state: &LoadBalancerState) -> Result<(), Failure> {
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

fn finished(pass: Pass<'_>) -> Result<(), Failure> {
    if pass.failures.is_empty() { Ok(()) } else { Err(Failure::Cloud { errors: pass.failures, others: Vec::new() }) }
}

/// An idempotency token: the same for the same wish of the same Service, so that a repeated
/// request cannot make a second load balancer; another one after what it made was deleted.
fn token(desired: &Desired, deletions: u32) -> String {
    let Desired { owner, create, .. } = desired;
    let wish = format!(
        "{}/{}/{deletions}/{:?}",
        owner.cluster,
        owner.uid,
        CreateLoadBalancer { token: String::new(), ..create.clone() }
    );
    let digest = Sha256::digest(wish.as_bytes());
    hash::hex(&digest)
}

fn cluster(reason: &'static str, what: &str, error: &patch::Error) -> Failure {
    Failure::Cluster { reason, text: format!("{what}: {error}") }
}

// === impl Failure ===

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Cloud { errors: vec![error], others: Vec::new() }
    }
}

impl Failure {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Mistakes(_) => Outcome::Done,
            Self::Unfulfillable(text) if text.starts_with("create public") => Outcome::Done,
            Self::Unfulfillable(_) | Self::Cluster { .. } => Outcome::Retry,
            Self::Cloud { errors, others } => match (&errors[..], others.is_empty()) {
                ([only], true) => only.retry_after.map_or(Outcome::Retry, Outcome::RetryAfter),
                _ => Outcome::Retry,
            },
        }
    }

    fn is_about_leadership(&self) -> bool {
        matches!(self, Self::Cloud { errors, .. } if errors.iter().any(|error| error.class == Class::NotLeader))
    }

    fn stable_text(&self) -> String {
        match self {
            Self::Cloud { errors, others } => {
                errors.iter().map(Error::stable_text).chain(others.iter().cloned()).collect::<Vec<_>>().join("; ")
            }
            other => other.to_string(),
        }
    }
}
