//! Every annotation there is under our prefixes: what its value may be and what it sets.
//!
//! The parser and the page `docs/annotations.md` both read this table and nothing else.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;

use super::{
    notice::{lacks, unknown, without_effect},
    value::Value::{self, AnyCase, Colons, List, Number, Pairs, Port, Present, Text, Word, Words},
};
use crate::cloud::Setting;

/// One annotation; `S` is what one can set on this kind of load balancer.
pub(super) struct Annotation<S = Sets> {
    /// What follows the prefix.
    pub(super) suffix: &'static str,
    pub(super) value: Value,
    pub(super) sets: S,
    /// What holds without it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page about annotations"))]
    pub(super) default: &'static str,
    /// What it does, and what a change of it does, where that is not "changed in place".
    pub(super) about: &'static str,
}

/// What an annotation sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::controllers::service) enum Sets {
    /// A field of the load balancer or of how the Service is treated, see `Requested`.
    Field,
    /// A setting of the listeners whose protocol has it.
    Listener(Setting),
    /// A setting of TCP and UDP listeners only, where another annotation is for the others.
    Layer4(Setting),
    /// A setting of HTTP and HTTPS listeners only.
    Layer7(Setting),
    /// Nothing on a classic load balancer: it is for network load balancers.
    Network,
    /// Nothing in this version.
    Nothing,
}

use Sets::{Layer4, Layer7, Listener};

const ON_OFF: Value = Word(&["on", "off"]);

const fn field(suffix: &'static str, value: Value, default: &'static str, about: &'static str) -> Annotation {
    Annotation { suffix, value, sets: Sets::Field, default, about }
}

const fn listener(
    suffix: &'static str,
    value: Value,
    sets: Sets,
    default: &'static str,
    about: &'static str,
) -> Annotation {
    Annotation { suffix, value, sets, default, about }
}

const fn network(suffix: &'static str) -> Annotation {
    Annotation { suffix, value: Present, sets: Sets::Network, default: "", about: "" }
}

const fn nothing(suffix: &'static str, about: &'static str) -> Annotation {
    Annotation { suffix, value: Present, sets: Sets::Nothing, default: "", about }
}

