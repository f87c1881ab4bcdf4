//! A listener's attributes, kept by the names of the describe actions. Which of them an
//! answer shows, and in what type, the contract tells.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Protocol;
use crate::sim::cloud::{error::Failure, params::Params};

/// Attributes by name, each in the text that set it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, String>);

/// Parameters that tell which listener is meant or how the call is made.
const NOT_STORED: [&str; 8] = [
    "ClientToken",
    "DryRun",
    "ListenerPort",
    "ListenerProtocol",
    "LoadBalancerId",
    "MasterSlaveServerGroup",
    "RegionId",
    "VServerGroup",
];

/// What all protocols have. The health check's port -520 means the port of each server.
const COMMON: [(&str, &str); 8] = [
    ("AclStatus", "off"),
    ("Bandwidth", "-1"),
    ("Description", ""),
    ("HealthCheckConnectPort", "-520"),
    ("HealthCheckInterval", "2"),
    ("HealthyThreshold", "3"),
    ("Scheduler", "wrr"),
    ("UnhealthyThreshold", "3"),
];

const TCP: [(&str, &str); 8] = [
    ("ConnectionDrain", "off"),
    ("EstablishedTimeout", "900"),
    ("HealthCheck", "on"),
    ("HealthCheckConnectTimeout", "5"),
    ("HealthCheckType", "tcp"),
    ("PersistenceTimeout", "0"),
    ("ProxyProtocolV2Enabled", "false"),
    ("SynProxy", "disable"),
];

const UDP: [(&str, &str); 5] = [
    ("ConnectionDrain", "off"),
    ("HealthCheck", "on"),
    ("HealthCheckConnectTimeout", "10"),
    ("HealthCheckInterval", "5"),
    ("ProxyProtocolV2Enabled", "false"),
];

const HTTP: [(&str, &str); 12] = [
    ("Gzip", "on"),
    ("HealthCheckHttpCode", "http_2xx"),
    ("HealthCheckMethod", "head"),
    ("HealthCheckTimeout", "5"),
    ("HealthCheckURI", "/"),
    ("IdleTimeout", "15"),
    ("RequestTimeout", "60"),
    ("StickySession", "off"),
    ("XForwardedFor", "on"),
    ("XForwardedFor_SLBID", "off"),
    ("XForwardedFor_SLBIP", "off"),
    ("XForwardedFor_proto", "off"),
];

// === impl Settings ===

impl Settings {
    /// What a new listener of that protocol has.
    pub(super) fn defaults(protocol: Protocol) -> Self {
        let own: Vec<(&str, &str)> = match protocol {
            Protocol::Tcp => TCP.to_vec(),
            Protocol::Udp => UDP.to_vec(),
            Protocol::Http => HTTP.iter().copied().chain([("ListenerForward", "off")]).collect(),
            Protocol::Https => HTTP
                .iter()
                .copied()
                .chain([("EnableHttp2", "on"), ("TLSCipherPolicy", "tls_cipher_policy_1_0")])
                .collect(),
        };
        Self(COMMON.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// An attribute; an empty one counts as absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// An attribute as it was set, empty or not.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn insert(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Takes over what a create or set call gives.
    pub(super) fn change(&mut self, params: &Params) -> Result<(), Failure> {
        if params.number::<i64>("Bandwidth")?.is_some_and(|value| value != -1 && !(1..=5120).contains(&value)) {
            return Err(Failure::bad("InvalidParameter.Bandwidth", "The bandwidth must be -1 or 1 to 5120."));
        }
        for (name, value) in params.iter().filter(|(name, _)| !NOT_STORED.contains(name) && !name.contains('.')) {
            // Written as a switch, shown as the health check itself.
            let name = if name == "HealthCheckSwitch" { "HealthCheck" } else { name };
            let value = if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") {
                value.to_ascii_lowercase()
            } else {
                value.to_owned()
            };
            self.0.insert(name.to_owned(), value);
        }
        if params.get("VServerGroup") == Some("off") {
            self.0.remove("VServerGroupId");
        }
        if self.get("AclStatus") == Some("on") && (self.get("AclId").is_none() || self.get("AclType").is_none()) {
            return Err(Failure::missing(if self.get("AclId").is_none() { "AclId" } else { "AclType" }));
        }
        // Without access control there is no list either, so that the list can be deleted.
        if self.get("AclStatus") == Some("off") {
            self.0.remove("AclId");
            self.0.remove("AclType");
        }
        if self.get("StickySession") == Some("on") && self.get("StickySessionType").is_none() {
            return Err(Failure::missing("StickySessionType"));
        }
        Ok(())
    }
}
