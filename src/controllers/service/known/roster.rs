//! Which load balancer was made for which Service, whatever its kind.
//!
//! Services go by their default names, see [`Owner::default_name`].
//!
//! [`Owner::default_name`]: crate::controllers::service::ownership::Owner::default_name

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tokio::sync::Mutex as AsyncMutex;

use crate::{
    cloud::{Class, Error, LoadBalancerId},
    controllers::service::ownership::OWNER_TAG,
};

/// Who has which load balancer.
#[derive(Default)]
pub struct Roster {
    /// The load balancer made for a Service.
    made_for: BTreeMap<String, LoadBalancerId>,
    /// Services that certainly have no load balancer of their own.
    absent: BTreeSet<String>,
    /// How many load balancers of a Service this process deleted; part of idempotency tokens.
    deleted: BTreeMap<String, u32>,
    /// Several Services may use one load balancer of the user's; they take turns.
    turns: BTreeMap<LoadBalancerId, Arc<AsyncMutex<()>>>,
}

// === impl Roster ===

impl Roster {
    /// The load balancer made for a Service, if it is known.
    pub fn of(&self, name: &str) -> Option<&LoadBalancerId> {
        self.made_for.get(name)
    }

    /// Whether the Service certainly has none.
    pub fn is_absent(&self, name: &str) -> bool {
        self.absent.contains(name)
    }

    /// Notes that this one was made for the Service.
    pub fn note(&mut self, name: &str, id: &LoadBalancerId) {
        self.absent.remove(name);
        self.made_for.insert(name.to_owned(), id.clone());
    }

    /// Notes that the Service has none.
    pub fn note_absent(&mut self, name: &str) {
        self.made_for.remove(name);
        self.absent.insert(name.to_owned());
    }

    /// Drops what is believed of whether the Service has one: it may have been made although the answer
    /// was lost.
    pub fn doubt_absence(&mut self, name: &str) {
        self.absent.remove(name);
    }

    /// Notes that a load balancer does not exist, whosever it was.
    pub fn gone(&mut self, id: &LoadBalancerId) {
        self.turns.remove(id);
        self.made_for.retain(|_, made| made != id);
    }

    /// Notes that the load balancer of the Service was deleted or let go.
    pub fn note_deleted(&mut self, name: &str, id: &LoadBalancerId) {
        self.gone(id);
        *self.deleted.entry(name.to_owned()).or_default() += 1;
        self.absent.insert(name.to_owned());
    }

    /// The same without saying whose it was.
    pub fn vanished(&mut self, id: &LoadBalancerId) {
        let had = self.made_for.iter().filter(|(_, made)| *made == id).map(|(name, _)| name.clone());
        for name in had.collect::<Vec<_>>() {
            self.note_deleted(&name, id);
        }
        self.gone(id);
    }

    /// How many load balancers of the Service this process has deleted.
    pub fn deletions(&self, name: &str) -> u32 {
        self.deleted.get(name).copied().unwrap_or_default()
    }

    /// Drops everything about a Service that is gone from the cluster.
    pub fn forget(&mut self, name: &str) {
        self.absent.remove(name);
        self.deleted.remove(name);
    }

    /// What is held while something of the load balancer is changed.
    pub fn turn(&mut self, id: &LoadBalancerId) -> Arc<AsyncMutex<()>> {
        self.turns.entry(id.clone()).or_default().clone()
    }
}

/// The names that come once. Of two load balancers for one Service an inventory chooses neither: looking
/// them up tells the user about both.
pub fn named_once<'a>(names: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let mut counts: BTreeMap<&String, u32> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count == 1).map(|(name, _)| name.clone()).collect()
}

/// That several load balancers were made for one Service.
pub fn several<'a>(action: &'static str, name: &str, ids: impl Iterator<Item = &'a LoadBalancerId>) -> Error {
    let ids: Vec<&str> = ids.map(LoadBalancerId::as_str).collect();
    let message =
        format!("find multiple loadbalances by tag, lbIds[{}]; remove the tag from all but one", ids.join(","));
    Error::new(Class::Invalid, action, format!("tag {OWNER_TAG}={name}"), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vanished_counts_as_deleted_once_for_each_service_that_had_it() {
        let mut roster = Roster::default();
        roster.note("a1", &"lb-1".into());
        roster.note("a2", &"lb-2".into());
        roster.vanished(&"lb-1".into());
        assert_eq!((roster.of("a1"), roster.is_absent("a1"), roster.deletions("a1")), (None, true, 1));
        assert_eq!((roster.of("a2"), roster.is_absent("a2"), roster.deletions("a2")), (Some(&"lb-2".into()), false, 0));
        roster.vanished(&"lb-1".into());
        assert_eq!(roster.deletions("a1"), 1, "it was gone already");
        roster.note("a1", &"lb-3".into());
        assert!(!roster.is_absent("a1"));
        roster.note_deleted("a1", &"lb-3".into());
        assert_eq!(roster.deletions("a1"), 2, "the next token is another");
    }

    #[test]
    fn of_two_for_one_service_neither_is_chosen() {
        let names = ["a1", "a2", "a1"].map(str::to_owned);
        assert_eq!(named_once(names.iter()), ["a2".to_owned()].into());
    }
}
