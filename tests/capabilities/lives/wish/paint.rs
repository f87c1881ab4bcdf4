//! Annotations that users ask for and change, with their values.

use super::super::marks::Kind;

/// The end of a key, and values.
pub type Choice = (&'static str, &'static [&'static str]);

/// Two certificates that the account has.
pub const CERTIFICATES: [&str; 2] = ["cert-1", "cert-2"];
/// Common bandwidth packages that the account has.
pub const PACKAGES: [&str; 2] = ["cbwp-1", "cbwp-2"];
/// Security groups that the account has.
pub const SECURITY_GROUPS: [&str; 2] = ["sg-user1", "sg-user2"];

const BOTH: &[Choice] = &[("default-weight", &["10", "50"]), ("remove-unscheduled-backend", &["on", "off"])];

const CLASSIC: &[Choice] = &[
    ("scheduler", &["rr", "wrr"]),
    ("persistence-timeout", &["0", "300"]),
    ("established-timeout", &["60", "600"]),
    ("health-check-interval", &["3", "9"]),
    ("healthy-threshold", &["2", "5"]),
    ("unhealthy-threshold", &["2", "4"]),
];
/// The same, for load balancers that are the Service's own.
const OWN_CLASSIC: &[Choice] = &[
    ("protocol-port", &["http:80", "tcp:80", "http:80,http:8080", "https:443", "https:443,http:80"]),
    ("idle-timeout", &["10", "50"]),
    ("request-timeout", &["30", "90"]),
    ("xforwardedfor-proto", &["on", "off"]),
    ("http2-enabled", &["on", "off"]),
    ("tls-cipher-policy", &["tls_cipher_policy_1_1", "tls_cipher_policy_1_2"]),
    ("domain-extensions", &["a.example.com:cert-1", "a.example.com:cert-2,b.example.com:cert-1", ""]),
    ("name", &["shop", "front"]),
    ("delete-protection", &["on", "off"]),
    ("modification-protection", &["ConsoleProtection", "NonProtection"]),
    ("additional-resource-tags", &["team=blue", "team=red,cost=1"]),
];

const NETWORK: &[Choice] = &[
    ("idle-timeout", &["60", "300"]),
    ("cps", &["100", "200"]),
    ("proxy-protocol", &["on", "off"]),
    ("scheduler", &["wrr", "rr"]),
    ("connection-drain", &["on", "off"]),
    ("connection-drain-timeout", &["30", "60"]),
    ("preserve-client-ip", &["on", "off"]),
    ("health-check-flag", &["on", "off"]),
    ("health-check-interval", &["5", "20"]),
    ("healthy-threshold", &["2", "5"]),
    ("unhealthy-threshold", &["2", "4"]),
    ("server-group-type", &["Ip", "Instance"]),
];
const OWN_NETWORK: &[Choice] = &[
    ("protocol-port", &["TCPSSL:443", "TCP:443", "TCPSSL:443,TCPSSL:8080"]),
    ("tls-cipher-policy", &["tls_cipher_policy_1_1", "tls_cipher_policy_1_2"]),
    ("alpn", &["off"]),
    ("additional-cert-ids", &["cert-3", ""]),
    ("name", &["shop", "front"]),
    ("address-type", &["internet", "intranet"]),
    ("bandwidth-package-id", &["cbwp-1", "cbwp-2", ""]),
    ("cross-zone-enabled", &["on", "off"]),
    ("additional-resource-tags", &["team=blue", "team=red,cost=1"]),
    ("security-group-ids", &["sg-user1", "sg-user1,sg-user2", ""]),
];
/// What is changed, but never taken back.
const LASTING_NETWORK: &[Choice] = &[
    ("cert-id", &CERTIFICATES),
    (
        "zone-maps",
        &[
            "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi",
            "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi,cn-hangzhou-j:vsw-bp1simj",
            "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-j:vsw-bp1simj",
        ],
    ),
];
const LASTING_CLASSIC: &[Choice] = &[("cert-id", &CERTIFICATES)];
/// What goes with payment by specification, all of it together.
pub const PAYMENT: &[Choice] = &[
    ("instance-charge-type", &["PayBySpec"]),
    ("spec", &["slb.s1.small", "slb.s2.small"]),
    ("charge-type", &["paybytraffic", "paybybandwidth"]),
    ("bandwidth", &["5", "50"]),
];

const WRONG_CLASSIC: &[(&str, &str)] =
    &[("scheduler", "best"), ("persistence-timeout", "long"), ("protocol-port", "80")];
const WRONG_NETWORK: &[(&str, &str)] = &[("scheduler", "best"), ("idle-timeout", "long"), ("protocol-port", "80")];

/// What comes and goes.
pub fn passing(kind: Kind, is_own: bool) -> Vec<Choice> {
    let (any, own) = match kind {
        Kind::Classic => (CLASSIC, OWN_CLASSIC),
        Kind::Network => (NETWORK, OWN_NETWORK),
    };
    let own = if is_own { own } else { &[] };
    BOTH.iter().chain(any).chain(own).copied().collect()
}

/// What is there from the first day.
pub fn lasting(kind: Kind) -> &'static [Choice] {
    match kind {
        Kind::Classic => LASTING_CLASSIC,
        Kind::Network => LASTING_NETWORK,
    }
}

/// Values that are refused.
pub fn wrong(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Classic => WRONG_CLASSIC,
        Kind::Network => WRONG_NETWORK,
    }
}
