//! One pass over one Service that wants, or had, a network load balancer.

mod behind;
mod cleanup;
mod members_alone;
mod wishes;

use std::time::Duration;

use k8s_openapi::api::core::v1::{ObjectReference, Service};
use tokio::time::Instant;

use self::wishes::is_limited;
use super::{
    apply::{self, Pass},
    desired::Desired,
    observed::State,
};
use crate::{
    cloud::{Class, LoadBalancerId, NetworkStatus, ServerGroupId},
    controllers::service::{
        Controller, Key,
        annotations::NetworkRequested,
        class::{self, Kind, Wants},
        desired::GroupKey,
        hash,
        ownership::{NETWORK_FINALIZER, Owner, SECURITY_GROUP_LABEL},
        publish,
        reconcile::{
            Outcome,
            failure::{Failure, cluster},
            lost::Lost,
            shown_id,
        },
    },
    kubernetes::events::reference_of,
};

/// The first pause after the cloud called something busy; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(400);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// So often what is busy is waited for before the user is told.
const PATIENCE: u32 = 9;

/// How far a pass came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Done,
    /// The rest follows when the cloud is done with what was begun.
    Waiting,
    /// Something is being changed of which nobody tells the end.
    Again(Duration),
}

impl Controller {
    /// Brings one Service to what it asks for, or cleans up after it.
    #[tracing::instrument(name = "service", skip_all, fields(service = %key))]
    pub(in crate::controllers::service) async fn reconcile_network(&self, key: &Key) -> Outcome {
        let Some(service) = self.cache.services.get(Some(&key.namespace), &key.name) else {
            self.records.remove(key);
            self.gates.remove(key);
            self.network.jobs.forget(key);
            return Outcome::Done;
        };
        let wanted =
            class::wants(&service, self.options.type_annotation) == Wants::Nlb && !class::is_deleting(&service);
        if !wanted && !Kind::Nlb.marks(&service) {
            return Outcome::Done;
        }
        if wanted && self.waits_for_another_kind(key, &service) {
            return Outcome::Done;
        }
        let started = Instant::now();
        let failed = self.network.jobs.take_failures(key);
        let result = if !failed.is_empty() {
            Err(Failure::Cloud { errors: failed, others: Vec::new() })
        } else if wanted {
            self.ensure_network(key, &service).await
        } else {
            self.clean_up_network(key, &service).await
        };
        self.latencies.observe("NLBType", "reconcile", started.elapsed(), result.is_ok());
        let done = match result {
            Ok(Progress::Waiting) => return Outcome::Waiting,
            Ok(Progress::Again(pause)) => return Outcome::RetryAfter(pause),
            Ok(Progress::Done) => Ok(()),
            Err(failure) => Err(failure),
        };
        let (reason, what) = if wanted {
            ("SyncLoadBalancerFailed", "Error syncing load balancer")
        } else {
            ("CleanLoadBalancerFailed", "Error deleting load balancer")
        };
        self.tell(key, &service, reason, what, done)
    }

