//! What the annotations mean on a network load balancer: the second table beside [`catalogue`].
//!
//! [`catalogue`]: super::catalogue

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Service;

use super::{
    Annotations, LEGACY_PREFIX, Mistake, Mistakes, PREFIX, Requested,
    catalogue::{
        self, CLASS,
        Value::{self, AnyCase, Colons, List, Number, Pairs, Present, Text, Word},
    },
    values::{labels, port, tags},
};
use crate::cloud::{
    AddressType, AllocationId, LoadBalancerId, NetworkGroupKind, NetworkGroupSetting, NetworkGroupSettings,
    NetworkListenerSetting, NetworkListenerSettings, NetworkProtocol, PortRange, SecurityGroupId, VSwitchId, ZoneId,
    ZoneMapping,
};

/// One annotation as network load balancers take it.
pub(super) struct NetworkAnnotation {
    /// What follows the prefix.
    pub(super) suffix: &'static str,
    pub(super) value: Value,
    pub(super) sets: Sets,
    /// What holds without it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page about annotations"))]
    pub(super) default: &'static str,
    /// What it does, and what a change of it does, where that is not "changed in place".
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page about annotations"))]
    pub(super) about: &'static str,
}

/// What an annotation sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sets {
    /// A field of [`NetworkRequested`].
    Field,
    /// A setting of the listeners whose protocol has it.
    Listener(NetworkListenerSetting),
    /// A setting of all groups.
    Group(NetworkGroupSetting),
    /// A setting of all groups, if the annotation `health-check-flag` says anything.
    HealthCheck(NetworkGroupSetting),
}

/// What a Service asks for of a network load balancer. `None` is not asked for: the default on
/// creation, no change later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRequested {
    /// A load balancer of the user's to use instead of making one.
    pub id: Option<LoadBalancerId>,
    /// Whether listeners on that load balancer may be created and taken over.
    pub force_override_listeners: bool,
    pub address_type: Option<AddressType>,
    /// `ipv4` or `DualStack`.
    pub ip_version: Option<String>,
    pub ipv6_address_type: Option<AddressType>,
    pub name: Option<String>,
    pub resource_group: Option<String>,
    /// Further tags of the load balancer.
    pub tags: BTreeMap<String, String>,
    pub zones: Vec<ZoneMapping>,
    /// All security groups but the one for source ranges; `None` leaves alone what is there.
    pub security_groups: Option<BTreeSet<SecurityGroupId>>,
    /// `Some(None)` is none; `None` leaves alone what is there.
    pub bandwidth_package: Option<Option<String>>,
    pub cross_zone: Option<bool>,
    /// Protocols of ports other than the Service says.
    pub protocols: BTreeMap<u16, NetworkProtocol>,
    /// Ports to listen on in place of a port of the Service.
    pub ranges: BTreeMap<u16, Vec<PortRange>>,
    /// Certificates for further domains; `None` leaves alone what is there.
    pub additional_certificates: Option<BTreeSet<String>>,
    pub listener: NetworkListenerSettings,
    pub group_kind: NetworkGroupKind,
    pub group: NetworkGroupSettings,
    /// What is asked for of the members, which are chosen as for classic load balancers.
    pub members: Requested,
}

const ON_OFF: Value = AnyCase(&["on", "off"]);
const ADDRESS_TYPES: Value = AnyCase(&["internet", "intranet"]);

const fn field(suffix: &'static str, value: Value, default: &'static str, about: &'static str) -> NetworkAnnotation {
    NetworkAnnotation { suffix, value, sets: Sets::Field, default, about }
}

const fn listener(
    suffix: &'static str,
    value: Value,
    setting: NetworkListenerSetting,
    default: &'static str,
    about: &'static str,
) -> NetworkAnnotation {
    NetworkAnnotation { suffix, value, sets: Sets::Listener(setting), default, about }
}

const fn group(
    suffix: &'static str,
    value: Value,
    setting: NetworkGroupSetting,
    default: &'static str,
    about: &'static str,
) -> NetworkAnnotation {
    NetworkAnnotation { suffix, value, sets: Sets::Group(setting), default, about }
}

