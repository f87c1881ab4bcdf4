//! What is left of a Service that does not want a load balancer any more is taken away.
//!
//! Nothing here asks for valid annotations or for what the options allow: however wrong a Service
//! is, it can be cleaned up.

use k8s_openapi::api::core::v1::Service;

use super::failure::{Failure, cluster};
use crate::{
    cloud::{Class, GroupsView, LoadBalancer, LoadBalancerId},
    controllers::service::{
        Controller, Key,
        annotations::Annotations,
        apply::Pass,
        class,
        ownership::{FINALIZER, Owner},
        plan, publish,
    },
    kubernetes::events::reference_of,
};

impl Controller {
    /// Removes the load balancer, or what is ours on one of the user's, and then our marks.
    pub(super) async fn clean_up(&self, key: &Key, service: &Service) -> Result<(), Failure> {
        let owner = Owner::of(service, &self.options.cluster_id);
        let annotations = Annotations::of(service);
        if let Some(id) = annotations.load_balancer_id() {
            self.detach(&owner, &id).await?;
            self.wake_sharers(&id, key);
        }
        // Even with an id given now, an own one may be left from before.
        let preserve = annotations.preserves_load_balancer();
        let shown = super::shown_id(service).map(LoadBalancerId::from);
        if let Some(load_balancer) = self.known.locate(&*self.cloud, &owner, shown.as_ref(), true).await? {
            self.delete(&owner, load_balancer, preserve, service).await?;
        }
        self.drop_access_lists(key, service, &owner, preserve && annotations.load_balancer_id().is_none()).await?;
        let hidden = publish::hide(&self.client, service).await;
        let hidden = hidden.map_err(|e| cluster("FailedUpdateStatus", "Error removing load balancer status", &e))?;
        let removed = publish::remove_finalizer(&self.client, &hidden, FINALIZER).await;
        removed.map_err(|e| cluster("FailedRemoveFinalizer", "Error removing load balancer finalizer", &e))?;
        self.leave_gates(key, &self.slices(key)).await;
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
        if state.groups_view == GroupsView::Referenced {
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
}

fn finished(pass: Pass<'_>) -> Result<(), Failure> {
    if pass.failures.is_empty() { Ok(()) } else { Err(Failure::Cloud { errors: pass.failures, others: Vec::new() }) }
}