    async fn ensure_network(&self, key: &Key, service: &Service) -> Result<Progress, Failure> {
        let object = reference_of(service);
        let (requested, ranges) = match self.network_wishes(key, service) {
            Ok(wishes) => wishes,
            Err(wrong) => return self.follow_network_members_alone(key, service, wrong.into()).await,
        };
        let owner = Owner::of(service, &self.options.cluster_id);
        let had_finalizer = Kind::Nlb.marks(service);
        if !had_finalizer {
            self.network.known.note_no_sources(&owner);
        }
        let added = publish::add_finalizer(&self.client, service, NETWORK_FINALIZER).await;
        added.map_err(|error| cluster("FailedAddFinalizer", "Error adding finalizer", &error))?;
        let audit = self.records.take_audit(key);
        if audit {
            self.network.known.doubt_all(&owner, requested.id.as_ref());
        }
        let (waiting, backends) = self.look_at_network_members(key, service, &requested).await?;
        let turn = match &requested.id {
            Some(id) => Some(self.network.known.turn(id).await),
            None => None,
        };
        let state = match self.find_network(key, service, &owner, &requested, had_finalizer).await {
            Err(refused @ Failure::Unfulfillable(_)) => {
                drop(turn);
                return self.follow_network_members_alone(key, service, refused).await;
            }
            found => found?,
        };
        let state = self.with_forgotten_sources(key, service, &owner, &requested, state).await?;
        let behind = self.look_behind(key, service, &requested, &state, waiting, backends).await?;
        let mut desired = self.network_desired(service, &owner, requested, &behind, &ranges, &state);
        self.tell_of_members(key, &object, &desired);
        self.yield_network_ports(service, &mut desired, &state);
        self.tell_of_ipv6(key, &object, &desired.requested.members, "DualStack");
        let mut problems = desired.problems.clone();
        let nowhere = behind.nowhere();
        if !nowhere.is_empty() {
            let named = self.named(key, &nowhere).join(",");
            problems.push(format!("Not sync pods whose eni is invalid: {named}"));
        }
        let wanted = behind.wanted(&desired);
        let mut pass = self.network_pass(key, &owner, state);
        pass.converge(&mut desired).await;
        let unsettled = pass.is_unsettled();
        let Pass { state, outcome, .. } = pass;
        let asked = |id: &ServerGroupId| desired.groups.contains_key(&GroupKey::Users(id.clone()));
        self.network.known.leave_users_groups(&owner, asked);
        self.open_network_gates(key, &behind, &desired, &wanted, &state).await?;
        for notice in self.records.new_notices(key, "room", outcome.made_room.clone()) {
            self.recorder.warning(&object, "QuotaExceeded", notice);
        }
        if let Some(id) = &desired.requested.id {
            if outcome.freed_ports {
                self.wake_sharers(id, key);
            }
            // What others have there may go without a word from here.
            if !outcome.conflicts.is_empty() {
                self.network.known.doubt(id);
            }
        }
        if audit && !outcome.changes.is_empty() {
            let message =
                format!("somebody else had changed the load balancer; put right: {}", outcome.changes.join("; "));
            self.recorder.warning(&object, "RepairedLoadBalancer", message);
        }
        self.conclude(key, service, state, outcome, problems, unsettled).await
    }

    /// With the security group that a process before this one may have made without telling anybody. Whoever
    /// is not allowed to see any has made none.
    async fn with_forgotten_sources(
        &self,
        key: &Key,
        service: &Service,
        owner: &Owner,
        requested: &NetworkRequested,
        state: State,
    ) -> Result<State, Failure> {
        let may_be_there = requested.id.is_none()
            && state.sources.is_none()
            && !is_limited(service)
            && self.may_have_stopped_halfway(key, service, Kind::Nlb);
        if !may_be_there {
            return Ok(state);
        }
        match self.network.known.sources(&*self.cloud, owner).await {
            Err(error) if error.class == Class::Denied => {
                tracing::debug!(%error, "security groups cannot be seen; there is none of ours, then");
                Ok(state)
            }
            looked => Ok(State { sources: Some(looked?), ..state }),
        }
    }

    fn tell_of_members(&self, key: &Key, object: &ObjectReference, desired: &Desired) {
        let none = desired.groups.values().all(|group| group.members.is_empty()) && !desired.groups.is_empty();
        if self.records.lost_all_members(key, none) {
            let message = "There are no available nodes for NetworkLoadBalancer".to_owned();
            self.recorder.normal(object, "UnAvailableLoadBalancer", message);
        }
    }

    /// Shows on the Service what came of a pass.
    async fn conclude(
        &self,
        key: &Key,
        service: &Service,
        state: State,
        outcome: apply::Outcome,
        problems: Vec<String>,
        unsettled: bool,
    ) -> Result<Progress, Failure> {
        let apply::Outcome { changes, failures, left_out, conflicts, busy, .. } = outcome;
        let left_out = self.left_out(key, &left_out);
        let mut others: Vec<String> = problems.into_iter().chain(conflicts).chain(left_out).collect();
        let changed = self.records.note_changes(key, !changes.is_empty());
        let waiting = self.network.jobs.is_waiting(key);
        let there = state.load_balancer.as_ref().map(|there| &there.load_balancer);
        if there.is_some_and(|there| there.status == NetworkStatus::Unusable) {
            others
                .push("the load balancer is inactive or could not be made; see the console for the reason".to_owned());
        }
        let settled = !waiting && !unsettled;
        let mut shown_is_new = false;
        if let Some(there) = there.filter(|there| !there.dns_name.is_empty())
            && settled
        {
            let complete = failures.is_empty() && others.is_empty();
            let hash = complete.then(|| hash::of(service));
            let ingress = [publish::host_name(&there.dns_name)];
            self.records.show(key, &there.id, &ingress);
            let own = state.sources.as_ref().map(|own| own.as_ref().map(|group| group.id.to_string()));
            let more = own.as_ref().map(|id| (SECURITY_GROUP_LABEL, id.as_deref()));
            let published = publish::show(&self.client, service, &there.id, &ingress, hash.as_deref(), more).await;
            shown_is_new =
                published.map_err(|e| cluster("FailedUpdateStatus", "Error updating load balancer status", &e))?;
        }
        if !failures.is_empty() || !others.is_empty() {
            return Err(Failure::Cloud { errors: failures, others });
        }
        if !settled {
            return self.again(key, waiting, busy);
        }
        self.records.stop_waiting(key);
        self.records.forget_changes(key);
        self.records.settle(key);
        if changed || shown_is_new || self.records.succeeded(key) {
            let id = there.map(|there| there.id.to_string()).unwrap_or_default();
            self.recorder.normal(
                &reference_of(service),
                "EnsuredLoadBalancer",
                format!("Ensured load balancer [{id}]"),
            );
        }
        Ok(Progress::Done)
    }

