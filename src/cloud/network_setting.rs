//! What can be set on listeners and server groups of a network load balancer, one name a setting.
//!
//! Values are text in the API's own spelling, as for classic load balancers; lists are joined by
//! commas in sorted order.

use super::{NetworkProtocol, Settings};

/// A setting of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkListenerSetting {
    /// Server certificates' ids, joined by commas (TCPSSL).
    Certificates,
    /// CA certificates' ids, joined by commas (TCPSSL).
    CaCertificates,
    /// `true` or `false`: whether clients need a certificate (TCPSSL).
    CaEnabled,
    /// A TLS policy's id (TCPSSL).
    SecurityPolicy,
    /// `true` or `false` (TCPSSL).
    AlpnEnabled,
    /// `HTTP1Only`, `HTTP2Only`, `HTTP2Preferred`, `HTTP2Optional`, with ALPN (TCPSSL).
    AlpnPolicy,
    /// `true` or `false`.
    ProxyProtocol,
    /// `true` or `false`: whether the proxy protocol tells the PrivateLink endpoint.
    ProxyEndpoint,
    /// `true` or `false`: the PrivateLink endpoint service.
    ProxyEndpointService,
    /// `true` or `false`: the VPC.
    ProxyVpc,
    /// New connections a second and zone; 0 is no limit.
    Cps,
    /// Seconds.
    IdleTimeout,
}

/// A setting of a server group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkGroupSetting {
    /// `wrr`, `wlc`, `rr`, `sch`, `tch`, `qch`.
    Scheduler,
    /// `true` or `false`.
    ConnectionDrain,
    /// Seconds.
    ConnectionDrainTimeout,
    /// `true` or `false`.
    PreserveClientIp,
    /// `Affinity` or `NonAffinity`: whether traffic stays with its IP version.
    AffinityMode,
    /// `true` or `false`.
    HealthCheck,
    /// `TCP`, `HTTP` or `UDP`.
    HealthCheckType,
    HealthCheckUrl,
    HealthCheckDomain,
    /// Such as `http_2xx,http_3xx`.
    HealthCheckHttpCode,
    /// `GET` or `HEAD`.
    HealthCheckMethod,
    /// 0 is the member's own port.
    HealthCheckConnectPort,
    HealthyThreshold,
    UnhealthyThreshold,
    /// Seconds.
    HealthCheckInterval,
    /// Seconds.
    HealthCheckConnectTimeout,
}

/// What is set on a listener.
pub type NetworkListenerSettings = Settings<NetworkListenerSetting>;

/// What is set on a server group.
pub type NetworkGroupSettings = Settings<NetworkGroupSetting>;

// === impl NetworkListenerSetting ===

impl NetworkListenerSetting {
    /// Whether listeners of this protocol have the setting.
    pub fn applies_to(self, protocol: NetworkProtocol) -> bool {
        match self {
            Self::Certificates
            | Self::CaCertificates
            | Self::CaEnabled
            | Self::SecurityPolicy
            | Self::AlpnEnabled
            | Self::AlpnPolicy => protocol == NetworkProtocol::TcpSsl,
            Self::ProxyProtocol
            | Self::ProxyEndpoint
            | Self::ProxyEndpointService
            | Self::ProxyVpc
            | Self::Cps
            | Self::IdleTimeout => true,
        }
    }
}
