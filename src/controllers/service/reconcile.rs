//! One pass over one Service.

mod behind;
mod cleanup;
mod doubts;
mod events;
pub(super) mod failure;
mod limits;
pub(super) mod lost;
mod members_alone;
pub(super) mod reuse;
pub(super) mod unheeded;

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use k8s_openapi::api::core::v1::{LoadBalancerIngress, ObjectReference, Service};
use tokio::time::Instant;

use self::{
    failure::{Failure, cluster},
    limits::Leftovers,
    lost::Lost,
};
use super::{
    Controller, Key,
    access::AccessPass,
    annotations::{self, Annotations, Mistake, Mistakes, PREFIX, Requested, Shows},
    apply::Pass,
    checks,
    class::{self, Kind, Wants},
    desired::{self, BY_BANDWIDTH, BY_USE, GroupKey},
    hash,
    ownership::{self, FINALIZER, Owner},
    plan, publish,
    readiness::Waiting,
    source_ranges::SourceRanges,
};
use crate::{
    cloud::{
        AddressType, Class, Listener, ListenerStatus, LoadBalancer, LoadBalancerId, LoadBalancerState, Member, Setting,
    },
    controllers::queue::Priority,
    kubernetes::{events::reference_of, patch},
};

/// How long a listener is given to become what it is on the way to.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// What to do with the Service's key after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// Nothing, until the cloud is done with what was begun; who knows when will add the key.
    Waiting,
    /// Again, later each time.
    Retry,
    /// The same, but never much later: it will work in a moment.
    RetrySoon,
    /// Again after the time that the cloud asked for.
    RetryAfter(Duration),
    /// Again after minutes: only a person can help.
    RetrySlowly,
}