    /// When to come back to what is not settled.
    fn again(&self, key: &Key, waiting: bool, busy: Option<crate::cloud::Error>) -> Result<Progress, Failure> {
        if waiting {
            return Ok(Progress::Waiting);
        }
        let waited = self.records.wait_longer(key);
        if waited > PATIENCE {
            self.records.stop_waiting(key);
            if let Some(error) = busy {
                return Err(error.into());
            }
        }
        if busy.is_none()
            && let Some(service) = self.cache.services.get(Some(&key.namespace), &key.name)
        {
            // Something is under way that this process did not begin: only the cloud can tell.
            self.network.known.doubt_groups(&Owner::of(&service, &self.options.cluster_id));
        }
        Ok(Progress::Again((FIRST_PAUSE * 2u32.saturating_pow(waited.min(10))).min(LONGEST_PAUSE)))
    }

    fn network_pass<'a>(&'a self, key: &'a Key, owner: &'a Owner, state: State) -> Pass<'a> {
        let mut pass = Pass::new(&*self.cloud, &self.network, key, owner, self.clock.now(), state);
        pass.pretends = self.rehearses;
        pass
    }

    /// What is there to work on.
    async fn find_network(
        &self,
        key: &Key,
        service: &Service,
        owner: &Owner,
        requested: &NetworkRequested,
        had_finalizer: bool,
    ) -> Result<State, Failure> {
        let known = &self.network.known;
        if let Some(id) = &requested.id {
            // A pass that was cut short may have left members where they are not asked for any more.
            let reached_its_end = publish::shown_hash(service) == Some(&hash::of(service));
            if had_finalizer && !reached_its_end && !self.records.is_settled(key) {
                known.search_users_groups(&*self.cloud, owner).await?;
            }
            let groups = requested.members.user_groups.values().cloned();
            let state = known.find_on(&*self.cloud, owner, id, groups).await?;
            if let Err(refused) = self.check_network_reuse(service, owner, id, &state) {
                // It may be another one by the next try.
                known.doubt(id);
                return Err(refused);
            }
            return Ok(state);
        }
        let shown = publish::shown_host_name(service);
        let may_be_older = had_finalizer || shown.is_some();
        let state = known.find(&*self.cloud, owner, may_be_older).await?;
        match (&state.load_balancer, shown) {
            (None, Some(name)) => {
                // It may be back, or tagged again, by the next try.
                known.doubt_absence(owner);
                let id = shown_id(service).map(LoadBalancerId::from);
                let is_there = match &id {
                    Some(id) => !self.cloud.network_load_balancers(std::slice::from_ref(id)).await?.is_empty(),
                    None => false,
                };
                let recreates = requested.members.recreates && !requested.zones.is_empty();
                self.lost(key, service, owner, Lost { id, shown: name, is_there, recreates })?;
                Ok(state)
            }
            (None, None) if requested.zones.is_empty() => Err(Failure::Unfulfillable(
                "ParameterMissing, zone mappings are required: set the annotation zone-maps to \
                 zone-a:vsw-id-1,zone-b:vsw-id-2"
                    .to_owned(),
            )),
            (None, None) => {
                known.note_absent(owner);
                Ok(state)
            }
            (Some(_), _) => Ok(state),
        }
    }
}
