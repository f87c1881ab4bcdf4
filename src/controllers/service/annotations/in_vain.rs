//! Annotations that are known and right, but of which nothing comes on this Service.

use k8s_openapi::api::core::v1::Service;

use super::{
    Annotations, PREFIX, RECREATE, Requested, Shows,
    catalogue::{ALL, Sets},
};
use crate::cloud::{AddressType, Protocol};

/// Annotations that count only while another has this value.
const WHILE: &[(&str, &str, &str)] = &[
    ("acl-id", "acl-status", "on"),
    ("acl-type", "acl-status", "on"),
    ("connection-drain-timeout", "connection-drain", "on"),
];

/// A port of the Service: its number, the protocol that the spec gives it, and that of its listener.
type Port = (u16, Protocol, Protocol);

/// One sentence for each annotation of `service` that has no effect beside its other annotations and
/// its spec.
pub fn in_vain(service: &Service, requested: &Requested) -> Vec<String> {
    let annotations = Annotations::of(service);
    let ports = ports(service, requested);
    let mut reasons: Vec<(&str, String)> = Vec::new();
    for (suffix, needed, value) in WHILE {
        if annotations.get(needed) != Some(*value) {
            reasons.push((suffix, format!("it needs {PREFIX}{needed}: \"{value}\"")));
        }
    }
    if requested.id.is_none() && requested.force_override_listeners {
        reasons.push(("force-override-listeners", format!("it needs {PREFIX}id")));
    }
    if requested.id.is_some() {
        for suffix in [RECREATE, "preserve-lb-on-delete"] {
            reasons.push((suffix, "the load balancer is yours (annotation id), and neither made nor deleted".into()));
        }
    }
    if requested.address_type == Some(AddressType::Intranet) {
        for suffix in ["charge-type", "bandwidth"] {
            reasons.push((suffix, "an intranet address has no internet traffic to pay for".into()));
        }
    }
    if matches!(requested.shows, Shows::HostName(_)) {
        reasons.push(("external-ip-type", "the status shows what the annotation hostname says".into()));
    }
    reasons.extend(about_ports(requested, &ports));
    reasons.extend(about_listeners(&ports));
    let sentence = |(suffix, why): (&str, String)| {
        annotations.find(suffix).map(|(key, _)| format!("annotation {key} has no effect: {why}"))
    };
    reasons.into_iter().filter_map(sentence).collect()
}

fn ports(service: &Service, requested: &Requested) -> Vec<Port> {
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    ports
        .filter_map(|port| {
            let number = u16::try_from(port.port).ok()?;
            let own = if port.protocol.as_deref() == Some("UDP") { Protocol::Udp } else { Protocol::Tcp };
            Some((number, own, requested.protocol_of(number, own)))
        })
        .collect()
}

/// What names ports that the Service does not have, or not as they would need to be.
fn about_ports(requested: &Requested, ports: &[Port]) -> Vec<(&'static str, String)> {
    let is_there = |number: &u16| ports.iter().any(|(port, ..)| port == number);
    let mut reasons = Vec::new();
    let unknown = requested.protocols.keys().map(|port| ("protocol-port", port));
    let unknown = unknown.chain(requested.forwards.keys().map(|port| ("forward-port", port)));
    let users = requested.user_groups.keys().filter(|_| requested.id.is_some());
    for (suffix, port) in unknown.chain(users.map(|port| ("vgroup-port", port))).filter(|(_, port)| !is_there(port)) {
        reasons.push((suffix, format!("the Service has no port {port}")));
    }
    for (port, asked) in requested.protocols.iter().filter(|(port, _)| is_there(port)) {
        if !ports.iter().any(|(number, _, protocol)| number == port && protocol == asked) {
            reasons.push(("protocol-port", format!("port {port} of the Service is UDP, and stays so")));
        }
    }
    for port in requested.forwards.keys().filter(|port| is_there(port)) {
        if !ports.iter().any(|(number, _, protocol)| number == port && *protocol == Protocol::Http) {
            let why = format!("port {port} is not HTTP; make it so with {PREFIX}protocol-port: \"http:{port}\"");
            reasons.push(("forward-port", why));
        }
    }
    reasons
}

