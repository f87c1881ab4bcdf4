//! What is known of the access control lists that were made for Services of this cluster.
//!
//! They are looked up once, when the first Service needs one: clusters whose Services limit
//! nobody make no call. From then on nobody else changes what is ours, see [`super::super::known`].

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
};

use ipnet::IpNet;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use crate::{
    cloud::{AccessList, AccessListId, Class, CloudProvider, Error, action::CreateAccessList},
    controllers::service::{
        known::refusals::Refusals,
        ownership::{CLUSTER_TAG, OWNER_TAG, Owner},
    },
};

/// The lists as last seen or written.
#[derive(Default)]
pub struct KnownLists {
    /// Default names of Services → their lists; `None` if they are still to be looked up.
    inner: Mutex<Option<BTreeMap<String, BTreeMap<AccessListId, OwnList>>>>,
    /// An answer about a list was lost, so that there may be one that is not known.
    doubted: AtomicBool,
    /// To show any.
    refusals: Refusals,
    /// Held while they are looked up, so that this is done once and not by each worker.
    looking: AsyncMutex<()>,
}

/// A list that was made for a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnList {
    pub list: AccessList,
    /// `None` if they were not read.
    pub entries: Option<BTreeSet<IpNet>>,
    /// It could not be deleted because a listener uses it.
    pub in_use: bool,
}

// === impl OwnList ===

impl OwnList {
    /// The list as it stands right after it was made.
    pub fn created(id: AccessListId, create: CreateAccessList) -> Self {
        let CreateAccessList { name, ip_version, tags, .. } = create;
        Self { list: AccessList { id, name, ip_version, tags }, entries: Some(BTreeSet::new()), in_use: false }
    }
}

// === impl KnownLists ===

impl KnownLists {
    /// Looks all lists of the cluster up, unless that was done.
    pub async fn look(&self, cloud: &dyn CloudProvider, cluster: &str) -> Result<(), Error> {
        let _one = self.looking.lock().await;
        if self.inner.lock().is_some() {
            return Ok(());
        }
        let found = cloud.access_lists(CLUSTER_TAG, cluster).await;
        self.refusals.note(&found);
        let mut all = BTreeMap::<String, BTreeMap<_, _>>::new();
        for list in found? {
            // Without the Service's mark it is not ours.
            if let Some(name) = list.tags.get(OWNER_TAG).cloned() {
                let own = OwnList { list, entries: None, in_use: false };
                all.entry(name).or_default().insert(own.list.id.clone(), own);
            }
        }
        *self.inner.lock() = Some(all);
        self.doubted.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The lists of `owner`, as far as they were looked up, in the order of their ids.
    pub fn own(&self, owner: &Owner) -> Vec<OwnList> {
        let inner = self.inner.lock();
        let lists = inner.as_ref().and_then(|all| all.get(&owner.default_name()));
        lists.into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    /// The list with its entries, which are read if they are not known.
    pub async fn with_entries(&self, cloud: &dyn CloudProvider, owner: &Owner, own: OwnList) -> Result<OwnList, Error> {
        if own.entries.is_some() {
            return Ok(own);
        }
        let entries = cloud.access_entries(&own.list.id).await?;
        let entries = entries.ok_or_else(|| {
            let id = own.list.id.to_string();
            Error::new(Class::NotFound, "DescribeAccessControlListAttribute", id, "it is gone")
        })?;
        let own = OwnList { entries: Some(entries), ..own };
        self.put(owner, own.clone());
        Ok(own)
    }

    /// Notes a list after a change that succeeded.
    pub fn put(&self, owner: &Owner, own: OwnList) {
        if let Some(all) = &mut *self.inner.lock() {
            all.entry(owner.default_name()).or_default().insert(own.list.id.clone(), own);
        }
    }

    /// Notes that a list is not there any more, or not ours.
    pub fn gone(&self, owner: &Owner, id: &AccessListId) {
        if let Some(all) = &mut *self.inner.lock()
            && let Some(lists) = all.get_mut(&owner.default_name())
        {
            lists.remove(id);
            if lists.is_empty() {
                all.remove(&owner.default_name());
            }
        }
    }

    /// Drops what is believed of the entries of `owner`'s lists.
    pub fn doubt_entries(&self, owner: &Owner) {
        if let Some(lists) = self.inner.lock().as_mut().and_then(|all| all.get_mut(&owner.default_name())) {
            for own in lists.values_mut() {
                own.entries = None;
                own.in_use = false;
            }
        }
    }

    /// Drops everything: an answer was lost, or something is there that should not be.
    pub fn doubt(&self) {
        *self.inner.lock() = None;
        self.doubted.store(true, Ordering::Relaxed);
    }

    /// Whether there may be lists that are not known although they were looked up.
    pub fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed)
    }

    /// Whether the account may not see any lists, and so has made none: it was refused too often for
    /// something that passes.
    pub fn are_beyond_our_rights(&self) -> bool {
        self.refusals.are_for_good()
    }
}
