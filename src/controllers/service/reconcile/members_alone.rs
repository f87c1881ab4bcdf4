//! What goes on for a Service that asks for something that cannot be.
//!
//! Nothing of what it asks for is put into effect, wrong or right, until a person has corrected
//! it. But its nodes and pods come and go all the same, and in the end a load balancer whose members
//! are all gone serves nobody: so members follow.

use std::{collections::BTreeMap, net::IpAddr};

use k8s_openapi::api::core::v1::Service;

use super::{about_gates, failure::Failure};
use crate::{
    cloud::Error,
    controllers::service::{
        Controller, Key,
        annotations::{Annotations, Mistakes, Requested},
        apply::Pass,
        checks, class, desired,
        ownership::Owner,
    },
};

impl Controller {
    /// Has the members of the groups that are there follow; answers what is wrong, and what else
    /// is.
    pub(super) async fn follow_members_alone(&self, key: &Key, service: &Service, wrong: Mistakes) -> Failure {
        let Some(requested) = Annotations::of(service).parse_for_members().filter(|_| class::has_finalizer(service))
        else {
            return wrong.into();
        };
        let (errors, mut others) = match self.follow(key, service, requested).await {
            Ok(troubles) => troubles,
            Err(Failure::Cloud { errors, others }) => (errors, others),
            // There is nothing to have members, or not for sure. What is wrong comes first.
            Err(Failure::Unfulfillable(_) | Failure::Mistakes(_)) => return wrong.into(),
            Err(failure) => return failure,
        };
        if errors.is_empty() && others.is_empty() {
            return wrong.into();
        }
        others.insert(0, wrong.to_string());
        Failure::Cloud { errors, others }
    }

    async fn follow(
        &self,
        key: &Key,
        service: &Service,
        requested: Requested,
    ) -> Result<(Vec<Error>, Vec<String>), Failure> {
        let owner = Owner::of(service, &self.options.cluster_id);
        let (nodes, slices) = (self.cache.nodes.list(), self.slices(key));
        let waiting = self.look_at_pods(key, &slices).await.map_err(|error| about_gates(key, &error))?;
        let backends = self.compute_backends(key, service, &requested, &nodes, &slices);
        if waiting.is_empty() && !self.records.backends_changed(key, &backends) {
            return Ok((Vec::new(), Vec::new()));
        }
        let _turn = match &requested.id {
            Some(id) => Some(self.known.turn(id).await),
            None => None,
        };
        let Some(state) = self.find(key, service, &owner, &requested, true).await? else {
            return Ok((Vec::new(), Vec::new()));
        };
        // Listeners stay as they are, so what they check is what counts.
        let checked = checks::are_checked(service, &requested, &owner, Some(&state));
        let backends = self.backends_if_checked(key, service, &requested, checked, backends);
        let there = state.groups.iter().flat_map(|group| &group.members);
        let interfaces = self.interfaces.resolve(&*self.cloud, &backends.pods, there).await?;
        let desired = desired::desired(service, requested, &backends, &interfaces, &self.options);
        let wanted = if waiting.is_empty() { BTreeMap::new() } else { desired.groups.clone() };
        let mut pass = Pass::new(&*self.cloud, &self.known, self.clock.now(), Some(state));
        pass.converge_members(desired).await;
        if let Some(state) = &pass.state {
            let nowhere = |ip: &IpAddr| backends.pods.contains_key(ip) && !interfaces.contains_key(ip);
            self.open_gates_of(key, &waiting, &wanted, state, nowhere).await?;
        }
        if pass.failures.is_empty() {
            self.records.set_backends(key, &backends);
        }
        Ok((pass.failures, pass.left_out))
    }
}
