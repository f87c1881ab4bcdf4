//! What goes on for a Service on a network load balancer that asks for something that cannot be: its members
//! follow on the load balancer that it shows, as on a classic one, and nothing else does.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Service;

use super::Progress;
use crate::{
    cloud::LoadBalancerId,
    controllers::service::{
        Controller, Key,
        annotations::{Annotations, NetworkRequested},
        class::Kind,
        nlb::apply::Outcome,
        ownership::Owner,
        reconcile::{failure::Failure, shown_id},
    },
};

impl Controller {
    /// Has the members of the groups that are there follow; answers what is wrong, and what else is.
    pub(super) async fn follow_network_members_alone(
        &self,
        key: &Key,
        service: &Service,
        wrong: Failure,
    ) -> Result<Progress, Failure> {
        let requested = Annotations::of(service).parse_network_for_members().filter(|_| Kind::Nlb.marks(service));
        let Some(requested) = requested else { return Err(wrong) };
        let (errors, mut others) = match self.follow_network(key, service, requested).await {
            Ok((Outcome { failures, left_out, .. }, false)) => (failures, self.left_out(key, &left_out)),
            // Somebody else is at it; what is wrong is told after that.
            Ok((Outcome { busy, .. }, true)) => return self.again(key, self.network.jobs.is_waiting(key), busy),
            Err(Failure::Cloud { errors, others }) => (errors, others),
            Err(failure) => return Err(failure),
        };
        self.records.stop_waiting(key);
        if errors.is_empty() && others.is_empty() {
            return Err(wrong);
        }
        others.insert(0, wrong.to_string());
        Err(Failure::Cloud { errors, others })
    }

    /// What came of it, and whether something is in the way that nobody here knows the end of.
    async fn follow_network(
        &self,
        key: &Key,
        service: &Service,
        requested: NetworkRequested,
    ) -> Result<(Outcome, bool), Failure> {
        let owner = Owner::of(service, &self.options.cluster_id);
        let (waiting, backends) = self.look_at_network_members(key, service, &requested).await?;
        let Some(id) = shown_id(service).map(LoadBalancerId::from) else { return Ok((Outcome::default(), false)) };
        let known = &self.network.known;
        let _turn = known.turn(&id).await;
        let users = requested.members.user_groups.values().cloned();
        let state = known.find_on(&*self.cloud, &owner, &id, users).await?;
        if state.load_balancer.is_none() {
            return Ok((Outcome::default(), false));
        }
        let behind = self.look_behind(key, service, &requested, &state, waiting, backends).await?;
        let mut desired = self.network_desired(service, &owner, requested, &behind, &BTreeSet::new(), &state);
        let wanted = behind.wanted(&desired);
        let mut pass = self.network_pass(key, &owner, state);
        pass.converge_members(&mut desired).await;
        let unsettled = pass.is_unsettled();
        self.open_network_gates(key, &behind, &desired, &wanted, &pass.state).await?;
        Ok((pass.outcome, unsettled))
    }
}
