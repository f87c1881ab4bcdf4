//! Checks that follow the traffic policy: pure functions.
//!
//! With the policy Local, kube-proxy answers on a port of each node whether it has ready pods of the Service
//! (`spec.healthCheckNodePort`). A check of that port ends as soon as a pod begins to terminate, while a check
//! of the node port ends with the pod. A classic load balancer has its checks on listeners, a network load
//! balancer on groups; what is asked and when is the same.

use k8s_openapi::api::core::v1::Service;

use super::{check_of, checks};
use crate::{
    cloud::{
        ListenerSettings, NetworkGroupSetting, NetworkGroupSettings, NetworkProtocol, Protocol, Setting, Settings,
    },
    controllers::service::members,
};

/// What kube-proxy is asked for; it answers on any path.
const PATH: &str = "/healthz";

/// How an API words a check.
struct Words<S> {
    path: S,
    port: S,
    /// What stands for the member's own port.
    own_port: &'static str,
    /// The setting of how members are checked, with its values for HTTP and TCP; `None` where there is only HTTP.
    kind: Option<(S, &'static str, &'static str)>,
}

const CLASSIC: Words<Setting> = Words {
    path: Setting::HealthCheckUri,
    port: Setting::HealthCheckConnectPort,
    own_port: "-520",
    kind: Some((Setting::HealthCheckType, "http", "tcp")),
};
const CLASSIC_HTTP: Words<Setting> = Words { kind: None, ..CLASSIC };
const NETWORK: Words<NetworkGroupSetting> = Words {
    path: NetworkGroupSetting::HealthCheckUrl,
    port: NetworkGroupSetting::HealthCheckConnectPort,
    own_port: "0",
    kind: Some((NetworkGroupSetting::HealthCheckType, "HTTP", "TCP")),
};

/// Whoever asks for one of these says how members are checked.
const HOW: &[Setting] = &[
    Setting::HealthCheckType,
    Setting::HealthCheckUri,
    Setting::HealthCheckDomain,
    Setting::HealthCheckHttpCode,
    Setting::HealthCheckMethod,
    Setting::HealthCheckConnectPort,
];
const HOW_OF_GROUPS: &[NetworkGroupSetting] = &[
    NetworkGroupSetting::HealthCheckType,
    NetworkGroupSetting::HealthCheckUrl,
    NetworkGroupSetting::HealthCheckDomain,
    NetworkGroupSetting::HealthCheckHttpCode,
    NetworkGroupSetting::HealthCheckMethod,
    NetworkGroupSetting::HealthCheckConnectPort,
];

/// The port at which kube-proxy tells whether a node has ready pods of the Service; only pods on virtual nodes
/// have none.
pub fn port_of(service: &Service) -> Option<u16> {
    let port = service.spec.as_ref()?.health_check_node_port.filter(|_| members::is_local(service))?;
    u16::try_from(port).ok().filter(|port| *port != 0)
}

/// The check of kube-proxy's `port` for a listener of this protocol of which `asked` is asked; `None` if that
/// says how members are checked or that they are not, or the protocol cannot.
pub fn of_listener(protocol: Protocol, port: u16, asked: &ListenerSettings) -> Option<ListenerSettings> {
    let checks = protocol != Protocol::Udp && checks(protocol, check_of(asked));
    let told = HOW.iter().any(|setting| asked.get(*setting).is_some());
    (checks && !told).then(|| words(protocol).check(port))
}

/// The same for a group that listeners of this protocol send to.
pub fn of_group(protocol: NetworkProtocol, port: u16, asked: &NetworkGroupSettings) -> Option<NetworkGroupSettings> {
    let checks = protocol != NetworkProtocol::Udp && asked.get(NetworkGroupSetting::HealthCheck) != Some("false");
    let told = HOW_OF_GROUPS.iter().any(|setting| asked.get(*setting).is_some());
    (checks && !told).then(|| on(NETWORK.check(port)))
}

/// What to set on a listener so that its check follows the traffic policy, or stops to follow one that does
/// not hold any more. A listener that never followed is left alone unless the policy was seen to change: it
/// may be older than this controller.
pub fn change_of_listener(
    protocol: Protocol,
    wanted: Option<&ListenerSettings>,
    asked: &ListenerSettings,
    there: &ListenerSettings,
    policy_changed: bool,
) -> Option<ListenerSettings> {
    words(protocol).change(wanted, asked, there, policy_changed)
}

/// The same for a group. One whose check is off, which nobody asks for any more, stays so.
pub fn change_of_group(
    wanted: Option<&NetworkGroupSettings>,
    asked: &NetworkGroupSettings,
    there: &NetworkGroupSettings,
    policy_changed: bool,
) -> Option<NetworkGroupSettings> {
    let flag = NetworkGroupSetting::HealthCheck;
    if there.get(flag) == Some("false") && asked.get(flag).is_none() {
        return None;
    }
    NETWORK.change(wanted, asked, there, policy_changed).map(|change| match asked.get(flag) {
        None => on(change),
        Some(_) => change,
    })
}

