//! Groups of the user's that members of Services are in. Services go by their default names.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    cloud::{NetworkGroup, ServerGroupId},
    controllers::service::ownership::Owner,
};

/// The groups, and who uses which. Several Services may use one.
#[derive(Default)]
pub(super) struct Users {
    /// Service → groups that its members are in, or may be.
    used: BTreeMap<String, BTreeSet<ServerGroupId>>,
    /// Services whose members were searched for in all groups.
    searched: BTreeSet<String>,
    groups: BTreeMap<ServerGroupId, NetworkGroup>,
}

// === impl Users ===

impl Users {
    /// Notes that members of the Service may be in these.
    pub(super) fn note(&mut self, name: &str, groups: impl Iterator<Item = ServerGroupId>) {
        self.used.entry(name.to_owned()).or_default().extend(groups);
    }

    /// Whether all groups were searched for members of the Service.
    pub(super) fn is_searched(&self, name: &str) -> bool {
        self.searched.contains(name)
    }

    pub(super) fn note_searched(&mut self, name: &str) {
        self.searched.insert(name.to_owned());
    }

    /// The groups for this Service that have to be read. Its `own` are none of the user's.
    pub(super) fn unknown(&mut self, name: &str, own: &[NetworkGroup]) -> Vec<ServerGroupId> {
        let Some(used) = self.used.get_mut(name) else { return Vec::new() };
        used.retain(|id| !own.iter().any(|group| group.id == *id));
        used.iter().filter(|id| !self.groups.contains_key(*id)).cloned().collect()
    }

    /// The groups for this Service, as far as they are known.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = &NetworkGroup> {
        self.used.get(name).into_iter().flatten().filter_map(|id| self.groups.get(id))
    }

    /// Whether the group is one for this Service.
    pub(super) fn has(&self, name: &str, id: &ServerGroupId) -> bool {
        self.used.get(name).is_some_and(|used| used.contains(id))
    }

    /// Takes over how groups are now.
    pub(super) fn put(&mut self, groups: Vec<NetworkGroup>) {
        self.groups.extend(groups.into_iter().map(|group| (group.id.clone(), group)));
    }

    pub(super) fn get_mut(&mut self, id: &ServerGroupId) -> Option<&mut NetworkGroup> {
        self.groups.get_mut(id)
    }

    /// Drops what is believed of a group.
    pub(super) fn doubt(&mut self, id: &ServerGroupId) {
        self.groups.remove(id);
    }

    /// Drops what is believed of all groups for this Service.
    pub(super) fn doubt_all(&mut self, name: &str) {
        let used = self.used.get(name);
        self.groups.retain(|id, _| !used.is_some_and(|used| used.contains(id)));
    }

    /// Remembers of the groups for `owner` those that are `asked` for, or have members of it.
    pub(super) fn leave(&mut self, owner: &Owner, asked: impl Fn(&ServerGroupId) -> bool) {
        let Self { used, groups, .. } = self;
        if let Some(used) = used.get_mut(&owner.default_name()) {
            let has_ours = |id: &ServerGroupId| {
                groups.get(id).is_some_and(|group| group.members.iter().any(|m| owner.owns_network_member(m)))
            };
            used.retain(|id| asked(id) || has_ours(id));
        }
        self.drop_unused();
    }

    /// Forgets a Service.
    pub(super) fn forget(&mut self, name: &str) {
        self.used.remove(name);
        self.searched.remove(name);
        self.drop_unused();
    }

    fn drop_unused(&mut self) {
        let Self { used, groups, .. } = self;
        groups.retain(|id, _| used.values().any(|of| of.contains(id)));
    }
}
