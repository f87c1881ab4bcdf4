//! Limits who may reach a Service, through an access control list of its own.
//!
//! The list is made and filled before any listener refers to it, and goes after none does any
//! more. So at no time is a listener open that should not be.

mod known;

use std::collections::BTreeSet;

use ipnet::IpNet;

pub use known::{KnownLists, OwnList};

use super::{
    desired::Desired,
    ownership::Owner,
    source_ranges::{self, Step},
};
use crate::cloud::{
    AccessListId, Action, Class, CloudProvider, Effect, Error, ListenerSettings, LoadBalancerState, Setting,
    action::CreateAccessList,
};

/// More steps than any list takes.
const MOST_STEPS: usize = 64;

/// One pass over the access control lists of one Service.
pub struct AccessPass<'a> {
    cloud: &'a dyn CloudProvider,
    known: &'a KnownLists,
    owner: &'a Owner,
    /// The changes made, as they are logged.
    pub changes: Vec<String>,
    pub failures: Vec<Error>,
    /// Lists that cannot go because some listener uses them.
    pub in_use: Vec<AccessListId>,
}

// === impl AccessPass ===

impl<'a> AccessPass<'a> {
    pub fn new(cloud: &'a dyn CloudProvider, known: &'a KnownLists, owner: &'a Owner) -> Self {
        Self { cloud, known, owner, changes: Vec::new(), failures: Vec::new(), in_use: Vec::new() }
    }

    /// Sees to a list that holds exactly `ranges` and answers its id. After a failure, the list is
    /// answered only if it keeps anybody out as it is.
    pub async fn ensure(
        &mut self,
        version: &str,
        ranges: &BTreeSet<IpNet>,
        resource_group: Option<&str>,
    ) -> Option<AccessListId> {
        if let Err(error) = self.fill(version, ranges, resource_group).await {
            if matches!(error.class, Class::Unknown | Class::Malformed | Class::NotFound) {
                self.known.doubt();
            }
            self.failures.push(error);
        }
        let list = self.known.own(self.owner).into_iter().find(|own| own.list.ip_version == version)?;
        list.entries.is_some_and(|entries| !entries.is_empty()).then_some(list.list.id)
    }

    async fn fill(
        &mut self,
        version: &str,
        ranges: &BTreeSet<IpNet>,
        resource_group: Option<&str>,
    ) -> Result<(), Error> {
        self.known.look(self.cloud, &self.owner.cluster).await?;
        let mut own = match self.known.own(self.owner).into_iter().find(|own| own.list.ip_version == version) {
            Some(own) => self.known.with_entries(self.cloud, self.owner, own).await?,
            None => self.create(version, resource_group).await?,
        };
        for _ in 0..MOST_STEPS {
            let mut entries = own.entries.take().unwrap_or_default();
            let list = own.list.id.clone();
            match source_ranges::next(&entries, ranges) {
                None => return Ok(()),
                Some(Step::Add(more)) => {
                    self.execute(&Action::AddAccessEntries { list, entries: more.clone() }).await?;
                    entries.extend(more);
                }
                Some(Step::Remove(gone)) => {
                    self.execute(&Action::RemoveAccessEntries { list, entries: gone.clone() }).await?;
                    entries.retain(|entry| !gone.contains(entry));
                }
            }
            own.entries = Some(entries);
            self.known.put(self.owner, own.clone());
        }
        let message = "changes do not have the effect they should; it will be read again";
        Err(Error::new(Class::Malformed, "converge", own.list.id.to_string(), message))
    }

    async fn create(&mut self, version: &str, resource_group: Option<&str>) -> Result<OwnList, Error> {
        let create = CreateAccessList {
            name: self.owner.access_list_name(),
            ip_version: version.to_owned(),
            resource_group: resource_group.map(str::to_owned),
            tags: self.owner.tags(),
        };
        match self.execute(&Action::CreateAccessList(create.clone())).await? {
            Effect::AccessListCreated(id) => {
                let own = OwnList::created(id, create);
                self.known.put(self.owner, own.clone());
                Ok(own)
            }
            other => Err(Error::new(Class::Malformed, "CreateAccessControlList", create.name, format!("{other:?}"))),
        }
    }

