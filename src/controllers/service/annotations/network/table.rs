//! Every annotation that has an effect on a network load balancer.

use super::super::{
    RECREATE,
    catalogue::Annotation,
    value::Value::{self, AnyCase, Colons, List, Number, Pairs, Present, Text, Word},
};
use crate::cloud::{NetworkGroupSetting, NetworkListenerSetting};

/// What an annotation sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Sets {
    /// A field of [`NetworkRequested`](super::NetworkRequested).
    Field,
    /// A setting of the listeners whose protocol has it.
    Listener(NetworkListenerSetting),
    /// A setting of all groups.
    Group(NetworkGroupSetting),
    /// A setting of all groups, if the annotation `health-check-flag` says anything.
    HealthCheck(NetworkGroupSetting),
}

const ON_OFF: Value = AnyCase(&["on", "off"]);
const ADDRESS_TYPES: Value = AnyCase(&["internet", "intranet"]);

const fn field(suffix: &'static str, value: Value, default: &'static str, about: &'static str) -> Annotation<Sets> {
    Annotation { suffix, value, sets: Sets::Field, default, about }
}

const fn listener(
    suffix: &'static str,
    value: Value,
    setting: NetworkListenerSetting,
    default: &'static str,
    about: &'static str,
) -> Annotation<Sets> {
    Annotation { suffix, value, sets: Sets::Listener(setting), default, about }
}

const fn group(
    suffix: &'static str,
    value: Value,
    setting: NetworkGroupSetting,
    default: &'static str,
    about: &'static str,
) -> Annotation<Sets> {
    Annotation { suffix, value, sets: Sets::Group(setting), default, about }
}

const fn health(
    suffix: &'static str,
    value: Value,
    setting: NetworkGroupSetting,
    default: &'static str,
    about: &'static str,
) -> Annotation<Sets> {
    Annotation { suffix, value, sets: Sets::HealthCheck(setting), default, about }
}

