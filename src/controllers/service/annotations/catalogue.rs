//! Every annotation there is under our prefixes, and which of them this version acts on.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;

use super::{LEGACY_PREFIX, PREFIX};

/// Acted on.
const HANDLED: &[&str] = &[
    "address-type",
    "bandwidth",
    "charge-type",
    "delete-protection",
    "force-override-listeners",
    "id",
    "instance-charge-type",
    "name",
    "preserve-lb-on-delete",
    "scheduler",
    "spec",
    "vswitch-id",
];

/// Known, but not acted on by this version, with the Service refused: see
/// [`super::Reader::refuse_what_would_be_ignored`].
pub(super) const NOT_IGNORABLE: &[&str] = &[
    "backend-ip-version",
    "backend-label",
    "forward-port",
    "ip-version",
    "listener-port-range",
    "network-type",
    "protocol-port",
    "vgroup-port",
];

/// Known, but not acted on by this version.
const NOT_HANDLED: &[&str] = &[
    "acl-id",
    "acl-status",
    "acl-type",
    "additional-cert-ids",
    "additional-resource-tags",
    "alpn",
    "alpn-policy",
    "bandwidth-package-id",
    "cacert",
    "cacert-id",
    "cert-id",
    "connection-drain",
    "connection-drain-timeout",
    "cookie",
    "cookie-timeout",
    "cps",
    "cross-zone-enabled",
    "default-weight",
    "domain-extensions",
    "established-timeout",
    "external-ip-type",
    "health-check-connect-port",
    "health-check-connect-timeout",
    "health-check-domain",
    "health-check-flag",
    "health-check-httpcode",
    "health-check-interval",
    "health-check-method",
    "health-check-switch",
    "health-check-timeout",
    "health-check-type",
    "health-check-uri",
    "healthy-threshold",
    "hostname",
    "http2-enabled",
    "idle-timeout",
    "ignore-weight-update",
    "ip",
    "ipv6-address-type",
    "master-zoneid",
    "modification-protection",
    "persistence-timeout",
    "ppv2-pvl-ep-id-enabled",
    "ppv2-pvl-eps-id-enabled",
    "ppv2-pvl-vpc-id-enabled",
    "preserve-client-ip",
    "proxy-protocol",
    "remove-unscheduled-backend",
    "request-timeout",
    "resource-group-id",
    "security-group-ids",
    "server-group-type",
    "slave-zoneid",
    "sticky-session",
    "sticky-session-type",
    "tls-cipher-policy",
    "unhealthy-threshold",
    "weight",
    "xforwardedfor-clientsrcport",
    "xforwardedfor-proto",
    "xforwardedfor-slbport",
    "zone-maps",
];

/// Keys under our prefix that choose the controller; see `class`.
const CLASS: &[&str] = &["type", "tunnel-type"];

/// What to tell the user about annotations that have no effect: those that this version does not
/// act on, and those that nobody knows, with the nearest known key.
pub fn notices(service: &Service) -> BTreeMap<String, String> {
    let mut notices = BTreeMap::new();
    for key in service.metadata.annotations.iter().flatten().map(|(key, _)| key) {
        let Some(suffix) = key.strip_prefix(PREFIX).or_else(|| key.strip_prefix(LEGACY_PREFIX)) else { continue };
        if HANDLED.contains(&suffix) || CLASS.contains(&suffix) || NOT_IGNORABLE.contains(&suffix) {
            continue;
        }
        let notice = if NOT_HANDLED.contains(&suffix) {
            format!("annotation {key} has no effect: this version does not handle it")
        } else {
            format!(
                "annotation {key} has no effect: it is not known; the nearest known one is {PREFIX}{}",
                nearest(suffix)
            )
        };
        notices.insert(key.clone(), notice);
    }
    notices
}

fn nearest(suffix: &str) -> &'static str {
    HANDLED
        .iter()
        .chain(NOT_IGNORABLE)
        .chain(NOT_HANDLED)
        .max_by(|a, b| strsim::jaro_winkler(a, suffix).total_cmp(&strsim::jaro_winkler(b, suffix)))
        .copied()
        .unwrap_or_default()
}
