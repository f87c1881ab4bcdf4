//! What can be set on a listener of a classic load balancer, one name a setting.
//!
//! Values are text in the API's own spelling: words, numbers, paths, lists joined by commas in
//! sorted order. That keeps wishes, observations and changes comparable without one field each.

use super::{Protocol, Settings};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// `wrr`, `wlc`, `rr`, `sch`, `tch`, `qch`.
    Scheduler,
    /// Mbit/s; -1 is unlimited.
    Bandwidth,
    /// Seconds until an idle connection is dropped (TCP).
    EstablishedTimeout,
    /// Seconds that a client stays with its server; 0 is off (TCP).
    PersistenceTimeout,
    /// Seconds (HTTP, HTTPS).
    IdleTimeout,
    /// Seconds (HTTP, HTTPS).
    RequestTimeout,
    /// `on` or `off`.
    StickySession,
    /// `insert` or `server`.
    StickySessionType,
    /// Seconds.
    CookieTimeout,
    Cookie,
    /// `on` or `off`.
    XForwardedForProto,
    XForwardedForSlbPort,
    XForwardedForClientSrcPort,
    /// `on` or `off`.
    ConnectionDrain,
    /// Seconds.
    ConnectionDrainTimeout,
    /// `on` or `off`; `HealthCheckSwitch` of TCP and UDP, `HealthCheck` of HTTP and HTTPS.
    HealthCheck,
    /// `tcp` or `http`.
    HealthCheckType,
    HealthCheckUri,
    HealthCheckDomain,
    /// Such as `http_2xx,http_3xx`.
    HealthCheckHttpCode,
    /// `head` or `get`.
    HealthCheckMethod,
    /// -520 is the member's own port.
    HealthCheckConnectPort,
    HealthyThreshold,
    UnhealthyThreshold,
    /// Seconds.
    HealthCheckInterval,
    /// Seconds (TCP, UDP).
    HealthCheckConnectTimeout,
    /// Seconds (HTTP, HTTPS).
    HealthCheckTimeout,
    /// `on` or `off`.
    AclStatus,
    /// One or more, joined by commas.
    AclId,
    /// `white` or `black`.
    AclType,
    /// A server certificate's id (HTTPS).
    Certificate,
    TlsCipherPolicy,
    /// `on` or `off`.
    Http2,
    /// `true` or `false`.
    ProxyProtocol,
    /// The HTTPS port that all requests are sent on to (HTTP). Cannot be changed.
    ForwardPort,
}

/// What is set on a listener of a classic load balancer.
pub type ListenerSettings = Settings<Setting>;

// === impl Setting ===

impl Setting {
    /// Whether listeners of this protocol have the setting (the parameters of SLB
    /// `CreateLoadBalancer…Listener`).
    pub fn applies_to(self, protocol: Protocol) -> bool {
        use Protocol::{Http, Https, Tcp, Udp};
        let protocols: &[Protocol] = match self {
            Self::Scheduler
            | Self::Bandwidth
            | Self::HealthCheck
            | Self::HealthCheckConnectPort
            | Self::HealthyThreshold
            | Self::UnhealthyThreshold
            | Self::HealthCheckInterval
            | Self::AclStatus
            | Self::AclId
            | Self::AclType => &[Tcp, Udp, Http, Https],
            Self::HealthCheckConnectTimeout | Self::ProxyProtocol => &[Tcp, Udp],
            Self::EstablishedTimeout
            | Self::PersistenceTimeout
            | Self::ConnectionDrain
            | Self::ConnectionDrainTimeout
            | Self::HealthCheckType => &[Tcp],
            Self::HealthCheckUri | Self::HealthCheckDomain | Self::HealthCheckHttpCode => &[Tcp, Http, Https],
            Self::IdleTimeout
            | Self::RequestTimeout
            | Self::StickySession
            | Self::StickySessionType
            | Self::CookieTimeout
            | Self::Cookie
            | Self::XForwardedForProto
            | Self::XForwardedForSlbPort
            | Self::XForwardedForClientSrcPort
            | Self::HealthCheckMethod
            | Self::HealthCheckTimeout => &[Http, Https],
            Self::Certificate | Self::TlsCipherPolicy | Self::Http2 => &[Https],
            Self::ForwardPort => &[Http],
        };
        protocols.contains(&protocol)
    }
}

impl ListenerSettings {
    /// What the API wants beside a setting that is `asked` for and that these settings lack, as a sentence
    /// (the parameters' descriptions of SLB `CreateLoadBalancer…Listener`).
    pub fn missing_companion(&self, asked: &Self) -> Option<&'static str> {
        let lacks = |setting| self.get(setting).is_none_or(str::is_empty);
        if asked.get(Setting::AclStatus) == Some("on") && (lacks(Setting::AclId) || lacks(Setting::AclType)) {
            return Some("the annotation acl-status: on needs acl-id and acl-type beside it");
        }
        if asked.get(Setting::StickySession) != Some("on") {
            return None;
        }
        match self.get(Setting::StickySessionType) {
            Some("insert") if lacks(Setting::CookieTimeout) => {
                Some("the annotation sticky-session-type: insert needs cookie-timeout beside it")
            }
            Some("server") if lacks(Setting::Cookie) => {
                Some("the annotation sticky-session-type: server needs cookie beside it")
            }
            Some(_) => None,
            None => Some("the annotation sticky-session: on needs sticky-session-type beside it"),
        }
    }
}
