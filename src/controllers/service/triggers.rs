//! Which change in the cluster makes a pass over which Service due.
//!
//! Changes of a Service are acted on at once. Changes of Nodes and EndpointSlices are collected
//! for a moment, and then only Services whose own members changed get a pass.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{Node, Service};
use kube::Resource;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    Controller, Key,
    annotations::Annotations,
    class::{self, Kind},
    members::{self, Backends},
    publish,
};
use crate::{
    cloud::NetworkGroupKind,
    controllers::queue::Priority,
    kubernetes::{cache::Change, events::reference_of, slice::Slice},
};

/// The Service that a slice belongs to.
fn service_of(slice: &Slice) -> Option<Key> {
    Some(Key { namespace: slice.meta().namespace.clone()?, name: slice.service.clone()? })
}

/// Whether a slice belongs to this Service.
pub(super) fn belongs_to(slice: &Slice, key: &Key) -> bool {
    slice.service.as_ref() == Some(&key.name) && slice.meta().namespace.as_ref() == Some(&key.namespace)
}

impl Controller {
    /// Starts to react to changes.
    pub(super) fn watch(&self) {
        let this = self.clone();
        self.cache.services.on_change(move |change| this.service_changed(&change));
        let changed = self.members_changed.clone();
        self.cache.nodes.on_change(move |change| {
            if node_matters(&change) {
                changed.notify_one();
            }
        });
        let changed = self.members_changed.clone();
        self.cache.slices.on_change(move |change| {
            if slice_matters(&change) {
                changed.notify_one();
            }
        });
    }

    fn service_changed(&self, change: &Change<'_, Service>) {
        if let Some(id) = change.old.and_then(|old| Annotations::of(old).load_balancer_id()) {
            // It may have let go of a port that another one waits for.
            self.wake_sharers(&id, &change.old.map(|old| Key::of(old)).unwrap_or_default());
        }
        let (old, new) = match (change.old, change.new) {
            (_, None) => return,
            (None, Some(new)) => {
                if self.is_wanted(new) || self.kind.marks(new) {
                    // What is there at the start waits for what changes now.
                    let settled = self.kind.marks(new) && !class::is_deleting(new);
                    let priority = if settled { Priority::Backlog } else { urgency(new) };
                    self.queue.add(Key::of(new), priority);
                }
                return;
            }
            (Some(old), Some(new)) => (old, new),
        };
        if !self.is_wanted(old) && !self.is_wanted(new) && !self.kind.marks(new) {
            return;
        }
        let object = reference_of(&**new);
        let kind = |service: &Service| service.spec.as_ref().and_then(|spec| spec.type_.clone()).unwrap_or_default();
        let tell = |reason: &str, message: String| self.recorder.normal(&object, reason, message);
        if old.metadata.uid != new.metadata.uid {
            self.records.remove(&Key::of(new));
        } else if self.is_wanted(old) != self.is_wanted(new) {
            tell("TypeChanged", format!("type change {} - {}", kind(old), kind(new)));
        } else if old.metadata.annotations != new.metadata.annotations {
            tell("AnnotationChanged", "The service will be updated because the annotations has been changed.".into());
        } else if old.spec != new.spec {
            tell("ServiceSpecChanged", "The service will be updated because the spec has been changed.".into());
        } else if class::is_deleting(old) != class::is_deleting(new) {
            let message = "The service will be updated because the delete timestamp has been changed.";
            tell("DeleteTimestampChanged", message.into());
        } else if !self.was_undone(old, new) && !self.is_free_by_now(old, new) {
            return;
        }
        if old.metadata.uid == new.metadata.uid && members::is_local(old) != members::is_local(new) {
            self.records.note_policy_change(&Key::of(new));
        }
        self.queue.forget(&Key::of(new));
        self.queue.add(Key::of(new), urgency(new));
    }

