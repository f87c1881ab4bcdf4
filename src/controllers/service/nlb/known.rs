//! What is known of the network load balancers and groups in the cloud, so that a pass need not
//! ask.
//!
//! As for classic load balancers: one inventory when this replica begins to lead, then what was
//! written is what is there, until an answer says otherwise or is lost.

mod users;

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use self::users::Users;
use super::observed::{State, settle_group, settle_load_balancer};
use crate::{
    cloud::{
        Class, CloudProvider, Error, LoadBalancerId, NetworkGroup, NetworkLoadBalancer, NetworkLoadBalancerState,
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

    /// The security group for the source ranges of `owner`.
    pub async fn sources(&self, cloud: &dyn CloudProvider, owner: &Owner) -> Result<Option<SecurityGroup>, Error> {
        let name = owner.default_name();
        if let Some(known) = self.inner.lock().sources.get(&name) {
            return Ok(known.clone());
        }
        let found = cloud.security_groups_by_tag(OWNER_TAG, &name).await;
        self.refusals.note(&found);
        let mut found = found?;
        if found.len() > 1 {
            let ids: Vec<String> = found.iter().map(|group| group.id.to_string()).collect();
            return Err(Error::new(
                Class::Invalid,
                "DescribeSecurityGroups",
                format!("tag {OWNER_TAG}={name}"),
                format!("there are several: {}; remove the tag from all but one", ids.join(", ")),
            ));
        }
        let found = found.pop();
        self.inner.lock().sources.insert(name, found.clone());
        Ok(found)
    }

    /// Whether the account may not see any security group, and so has made none.
    pub fn sources_are_beyond_our_rights(&self) -> bool {
        self.refusals.are_for_good()
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

    /// Drops what is believed of a load balancer: it will be looked at again.
    pub fn doubt(&self, id: &LoadBalancerId) {
        self.inner.lock().load_balancers.remove(id);
    }

    /// Drops what is believed of the groups of `owner`.
    pub fn doubt_groups(&self, owner: &Owner) {
        self.doubt_groups_of(&owner.default_name());
    }

    /// Drops what is believed of the groups of the Service with this default name.
    pub fn doubt_groups_of(&self, name: &str) {
        let mut inner = self.inner.lock();
        inner.users.doubt_all(name);
        inner.doubted_groups.insert(name.to_owned());
    }

    /// Drops what is believed of the security group of `owner`.
    pub fn doubt_sources(&self, owner: &Owner) {
        self.inner.lock().sources.remove(&owner.default_name());
    }

    /// Drops what is believed of what a change worked on.
    pub fn doubt_lock(&self, lock: &Lock) {
        let mut inner = self.inner.lock();
        match lock {
            Lock::LoadBalancer(id) => {
                inner.load_balancers.remove(id);
            }
            Lock::Group(id) => {
                let has = |groups: &Vec<NetworkGroup>| groups.iter().any(|group| group.id == *id);
                let names: Vec<String> =
                    inner.groups.iter().filter(|(_, groups)| has(groups)).map(|(name, _)| name.clone()).collect();
                inner.doubted_groups.extend(names);
                inner.users.doubt(id);
            }
        }
    }

    /// Drops all that is believed of what was made for `owner`, and of `other`.
    pub fn doubt_all(&self, owner: &Owner, other: Option<&LoadBalancerId>) {
        self.doubt_groups(owner);
        self.doubt_sources(owner);
        let mut inner = self.inner.lock();
        let made = inner.roster.of(&owner.default_name()).cloned();
        for id in made.iter().chain(other) {
            inner.load_balancers.remove(id);
        }
    }

    /// Drops what is believed of whether `owner` has a load balancer.
    pub fn doubt_absence(&self, owner: &Owner) {
        self.inner.lock().roster.doubt_absence(&owner.default_name());
    }

    /// Notes that `owner` has no security group, unless it is known to have one.
    pub fn note_no_sources(&self, owner: &Owner) {
        self.inner.lock().sources.entry(owner.default_name()).or_default();
    }

    /// Notes that `owner` has no load balancer of its own.
    pub fn note_absent(&self, owner: &Owner) {
        self.inner.lock().roster.note_absent(&owner.default_name());
    }

    /// Notes that a load balancer does not exist any more.
    pub fn gone(&self, id: &LoadBalancerId) {
        let mut inner = self.inner.lock();
        inner.load_balancers.remove(id);
        inner.roster.gone(id);
    }

    /// Notes that a load balancer which was there does not exist any more.
    pub fn vanished(&self, id: &LoadBalancerId) {
        self.inner.lock().vanished(id);
    }

    /// Notes that the load balancer of `owner` was deleted or let go.
    pub fn note_deleted(&self, owner: &Owner, id: &LoadBalancerId) {
        let mut inner = self.inner.lock();
        inner.load_balancers.remove(id);
        inner.roster.note_deleted(&owner.default_name(), id);
    }

    /// How many load balancers of `owner` this process has deleted.
    pub fn deletions(&self, owner: &Owner) -> u32 {
        self.inner.lock().roster.deletions(&owner.default_name())
    }

    /// Drops everything about what a Service had, after that is gone or let go.
    pub fn forget(&self, owner: &Owner, and_service: bool) {
        let mut inner = self.inner.lock();
        let name = owner.default_name();
        inner.groups.remove(&name);
        inner.doubted_groups.remove(&name);
        inner.users.forget(&name);
        inner.sources.remove(&name);
        if and_service {
            inner.roster.forget(&name);
        }
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