/// All of them.
pub(super) const ALL: &[Annotation] = &[
    // The load balancer.
    field(
        "address-type",
        Word(&["internet", "intranet"]),
        "`internet`",
        "Where the address is reachable from. Fixed once created: a change is refused until it is taken back.",
    ),
    field(
        "additional-resource-tags",
        Text(1024),
        "",
        "Further tags of the load balancer, as `key=value,key2=value2`. They are added and corrected; removing one from \
         the annotation leaves it in place.",
    ),
    field(
        "bandwidth",
        Number(1, 5120),
        "the cloud's",
        "Peak bandwidth in Mbit/s. A change takes effect only together with `charge-type: paybybandwidth`.",
    ),
    field("charge-type", Word(&["paybytraffic", "paybybandwidth"]), "the cloud's", "How internet traffic is paid for."),
    field("delete-protection", ON_OFF, "`on`", "Whether the load balancer can be deleted by hand."),
    field(
        "external-ip-type",
        Word(&["eip"]),
        "",
        "Show the elastic addresses bound to the load balancer in the Service's status instead of its own.",
    ),
    field(
        "force-override-listeners",
        Word(&["true", "false"]),
        "`false`",
        "With `id`: change attributes of that load balancer, create listeners on it, and take over those on the Service's \
         ports unless another Service has them.",
    ),
    field("hostname", Text(253), "", "Show this name in the Service's status instead of the address."),
    field(
        "id",
        Text(64),
        "",
        "Use this load balancer of yours instead of making one. It is never deleted, and its attributes and listeners are left \
         alone: the Service gets groups of members on it, for listeners of yours.",
    ),
    field(
        "instance-charge-type",
        AnyCase(&["PayBySpec", "PayByCLCU"]),
        "`PayByCLCU`",
        "How the load balancer itself is paid for. The cloud allows a change from PayBySpec to PayByCLCU only.",
    ),
    field(
        "ip",
        Text(45),
        "any free address",
        "The private address, with `address-type: intranet`. Fixed once created.",
    ),
    field("ip-version", Word(&["ipv4", "ipv6"]), "`ipv4`", "Family of the address. Fixed once created."),
    field("master-zoneid", Text(64), "the cloud's", "Primary zone. Fixed once created."),
    field(
        "modification-protection",
        Word(&["ConsoleProtection", "NonProtection"]),
        "`ConsoleProtection`",
        "Whether the load balancer can be changed in the console.",
    ),
    field("name", Text(80), "`a` and the Service's UID", "Name of the load balancer."),
    field(
        "preserve-lb-on-delete",
        Present,
        "",
        "Leave the load balancer behind, working and unprotected, when the Service is deleted.",
    ),
    field(
        super::RECREATE,
        ON_OFF,
        "`off`",
        "If somebody deletes the load balancer, make a new one, with another address. Otherwise the Service fails, and an \
         event tells what to do.",
    ),
    field("resource-group-id", Text(64), "that of the cloud-config file", "Resource group. Fixed once created."),
    field("slave-zoneid", Text(64), "the cloud's", "Secondary zone. Fixed once created."),
    field("spec", Text(64), "`slb.s1.small` with PayBySpec", "Specification, with `instance-charge-type: PayBySpec`."),
    field(
        "vswitch-id",
        Text(64),
        "one of the configured",
        "vSwitch of the address, with `address-type: intranet`. Fixed once created: a change has no effect.",
    ),
    // Listeners.
    field(
        "protocol-port",
        Colons("https:443,http:80"),
        "the port's own protocol",
        "Protocol of the listener on a port: tcp, udp, http or https.",
    ),
    field(
        "cert-id",
        Text(128),
        "",
        "Server certificate of HTTPS listeners, which need one. Removing it keeps the certificate.",
    ),
    field(
        "domain-extensions",
        Colons("a.example.com:cert-1,b.example.com:cert-2"),
        "",
        "Certificates for further domains of HTTPS listeners. Empty removes them; absent leaves them alone.",
    ),
    field(
        "forward-port",
        Colons("80:443"),
        "",
        "Send all requests of an HTTP port on to an HTTPS port. A change makes the listener anew.",
    ),
    listener(
        "acl-id",
        List,
        Listener(Setting::AclId),
        "",
        "Access control lists of the listeners, with `acl-status: on`.",
    ),
    listener(
        "acl-status",
        ON_OFF,
        Listener(Setting::AclStatus),
        "the cloud's: off",
        "Whether access control lists apply.",
    ),
    listener(
        "acl-type",
        Word(&["white", "black"]),
        Listener(Setting::AclType),
        "",
        "Whether the lists allow or refuse, with `acl-status: on`.",
    ),
    listener(
        "connection-drain",
        ON_OFF,
        Listener(Setting::ConnectionDrain),
        "the cloud's: off",
        "Whether connections to a leaving member may end (TCP).",
    ),
    listener(
        "connection-drain-timeout",
        Number(10, 900),
        Listener(Setting::ConnectionDrainTimeout),
        "",
        "Seconds for that, with `connection-drain: on`.",
    ),
    listener(
        "cookie",
        Text(200),
        Listener(Setting::Cookie),
        "",
        "Name of the cookie, with `sticky-session-type: server`.",
    ),
    listener(
        "cookie-timeout",
        Number(1, 86400),
        Listener(Setting::CookieTimeout),
        "",
        "Seconds, with `sticky-session-type: insert`.",
    ),
    listener(
        "established-timeout",
        Number(10, 900),
        Listener(Setting::EstablishedTimeout),
        "the cloud's: 900",
        "Seconds until an idle connection is dropped (TCP).",
    ),
    listener(
        "health-check-connect-port",
        Port(-520),
        Listener(Setting::HealthCheckConnectPort),
        "the member's own port; see `health-check-type`",
        "Port that is checked; -520 is the member's own.",
    ),
    listener(
        "health-check-connect-timeout",
        Number(1, 300),
        Layer4(Setting::HealthCheckConnectTimeout),
        "the cloud's: 5",
        "Seconds (TCP, UDP).",
    ),
    listener("health-check-domain", Text(80), Listener(Setting::HealthCheckDomain), "", "Host of HTTP checks."),
    listener(
        "health-check-flag",
        ON_OFF,
        Layer7(Setting::HealthCheck),
        "`off`",
        "Whether members are checked (HTTP, HTTPS).",
    ),
    listener(
        "health-check-httpcode",
        Words(&["http_2xx", "http_3xx", "http_4xx", "http_5xx"]),
        Listener(Setting::HealthCheckHttpCode),
        "the cloud's: http_2xx",
        "Answers that are healthy.",
    ),
    listener(
        "health-check-interval",
        Number(1, 50),
        Listener(Setting::HealthCheckInterval),
        "the cloud's: 2",
        "Seconds.",
    ),
    listener(
        "health-check-method",
        Word(&["head", "get"]),
        Layer7(Setting::HealthCheckMethod),
        "",
        "Method of HTTP checks (HTTP, HTTPS).",
    ),
    listener(
        "health-check-switch",
        ON_OFF,
        Layer4(Setting::HealthCheck),
        "the cloud's: on",
        "Whether members are checked (TCP, UDP).",
    ),
    listener(
        "health-check-timeout",
        Number(1, 300),
        Layer7(Setting::HealthCheckTimeout),
        "the cloud's: 5",
        "Seconds (HTTP, HTTPS).",
    ),
    listener(
        "health-check-type",
        Word(&["tcp", "http"]),
        Listener(Setting::HealthCheckType),
        "the cloud's: tcp; with the traffic policy Local `http` at `healthCheckNodePort`",
        "How TCP listeners check.",
    ),
    listener("health-check-uri", Text(80), Listener(Setting::HealthCheckUri), "", "Path of HTTP checks."),
    listener(
        "healthy-threshold",
        Number(2, 10),
        Listener(Setting::HealthyThreshold),
        "the cloud's: 3",
        "Good checks until a member is healthy.",
    ),
    listener("http2-enabled", ON_OFF, Listener(Setting::Http2), "the cloud's: on", "HTTP/2 (HTTPS)."),
    listener(
        "idle-timeout",
        Number(1, 60),
        Listener(Setting::IdleTimeout),
        "the cloud's: 15",
        "Seconds (HTTP, HTTPS).",
    ),
    listener(
        "persistence-timeout",
        Number(0, 3600),
        Listener(Setting::PersistenceTimeout),
        "0, off",
        "Seconds that a client stays with its member (TCP).",
    ),
    listener("proxy-protocol", ON_OFF, Listener(Setting::ProxyProtocol), "`off`", "Proxy protocol v2 (TCP, UDP)."),
    listener(
        "request-timeout",
        Number(1, 180),
        Listener(Setting::RequestTimeout),
        "the cloud's: 60",
        "Seconds (HTTP, HTTPS).",
    ),
    listener(
        "scheduler",
        Word(&["rr", "wrr", "wlc", "sch", "tch", "qch"]),
        Listener(Setting::Scheduler),
        "`rr`",
        "How members are chosen: `wrr`, `rr` or `wlc`; on TCP and UDP also `sch` and `tch`, on UDP also `qch`. A port whose \
         protocol lacks the word keeps what it has, and an event says so.",
    ),
    listener(
        "sticky-session",
        ON_OFF,
        Listener(Setting::StickySession),
        "`off`",
        "Whether a client stays with its member (HTTP, HTTPS).",
    ),
    listener(
        "sticky-session-type",
        Word(&["insert", "server"]),
        Listener(Setting::StickySessionType),
        "",
        "Who sets the cookie.",
    ),
    listener(
        "tls-cipher-policy",
        Text(64),
        Listener(Setting::TlsCipherPolicy),
        "the cloud's",
        "TLS versions and ciphers (HTTPS).",
    ),
    listener(
        "unhealthy-threshold",
        Number(2, 10),
        Listener(Setting::UnhealthyThreshold),
        "the cloud's: 3",
        "Bad checks until a member is unhealthy.",
    ),
    listener(
        "xforwardedfor-clientsrcport",
        ON_OFF,
        Listener(Setting::XForwardedForClientSrcPort),
        "the cloud's: off",
        "The client's port in a header (HTTP, HTTPS).",
    ),
    listener(
        "xforwardedfor-proto",
        ON_OFF,
        Listener(Setting::XForwardedForProto),
        "the cloud's: off",
        "The protocol in a header (HTTP, HTTPS).",
    ),
    listener(
        "xforwardedfor-slbport",
        ON_OFF,
        Listener(Setting::XForwardedForSlbPort),
        "the cloud's: off",
        "The listener's port in a header (HTTP, HTTPS).",
    ),
    // Members.
    field("backend-label", Pairs, "all nodes", "Only nodes with all of these labels are members."),
    field("default-weight", Number(0, 100), "100", "Weight of members with the traffic policy Cluster."),
    field("ignore-weight-update", AnyCase(&["on", "off"]), "`off`", "Leave weights alone once a member is there."),
    field("remove-unscheduled-backend", ON_OFF, "`off`", "Cordoned nodes are no members."),
    field(
        "backend-ip-version",
        AnyCase(&["ipv4", "ipv6"]),
        "`ipv4`",
        "Family of pods' addresses where pods are members. `ipv6` needs `ip-version: ipv6` and the feature gate IPv6DualStack.",
    ),
    field(
        "vgroup-port",
        Colons("rsp-bp1a:80,rsp-bp1b:443"),
        "groups of its own",
        "With `id`: members for a port go into this group of yours, beside those that are there. Groups made for Services are refused.",
    ),
    field(
        "weight",
        Number(0, 100),
        "each member as without `vgroup-port`",
        "With `vgroup-port`: weight of all members together, divided equally or, with the traffic policy Local, by pods. Each gets at least 1, unless it is 0.",
    ),
    // What this version does not do on a classic load balancer.
    nothing("network-type", "only VPC networks exist by now"),
    network("additional-cert-ids"),
    network("alpn"),
    network("alpn-policy"),
    network("bandwidth-package-id"),
    network("cacert"),
    network("cacert-id"),
    network("cps"),
    network("cross-zone-enabled"),
    network("ipv6-address-type"),
    network("listener-port-range"),
    network("ppv2-pvl-ep-id-enabled"),
    network("ppv2-pvl-eps-id-enabled"),
    network("ppv2-pvl-vpc-id-enabled"),
    network("preserve-client-ip"),
    network("security-group-ids"),
    network("server-group-type"),
    network("zone-maps"),
];

/// The annotation with this suffix.
pub(super) fn find(suffix: &str) -> Option<&'static Annotation> {
    ALL.iter().find(|annotation| annotation.suffix == suffix)
}

/// What to tell the user about annotations that have no effect: those that this version does not
/// act on, and those that nobody knows, with the nearest known key.
pub fn notices(service: &Service) -> BTreeMap<String, String> {
    without_effect(service, |annotations, suffix| match find(suffix) {
        None => Some(unknown(suffix, ALL.iter().map(|annotation| annotation.suffix))),
        Some(Annotation { sets: Sets::Network, .. }) => Some("it is for network load balancers".to_owned()),
        Some(Annotation { sets: Sets::Nothing, about: "", .. }) => Some("this version does not handle it".to_owned()),
        Some(Annotation { sets: Sets::Nothing, about, .. }) => Some((*about).to_owned()),
        Some(_) => lacks(annotations, suffix),
    })
}
