//! The names that settings of listeners have on the wire.

use crate::cloud::{Protocol, Setting};

/// All settings and their names; the same in requests and answers but for [`created_as`].
const NAMES: [(Setting, &str); 35] = [
    (Setting::Scheduler, "Scheduler"),
    (Setting::Bandwidth, "Bandwidth"),
    (Setting::EstablishedTimeout, "EstablishedTimeout"),
    (Setting::PersistenceTimeout, "PersistenceTimeout"),
    (Setting::IdleTimeout, "IdleTimeout"),
    (Setting::RequestTimeout, "RequestTimeout"),
    (Setting::StickySession, "StickySession"),
    (Setting::StickySessionType, "StickySessionType"),
    (Setting::CookieTimeout, "CookieTimeout"),
    (Setting::Cookie, "Cookie"),
    (Setting::XForwardedForProto, "XForwardedFor_proto"),
    (Setting::XForwardedForSlbPort, "XForwardedFor_SLBPORT"),
    (Setting::XForwardedForClientSrcPort, "XForwardedFor_ClientSrcPort"),
    (Setting::ConnectionDrain, "ConnectionDrain"),
    (Setting::ConnectionDrainTimeout, "ConnectionDrainTimeout"),
    (Setting::HealthCheck, "HealthCheck"),
    (Setting::HealthCheckType, "HealthCheckType"),
    (Setting::HealthCheckUri, "HealthCheckURI"),
    (Setting::HealthCheckDomain, "HealthCheckDomain"),
    (Setting::HealthCheckHttpCode, "HealthCheckHttpCode"),
    (Setting::HealthCheckMethod, "HealthCheckMethod"),
    (Setting::HealthCheckConnectPort, "HealthCheckConnectPort"),
    (Setting::HealthyThreshold, "HealthyThreshold"),
    (Setting::UnhealthyThreshold, "UnhealthyThreshold"),
    (Setting::HealthCheckInterval, "HealthCheckInterval"),
    (Setting::HealthCheckConnectTimeout, "HealthCheckConnectTimeout"),
    (Setting::HealthCheckTimeout, "HealthCheckTimeout"),
    (Setting::AclStatus, "AclStatus"),
    (Setting::AclId, "AclId"),
    (Setting::AclType, "AclType"),
    (Setting::Certificate, "ServerCertificateId"),
    (Setting::TlsCipherPolicy, "TLSCipherPolicy"),
    (Setting::Http2, "EnableHttp2"),
    (Setting::ProxyProtocol, "ProxyProtocolV2Enabled"),
    (Setting::ForwardPort, "ForwardPort"),
];

/// The settings of listeners of this protocol with their names.
pub(super) fn of(protocol: Protocol) -> impl Iterator<Item = (Setting, &'static str)> {
    let is_layer_4 = matches!(protocol, Protocol::Tcp | Protocol::Udp);
    NAMES.into_iter().filter(move |(setting, _)| setting.applies_to(protocol)).map(move |(setting, name)| {
        (setting, if setting == Setting::HealthCheck && is_layer_4 { "HealthCheckSwitch" } else { name })
    })
}

/// The name of a setting of this protocol.
pub(super) fn name(setting: Setting, protocol: Protocol) -> Option<&'static str> {
    of(protocol).find(|(other, _)| *other == setting).map(|(_, name)| name)
}

/// The name in the request that creates a listener: there TCP and UDP spell one differently.
pub(super) fn created_as(setting: Setting, protocol: Protocol) -> Option<&'static str> {
    match (setting, protocol) {
        (Setting::HealthCheckInterval, Protocol::Tcp | Protocol::Udp) => Some("healthCheckInterval"),
        _ => name(setting, protocol),
    }
}
