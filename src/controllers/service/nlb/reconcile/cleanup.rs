//! Taking away what a Service had on network load balancers.

use k8s_openapi::api::core::v1::Service;

use super::{Progress, wishes::is_limited};
use crate::{
    cloud::{Class, LoadBalancerId, ServerGroupId},
    controllers::service::{
        Controller, Key,
        annotations::Annotations,
        class,
        nlb::{
            apply::{self, Pass},
            plan,
        },
        ownership::{NETWORK_FINALIZER, Owner},
        publish,
        reconcile::failure::{Failure, cluster},
    },
    kubernetes::events::reference_of,
};

impl Controller {
    pub(super) async fn clean_up_network(&self, key: &Key, service: &Service) -> Result<Progress, Failure> {
        let owner = Owner::of(service, &self.options.cluster_id);
        let annotations = Annotations::of(service);
        if let Some(id) = annotations.load_balancer_id()
            && let Some(progress) = self.detach_network(key, &owner, &id, annotations.user_groups()).await?
        {
            return Ok(progress);
        }
        if let Some(progress) = self.delete_network(key, &owner, service).await? {
            return Ok(progress);
        }
        let hidden = publish::hide(&self.client, service).await;
        let hidden = hidden.map_err(|e| cluster("FailedUpdateStatus", "Error removing load balancer status", &e))?;
        let removed = publish::remove_finalizer(&self.client, &hidden, NETWORK_FINALIZER).await;
        removed.map_err(|e| cluster("FailedRemoveFinalizer", "Error removing load balancer finalizer", &e))?;
        self.leave_gates(key, &self.slices(key)).await;
        self.records.remove(key);
        self.network.jobs.forget(key);
        self.network.known.forget(&owner, class::is_deleting(service));
        self.recorder.normal(&reference_of(service), "CleanLoadBalancer", "Clean load balancer");
        Ok(Progress::Done)
    }

    /// Takes what is ours off a load balancer that is the user's; `None` when that is done.
    async fn detach_network(
        &self,
        key: &Key,
        owner: &Owner,
        id: &LoadBalancerId,
        groups: Vec<ServerGroupId>,
    ) -> Result<Option<Progress>, Failure> {
        let _turn = self.network.known.turn(id).await;
        if !self.records.is_settled(key) {
            self.network.known.search_users_groups(&*self.cloud, owner).await?;
        }
        let state = self.network.known.find_on(&*self.cloud, owner, id, groups.into_iter()).await?;
        match &state.load_balancer {
            Some(there) if !owner.owns_network_load_balancer(&there.load_balancer) => {}
            _ => return Ok(None),
        }
        let mut pass = self.network_pass(key, owner, state);
        let done = pass.dismantle(|state| plan::detach(owner, state)).await;
        if pass.outcome.freed_ports {
            self.wake_sharers(id, key);
        }
        self.dismantled(key, pass, done)
    }

    /// Deletes, or lets go of, what was made for the Service; `None` when that is done.
    async fn delete_network(&self, key: &Key, owner: &Owner, service: &Service) -> Result<Option<Progress>, Failure> {
        let known = &self.network.known;
        let mut state = known.find(&*self.cloud, owner, true).await?;
        let there = state.load_balancer.as_ref().map(|there| &there.load_balancer);
        if there.is_some_and(|there| !owner.owns_network_load_balancer(there)) {
            state.load_balancer = None;
        }
        let id = state.load_balancer.as_ref().map(|there| there.load_balancer.id.clone());
        if Annotations::of(service).preserves_load_balancer() {
            let mut pass = self.network_pass(key, owner, state);
            let done = pass.dismantle(|state| plan::release(owner, state)).await;
            let progress = self.dismantled(key, pass, done)?;
            if progress.is_none()
                && let Some(id) = id
            {
                known.note_deleted(owner, &id);
                let message = format!("The lb [{id}] will be preserved after the service is deleted.");
                self.recorder.warning(&reference_of(service), "PreservedOnDelete", message);
            }
            return Ok(progress);
        }
        let in_groups = state.load_balancer.iter().any(|there| !there.load_balancer.security_groups.is_empty());
        let limits = is_limited(service);
        // A process before this one may have made it and have told nobody.
        if in_groups || limits || !self.records.is_settled(key) {
            state.sources = match known.sources(&*self.cloud, owner).await {
                // A refusal may pass: the Service waits for that rather than leave a group behind. Where nothing
                // speaks for one, it does not wait for ever.
                Err(error) if error.class == Class::Denied && !limits && known.sources_are_beyond_our_rights() => {
                    tracing::debug!(%error, "security groups cannot be seen; there is none of ours, then");
                    None
                }
                looked => Some(looked?),
            };
        }
        let mut pass = self.network_pass(key, owner, state);
        let done = pass.dismantle(|state| plan::delete(owner, state)).await;
        // Gone already is as good as deleted; the next look will tell.
        if pass.outcome.failures.iter().any(|error| error.class == Class::NotFound) {
            known.doubt_all(owner, id.as_ref());
        }
        if pass.state.load_balancer.is_none()
            && let Some(id) = &id
        {
            known.note_deleted(owner, id);
        }
        self.dismantled(key, pass, done)
    }

    fn dismantled(&self, key: &Key, pass: Pass<'_>, done: bool) -> Result<Option<Progress>, Failure> {
        let unsettled = pass.is_unsettled();
        let apply::Outcome { failures, busy, .. } = pass.outcome;
        if !failures.is_empty() {
            return Err(Failure::Cloud { errors: failures, others: Vec::new() });
        }
        let waiting = self.network.jobs.is_waiting(key);
        if done && !waiting && !unsettled {
            self.records.stop_waiting(key);
            return Ok(None);
        }
        self.again(key, waiting, busy).map(Some)
    }
}
