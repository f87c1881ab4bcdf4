//! What is known of the network load balancers and groups in the cloud, so that a pass need not
//! ask.
//!
//! As for classic load balancers: one inventory when this replica begins to lead, then what was
//! written is what is there, until an answer says otherwise or is lost.

mod doubts;
mod sources;
mod users;

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use self::users::Users;
use super::observed::{State, settle_group, settle_load_balancer};
use crate::{
    cloud::{
        CloudProvider, Error, LoadBalancerId, NetworkGroup, NetworkLoadBalancer, NetworkLoadBalancerState,
        NetworkStatus, SecurityGroup, ServerGroupId, network_action::Lock,
    },
    controllers::service::{
        known::{
            once::Once,
            refusals::Refusals,
            roster::{Roster, named_once, several},
        },
        ownership::{CLUSTER_TAG, OWNER_TAG, Owner},
    },
};

/// The load balancers and groups as last seen or written.
#[derive(Default)]
pub struct Known {
    inner: Mutex<Inner>,
    inventory: Once,
    /// To show any security group.
    refusals: Refusals,
}

#[derive(Default)]
struct Inner {
    load_balancers: BTreeMap<LoadBalancerId, NetworkLoadBalancerState>,
    roster: Roster,
    /// Default name → groups; what is not here has none, unless it is in doubt.
    groups: BTreeMap<String, Vec<NetworkGroup>>,
    doubted_groups: BTreeSet<String>,
    users: Users,
    /// Default name → the security group for source ranges.
    sources: BTreeMap<String, Option<SecurityGroup>>,
}

// === impl Known ===

impl Known {
    /// What was made for `owner`. `may_be_older`: it may have been made before the inventory was
    /// read; a Service that never had our finalizer cannot have anything, and costs no call.
    pub async fn find(&self, cloud: &dyn CloudProvider, owner: &Owner, may_be_older: bool) -> Result<State, Error> {
        self.inventory.read(self.take_inventory(cloud, &owner.cluster)).await?;
        let load_balancer = match self.locate(cloud, owner, may_be_older).await? {
            Some(id) => self.load_balancer(cloud, &id).await?,
            None => None,
        };
        self.with_groups(cloud, owner, load_balancer).await
    }

    /// What `owner` has on this load balancer of the user's, and in these groups of the user's.
    pub async fn find_on(
        &self,
        cloud: &dyn CloudProvider,
        owner: &Owner,
        id: &LoadBalancerId,
        users: impl Iterator<Item = ServerGroupId>,
    ) -> Result<State, Error> {
        self.inventory.read(self.take_inventory(cloud, &owner.cluster)).await?;
        self.inner.lock().users.note(&owner.default_name(), users);
        let load_balancer = self.load_balancer(cloud, id).await?;
        self.with_groups(cloud, owner, load_balancer).await
    }

    async fn with_groups(
        &self,
        cloud: &dyn CloudProvider,
        owner: &Owner,
        load_balancer: Option<NetworkLoadBalancerState>,
    ) -> Result<State, Error> {
        let name = owner.default_name();
        let in_doubt = self.inner.lock().doubted_groups.contains(&name);
        if in_doubt {
            let groups = cloud.network_groups_by_tags(&owner.tags()).await?;
            let mut inner = self.inner.lock();
            inner.doubted_groups.remove(&name);
            inner.groups.insert(name.clone(), groups);
        }
        let unknown = {
            let mut inner = self.inner.lock();
            let Inner { groups, users, .. } = &mut *inner;
            users.unknown(&name, groups.get(&name).map_or(&[], Vec::as_slice))
        };
        if !unknown.is_empty() {
            let found = cloud.network_groups(&unknown).await?;
            self.inner.lock().users.put(found);
        }
        let inner = self.inner.lock();
        let mut groups = inner.groups.get(&name).cloned().unwrap_or_default();
        groups.extend(inner.users.of(&name).cloned());
        Ok(State { load_balancer, groups, sources: inner.sources.get(&name).cloned() })
    }

    /// Looks for members of `owner` in all groups of the region (⌈M/100⌉ calls): nothing else tells of those
    /// that an earlier process put into groups of the user's which are not asked for any more. Once for each.
    pub async fn search_users_groups(&self, cloud: &dyn CloudProvider, owner: &Owner) -> Result<(), Error> {
        let name = owner.default_name();
        if self.inner.lock().users.is_searched(&name) {
            return Ok(());
        }
        let members = cloud.network_members().await?;
        let ours = members.into_iter().filter(|(_, members)| members.iter().any(|m| owner.owns_network_member(m)));
        let mut inner = self.inner.lock();
        inner.users.note(&name, ours.map(|(id, _)| id));
        inner.users.note_searched(&name);
        Ok(())
    }

    /// Remembers of the groups of the user's those that are `asked` for, or have members of `owner`.
    pub fn leave_users_groups(&self, owner: &Owner, asked: impl Fn(&ServerGroupId) -> bool) {
        self.inner.lock().users.leave(owner, asked);
    }