/// All of them.
pub(in super::super) const ALL: &[Annotation<Sets>] = &[
    // The load balancer.
    field(
        "zone-maps",
        Text(1024),
        "needed unless `id` is given",
        "Zones as `zone:vswitch`, each with a private address and an elastic address if wanted: \
         `zone-a:vsw-1:10.0.0.5:eip-1,zone-b:vsw-2`. Zones come and go in place; the vSwitch and the addresses within a zone are \
         fixed.",
    ),
    field("address-type", ADDRESS_TYPES, "`internet`", "Where the addresses are reachable from."),
    field("ip-version", AnyCase(&["ipv4", "DualStack"]), "`ipv4`", "Families of the addresses. Fixed once created."),
    field(
        "ipv6-address-type",
        ADDRESS_TYPES,
        "the cloud's: `intranet`",
        "Where the IPv6 addresses are reachable from, with `ip-version: DualStack`.",
    ),
    field(
        "additional-resource-tags",
        Text(1024),
        "",
        "Further tags of the load balancer, as `key=value,key2=value2`. They are added and corrected; removing one from \
         the annotation leaves it in place.",
    ),
    field(
        "bandwidth-package-id",
        Text(64),
        "",
        "The common bandwidth package of the public addresses. Empty takes the load balancer out of it; absent leaves it \
         alone.",
    ),
    field("cross-zone-enabled", ON_OFF, "the cloud's: on", "Whether members of other zones get connections, too."),
    field(
        "force-override-listeners",
        Word(&["true", "false"]),
        "`false`",
        "With `id`: create listeners on that load balancer, and take over those on the Service's ports unless another Service has them.",
    ),
    field("id", Text(64), "", "Use this load balancer of yours instead of making one. It is never deleted."),
    field("name", Text(128), "`a` and the Service's UID", "Name of the load balancer."),
    field(
        RECREATE,
        Word(&["on", "off"]),
        "`off`",
        "If somebody deletes the load balancer, make a new one, with another name. Otherwise the Service fails, and an event \
         tells what to do.",
    ),
    field(
        "preserve-lb-on-delete",
        Present,
        "",
        "Leave the load balancer behind, working and unprotected, when the Service is deleted.",
    ),
    field("resource-group-id", Text(64), "that of the cloud-config file", "Resource group. Fixed once created."),
    field(
        "security-group-ids",
        Text(256),
        "",
        "Security groups of the load balancer, at most four. Empty takes it out of all; absent leaves them alone.",
    ),
    // Listeners.
    field(
        "protocol-port",
        Colons("TCPSSL:443,TCP:80"),
        "the port's own protocol",
        "Protocol of the listener on a port: TCP, UDP or TCPSSL.",
    ),
    field(
        "listener-port-range",
        Colons("30000-30100:443"),
        "the port itself",
        "Listen on these ports in place of a port of the Service; each reaches the same port of the pods. Needs pods as members.",
    ),
    field(
        "additional-cert-ids",
        Text(1024),
        "",
        "Certificates for further domains (TCPSSL). Empty removes them; absent leaves them alone.",
    ),
    listener(
        "cert-id",
        List,
        NetworkListenerSetting::Certificates,
        "",
        "Server certificates of TCPSSL listeners, which need one. Removing it keeps the certificate.",
    ),
    listener(
        "cacert",
        ON_OFF,
        NetworkListenerSetting::CaEnabled,
        "`off`",
        "Whether clients need a certificate (TCPSSL).",
    ),
    listener("cacert-id", List, NetworkListenerSetting::CaCertificates, "", "Who must have signed it (TCPSSL)."),
    listener("alpn", ON_OFF, NetworkListenerSetting::AlpnEnabled, "`off`", "ALPN (TCPSSL)."),
    listener(
        "alpn-policy",
        Word(&["HTTP1Only", "HTTP2Only", "HTTP2Preferred", "HTTP2Optional"]),
        NetworkListenerSetting::AlpnPolicy,
        "",
        "Which HTTP versions are agreed on, with `alpn: on`.",
    ),
    listener(
        "tls-cipher-policy",
        Text(64),
        NetworkListenerSetting::SecurityPolicy,
        "the cloud's",
        "TLS versions and ciphers (TCPSSL).",
    ),
    listener("proxy-protocol", ON_OFF, NetworkListenerSetting::ProxyProtocol, "`off`", "Proxy protocol v2."),
    listener(
        "ppv2-pvl-ep-id-enabled",
        ON_OFF,
        NetworkListenerSetting::ProxyEndpoint,
        "`off`",
        "Whether the proxy protocol tells the PrivateLink endpoint.",
    ),
    listener(
        "ppv2-pvl-eps-id-enabled",
        ON_OFF,
        NetworkListenerSetting::ProxyEndpointService,
        "`off`",
        "Whether it tells the PrivateLink endpoint service.",
    ),
    listener("ppv2-pvl-vpc-id-enabled", ON_OFF, NetworkListenerSetting::ProxyVpc, "`off`", "Whether it tells the VPC."),
    listener(
        "cps",
        Number(0, 1_000_000),
        NetworkListenerSetting::Cps,
        "0, no limit",
        "New connections a second in each zone.",
    ),
    listener("idle-timeout", Number(1, 900), NetworkListenerSetting::IdleTimeout, "the cloud's: 900", "Seconds."),
    // Groups.
    field(
        "server-group-type",
        AnyCase(&["Instance", "Ip"]),
        "`Instance`",
        "Whether members are instances and interfaces, or addresses. A change makes new groups, and old ones go when all \
         listeners use the new.",
    ),
    group(
        "scheduler",
        AnyCase(&["wrr", "wlc", "rr", "sch", "tch", "qch"]),
        NetworkGroupSetting::Scheduler,
        "the cloud's: wrr",
        "How members are chosen.",
    ),
    group(
        "connection-drain",
        ON_OFF,
        NetworkGroupSetting::ConnectionDrain,
        "the cloud's: off",
        "Whether connections to a leaving member may end.",
    ),
    group(
        "connection-drain-timeout",
        Number(0, 900),
        NetworkGroupSetting::ConnectionDrainTimeout,
        "the cloud's: 10",
        "Seconds for that.",
    ),
    group(
        "preserve-client-ip",
        ON_OFF,
        NetworkGroupSetting::PreserveClientIp,
        "the cloud's: on",
        "Whether members see the client's address.",
    ),
    group(
        "health-check-flag",
        ON_OFF,
        NetworkGroupSetting::HealthCheck,
        "the cloud's: on",
        "Whether members are checked. Without it, the other annotations about checks have no effect.",
    ),
    health(
        "health-check-type",
        AnyCase(&["TCP", "HTTP", "UDP"]),
        NetworkGroupSetting::HealthCheckType,
        "the cloud's: TCP; with the traffic policy Local HTTP at `healthCheckNodePort`",
        "How members are checked.",
    ),
    health("health-check-uri", Text(80), NetworkGroupSetting::HealthCheckUrl, "", "Path of HTTP checks."),
    health("health-check-domain", Text(80), NetworkGroupSetting::HealthCheckDomain, "", "Host of HTTP checks."),
    health(
        "health-check-httpcode",
        List,
        NetworkGroupSetting::HealthCheckHttpCode,
        "",
        "Answers that are healthy: http_2xx, http_3xx, http_4xx, http_5xx.",
    ),
    health(
        "health-check-method",
        AnyCase(&["GET", "HEAD"]),
        NetworkGroupSetting::HealthCheckMethod,
        "",
        "Method of HTTP checks.",
    ),
    health(
        "health-check-connect-port",
        Number(0, 65535),
        NetworkGroupSetting::HealthCheckConnectPort,
        "the member's own port; see `health-check-type`",
        "Port that is checked; 0 is the member's own.",
    ),
    health(
        "healthy-threshold",
        Number(2, 10),
        NetworkGroupSetting::HealthyThreshold,
        "the cloud's: 2",
        "Good checks until a member is healthy.",
    ),
    health(
        "unhealthy-threshold",
        Number(2, 10),
        NetworkGroupSetting::UnhealthyThreshold,
        "the cloud's: 2",
        "Bad checks until a member is unhealthy.",
    ),
    health(
        "health-check-interval",
        Number(1, 50),
        NetworkGroupSetting::HealthCheckInterval,
        "the cloud's: 10",
        "Seconds.",
    ),
    health(
        "health-check-connect-timeout",
        Number(1, 300),
        NetworkGroupSetting::HealthCheckConnectTimeout,
        "the cloud's: 5",
        "Seconds.",
    ),
    // Members.
    field("backend-label", Pairs, "all nodes", "Only nodes with all of these labels are members."),
    field("default-weight", Number(0, 100), "100", "Weight of members with the traffic policy Cluster."),
    field("ignore-weight-update", ON_OFF, "`off`", "Leave weights alone once a member is there."),
    field(
        "backend-ip-version",
        AnyCase(&["ipv4", "ipv6", "dualstack"]),
        "`ipv4`",
        "Family of pods' addresses where pods are members; `dualstack` is both. Needs `ip-version: DualStack` and the feature \
         gate IPv6DualStack, and makes new groups.",
    ),
    field(
        "vgroup-port",
        Colons("sgp-a:80,sgp-b:443"),
        "groups of its own",
        "With `id`: members for a port go into this group of yours, beside those that are there. Groups made for Services are refused.",
    ),
    field(
        "weight",
        Number(0, 100),
        "each member as without `vgroup-port`",
        "With `vgroup-port`: weight of all members together, divided equally or, with the traffic policy Local, by pods. Each gets at least 1, unless it is 0.",
    ),
    field("remove-unscheduled-backend", Word(&["on", "off"]), "`off`", "Cordoned nodes are no members."),
];
