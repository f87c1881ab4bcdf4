//! What is known of the load balancers in the cloud, so that a pass need not ask.
//!
//! One inventory is read when this replica begins to lead. From then on nobody else changes
//! what is ours, so what was written is what is there, until an answer says otherwise or is
//! lost: then the knowledge is dropped, and the next pass looks.

pub mod once;
pub mod refusals;
pub mod roster;

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use self::{
    once::Once,
    roster::{Roster, named_once, several},
};
use super::ownership::{CLUSTER_TAG, OWNER_TAG, Owner};
use crate::cloud::{CloudProvider, Error, LoadBalancer, LoadBalancerId, LoadBalancerState};

/// The load balancers as last seen or written.
#[derive(Default)]
pub struct Known {
    inner: Mutex<Inner>,
    inventory: Once,
}

#[derive(Default)]
struct Inner {
    states: BTreeMap<LoadBalancerId, LoadBalancerState>,
    roster: Roster,
    /// Default names → further load balancers with the mark of that Service.
    doubles: BTreeMap<String, BTreeSet<LoadBalancerId>>,
}

// === impl Known ===

impl Known {
    /// The load balancer that was made for `owner`, if there is one, with all that hangs on it.
    /// For `shown` and `may_be_older` see [`Self::locate`].
    pub async fn find(
        &self,
        cloud: &dyn CloudProvider,
        owner: &Owner,
        shown: Option<&LoadBalancerId>,
        may_be_older: bool,
    ) -> Result<Option<LoadBalancerState>, Error> {
        match self.id_of(cloud, owner).await? {
            Some(id) => self.state(cloud, &id).await,
            None => match self.locate(cloud, owner, shown, may_be_older).await? {
                Some(found) => self.state(cloud, &found.id).await,
                None => Ok(None),
            },
        }
    }

    /// The load balancer that was made for `owner`, if there is one, without what hangs on it.
    ///
    /// `shown`: the one that the Service shows; if several carry its mark, it is that one.
    ///
    /// `may_be_older`: the Service may have got it before the inventory was read, perhaps from
    /// a release that did not tag. A Service that never had our finalizer cannot, and costs no call.
    pub async fn locate(
        &self,
        cloud: &dyn CloudProvider,
        owner: &Owner,
        shown: Option<&LoadBalancerId>,
        may_be_older: bool,
    ) -> Result<Option<LoadBalancer>, Error> {
        let id = self.id_of(cloud, owner).await?;
        let name = owner.default_name();
        {
            let inner = self.inner.lock();
            if let Some(state) = id.as_ref().and_then(|id| inner.states.get(id)) {
                return Ok(Some(state.load_balancer.clone()));
            }
            if id.is_none() && (inner.roster.is_absent(&name) || !may_be_older) {
                return Ok(None);
            }
        }
        let mut found = cloud.find_by_tag(OWNER_TAG, &name).await?;
        if found.is_empty() {
            found = cloud.find_by_name(&name).await?;
            found.retain(|load_balancer| owner.owns_load_balancer(load_balancer));
        }
        let mut inner = self.inner.lock();
        inner.doubles.remove(&name);
        if found.len() > 1
            && let Some(place) = found.iter().position(|load_balancer| shown == Some(&load_balancer.id))
        {
            let chosen = found.swap_remove(place);
            let others = found.into_iter().map(|load_balancer| load_balancer.id).collect();
            inner.roster.note(&name, &chosen.id);
            inner.doubles.insert(name, others);
            return Ok(Some(chosen));
        }
        match &found[..] {
            [] => {
                inner.roster.note_absent(&name);
                Ok(None)
            }
            [one] => {
                inner.roster.note(&name, &one.id);
                Ok(Some(one.clone()))
            }
            all => Err(several("DescribeLoadBalancers", &name, all.iter().map(|lb| &lb.id))),
        }
    }

    async fn id_of(&self, cloud: &dyn CloudProvider, owner: &Owner) -> Result<Option<LoadBalancerId>, Error> {
        self.inventory.read(self.take_inventory(cloud, &owner.cluster)).await?;
        Ok(self.inner.lock().roster.of(&owner.default_name()).cloned())
    }