const fn health(
    suffix: &'static str,
    value: Value,
    setting: NetworkGroupSetting,
    default: &'static str,
    about: &'static str,
) -> NetworkAnnotation {
    NetworkAnnotation { suffix, value, sets: Sets::HealthCheck(setting), default, about }
}

/// All of them.
pub(super) const ALL: &[NetworkAnnotation] = &[
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
        "the cloud's: TCP",
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
        "the member's own port",
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
    field("remove-unscheduled-backend", Word(&["on", "off"]), "`off`", "Cordoned nodes are no members."),
];

/// Known, but not acted on by this version, with the Service refused: going on without them would
/// not leave something out but build something else.
pub(super) const NOT_IGNORABLE: &[&str] = &["backend-ip-version", "vgroup-port"];

impl Annotations<'_> {
    /// Reads and checks everything that a network load balancer is asked for, or tells all that is
    /// wrong.
    pub fn parse_network(&self) -> Result<NetworkRequested, Mistakes> {
        Reader::of(self).requested()
    }
}

/// What to tell the user about annotations that have no effect on a network load balancer.
pub fn network_notices(service: &Service) -> BTreeMap<String, String> {
    let mut notices = BTreeMap::new();
    for key in service.metadata.annotations.iter().flatten().map(|(key, _)| key) {
        let Some(suffix) = key.strip_prefix(PREFIX).or_else(|| key.strip_prefix(LEGACY_PREFIX)) else { continue };
        let is_known = ALL.iter().any(|annotation| annotation.suffix == suffix);
        if is_known || CLASS.contains(&suffix) || NOT_IGNORABLE.contains(&suffix) {
            continue;
        }
        let why = if catalogue::find(suffix).is_some() {
            "it is for classic load balancers".to_owned()
        } else {
            let likeness = |annotation: &&NetworkAnnotation| strsim::jaro_winkler(annotation.suffix, suffix);
            let nearest = ALL.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            format!("it is not known; the nearest known one is {PREFIX}{}", nearest.map_or("", |a| a.suffix))
        };
        notices.insert(key.clone(), format!("annotation {key} has no effect: {why}"));
    }
    notices
}

/// The values of the annotations, checked and in the API's spelling.
struct Reader<'a> {
    annotations: &'a Annotations<'a>,
    checked: BTreeMap<&'static str, String>,
    mistakes: Vec<Mistake>,
}

// === impl NetworkRequested ===

impl NetworkRequested {
    /// The protocol of a port that the Service gives as `service`.
    pub fn protocol_of(&self, port: u16, service: NetworkProtocol) -> NetworkProtocol {
        match self.protocols.get(&port) {
            // TLS is made of TCP; a UDP port of the same number stays what it is.
            Some(asked) if service == NetworkProtocol::Tcp => *asked,
            _ => service,
        }
    }