    async fn locate(
        &self,
        cloud: &dyn CloudProvider,
        owner: &Owner,
        may_be_older: bool,
    ) -> Result<Option<LoadBalancerId>, Error> {
        let name = owner.default_name();
        {
            let inner = self.inner.lock();
            if let Some(id) = inner.roster.of(&name) {
                return Ok(Some(id.clone()));
            }
            if inner.roster.is_absent(&name) || !may_be_older {
                return Ok(None);
            }
        }
        let mut found = cloud.network_load_balancers_by_tag(OWNER_TAG, &name).await?;
        if found.is_empty() {
            found = cloud.network_load_balancers_by_name(&name).await?;
            found.retain(|load_balancer| owner.owns_network_load_balancer(load_balancer));
        }
        let mut inner = self.inner.lock();
        match &found[..] {
            [] => {
                inner.roster.note_absent(&name);
                Ok(None)
            }
            [one] => {
                inner.roster.note(&name, &one.id);
                Ok(Some(one.id.clone()))
            }
            all => Err(several("ListLoadBalancers", &name, all.iter().map(|lb| &lb.id))),
        }
    }

    async fn load_balancer(
        &self,
        cloud: &dyn CloudProvider,
        id: &LoadBalancerId,
    ) -> Result<Option<NetworkLoadBalancerState>, Error> {
        if let Some(state) = self.inner.lock().load_balancers.get(id) {
            return Ok(Some(state.clone()));
        }
        let found = cloud.network_load_balancers(std::slice::from_ref(id)).await?.into_iter().next();
        let Some(load_balancer) = found else {
            self.gone(id);
            return Ok(None);
        };
        let listeners = cloud.network_listeners(id).await?;
        let state = NetworkLoadBalancerState { load_balancer, listeners };
        self.put(state.clone());
        Ok(Some(state))
    }

    /// Notes what is there for `owner` after a change was begun.
    pub fn store(&self, owner: &Owner, state: &State) {
        let name = owner.default_name();
        if let Some(there) = &state.load_balancer {
            self.put(there.clone());
        }
        let mut inner = self.inner.lock();
        let (users, own): (Vec<_>, Vec<_>) =
            state.groups.iter().cloned().partition(|group| inner.users.has(&name, &group.id));
        inner.users.put(users);
        inner.groups.insert(name.clone(), own);
        match &state.sources {
            Some(sources) => inner.sources.insert(name, sources.clone()),
            None => inner.sources.remove(&name),
        };
    }

    fn put(&self, state: NetworkLoadBalancerState) {
        let mut inner = self.inner.lock();
        if let Some(name) = state.load_balancer.tags.get(OWNER_TAG) {
            inner.roster.note(name, &state.load_balancer.id);
        }
        inner.load_balancers.insert(state.load_balancer.id.clone(), state);
    }

    /// What was being changed takes changes again.
    pub fn settle(&self, lock: &Lock) {
        let mut inner = self.inner.lock();
        match lock {
            Lock::LoadBalancer(id) => {
                let Some(there) = inner.load_balancers.get_mut(id) else { return };
                settle_load_balancer(there);
                if there.load_balancer.status == NetworkStatus::Deleting {
                    inner.vanished(id);
                }
            }
            Lock::Group(id) => {
                for groups in inner.groups.values_mut() {
                    settle_group(groups, id);
                }
                if let Some(group) = inner.users.get_mut(id) {
                    settle_group(std::slice::from_mut(group), id);
                }
            }
        }
    }

    /// Takes over how a load balancer is now. What is known of its listeners holds only if it was
    /// just made, and had none.
    pub fn refresh(&self, load_balancer: NetworkLoadBalancer) {
        let mut inner = self.inner.lock();
        let Some(there) = inner.load_balancers.get_mut(&load_balancer.id) else { return };
        if there.load_balancer.status == NetworkStatus::Provisioning {
            there.load_balancer = load_balancer;
        } else {
            inner.load_balancers.remove(&load_balancer.id);
        }
    }

    /// Whether the load balancer is being made.
    pub fn is_provisioning(&self, id: &LoadBalancerId) -> bool {
        let inner = self.inner.lock();
        inner.load_balancers.get(id).is_some_and(|there| there.load_balancer.status == NetworkStatus::Provisioning)
    }

    /// How many load balancers of `owner` this process has deleted.
    pub fn deletions(&self, owner: &Owner) -> u32 {
        self.inner.lock().roster.deletions(&owner.default_name())
    }

    /// Waits for one's turn on a load balancer that several Services may use.
    pub async fn turn(&self, id: &LoadBalancerId) -> tokio::sync::OwnedMutexGuard<()> {
        let turn = self.inner.lock().roster.turn(id);
        turn.lock_owned().await
    }

    async fn take_inventory(&self, cloud: &dyn CloudProvider, cluster: &str) -> Result<(), Error> {
        let inventory = cloud.network_inventory(CLUSTER_TAG, cluster).await?;
        let count = inventory.load_balancers.len();
        tracing::info!(count, cluster, "read the inventory of network load balancers");
        let marks = inventory.load_balancers.iter().filter_map(|state| state.load_balancer.tags.get(OWNER_TAG));
        let chosen = named_once(marks);
        for state in inventory.load_balancers {
            if state.load_balancer.tags.get(OWNER_TAG).is_some_and(|name| chosen.contains(name)) {
                self.put(state);
            }
        }
        let mut inner = self.inner.lock();
        for group in inventory.groups {
            if let Some(name) = group.tags.get(OWNER_TAG).cloned() {
                inner.groups.entry(name).or_default().push(group);
            }
        }
        Ok(())
    }
}

// === impl Inner ===

impl Inner {
    /// Its Service certainly has none by now.
    fn vanished(&mut self, id: &LoadBalancerId) {
        self.load_balancers.remove(id);
        self.roster.vanished(id);
    }
}
