//! What is not believed any more, and what certainly is not there.

use super::Known;
use crate::{
    cloud::{LoadBalancerId, NetworkGroup, network_action::Lock},
    controllers::service::ownership::Owner,
};

impl Known {
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
}