    /// The settings asked for that a listener of this protocol has.
    pub fn listener_settings(&self, protocol: NetworkProtocol) -> NetworkListenerSettings {
        let mut settings: NetworkListenerSettings = self
            .listener
            .iter()
            .filter(|(setting, _)| setting.applies_to(protocol))
            .map(|(setting, value)| (setting, value.to_owned()))
            .collect();
        // This means something only while what it belongs to is on.
        if settings.get(NetworkListenerSetting::AlpnEnabled) != Some("true") {
            settings.remove(NetworkListenerSetting::AlpnPolicy);
        }
        settings
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn of(annotations: &'a Annotations<'a>) -> Self {
        let mut reader = Self { annotations, checked: BTreeMap::new(), mistakes: Vec::new() };
        for annotation in ALL {
            let Some((key, value)) = annotations.find(annotation.suffix) else { continue };
            match annotation.value.read(value) {
                Ok(canonical) => {
                    reader.checked.insert(annotation.suffix, canonical);
                }
                Err(expected) => reader.mistake(key, value, expected),
            }
        }
        for suffix in NOT_IGNORABLE {
            if let Some((key, value)) = annotations.find(suffix) {
                reader.mistake(key, value, "absent: this version does not handle it".to_owned());
            }
        }
        reader
    }

    fn requested(mut self) -> Result<NetworkRequested, Mistakes> {
        let requested = self.read();
        if self.mistakes.is_empty() { Ok(requested) } else { Err(Mistakes(self.mistakes)) }
    }

    fn read(&mut self) -> NetworkRequested {
        let zones = self.zones();
        let protocols = self.pairs("protocol-port", "80:TCP or TCPSSL:443, each with TCP, UDP or TCPSSL", |a, b| {
            let named = |protocol: &NetworkProtocol| protocol.as_str().eq_ignore_ascii_case(a);
            Some((port(b)?, NetworkProtocol::ALL.into_iter().find(named)?))
        });
        let mut ranges: BTreeMap<u16, Vec<PortRange>> = BTreeMap::new();
        for (range, number) in self.pairs("listener-port-range", "30000-30100:443", |a, b| Some((range(a)?, port(b)?)))
        {
            ranges.entry(number).or_default().push(range);
        }
        NetworkRequested {
            id: self.annotations.load_balancer_id(),
            force_override_listeners: self.text("force-override-listeners").is_some_and(|value| value == "true"),
            address_type: self.address_type("address-type"),
            ip_version: self.text("ip-version"),
            ipv6_address_type: self.address_type("ipv6-address-type"),
            name: self.text("name"),
            resource_group: self.text("resource-group-id"),
            tags: self.text("additional-resource-tags").map(|text| tags(&text)).unwrap_or_default(),
            zones,
            security_groups: self.words("security-group-ids").map(|all| all.into_iter().map(Into::into).collect()),
            bandwidth_package: self
                .annotations
                .has("bandwidth-package-id")
                .then(|| self.text("bandwidth-package-id").filter(|text| !text.is_empty())),
            cross_zone: self.switch("cross-zone-enabled"),
            protocols,
            ranges,
            additional_certificates: self.words("additional-cert-ids"),
            listener: self.settings(|sets| match sets {
                Sets::Listener(setting) => Some(setting),
                _ => None,
            }),
            group_kind: match self.text("server-group-type").as_deref() {
                Some("Ip") => NetworkGroupKind::Ip,
                _ => NetworkGroupKind::Instance,
            },
            group: {
                let checks = self.checked.contains_key("health-check-flag");
                self.settings(|sets| match sets {
                    Sets::Group(setting) => Some(setting),
                    Sets::HealthCheck(setting) => Some(setting).filter(|_| checks),
                    _ => None,
                })
            },
            members: Requested {
                node_labels: self.text("backend-label").map(|text| labels(&text)).unwrap_or_default(),
                default_weight: self.text("default-weight").and_then(|value| value.parse().ok()),
                eni: self.annotations.eni(),
                ignores_weights: self.switch("ignore-weight-update").unwrap_or(false),
                leaves_out_cordoned: self.switch("remove-unscheduled-backend").unwrap_or(false),
                ..Requested::default()
            },
        }
    }

    fn text(&self, suffix: &str) -> Option<String> {
        self.checked.get(suffix).cloned()
    }

    fn switch(&self, suffix: &str) -> Option<bool> {
        self.checked.get(suffix).map(|value| value == "on")
    }

    fn address_type(&self, suffix: &str) -> Option<AddressType> {
        let read = |value: &String| if value == "intranet" { AddressType::Intranet } else { AddressType::Internet };
        self.checked.get(suffix).map(read)
    }

    /// Words joined by commas; `None` if the annotation is not even there.
    fn words(&self, suffix: &str) -> Option<BTreeSet<String>> {
        let split =
            |text: String| text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        self.annotations.has(suffix).then(|| self.text(suffix).map(split).unwrap_or_default())
    }

    fn settings<S: Copy + Ord>(&self, which: impl Fn(Sets) -> Option<S>) -> crate::cloud::Settings<S> {
        let spelled = |annotation: &NetworkAnnotation, value: &str| match annotation.value {
            AnyCase(words) if words == ["on", "off"] => (value == "on").to_string(),
            _ => value.to_owned(),
        };
        ALL.iter()
            .filter_map(|annotation| {
                let value = self.checked.get(annotation.suffix)?;
                Some((which(annotation.sets)?, spelled(annotation, value)))
            })
            .collect()
    }

    fn zones(&mut self) -> Vec<ZoneMapping> {
        let Some((key, value)) = self.annotations.find("zone-maps") else { return Vec::new() };
        let mut zones: Vec<ZoneMapping> = Vec::new();
        let mut wrong = false;
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match zone(part) {
                Some(mapping) if zones.iter().all(|other| other.zone != mapping.zone) => zones.push(mapping),
                _ => wrong = true,
            }
        }
        if wrong || zones.is_empty() {
            let expected = "different zones such as zone-a:vsw-id-1,zone-b:vsw-id-2, each with a private address and an \
                            elastic address's id behind if wanted (ZoneMapping format error)";
            self.mistake(key, value, expected.to_owned());
        }
        zones
    }