impl Controller {
    /// Brings one Service to what it asks for, or cleans up after it.
    #[tracing::instrument(name = "service", skip_all, fields(service = %key))]
    pub(super) async fn reconcile(&self, key: &Key) -> Outcome {
        let Some(service) = self.cache.services.get(Some(&key.namespace), &key.name) else {
            self.records.remove(key);
            self.gates.remove(key);
            return Outcome::Done;
        };
        let wants = class::wants(&service, self.options.type_annotation);
        let started = Instant::now();
        let measure = |verb, succeeded| self.latencies.observe("CLBType", verb, started.elapsed(), succeeded);
        if wants == Wants::Clb && !class::is_deleting(&service) {
            if self.waits_for_another_kind(key, &service) {
                return Outcome::Done;
            }
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
        Outcome::Done
    }

    async fn ensure(&self, key: &Key, service: &Service) -> Result<(), Failure> {
        let object = reference_of(service);
        let (requested, ranges) = match self.wishes(key, service) {
            Ok(wishes) => wishes,
            Err(wrong) => return Err(self.follow_members_alone(key, service, wrong.into()).await),
        };
        let owner = Owner::of(service, &self.options.cluster_id);
        let had_finalizer = class::has_finalizer(service);
        // Only new ones are refused: what exists stays, and can be deleted.
        if requested.id.is_none() && !had_finalizer {
            self.may_be_made(&requested)?;
        }
        let added = publish::add_finalizer(&self.client, service, FINALIZER).await;
        added.map_err(|error| cluster("FailedAddFinalizer", "Error adding finalizer", &error))?;
        let audit = self.records.take_audit(key);
        if audit {
            requested.id.as_ref().map_or_else(|| self.known.doubt_made_for(&owner), |id| self.known.doubt(id));
            self.lists.doubt_entries(&owner);
        }
        let slices = self.slices(key);
        let waiting = self.look_at_pods(key, &slices).await.map_err(|error| about_gates(key, &error))?;
        let backends = self.compute_backends(key, service, &requested, &self.cache.nodes.list(), &slices);
        let turn = match &requested.id {
            Some(id) => Some(self.known.turn(id).await),
            None => None,
        };
        let state = match self.find(key, service, &owner, &requested, had_finalizer).await {
            Err(refused @ Failure::Unfulfillable(_)) => {
                drop(turn);
                return Err(self.follow_members_alone(key, service, refused).await);
            }
            found => found?,
        };
        let state = self.with_leftovers(service, state).await?;
        let checked = checks::are_checked(service, &requested, &owner, state.as_ref());
        let backends = self.backends_if_checked(key, service, &requested, checked, backends);
        let there_before = state.as_ref().map(|state| &state.load_balancer);
        let unheeded = unheeded::notices(service, &requested, there_before);
        for notice in self.records.new_notices(key, "unheeded", unheeded) {
            self.recorder.warning(&object, "FeatureNotSupported", notice);
        }
        let there = state.iter().flat_map(|state| &state.groups).flat_map(|group| &group.members);
        let interfaces = self.interfaces.resolve(&*self.cloud, &backends.pods, there).await?;
        let mut desired = desired::desired(service, requested, &backends, &interfaces, &self.options);
        self.tell_of_no_members(key, &object, &desired);
        desired.policy_changed = self.policy_changed(key, service);
        let shows = desired.requested.shows.clone();
        let uses_proxy = desired.listeners.values().any(|l| l.keep.get(Setting::ProxyProtocol) == Some("true"));
        // What a lost one was made with makes no new one.
        let lost = shown_id(service).filter(|_| state.is_none()).unwrap_or_default();
        desired.set_token(&format!("{}/{lost}", self.known.deletions(&owner)));
        if let Some(state) = &state {
            self.yield_ports(service, &mut desired, state);
        }
        let mut problems = desired.problems.clone();
        let nowhere: Vec<IpAddr> = backends.pods.keys().filter(|ip| !interfaces.contains_key(ip)).copied().collect();
        problems.extend(self.without_interface(key, &nowhere));
        let is_shared = desired.requested.id.is_some();
        let mut access = AccessPass::new(&*self.cloud, &self.lists, &owner);
        let limited = self.limit_access(&mut access, (key, service), ranges.as_ref(), &mut desired, state.as_ref());
        let leftovers = match limited.await {
            Ok(leftovers) => leftovers,
            Err(wrong) => {
                drop(turn);
                return Err(self.follow_members_alone(key, service, wrong.into()).await);
            }
        };
        self.records.set_backends(key, &backends);
        let wanted = if waiting.is_empty() { BTreeMap::new() } else { desired.groups.clone() };
        let mut pass = Pass::new(&*self.cloud, &self.known, self.clock.now(), state);
        pass.converge(desired).await;
        self.believe_that_it_is_gone(&owner, &mut pass).await;
        if let (Leftovers::But(keep), true) = (&leftovers, pass.failures.is_empty() && pass.conflicts.is_empty()) {
            access.remove(keep.as_ref(), false).await;
        }
        pass.changes.append(&mut access.changes);
        pass.failures.append(&mut access.failures);
        self.follow_up(key, &object, &owner, &mut pass, is_shared, audit);
        if let Some(state) = &pass.state {
            // Only pods that are members themselves need an interface.
            let nowhere = |ip: &IpAddr| backends.pods.contains_key(ip) && !interfaces.contains_key(ip);
            self.open_gates_of(key, &waiting, &wanted, state, nowhere).await?;
        }
        let id = pass.state.as_ref().map(|state| state.load_balancer.id.clone());
        let left_out = self.left_out(key, &pass.left_out);
        let others: Vec<String> = problems.into_iter().chain(pass.conflicts).chain(left_out).collect();
        let mut shown_is_new = false;
        // The address is worth showing even if some port failed.
        if let Some(state) = &pass.state {
            let hash = (pass.failures.is_empty() && others.is_empty()).then(|| hash::of(service));
            let ingress = self.ingress((&object, service), &state.load_balancer, &shows, uses_proxy).await;
            shown_is_new = self.show(key, service, &state.load_balancer.id, &ingress, hash).await?;
        }
        if !pass.failures.is_empty() || !others.is_empty() {
            return Err(Failure::Cloud { errors: pass.failures, others });
        }
        if !pass.changes.is_empty() || shown_is_new || self.records.succeeded(key) {
            let id = id.map(|id| id.to_string()).unwrap_or_default();
            self.recorder.normal(&object, "EnsuredLoadBalancer", format!("Ensured load balancer [{id}]"));
        }
        self.records.settle(key);
        Ok(())
    }

    /// Whether a load balancer as asked for can be made, and may be.
    fn may_be_made(&self, requested: &Requested) -> Result<(), Failure> {
        let public = requested.address_type.unwrap_or(AddressType::Internet) == AddressType::Internet;
        if self.options.disable_public && public {
            let refused = "create public address slb is not allowed: disablePublicSLB is set in the cloud-config file; use the \
                           annotation address-type: intranet";
            return Err(Failure::Unfulfillable(refused.into()));
        }
        let by_use = requested.instance_charge_type.as_deref().unwrap_or(BY_USE) == BY_USE;
        if let Some(BY_BANDWIDTH) = requested.charge_type.as_deref().filter(|_| public && by_use) {
            return Err(Failure::Mistakes(Mistakes(vec![Mistake {
                key: format!("{PREFIX}charge-type"),
                value: BY_BANDWIDTH.to_owned(),
                expected:
                    "paybytraffic, or stand beside instance-charge-type: PayBySpec, because a new load balancer is \
                           otherwise paid by use, traffic included"
                        .to_owned(),
            }])));
        }
        if !public && requested.vswitch.is_none() && self.options.vswitches.is_empty() {
            let missing = "a load balancer with an intranet address needs a vSwitch, and none is known: set vswitchid in the \
                           cloud-config file, or name one with the annotation vswitch-id";
            return Err(Failure::Unfulfillable(missing.into()));
        }
        Ok(())
    }

    /// What a Service asks for, or all that is wrong with it.
    fn wishes(&self, key: &Key, service: &Service) -> Result<(Requested, Option<SourceRanges>), Mistakes> {
        let requested = Annotations::of(service).parse();
        let in_vain = requested.iter().flat_map(|requested| annotations::in_vain(service, requested));
        let notices = annotations::notices(service).into_values().chain(in_vain);
        for notice in self.records.new_notices(key, "annotations", notices) {
            self.recorder.warning(&reference_of(service), "UnsupportedAnnotation", notice);
        }
        match (requested, SourceRanges::of(service)) {
            (Ok(requested), Ok(ranges)) => {
                self.tell_of_ipv6(key, &reference_of(service), &requested, "ipv6");
                Ok((requested, ranges))
            }
            (requested, ranges) => {
                let mut mistakes = requested.err().map_or_else(Vec::new, |mistakes| mistakes.0);
                mistakes.extend(ranges.err());
                Err(Mistakes(mistakes))
            }
        }
    }

    /// What follows from a pass for others, and for what is believed.
    fn follow_up(
        &self,
        key: &Key,
        object: &ObjectReference,
        owner: &Owner,
        pass: &mut Pass<'_>,
        is_shared: bool,
        audit: bool,
    ) {
        if let Some(id) = pass.state.as_ref().map(|state| &state.load_balancer.id) {
            if is_shared && pass.freed_ports {
                self.wake_sharers(id, key);
            }
            // What others have there may go without a word from here.
            if !pass.conflicts.is_empty() {
                self.known.doubt(id);
            }
            // Somebody is starting or stopping it: it will be one or the other in a moment.
            let is_changing = |listener: &Listener| {
                listener.status == ListenerStatus::Changing && owner.owns_listener(&listener.description)
            };
            if pass.state.iter().flat_map(|state| &state.listeners).any(is_changing) {
                self.known.doubt(id);
                self.queue.add_after(key.clone(), Priority::Fresh, LOOK_AGAIN);
            }
        }
        for notice in self.records.new_notices(key, "room", std::mem::take(&mut pass.made_room)) {
            self.recorder.warning(object, "QuotaExceeded", notice);
        }
        if pass.state.is_none() && pass.failures.iter().any(|e| matches!(e.class, Class::Unknown | Class::Malformed)) {
            self.known.doubt_absence(owner);
        }
        if audit && !pass.changes.is_empty() {
            let message =
                format!("somebody else had changed the load balancer; put right: {}", pass.changes.join("; "));
            self.recorder.warning(object, "RepairedLoadBalancer", message);
        }
    }

    async fn open_gates_of(
        &self,
        key: &Key,
        waiting: &[Waiting],
        wanted: &BTreeMap<GroupKey, Vec<Member>>,
        state: &LoadBalancerState,
        nowhere: impl Fn(&IpAddr) -> bool,
    ) -> Result<(), Failure> {
        let there = |group: &GroupKey| plan::find_group(state, group).map(|group| group.members.clone());
        let opened = self.open_gates(key, waiting, wanted, there, nowhere, Some).await;
        opened.map_err(|error| about_gates(key, &error))
    }

    /// Shows the load balancer on the Service; tells whether that was new.
    async fn show(
        &self,
        key: &Key,
        service: &Service,
        id: &LoadBalancerId,
        ingress: &[LoadBalancerIngress],
        hash: Option<String>,
    ) -> Result<bool, Failure> {
        self.records.show(key, id, ingress);
        let published = publish::show(&self.client, service, id, ingress, hash.as_deref(), None).await;
        published.map_err(|e| cluster("FailedUpdateStatus", "Error updating load balancer status", &e))
    }

    /// What the status shows.
    async fn ingress(
        &self,
        (object, service): (&ObjectReference, &Service),
        load_balancer: &LoadBalancer,
        shows: &Shows,
        uses_proxy: bool,
    ) -> Vec<LoadBalancerIngress> {
        let own = || vec![publish::address(&load_balancer.address, uses_proxy)];
        match shows {
            Shows::HostName(name) => vec![publish::host_name(name)],
            Shows::Address => own(),
            Shows::ElasticAddresses => match self.cloud.elastic_addresses(&load_balancer.id).await {
                Ok(addresses) if !addresses.is_empty() => {
                    addresses.iter().map(|address| publish::address(address, uses_proxy)).collect()
                }
                Ok(_) => {
                    let message = format!(
                        "get eip error, set external ip to slb ip: no elastic address is bound to {}; bind one, or remove \
                         the annotation external-ip-type",
                        load_balancer.id
                    );
                    self.recorder.warning(object, "FailedSetEIPAddress", message);
                    own()
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot look up the elastic addresses of a load balancer");
                    // A failed look proves nothing: what clients know stays what they are shown.
                    let kept = publish::ingress(service).to_vec();
                    let kept = if kept.is_empty() { own() } else { kept };
                    let message = format!("get eip error, the external ip stays as it is: {}", error.stable_text());
                    self.recorder.warning(object, "FailedSetEIPAddress", message);
                    kept
                }
            },
        }
    }

    /// The load balancer to work on; `None` if one is to be made.
    async fn find(
        &self,
        key: &Key,
        service: &Service,
        owner: &Owner,
        requested: &Requested,
        had_finalizer: bool,
    ) -> Result<Option<LoadBalancerState>, Failure> {
        if let Some(id) = &requested.id {
            let state = self.known.state(&*self.cloud, id).await?;
            let state = state.ok_or_else(|| {
                Failure::Unfulfillable(format!(
                    "load balancer {id} of the annotation id does not exist in this region; correct the annotation, or remove \
                     it to have one made"
                ))
            })?;
            if let Err(refused) = self.check_reuse(service, owner, requested, &state.load_balancer) {
                // It may be another one by the next try.
                self.known.doubt(id);
                return Err(refused);
            }
            return Ok(Some(state));
        }
        let shown = publish::shown_address(service);
        let may_be_older = had_finalizer || shown.is_some();
        let shown_id = shown_id(service).map(LoadBalancerId::from);
        let state = self.known.find(&*self.cloud, owner, shown_id.as_ref(), may_be_older).await?;
        self.tell_doubles(key, service, owner);
        match (&state, shown) {
            (None, Some(address)) => {
                // It may be back, or tagged again, by the next try.
                self.known.doubt_absence(owner);
                let is_there = match &shown_id {
                    Some(id) => self.known.state(&*self.cloud, id).await?.is_some(),
                    None => false,
                };
                if let Some(id) = &shown_id {
                    self.known.doubt(id);
                }
                let lost = Lost { id: shown_id, shown: address, is_there, recreates: requested.recreates };
                self.lost(key, service, owner, lost)?;
                Ok(None)
            }
            (None, None) => {
                self.known.note_absent(owner);
                Ok(None)
            }
            (Some(_), _) => Ok(state),
        }
    }

    /// Whether the Service still has a load balancer of the other kind, which has to go first: two
    /// that are asked for the same ports would both be shown, and one of them would be left over.
    pub(super) fn waits_for_another_kind(&self, key: &Key, service: &Service) -> bool {
        let waits = self.kind.other().marks(service);
        let controller = match self.kind.other() {
            Kind::Clb => "service",
            Kind::Nlb => "nlb",
        };
        let notice = waits.then(|| {
            format!(
                "waiting until the controller {controller} has taken away the load balancer that the Service had before"
            )
        });
        for notice in self.records.new_notices(key, "kind", notice) {
            self.recorder.normal(&reference_of(service), "WaitingForCleanUp", notice);
        }
        waits
    }
}

/// The id that the Service's label shows.
pub(super) fn shown_id(service: &Service) -> Option<&str> {
    service.metadata.labels.as_ref()?.get(ownership::ID_LABEL).map(String::as_str)
}

/// A failed read or write of a pod that waits.
pub(super) fn about_gates(key: &Key, error: &patch::Error) -> Failure {
    let what = format!("Error updating pod readiness gates for service [{key}]");
    cluster("FailedUpdateReadinessGate", &what, error)
}
