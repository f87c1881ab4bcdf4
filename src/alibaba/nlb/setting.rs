//! The names that settings of listeners and groups have on the wire.

use crate::cloud::{NetworkGroupSetting as Group, NetworkListenerSetting as Listener};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Plain,
    /// As a list of its own, `Name.1`, `Name.2`.
    List,
    /// As a truth value in the JSON text of `ProxyProtocolV2Config`.
    Proxy,
}

pub(super) const LISTENER: [(Listener, &str, Form); 12] = [
    (Listener::Certificates, "CertificateIds", Form::List),
    (Listener::CaCertificates, "CaCertificateIds", Form::List),
    (Listener::CaEnabled, "CaEnabled", Form::Plain),
    (Listener::SecurityPolicy, "SecurityPolicyId", Form::Plain),
    (Listener::AlpnEnabled, "AlpnEnabled", Form::Plain),
    (Listener::AlpnPolicy, "AlpnPolicy", Form::Plain),
    (Listener::ProxyProtocol, "ProxyProtocolEnabled", Form::Plain),
    (Listener::ProxyEndpoint, "Ppv2PrivateLinkEpIdEnabled", Form::Proxy),
    (Listener::ProxyEndpointService, "Ppv2PrivateLinkEpsIdEnabled", Form::Proxy),
    (Listener::ProxyVpc, "Ppv2VpcIdEnabled", Form::Proxy),
    (Listener::Cps, "Cps", Form::Plain),
    (Listener::IdleTimeout, "IdleTimeout", Form::Plain),
];

/// The object around the health check's settings in requests; in answers it is `HealthCheck`.
pub(super) const HEALTH_CHECK: &str = "HealthCheckConfig";

pub(super) const GROUP: [(Group, &str); 5] = [
    (Group::Scheduler, "Scheduler"),
    (Group::ConnectionDrain, "ConnectionDrainEnabled"),
    (Group::ConnectionDrainTimeout, "ConnectionDrainTimeout"),
    (Group::PreserveClientIp, "PreserveClientIpEnabled"),
    (Group::AffinityMode, "IpVersionAffinityMode"),
];

/// Those inside [`HEALTH_CHECK`].
pub(super) const GROUP_HEALTH: [(Group, &str, Form); 11] = [
    (Group::HealthCheck, "HealthCheckEnabled", Form::Plain),
    (Group::HealthCheckType, "HealthCheckType", Form::Plain),
    (Group::HealthCheckUrl, "HealthCheckUrl", Form::Plain),
    (Group::HealthCheckDomain, "HealthCheckDomain", Form::Plain),
    (Group::HealthCheckHttpCode, "HealthCheckHttpCode", Form::List),
    (Group::HealthCheckMethod, "HttpCheckMethod", Form::Plain),
    (Group::HealthCheckConnectPort, "HealthCheckConnectPort", Form::Plain),
    (Group::HealthyThreshold, "HealthyThreshold", Form::Plain),
    (Group::UnhealthyThreshold, "UnhealthyThreshold", Form::Plain),
    (Group::HealthCheckInterval, "HealthCheckInterval", Form::Plain),
    (Group::HealthCheckConnectTimeout, "HealthCheckConnectTimeout", Form::Plain),
];

/// The API is not consistent in the case of these words: `Wrr` in one answer, `wrr` in another.
pub(super) fn canonical(setting: Group, value: &str) -> String {
    match setting {
        Group::Scheduler => value.to_ascii_lowercase(),
        Group::HealthCheckType | Group::HealthCheckMethod => value.to_ascii_uppercase(),
        _ => value.to_owned(),
    }
}

/// The spelling of requests.
pub(super) fn sent(setting: Group, value: &str) -> &str {
    match (setting, value) {
        (Group::Scheduler, "wrr") => "Wrr",
        (Group::Scheduler, "wlc") => "Wlc",
        _ => value,
    }
}