    /// Pairs joined by colons. A pair that does not convert is a mistake.
    fn pairs<K: Ord, V>(
        &mut self,
        suffix: &str,
        expected: &str,
        convert: impl Fn(&str, &str) -> Option<(K, V)>,
    ) -> BTreeMap<K, V> {
        let mut pairs = BTreeMap::new();
        let Some((key, value)) = self.annotations.find(suffix) else { return pairs };
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once(':').and_then(|(a, b)| convert(a.trim(), b.trim())) {
                Some((key, value)) => {
                    pairs.insert(key, value);
                }
                None => self.mistake(key.clone(), value, format!("pairs such as {expected}, joined by commas")),
            }
        }
        pairs
    }

    fn mistake(&mut self, key: String, value: &str, expected: String) {
        self.mistakes.push(Mistake { key, value: value.to_owned(), expected });
    }
}

/// `zone:vswitch[:address[:allocation]]`; an address may be left empty before an allocation.
fn zone(text: &str) -> Option<ZoneMapping> {
    let mut parts = text.split(':').map(str::trim);
    let zone = parts.next().filter(|text| !text.is_empty())?;
    let vswitch = parts.next().filter(|text| !text.is_empty())?;
    let private_address = match parts.next().filter(|text| !text.is_empty()) {
        Some(address) => Some(address.parse::<std::net::Ipv4Addr>().ok()?.into()),
        None => None,
    };
    let allocation = parts.next().filter(|text| !text.is_empty()).map(AllocationId::new);
    parts.next().is_none().then(|| ZoneMapping {
        zone: ZoneId::new(zone),
        vswitch: VSwitchId::new(vswitch),
        private_address,
        allocation,
    })
}

