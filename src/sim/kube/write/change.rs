//! What an update may change: only the current version, and only its own part.

use serde_json::{Value, json};

use super::{Part, Preconditions, Target};
use crate::sim::kube::{
    failure::{Cause, Failure},
    object::{self, carry, text},
    resource::{Resource, Status},
};

pub(super) fn check_versions(target: Target<'_>, old: &Value, new: &Value) -> Result<(), Failure> {
    let version = text(new, &["metadata", "resourceVersion"]);
    if version.is_empty() && !target.resource.unconditional_update {
        return Err(Failure::unversioned(target.resource, target.name));
    }
    if !version.is_empty() && version != text(old, &["metadata", "resourceVersion"]) {
        return Err(Failure::modified(target.resource, target.name));
    }
    let uid = text(new, &["metadata", "uid"]);
    let preconditions = Preconditions { uid: (!uid.is_empty()).then(|| uid.into()), resource_version: None };
    preconditions.check(target, old)
}

/// Puts back what this write may not change.
pub(super) fn retain(resource: &Resource, part: Part, old: &Value, new: &mut Value) {
    if resource.status != Status::None {
        match part {
            Part::Main => carry("status", old, object::map(new)),
            // Labels, annotations and finalizers may change along with the status: the real strategies
            // of Services and Nodes keep only the spec, and the released controller relies on it.
            Part::Status => carry("spec", old, object::map(new)),
        }
    }
    let metadata = object::metadata(new);
    let fixed = [
        "name",
        "namespace",
        "generateName",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
    ];
    for key in fixed {
        carry(key, &old["metadata"], metadata);
    }
}

pub(super) fn added_finalizers(old: &Value, new: &Value) -> Option<Cause> {
    let before = object::items(old, &["metadata", "finalizers"]);
    let added: Vec<_> =
        object::items(new, &["metadata", "finalizers"]).iter().filter(|f| !before.contains(f)).cloned().collect();
    let refused = object::is_deleting(old) && !added.is_empty();
    refused.then(|| {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers {}",
            json!(added)
        );
        Cause::forbidden("metadata.finalizers", &detail)
    })
}

/// Whether anything changed that counts for the generation.
pub(super) fn changes_spec(old: &Value, new: &Value) -> bool {
    spec_of(old) != spec_of(new)
}

fn spec_of(object: &Value) -> Vec<(&String, &Value)> {
    let outside = ["metadata", "status", "apiVersion", "kind"];
    object.as_object().into_iter().flatten().filter(|(key, _)| !outside.contains(&key.as_str())).collect()
}