    /// Deletes the lists but `keep`. One that a listener uses stays; `again` tries also those of
    /// which this is known.
    pub async fn remove(&mut self, keep: Option<&AccessListId>, again: bool) {
        for own in self.known.own(self.owner) {
            if keep == Some(&own.list.id) || (own.in_use && !again) {
                continue;
            }
            match self.execute(&Action::DeleteAccessList { list: own.list.id.clone() }).await {
                Ok(_) => self.known.gone(self.owner, &own.list.id),
                Err(error) if error.class == Class::Busy => {
                    self.in_use.push(own.list.id.clone());
                    self.known.put(self.owner, OwnList { in_use: true, ..own });
                }
                Err(error) => {
                    if error.class == Class::Unknown {
                        self.known.doubt();
                    }
                    self.failures.push(error);
                }
            }
        }
    }

    /// Takes our marks off the lists, which go on working.
    pub async fn release(&mut self) {
        for own in self.known.own(self.owner) {
            let keys = self.owner.tags().into_keys().collect();
            match self.execute(&Action::UntagAccessList { list: own.list.id.clone(), keys }).await {
                Ok(_) => self.known.gone(self.owner, &own.list.id),
                Err(error) => self.failures.push(error),
            }
        }
    }

    async fn execute(&mut self, action: &Action) -> Result<Effect, Error> {
        let effect = self.cloud.execute(action).await?;
        tracing::info!(change = %action, "changed");
        self.changes.push(action.to_string());
        Ok(effect)
    }
}

/// Puts the list before all listeners. One that only sends clients on to another reaches no pod.
pub fn limit(desired: &mut Desired, list: &AccessListId) {
    for listener in desired.listeners.values_mut().filter(|listener| listener.forward.is_none()) {
        for settings in [&mut listener.create, &mut listener.keep] {
            settings.set(Setting::AclStatus, "on");
            settings.set(Setting::AclType, "white");
            settings.set(Setting::AclId, list.as_str());
        }
    }
}

/// Takes `lists` away from before the listeners that have them.
pub fn open(desired: &mut Desired, state: &LoadBalancerState, lists: &BTreeSet<AccessListId>) {
    for there in &state.listeners {
        let by_ours = list_of(&there.settings).is_some_and(|id| lists.contains(&id));
        if let Some(listener) = desired.listeners.get_mut(&(there.port, there.protocol))
            && by_ours
            && listener.forward.is_none()
            && listener.keep.get(Setting::AclStatus).is_none()
        {
            listener.keep.set(Setting::AclStatus, "off");
        }
    }
}

/// Leaves all listeners as they are, and makes none: the list that should be before them is missing.
pub fn hold(desired: &mut Desired) {
    desired.troubled_ports.extend(desired.listeners.keys().map(|(port, _)| *port));
    desired.listeners.clear();
}

/// Whether some listener of the Service's has a list that its annotations do not name: it may be
/// one of ours, from before.
pub fn has_unexplained_list(desired: &Desired, state: &LoadBalancerState) -> bool {
    state.listeners.iter().filter(|there| desired.owner.owns_listener(&there.description)).any(|there| {
        let asked = desired.listeners.get(&(there.port, there.protocol)).and_then(|l| l.keep.get(Setting::AclId));
        list_of(&there.settings).is_some_and(|id| asked != Some(id.as_str()))
    })
}

fn list_of(settings: &ListenerSettings) -> Option<AccessListId> {
    settings.get(Setting::AclId).filter(|_| settings.get(Setting::AclStatus) == Some("on")).map(AccessListId::from)
}
