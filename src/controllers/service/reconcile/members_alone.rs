//! What goes on for a Service that asks for something that cannot be.
//!
//! Nothing of what it asks for is put into effect, wrong or right, until a person has corrected
//! it. But its nodes and pods come and go all the same, and in the end a load balancer whose members
//! are all gone serves nobody: so members follow, on the load balancer that the Service shows. Clients
//! come there, whichever the annotations name by now.

use std::{collections::BTreeMap, net::IpAddr};

use k8s_openapi::api::core::v1::Service;

use super::{about_gates, failure::Failure, shown_id};
use crate::{
    cloud::{Error, LoadBalancerId},
    controllers::service::{
        Controller, Key,
        annotations::{Annotations, Requested},
        apply::Pass,
        checks, class, desired,
        ownership::Owner,
    },
};

impl Controller {
    /// Has the members of the groups that are there follow; answers what is wrong, and what else
    /// is.
    pub(super) async fn follow_members_alone(&self, key: &Key, service: &Service, wrong: Failure) -> Failure {
        let Some(requested) = Annotations::of(service).parse_for_members().filter(|_| class::has_finalizer(service))
        else {
            return wrong;
        };
        let (errors, mut others) = match self.follow(key, service, requested).await {
            Ok(troubles) => troubles,
            Err(Failure::Cloud { errors, others }) => (errors, others),
            Err(failure) => return failure,
        };
        if errors.is_empty() && others.is_empty() {
            return wrong;
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
        let Some(id) = shown_id(service).map(LoadBalancerId::from) else { return Ok((Vec::new(), Vec::new())) };
        let _turn = self.known.turn(&id).await;
        let Some(state) = self.known.state(&*self.cloud, &id).await? else { return Ok((Vec::new(), Vec::new())) };
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
        let left_out = self.left_out(key, &pass.left_out);
        Ok((pass.failures, left_out))
    }
}