    /// The state of one load balancer; `None` if there is no such load balancer.
    pub async fn state(
        &self,
        cloud: &dyn CloudProvider,
        id: &LoadBalancerId,
    ) -> Result<Option<LoadBalancerState>, Error> {
        if let Some(state) = self.inner.lock().states.get(id) {
            return Ok(Some(state.clone()));
        }
        let observed = cloud.observe(id).await?;
        match &observed {
            Some(state) => self.put(state.clone()),
            None => self.gone(id),
        }
        Ok(observed)
    }

    /// Notes the state of a load balancer after a change that succeeded.
    pub fn put(&self, state: LoadBalancerState) {
        let mut inner = self.inner.lock();
        if let Some(name) = state.load_balancer.tags.get(OWNER_TAG) {
            inner.roster.note(name, &state.load_balancer.id);
        }
        inner.states.insert(state.load_balancer.id.clone(), state);
    }

    /// Drops what is believed of a load balancer's state: it will be looked at again.
    pub fn doubt(&self, id: &LoadBalancerId) {
        self.inner.lock().states.remove(id);
    }

    /// Drops what is believed of whether `owner` has a load balancer: it may have been made
    /// although the answer was lost.
    pub fn doubt_absence(&self, owner: &Owner) {
        self.inner.lock().roster.doubt_absence(&owner.default_name());
    }

    /// Notes that `owner` has no load balancer of its own.
    pub fn note_absent(&self, owner: &Owner) {
        self.inner.lock().roster.note_absent(&owner.default_name());
    }

    /// Notes that a load balancer does not exist any more.
    pub fn gone(&self, id: &LoadBalancerId) {
        let mut inner = self.inner.lock();
        inner.states.remove(id);
        inner.roster.gone(id);
    }

    /// Notes that the load balancer of `owner` was deleted or let go.
    pub fn note_deleted(&self, owner: &Owner, id: &LoadBalancerId) {
        let mut inner = self.inner.lock();
        inner.states.remove(id);
        inner.roster.note_deleted(&owner.default_name(), id);
    }

    /// Further load balancers that carry the mark of `owner`, as far as they were seen.
    pub fn doubles(&self, owner: &Owner) -> BTreeSet<LoadBalancerId> {
        self.inner.lock().doubles.get(&owner.default_name()).cloned().unwrap_or_default()
    }

    /// How many load balancers of `owner` this process has deleted.
    pub fn deletions(&self, owner: &Owner) -> u32 {
        self.inner.lock().roster.deletions(&owner.default_name())
    }

    /// Drops everything about a Service that is gone from the cluster.
    pub fn forget_service(&self, owner: &Owner) {
        let mut inner = self.inner.lock();
        let name = owner.default_name();
        inner.roster.forget(&name);
        inner.doubles.remove(&name);
    }

    /// Drops the state of the load balancer made for `owner`, so that it is looked at again.
    pub fn doubt_made_for(&self, owner: &Owner) {
        let mut inner = self.inner.lock();
        if let Some(id) = inner.roster.of(&owner.default_name()).cloned() {
            inner.states.remove(&id);
        }
    }

    /// Waits for one's turn on a load balancer that several Services may use.
    pub async fn turn(&self, id: &LoadBalancerId) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = self.inner.lock().roster.turn(id);
        turn.lock_owned().await
    }

    async fn take_inventory(&self, cloud: &dyn CloudProvider, cluster: &str) -> Result<(), Error> {
        let states = cloud.inventory(CLUSTER_TAG, cluster).await?;
        tracing::info!(count = states.len(), cluster, "read the inventory of load balancers");
        let chosen = named_once(states.iter().filter_map(|state| state.load_balancer.tags.get(OWNER_TAG)));
        for state in states {
            if state.load_balancer.tags.get(OWNER_TAG).is_some_and(|name| chosen.contains(name)) {
                self.put(state);
            }
        }
        Ok(())
    }
}
