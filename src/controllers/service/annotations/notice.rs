//! What to tell the user about annotations that have no effect.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;

use super::{Annotations, LEGACY_PREFIX, PREFIX};

/// Keys under our prefix that choose the controller; see `class`.
const CLASS: &[&str] = &["type", "tunnel-type"];

/// Annotations that mean something only together with another.
const NEEDS: &[(&str, &str)] = &[("vgroup-port", "id"), ("weight", "vgroup-port")];

/// A sentence for each annotation under our prefixes for whose suffix there is a reason.
pub(super) fn without_effect(
    service: &Service,
    why: impl Fn(&Annotations<'_>, &str) -> Option<String>,
) -> BTreeMap<String, String> {
    let annotations = Annotations::of(service);
    let mut notices = BTreeMap::new();
    for key in service.metadata.annotations.iter().flatten().map(|(key, _)| key) {
        let Some(suffix) = key.strip_prefix(PREFIX).or_else(|| key.strip_prefix(LEGACY_PREFIX)) else { continue };
        if !CLASS.contains(&suffix)
            && let Some(why) = why(&annotations, suffix)
        {
            notices.insert(key.clone(), format!("annotation {key} has no effect: {why}"));
        }
    }
    notices
}

/// That the annotation lacks the one that it belongs to, if so.
pub(super) fn lacks(annotations: &Annotations<'_>, suffix: &str) -> Option<String> {
    let (_, needed) = NEEDS.iter().find(|(needing, needed)| *needing == suffix && annotations.get(needed).is_none())?;
    Some(format!("it needs {PREFIX}{needed}"))
}

/// That nobody knows the annotation, and which of the `known` ones may be meant.
pub(super) fn unknown(suffix: &str, known: impl Iterator<Item = &'static str>) -> String {
    let likeness = |known: &str| strsim::jaro_winkler(known, suffix);
    let nearest = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    format!("it is not known; the nearest known one is {PREFIX}{}", nearest.unwrap_or_default())
}