    /// Whether somebody else took off our finalizer or changed what the status shows.
    fn was_undone(&self, old: &Service, new: &Service) -> bool {
        let lost_finalizer = self.kind.marks(old) && !self.kind.marks(new);
        let shows = publish::ingress(new);
        let other_status = !publish::is_same(publish::ingress(old), shows) && !self.records.shows(&Key::of(new), shows);
        let is_ours = self.is_wanted(new) && !class::is_deleting(new);
        is_ours && (lost_finalizer || other_status)
    }

    /// Whether the load balancer of the other kind is gone, so that ours may come.
    fn is_free_by_now(&self, old: &Service, new: &Service) -> bool {
        self.kind.other().marks(old) && !self.kind.other().marks(new)
    }

    fn is_wanted(&self, service: &Service) -> bool {
        class::wants(service, self.options.type_annotation) == self.kind.wanted()
    }

    /// After a change of nodes or endpoints has settled, queues the Services it makes a
    /// difference to.
    pub(super) async fn collect_member_changes(self, cancel: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = self.members_changed.notified() => {}
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(self.options.settle) => {}
            }
            let mut changed = Vec::new();
            self.for_each_backends(|service, backends, needs_interfaces| {
                let key = Key::of(service);
                if self.records.backends_changed(&key, &backends) {
                    if needs_interfaces {
                        self.interfaces.announce(&backends.pods);
                    }
                    changed.push((key, urgency(service)));
                }
            });
            // Only now, so that the first one asks for the interfaces of all.
            for (key, urgency) in changed {
                self.queue.add(key, urgency);
            }
        }
    }

    /// The slices of each Service that has any.
    pub(super) fn slices_by_service(&self) -> BTreeMap<Key, Vec<Arc<Slice>>> {
        let mut slices: BTreeMap<Key, Vec<Arc<Slice>>> = BTreeMap::new();
        for slice in self.cache.slices.list() {
            if let Some(key) = service_of(&slice) {
                slices.entry(key).or_default().push(slice);
            }
        }
        slices
    }

    /// Lets the interfaces of all Services' pods be asked for together with those of the first one.
    pub(super) fn announce_pods(&self) {
        self.for_each_backends(|_, backends, needs_interfaces| {
            if needs_interfaces {
                self.interfaces.announce(&backends.pods);
            }
        });
    }

    /// What stands behind each Service that is to have a load balancer of ours, and whether the interfaces of
    /// its pods count.
    fn for_each_backends(&self, mut act: impl FnMut(&Service, Backends, bool)) {
        let (nodes, slices) = (self.cache.nodes.list(), self.slices_by_service());
        for service in self.cache.services.list() {
            if !self.is_wanted(&service) || class::is_deleting(&service) {
                continue;
            }
            let key = Key::of(&service);
            let annotations = Annotations::of(&service);
            let requested = match self.kind {
                Kind::Clb => annotations.parse_for_members().map(|requested| (requested, true)),
                Kind::Nlb => annotations
                    .parse_network_for_members()
                    .map(|requested| (requested.members, requested.group_kind == NetworkGroupKind::Instance)),
            };
            // Where it cannot be told who the members are, they stay as they are.
            let Some((requested, needs_interfaces)) = requested else { continue };
            let slices = slices.get(&key).map_or(&[][..], Vec::as_slice);
            let backends = self.compute_backends(&key, &service, &requested, &nodes, slices);
            act(&service, backends, needs_interfaces);
        }
    }
}

/// Making load balancers takes long, because the cloud admits few a minute. Who has one does not wait
/// for that.
fn urgency(service: &Service) -> Priority {
    let is_in_use = !publish::ingress(service).is_empty() || class::is_deleting(service);
    if is_in_use { Priority::Fresh } else { Priority::New }
}

/// Whether a change of a node can make a difference to any Service.
fn node_matters(change: &Change<'_, Node>) -> bool {
    match (change.old, change.new) {
        (Some(old), Some(new)) => members::differ(old, new),
        _ => true,
    }
}

fn slice_matters(change: &Change<'_, Slice>) -> bool {
    match (change.old, change.new) {
        (Some(old), Some(new)) => old.endpoints != new.endpoints || old.ports != new.ports,
        _ => true,
    }
}

/// Tells the collector that members may have changed.
pub(super) type MembersChanged = Arc<Notify>;
