//! What a pass may not believe: that there is no more than the inventory shows, that there is still what was
//! there a moment ago, and that nothing happened while nobody looked.

use super::super::{Controller, Key, apply::Pass, hash, members, ownership::Owner, publish};
use crate::cloud::{Class, Error, GroupsView, LoadBalancerState};
use k8s_openapi::api::core::v1::Service;

impl Controller {
    /// A pass that was cut short may have left groups behind that no listener uses any more, which
    /// an inventory does not show. The hash on the Service tells whether the last one reached its end.
    pub(super) async fn with_leftovers(
        &self,
        service: &Service,
        state: Option<LoadBalancerState>,
    ) -> Result<Option<LoadBalancerState>, Error> {
        let reached_its_end = || publish::shown_hash(service) == Some(&hash::of(service));
        match state {
            Some(mut state) if state.groups_view == GroupsView::Referenced && !reached_its_end() => {
                state.groups = self.cloud.server_groups(&state.load_balancer.id).await?;
                state.groups_view = GroupsView::Complete;
                self.known.put(state.clone());
                Ok(Some(state))
            }
            state => Ok(state),
        }
    }

    /// After something was not found: whether the load balancer itself is gone. Somebody may have
    /// deleted it, or it never was a new one: a creation with the idempotency token of one long
    /// deleted is answered with that one. What is gone is not shown, and the next token is another.
    pub(super) async fn believe_that_it_is_gone(&self, owner: &Owner, pass: &mut Pass<'_>) {
        let not_found = pass.failures.iter().any(|error| error.class == Class::NotFound);
        let Some(id) = pass.state.as_ref().map(|state| state.load_balancer.id.clone()).filter(|_| not_found) else {
            return;
        };
        if matches!(self.cloud.observe(&id).await, Ok(None)) {
            self.known.note_deleted(owner, &id);
            pass.state = None;
        }
    }

    /// Whether the traffic policy has changed since this process began, or has become Local between the end of the
    /// last pass of the process before it and now.
    pub(in crate::controllers::service) fn policy_changed(&self, key: &Key, service: &Service) -> bool {
        let unseen = || publish::shown_hash(service).is_some_and(|shown| hash::is_of_policy_cluster(service, shown));
        self.records.policy_changed(key) || (members::is_local(service) && !self.records.is_settled(key) && unseen())
    }
}
