//! Rules for object names, generated names and label syntax.

use serde_json::{Value, json};

use super::{
    failure::Cause,
    object::{at, items, text},
    resource::Resource,
};
use crate::entropy::Entropy;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
                     with an alphanumeric character";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                         start and end with an alphanumeric character";
const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                        character, and end with an alphanumeric character";

/// `prefix` and five characters of the alphabet that Kubernetes uses (no vowels, no look-alikes).
pub(super) fn generate(prefix: &str, entropy: &Entropy) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let suffix = (0..5).map(|_| {
        let index = usize::try_from(entropy.below(27)).unwrap_or_default();
        char::from(ALPHABET[index])
    });
    prefix.chars().take(58).chain(suffix).collect()
}

/// Complaints about name, labels, annotations and finalizers.
pub(super) fn validate(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = text(object, &["metadata", "name"]);
    if let Some(rule) = broken_rule(resource, name) {
        causes.push(Cause::invalid("metadata.name", &json!(name), rule));
    }
    for (key, value) in at(object, &["metadata", "labels"]).as_object().into_iter().flatten() {
        if !is_qualified(key) {
            causes.push(Cause::invalid(
                "metadata.labels",
                &json!(key),
                "name part must consist of alphanumeric characters, '-', '_' or '.'",
            ));
        }
        if !is_label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(
                "metadata.labels",
                value,
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                 start and end with an alphanumeric character",
            ));
        }
    }
    let mut size = 0;
    for (key, value) in at(object, &["metadata", "annotations"]).as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        if !is_qualified(&key.to_lowercase()) {
            causes.push(Cause::invalid(
                "metadata.annotations",
                &json!(key),
                "name part must consist of alphanumeric characters, '-', '_' or '.'",
            ));
        }
    }
    if size > 256 * 1024 {
        causes.push(Cause::forbidden("metadata.annotations", "Too long: may not be more than 262144 bytes"));
    }
    for (index, finalizer) in items(object, &["metadata", "finalizers"]).iter().enumerate() {
        if !finalizer.as_str().is_some_and(is_finalizer) {
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{index}]"),
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    causes
}

fn broken_rule(resource: &Resource, name: &str) -> Option<&'static str> {
    match resource.plural {
        "services" => (!is_dns_1035(name)).then_some(DNS_1035),
        "namespaces" => (!is_label(name)).then_some(LABEL),
        // RBAC names are only path segments.
        _ if resource.group == "rbac.authorization.k8s.io" => {
            (name.contains(['/', '%']) || matches!(name, "." | "..")).then_some("may not contain '/' or '%'")
        }
        _ => (!is_subdomain(name)).then_some(SUBDOMAIN),
    }
}

/// A lower-case DNS label of up to 63 characters.
pub(super) fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&text.len()) && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_dns_1035(text: &str) -> bool {
    is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// `domain/name`, or one of the names that Kubernetes has for itself.
fn is_finalizer(name: &str) -> bool {
    ["kubernetes", "orphan", "foregroundDeletion"].contains(&name) || name.contains('/') && is_qualified(name)
}

/// `name` or `domain/name`, as label and annotation keys are.
fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && !name.is_empty() && is_label_value(name),
        None => !key.is_empty() && is_label_value(key),
    }
}

fn is_label_value(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    text.is_empty()
        || (text.len() <= 63
            && text.starts_with(edge)
            && text.ends_with(edge)
            && text.chars().all(|c| edge(c) || matches!(c, '-' | '_' | '.')))
}