fn range(text: &str) -> Option<PortRange> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (port(first)?, port(last)?);
    (first < last).then_some(PortRange { first, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<NetworkRequested, String> {
        let mut service = Service::default();
        let pairs = pairs.iter().map(|(suffix, value)| (format!("{PREFIX}{suffix}"), (*value).to_owned()));
        service.metadata.annotations = Some(pairs.collect());
        Annotations::of(&service).parse_network().map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn zones_have_two_to_four_parts() {
        let zones =
            parse(&[("zone-maps", "a:vsw-1, b:vsw-2:10.0.0.5 ,c:vsw-3::eip-1,d:vsw-4:10.0.0.6:eip-2")]).unwrap().zones;
        let parts: Vec<_> = zones
            .iter()
            .map(|z| {
                (
                    z.zone.as_str(),
                    z.private_address.map(|a| a.to_string()),
                    z.allocation.as_ref().map(AllocationId::as_str),
                )
            })
            .collect();
        assert_eq!(
            parts,
            [
                ("a", None, None),
                ("b", Some("10.0.0.5".to_owned()), None),
                ("c", None, Some("eip-1")),
                ("d", Some("10.0.0.6".to_owned()), Some("eip-2"))
            ]
        );
        for wrong in ["a", "a:", ":vsw-1", "a:vsw-1:x", "a:vsw-1:10.0.0.5:eip-1:more", "a:vsw-1,a:vsw-2", ","] {
            assert!(parse(&[("zone-maps", wrong)]).unwrap_err().contains("ZoneMapping format error"), "{wrong}");
        }
    }

    #[test]
    fn empty_is_not_absent_where_it_matters() {
        let absent = parse(&[]).unwrap();
        assert_eq!(
            (absent.security_groups, absent.bandwidth_package, absent.additional_certificates),
            (None, None, None)
        );
        let empty =
            parse(&[("security-group-ids", ""), ("bandwidth-package-id", ""), ("additional-cert-ids", "")]).unwrap();
        assert_eq!(empty.security_groups, Some(BTreeSet::new()));
        assert_eq!(empty.bandwidth_package, Some(None));
        assert_eq!(empty.additional_certificates, Some(BTreeSet::new()));
        let given = parse(&[("security-group-ids", "sg-2, sg-1")]).unwrap();
        assert_eq!(given.security_groups, Some(["sg-1".into(), "sg-2".into()].into()));
    }

    #[test]
    fn switches_become_truth_values_and_checks_need_their_flag() {
        let asked = parse(&[("proxy-protocol", "ON"), ("cps", "100"), ("health-check-interval", "5")]).unwrap();
        assert_eq!(asked.listener.get(NetworkListenerSetting::ProxyProtocol), Some("true"));
        assert_eq!(asked.listener.get(NetworkListenerSetting::Cps), Some("100"));
        assert!(asked.group.is_empty(), "{:?}", asked.group);
        let asked = parse(&[("health-check-flag", "on"), ("health-check-interval", "5"), ("scheduler", "RR")]).unwrap();
        assert_eq!(asked.group.get(NetworkGroupSetting::HealthCheckInterval), Some("5"));
        assert_eq!(asked.group.get(NetworkGroupSetting::Scheduler), Some("rr"));
    }

    #[test]
    fn ports_have_protocols_and_ranges() {
        let asked =
            parse(&[("protocol-port", "tcpssl:443,UDP:53"), ("listener-port-range", "100-200:80,300-400:80")]).unwrap();
        assert_eq!(asked.protocol_of(443, NetworkProtocol::Tcp), NetworkProtocol::TcpSsl);
        assert_eq!(asked.protocol_of(443, NetworkProtocol::Udp), NetworkProtocol::Udp);
        assert_eq!(asked.protocol_of(53, NetworkProtocol::Tcp), NetworkProtocol::Udp);
        assert_eq!(asked.ranges[&80], [PortRange { first: 100, last: 200 }, PortRange { first: 300, last: 400 }]);
        for (suffix, wrong) in [
            ("protocol-port", "https:443"),
            ("listener-port-range", "200-100:80"),
            ("listener-port-range", "0-5:80"),
            ("listener-port-range", "5:80"),
        ] {
            assert!(parse(&[(suffix, wrong)]).unwrap_err().contains(suffix), "{wrong}");
        }
    }

    #[test]
    fn all_mistakes_are_told_together() {
        let told = parse(&[("cps", "x"), ("address-type", "outer"), ("vgroup-port", "a:80")]).unwrap_err();
        for part in ["cps is \"x\"", "address-type is \"outer\"", "vgroup-port"] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn what_has_no_effect_is_told() {
        let mut service = Service::default();
        let keys = ["spec", "cps", "cross-zone-enable"].map(|suffix| (format!("{PREFIX}{suffix}"), "x".to_owned()));
        service.metadata.annotations = Some(keys.into());
        let notices: Vec<String> = network_notices(&service).into_values().collect();
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(notices[0].ends_with("-cross-zone-enabled"), "{notices:?}");
        assert!(notices[1].ends_with("it is for classic load balancers"), "{notices:?}");
    }
}