/// The cloud takes what belongs to the check of a group only beside that.
fn on(check: NetworkGroupSettings) -> NetworkGroupSettings {
    check.with(NetworkGroupSetting::HealthCheck, "true")
}

fn words(protocol: Protocol) -> &'static Words<Setting> {
    if protocol == Protocol::Tcp { &CLASSIC } else { &CLASSIC_HTTP }
}

// === impl Words ===

impl<S: Copy + Ord> Words<S> {
    fn check(&self, port: u16) -> Settings<S> {
        let check = Settings::default().with(self.port, port.to_string()).with(self.path, PATH);
        match self.kind {
            Some((kind, http, _)) => check.with(kind, http),
            None => check,
        }
    }

    fn own_check(&self) -> Settings<S> {
        let check = Settings::default().with(self.port, self.own_port);
        match self.kind {
            Some((kind, _, tcp)) => check.with(kind, tcp),
            None => check.with(self.path, "/"),
        }
    }

    fn change(
        &self,
        wanted: Option<&Settings<S>>,
        asked: &Settings<S>,
        there: &Settings<S>,
        policy_changed: bool,
    ) -> Option<Settings<S>> {
        let follows = there.get(self.path) == Some(PATH)
            && there.get(self.port).unwrap_or(self.own_port) != self.own_port
            && self.kind.is_none_or(|(kind, http, _)| there.get(kind) == Some(http));
        let change = match wanted {
            Some(check) if follows || policy_changed => check.clone(),
            None if follows => {
                let mut own = self.own_check();
                own.overlay(asked);
                own
            }
            _ => return None,
        };
        change.differ_from(there).then_some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever flips and whoever asks for what: once in place, nothing is left to do, and without the policy
    /// nothing is left of its check.
    #[test]
    fn a_groups_check_comes_and_goes_with_the_policy() {
        use NetworkGroupSetting::{HealthCheck, HealthCheckConnectPort, HealthCheckType, HealthCheckUrl};
        let nothing = NetworkGroupSettings::default();
        let wanted = of_group(NetworkProtocol::TcpSsl, 31000, &nothing).unwrap();
        let mut there =
            nothing.clone().with(HealthCheck, "true").with(HealthCheckType, "TCP").with(HealthCheckConnectPort, "0");
        assert_eq!(change_of_group(Some(&wanted), &nothing, &there, false), None, "it may be older");
        let change = change_of_group(Some(&wanted), &nothing, &there, true).unwrap();
        there.overlay(&change);
        assert_eq!((there.get(HealthCheckType), there.get(HealthCheckUrl)), (Some("HTTP"), Some("/healthz")));
        assert_eq!(change_of_group(Some(&wanted), &nothing, &there, true), None);
        // kube-proxy has moved.
        let moved = of_group(NetworkProtocol::Tcp, 32000, &nothing).unwrap();
        let change = change_of_group(Some(&moved), &nothing, &there, false).unwrap();
        assert_eq!(change.get(HealthCheckConnectPort), Some("32000"));
        // Somebody says how from now on.
        let asked = nothing.clone().with(HealthCheck, "true").with(HealthCheckConnectPort, "8080");
        assert_eq!(of_group(NetworkProtocol::Tcp, 31000, &asked), None);
        let change = change_of_group(None, &asked, &there, true).unwrap();
        assert_eq!((change.get(HealthCheckType), change.get(HealthCheckConnectPort)), (Some("TCP"), Some("8080")));
        there.overlay(&change_of_group(None, &nothing, &there, true).unwrap());
        assert_eq!((there.get(HealthCheckType), there.get(HealthCheckConnectPort)), (Some("TCP"), Some("0")));
        assert_eq!(change_of_group(None, &nothing, &there, true), None);
    }

    #[test]
    fn a_group_that_is_not_checked_or_cannot_be_so_stays_as_it_is() {
        let flag = |value| NetworkGroupSettings::default().with(NetworkGroupSetting::HealthCheck, value);
        let nothing = NetworkGroupSettings::default();
        assert_eq!(of_group(NetworkProtocol::Udp, 31000, &nothing), None);
        assert_eq!(of_group(NetworkProtocol::Tcp, 31000, &flag("false")), None);
        let wanted = of_group(NetworkProtocol::Tcp, 31000, &nothing).unwrap();
        assert_eq!(change_of_group(Some(&wanted), &nothing, &flag("false"), true), None);
        let asked = flag("true");
        assert!(change_of_group(Some(&wanted), &asked, &flag("false"), true).is_some());
    }
}
