//! Whether a load balancer finds out by itself which of its members work: pure functions.
//!
//! Where it does, it knows better than the conditions of nodes, see [`members`](super::members). How it does
//! where the traffic policy is Local is in [`policy`].

pub mod policy;

use k8s_openapi::api::core::v1::{Service, ServicePort};

use super::{
    annotations::{NetworkRequested, Requested},
    ownership::Owner,
};
use crate::cloud::{
    Listener, ListenerSettings, LoadBalancerState, NetworkGroup, NetworkGroupSetting, Protocol, ServerGroup, Setting,
};

/// Whether all listeners that send traffic to the Service's members check them, as they will be once the
/// Service has what it asks for.
pub fn are_checked(service: &Service, requested: &Requested, owner: &Owner, state: Option<&LoadBalancerState>) -> bool {
    let (listeners, groups) = state.map_or((&[][..], &[][..]), |state| (&state.listeners, &state.groups));
    if requested.id.is_some() && !requested.force_override_listeners {
        // The user's listeners: what is not there is not known.
        let mut leading = listeners.iter().filter(|listener| leads_to(listener, owner, requested, groups)).peekable();
        return leading.peek().is_some()
            && leading.all(|listener| checks(listener.protocol, check_of(&listener.settings)));
    }
    let will_check = |port: &ServicePort| {
        let number = u16::try_from(port.port).unwrap_or_default();
        let transport = if port.protocol.as_deref() == Some("UDP") { Protocol::Udp } else { Protocol::Tcp };
        let protocol = requested.protocol_of(number, transport);
        let asked = requested.listener_settings(protocol);
        let there = listeners.iter().find(|listener| (listener.port, listener.protocol) == (number, protocol));
        requested.forwards.contains_key(&number)
            || checks(protocol, check_of(&asked).or_else(|| check_of(&there?.settings)))
    };
    service.spec.iter().flat_map(|spec| spec.ports.iter().flatten()).all(will_check)
}

fn leads_to(listener: &Listener, owner: &Owner, requested: &Requested, groups: &[ServerGroup]) -> bool {
    let ours =
        |group: &ServerGroup| owner.owns_group(&group.name) || requested.user_groups.values().any(|id| *id == group.id);
    groups.iter().any(|group| listener.group.as_ref() == Some(&group.id) && ours(group))
}

fn check_of(settings: &ListenerSettings) -> Option<&str> {
    settings.get(Setting::HealthCheck)
}

/// The same on a network load balancer, where groups check their members.
pub fn are_checked_by_groups(requested: &NetworkRequested, there: &[NetworkGroup]) -> bool {
    let check = NetworkGroupSetting::HealthCheck;
    let says_no = |group: &NetworkGroup| group.settings.get(check) == Some("false");
    requested.group.get(check).map_or_else(|| !there.iter().any(says_no), |asked| asked == "true")
}

/// Listeners of TCP and UDP check their members unless told otherwise; those of HTTP and HTTPS are made so
/// that they do not.
fn checks(protocol: Protocol, said: Option<&str>) -> bool {
    said.map_or(matches!(protocol, Protocol::Tcp | Protocol::Udp), |said| said == "on")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    use crate::{
        cloud::{GroupsView, ListenerStatus},
        controllers::service::{Options, desired::desired, members::Backends},
    };

    fn service(protocol: &str) -> Service {
        let port = serde_json::json!({ "port": 80, "nodePort": 30080, "protocol": protocol });
        let service = serde_json::json!({
            "metadata": { "name": "web", "namespace": "default", "uid": "u1" },
            "spec": { "type": "LoadBalancer", "ports": [port] },
        });
        serde_json::from_value(service).unwrap()
    }

    fn checked(protocol: &str, requested: &Requested, there: Option<(Protocol, &str)>) -> bool {
        let service = service(protocol);
        let owner = Owner::of(&service, "c1");
        let group = ServerGroup { id: "rsp-1".into(), name: owner.group_name("30080"), members: Vec::new() };
        let listener = |(protocol, check)| Listener {
            port: 80,
            protocol,
            status: ListenerStatus::Running,
            description: String::new(),
            group: Some("rsp-1".into()),
            settings: ListenerSettings::default().with(Setting::HealthCheck, check),
            domain_extensions: None,
        };
        let options = Options::for_test();
        let made = desired(&service, Requested::default(), &Backends::default(), &BTreeMap::new(), &options).create;
        let state = there.map(|there| LoadBalancerState {
            load_balancer: made.created("lb-1".into(), "1.2.3.4"),
            listeners: vec![listener(there)],
            groups: vec![group],
            groups_view: GroupsView::Complete,
        });
        are_checked(&service, requested, &owner, state.as_ref())
    }

    #[test]
    fn what_is_there_counts_unless_it_will_be_changed() {
        let plain = Requested::default;
        let asked = |value: &str| plain().with_listener(Setting::HealthCheck, value);
        let http = |requested: Requested| Requested { protocols: [(80, Protocol::Http)].into(), ..requested };
        let reused = |overrides| Requested { id: Some("lb-1".into()), force_override_listeners: overrides, ..plain() };
        for (protocol, requested, there, expected) in [
            ("TCP", plain(), None, true),
            ("UDP", plain(), None, true),
            ("TCP", asked("off"), None, false),
            ("TCP", http(plain()), None, false),
            ("TCP", http(asked("on")), None, true),
            // Switched off by hand, or by an annotation that is gone.
            ("TCP", plain(), Some((Protocol::Tcp, "off")), false),
            ("TCP", asked("on"), Some((Protocol::Tcp, "off")), true),
            ("TCP", http(plain()), Some((Protocol::Http, "on")), true),
            // Of another protocol: it will go.
            ("TCP", plain(), Some((Protocol::Http, "off")), true),
            // The user's listeners: what is not there is not known.
            ("TCP", reused(false), None, false),
            ("TCP", reused(false), Some((Protocol::Http, "on")), true),
            ("TCP", reused(false), Some((Protocol::Http, "off")), false),
            ("TCP", reused(true), None, true),
        ] {
            let found = checked(protocol, &requested, there);
            assert_eq!(found, expected, "{protocol} {:?} {there:?} {:?}", requested.id, requested.protocols);
        }
    }

    #[test]
    fn a_port_that_only_sends_on_needs_no_check() {
        let forwards = Requested {
            protocols: [(80, Protocol::Http)].into(),
            forwards: [(80, 443)].into(),
            ..Requested::default()
        };
        assert!(checked("TCP", &forwards, None));
    }
}