/// Settings that no listener of the Service has.
fn about_listeners(ports: &[Port]) -> Vec<(&'static str, String)> {
    let of_https = ["cert-id", "domain-extensions"].map(|suffix| (suffix, vec![Protocol::Https]));
    let settings = ALL.iter().filter_map(|annotation| {
        let having = |protocol: &Protocol| match annotation.sets {
            Sets::Listener(setting) => setting.applies_to(*protocol),
            Sets::Layer4(setting) => setting.applies_to(*protocol) && is_layer_4(*protocol),
            Sets::Layer7(setting) => setting.applies_to(*protocol) && !is_layer_4(*protocol),
            _ => false,
        };
        let protocols: Vec<Protocol> = Protocol::ALL.into_iter().filter(having).collect();
        (!protocols.is_empty()).then_some((annotation.suffix, protocols))
    });
    settings
        .chain(of_https)
        .filter(|(_, protocols)| !ports.iter().any(|(_, _, protocol)| protocols.contains(protocol)))
        .map(|(suffix, protocols)| {
            let names: Vec<&str> = protocols.iter().map(|protocol| protocol.as_str()).collect();
            (suffix, format!("it is for {} listeners, and the Service has none", names.join(", ")))
        })
        .collect()
}

fn is_layer_4(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Tcp | Protocol::Udp)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(annotations: &[(&str, &str)], ports: &[(u16, &str)]) -> Vec<String> {
        let ports: Vec<_> =
            ports.iter().map(|(port, protocol)| json!({ "port": port, "protocol": protocol })).collect();
        let mut service: Service = serde_json::from_value(json!({ "spec": { "ports": ports } })).unwrap();
        let key = |suffix: &str| format!("{PREFIX}{suffix}");
        service.metadata.annotations =
            Some(annotations.iter().map(|(suffix, value)| (key(suffix), (*value).to_owned())).collect());
        let requested = Annotations::of(&service).parse().unwrap();
        in_vain(&service, &requested).into_iter().map(|text| text.replace(PREFIX, "")).collect()
    }

    #[test]
    fn what_counts_beside_the_others_is_not_told() {
        let all = [
            ("acl-status", "on"),
            ("acl-id", "acl-1"),
            ("acl-type", "white"),
            ("protocol-port", "http:80,https:443"),
            ("forward-port", "80:443"),
            ("cert-id", "cert-1"),
            ("idle-timeout", "10"),
            ("id", "lb-1"),
            ("force-override-listeners", "true"),
            ("vgroup-port", "rsp-1:443"),
        ];
        assert_eq!(told(&all, &[(80, "TCP"), (443, "TCP")]), Vec::<String>::new());
        assert_eq!(
            told(&[("protocol-port", "tcp:53"), ("proxy-protocol", "on")], &[(53, "TCP"), (53, "UDP")]),
            [""; 0]
        );
    }

    #[test]
    fn what_nothing_comes_of_is_told_with_the_reason() {
        for (annotations, ports, expected) in [
            (&[("acl-id", "acl-1")][..], &[(80, "TCP")][..], "acl-id has no effect: it needs acl-status: \"on\""),
            (
                &[("connection-drain-timeout", "30"), ("connection-drain", "off")],
                &[(80, "TCP")],
                "it needs connection-drain: \"on\"",
            ),
            (&[("force-override-listeners", "true")], &[(80, "TCP")], "it needs id"),
            (&[("id", "lb-1"), ("preserve-lb-on-delete", "true")], &[(80, "TCP")], "neither made nor deleted"),
            (&[("address-type", "intranet"), ("bandwidth", "5")], &[(80, "TCP")], "no internet traffic"),
            (&[("hostname", "a.example.com"), ("external-ip-type", "eip")], &[(80, "TCP")], "external-ip-type has no"),
            (
                &[("protocol-port", "https:8443")],
                &[(443, "TCP")],
                "protocol-port has no effect: the Service has no port 8443",
            ),
            (&[("protocol-port", "http:53")], &[(53, "UDP")], "port 53 of the Service is UDP"),
            (&[("forward-port", "80:443")], &[(80, "TCP")], "protocol-port: \"http:80\""),
            (
                &[("id", "lb-1"), ("vgroup-port", "rsp-1:81")],
                &[(80, "TCP")],
                "vgroup-port has no effect: the Service has no port 81",
            ),
            (&[("idle-timeout", "10")], &[(80, "TCP")], "idle-timeout has no effect: it is for http, https listeners"),
            (
                &[("health-check-switch", "off"), ("protocol-port", "http:80")],
                &[(80, "TCP")],
                "it is for tcp, udp listeners",
            ),
            (&[("cert-id", "cert-1")], &[(443, "TCP")], "cert-id has no effect: it is for https listeners"),
        ] {
            let told = told(annotations, ports);
            assert!(told.len() == 1 && told[0].contains(expected), "{annotations:?}: {told:?}");
        }
    }
}
