//! Listeners and their settings, against the simulated cloud: what is asked for is set, changed
//! in place, and left alone when it is not asked for any more.

use std::time::Duration;

use ccm::sim::cloud::slb::{Acl, Certificate, Listener};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{Stage, clb::key, play};

/// An annotation about listeners.
struct Case {
    suffix: &'static str,
    /// The protocol of a listener that has the setting.
    protocol: &'static str,
    /// The setting's name in the API.
    name: &'static str,
    values: [&'static str; 2],
    /// A value that cannot be used.
    wrong: &'static str,
    /// What else is asked for, from the start on.
    with: &'static [(&'static str, &'static str)],
}

const fn case(
    suffix: &'static str,
    protocol: &'static str,
    name: &'static str,
    values: [&'static str; 2],
    wrong: &'static str,
) -> Case {
    Case { suffix, protocol, name, values, wrong, with: &[] }
}

const LISTS: &[(&str, &str)] = &[("acl-status", "on"), ("acl-id", "acl-1"), ("acl-type", "white")];
const INSERTED: &[(&str, &str)] =
    &[("sticky-session", "on"), ("sticky-session-type", "insert"), ("cookie-timeout", "60"), ("cookie", "c")];
const BY_SERVER: &[(&str, &str)] = &[("sticky-session", "on"), ("sticky-session-type", "server"), ("cookie", "c")];
const CHECKED: &[(&str, &str)] = &[("health-check-flag", "on")];

const SETTINGS: &[Case] = &[
    case("scheduler", "tcp", "Scheduler", ["wrr", "rr"], "best"),
    case("established-timeout", "tcp", "EstablishedTimeout", ["60", "600"], "5"),
    case("persistence-timeout", "tcp", "PersistenceTimeout", ["300", "0"], "3601"),
    case("connection-drain", "tcp", "ConnectionDrain", ["on", "off"], "yes"),
    Case {
        with: &[("connection-drain", "on")],
        ..case("connection-drain-timeout", "tcp", "ConnectionDrainTimeout", ["30", "60"], "9")
    },
    case("health-check-type", "tcp", "HealthCheckType", ["http", "tcp"], "udp"),
    case("health-check-switch", "udp", "HealthCheck", ["off", "on"], "no"),
    case("health-check-connect-timeout", "udp", "HealthCheckConnectTimeout", ["9", "20"], "301"),
    case("proxy-protocol", "tcp", "ProxyProtocolV2Enabled", ["on", "off"], "v2"),
    case("health-check-interval", "tcp", "HealthCheckInterval", ["3", "9"], "51"),
    case("healthy-threshold", "udp", "HealthyThreshold", ["4", "9"], "11"),
    case("unhealthy-threshold", "tcp", "UnhealthyThreshold", ["4", "9"], "1"),
    case("health-check-connect-port", "tcp", "HealthCheckConnectPort", ["8080", "-520"], "-1"),
    case("idle-timeout", "http", "IdleTimeout", ["10", "50"], "61"),
    case("request-timeout", "http", "RequestTimeout", ["10", "50"], "181"),
    case("xforwardedfor-proto", "http", "XForwardedFor_proto", ["on", "off"], "true"),
    case("xforwardedfor-slbport", "http", "XForwardedFor_SLBPORT", ["on", "off"], "true"),
    case("xforwardedfor-clientsrcport", "http", "XForwardedFor_ClientSrcPort", ["on", "off"], "true"),
    case("health-check-flag", "http", "HealthCheck", ["on", "off"], "true"),
    Case { with: CHECKED, ..case("health-check-uri", "http", "HealthCheckURI", ["/a", "/b"], " /") },
    Case {
        with: CHECKED,
        ..case("health-check-domain", "https", "HealthCheckDomain", ["a.example.com", "$_ip"], " a")
    },
    Case {
        with: CHECKED,
        ..case("health-check-httpcode", "http", "HealthCheckHttpCode", ["http_3xx", "http_2xx,http_4xx"], "200")
    },
    Case { with: CHECKED, ..case("health-check-method", "http", "HealthCheckMethod", ["get", "head"], "post") },
    Case { with: CHECKED, ..case("health-check-timeout", "https", "HealthCheckTimeout", ["9", "20"], "301") },
    Case { with: INSERTED, ..case("sticky-session", "http", "StickySession", ["on", "off"], "true") },
    Case { with: INSERTED, ..case("sticky-session-type", "http", "StickySessionType", ["insert", "server"], "client") },
    Case { with: INSERTED, ..case("cookie-timeout", "https", "CookieTimeout", ["100", "200"], "86401") },
    Case { with: BY_SERVER, ..case("cookie", "http", "Cookie", ["a", "b"], " a") },
    Case { with: LISTS, ..case("acl-status", "tcp", "AclStatus", ["on", "off"], "yes") },
    Case { with: LISTS, ..case("acl-id", "udp", "AclId", ["acl-1", "acl-1,acl-2"], ",") },
    Case { with: LISTS, ..case("acl-type", "http", "AclType", ["white", "black"], "grey") },
    case("http2-enabled", "https", "EnableHttp2", ["off", "on"], "true"),
    case("tls-cipher-policy", "https", "TLSCipherPolicy", ["tls_cipher_policy_1_2", "tls_cipher_policy_1_1"], " x "),
    case("cert-id", "https", "ServerCertificateId", ["cert-2", "cert-1"], " x "),
];

fn port(protocol: &str) -> Value {
    let wire = if protocol == "udp" { "UDP" } else { "TCP" };
    json!({ "type": "LoadBalancer", "ports": [{ "port": 443, "protocol": wire }] })
}

fn with_certificates(stage: &Stage, ids: &[(&str, &str)]) {
    for (id, expires) in ids {
        let certificate = Certificate {
            id: (*id).into(),
            name: String::new(),
            region: "cn-hangzhou".into(),
            common_name: "example.com".into(),
            fingerprint: String::new(),
            expires: expires.parse::<Timestamp>().unwrap(),
            tags: ccm::sim::cloud::Tags::default(),
            created: Timestamp::default(),
        };
        stage.cloud().with_state(|state| state.slb.certificates.insert((*id).into(), certificate.clone()));
    }
}

/// Access control lists of the user's.
fn with_lists(stage: &Stage, ids: &[&str]) {
    for id in ids {
        let list = Acl {
            id: (*id).into(),
            name: (*id).into(),
            ip_version: "ipv4".into(),
            entries: [("10.0.0.0/8".to_owned(), String::new())].into(),
            tags: ccm::sim::cloud::Tags::default(),
            created: Timestamp::default(),
        };
        stage.cloud().with_state(|state| state.slb.acls.insert((*id).into(), list.clone()));
    }
}

async fn annotate(stage: &Stage, suffix: &str, value: Option<&str>) {
    stage.annotate("web", &[(suffix, value)]);
    stage.pass(Duration::from_secs(15)).await;
}

#[test]
fn each_setting_is_created_changed_left_alone_and_refused_when_wrong() {
    for case in SETTINGS {
        play(|stage| four_ways(stage, case));
    }
}

/// No annotation about listeners is forgotten in the table above: the page has them all.
#[test]
fn each_annotation_about_listeners_is_tried() {
    let page = include_str!("../../docs/annotations.md");
    let (_, section) = page.split_once("## Listeners").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let missing: Vec<&str> =
        rows.map(|(suffix, _)| suffix).filter(|suffix| !SETTINGS.iter().any(|case| case.suffix == *suffix)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

async fn four_ways(stage: Stage, case: &Case) {
    let Case { suffix, protocol, name, values: [first, second], wrong, with } = *case;
    with_certificates(&stage, &[("cert-1", "2030-01-01T00:00:00Z"), ("cert-2", "2030-01-01T00:00:00Z")]);
    with_lists(&stage, &["acl-1", "acl-2"]);
    let _replica = stage.start_alone();
    stage.joined(1).await;
    let as_protocol = format!("{protocol}:443");
    let mut annotations = vec![("protocol-port", as_protocol.as_str())];
    annotations.extend(Some(("cert-id", "cert-1")).filter(|_| protocol == "https"));
    annotations.extend(with);
    annotations.retain(|(other, _)| *other != suffix);
    annotations.push((suffix, first));
    stage.ask("web", &annotations, port(protocol));
    let running = |listener: &Listener| format!("{:?}", listener.status) == "Running";
    stage.until("a running listener", || stage.only_listener().filter(running)).await;
    stage.pass(Duration::from_secs(10)).await;
    // The API writes this switch as a truth value.
    let spelled = |value: &str| match name {
        "ProxyProtocolV2Enabled" => (value == "on").to_string(),
        _ => value.to_owned(),
    };
    let is = || stage.only_listener().unwrap().settings.get(name).map(str::to_owned);
    assert_eq!(is(), Some(spelled(first)), "{suffix} on creation");
    stage.clear_calls();
    annotate(&stage, suffix, Some(second)).await;
    assert_eq!(is(), Some(spelled(second)), "{suffix} changed; {:?} {:?}", stage.words(), stage.told("web"));
    assert_eq!(stage.balancer_writes().len(), 1, "{suffix}: {:?}", stage.words());
    assert_eq!(stage.failures("web"), Vec::<String>::new(), "{suffix}");
    assert_eq!(
        stage.texts("web", "UnsupportedAnnotation").len(),
        usize::from(second == "off" && suffix == "acl-status") * 2
    );
    stage.clear_calls();
    annotate(&stage, suffix, None).await;
    assert_eq!(is(), Some(spelled(second)), "{suffix} removed");
    annotate(&stage, suffix, Some(wrong)).await;
    assert_eq!(stage.words(), Vec::<String>::new(), "{suffix}: nothing is called");
    let told = stage.failures("web");
    assert!(told.iter().any(|text| text.contains(&format!("{} is {wrong:?}", key(suffix)))), "{suffix}: {told:?}");
}

#[test]
fn a_certificate_that_is_missing_or_over_is_never_put_in_place() {
    for (id, expires, expected) in [
        ("cert-gone", "2030-01-01T00:00:00Z", "can not found cert by id"),
        ("cert-old", "2020-01-01T00:00:00Z", "expired"),
    ] {
        play(|stage| async move {
            with_certificates(&stage, &[("cert-1", "2030-01-01T00:00:00Z"), ("cert-old", expires)]);
            let _replica = stage.start_alone();
            stage.joined(1).await;
            stage.ask("web", &[("protocol-port", "https:443"), ("cert-id", "cert-1")], port("tcp"));
            stage.address("web").await;
            annotate(&stage, "cert-id", Some(id)).await;
            let listener = stage.only_listener().unwrap();
            assert_eq!(listener.settings.get("ServerCertificateId"), Some("cert-1"));
            assert!(stage.told("web").iter().any(|(_, message)| message.contains(expected)), "{:?}", stage.told("web"));
        });
    }
}

/// What the API wants only together is told for the port, and no listener is left more open than asked for.
#[test]
fn what_lacks_its_companion_is_told_before_a_call() {
    for (annotations, expected) in [
        (&[("acl-status", "on"), ("acl-id", "acl-1")][..], "acl-status: on needs acl-id and acl-type"),
        (&[("sticky-session", "on")], "sticky-session: on needs sticky-session-type"),
        (&[("sticky-session", "on"), ("sticky-session-type", "insert")], "insert needs cookie-timeout"),
        (&[("sticky-session", "on"), ("sticky-session-type", "server")], "server needs cookie"),
        (&[("forward-port", "443:8443")], "forward-port sends requests on to port 8443"),
    ] {
        for from_the_start in [true, false] {
            play(|stage| async move {
                with_lists(&stage, &["acl-1"]);
                let _replica = stage.start_alone();
                stage.joined(1).await;
                let mut asked = vec![("protocol-port", "http:443")];
                asked.extend(annotations.iter().filter(|_| from_the_start));
                stage.ask("web", &asked, port("http"));
                stage.address("web").await;
                stage.pass(Duration::from_secs(20)).await;
                let before = stage.only_listener();
                assert_eq!(before.is_some(), !from_the_start, "{expected}");
                for (suffix, value) in annotations.iter().filter(|_| !from_the_start) {
                    stage.annotate("web", &[(suffix, Some(value))]);
                }
                stage.pass(Duration::from_secs(30)).await;
                let told = stage.failures("web");
                assert!(!told.is_empty() && told.iter().all(|text| text.contains(expected)), "{expected}: {told:?}");
                assert!(
                    !stage.words().iter().any(|word| word.contains("Listener") && word.contains(' ')),
                    "{:?}",
                    stage.words()
                );
                assert_eq!(stage.only_listener(), before, "{expected}");
            });
        }
    }
}

#[test]
fn domains_come_change_and_go_with_their_certificates() {
    play(|stage| async move {
        with_certificates(&stage, &[("cert-1", "2030-01-01T00:00:00Z"), ("cert-2", "2030-01-01T00:00:00Z")]);
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let asked =
            [("protocol-port", "https:443"), ("cert-id", "cert-1"), ("domain-extensions", "a.example.com:cert-1")];
        stage.ask("web", &asked, port("tcp"));
        stage.address("web").await;
        stage.pass(Duration::from_secs(20)).await;
        let domains = || -> Vec<String> {
            stage.cloud().with_state(|state| {
                let one = |e: &ccm::sim::cloud::slb::DomainExtension| format!("{}:{}", e.domain, e.certificate);
                state.slb.domain_extensions.values().map(one).collect()
            })
        };
        assert_eq!(domains(), ["a.example.com:cert-1"]);
        annotate(&stage, "domain-extensions", Some("a.example.com:cert-2, b.example.com:cert-1")).await;
        let mut both = domains();
        both.sort();
        assert_eq!(both, ["a.example.com:cert-2", "b.example.com:cert-1"]);
        annotate(&stage, "domain-extensions", Some("b.example.com:cert-1")).await;
        assert_eq!(domains(), ["b.example.com:cert-1"]);
        stage.clear_calls();
        annotate(&stage, "domain-extensions", None).await;
        assert_eq!(domains(), ["b.example.com:cert-1"], "absent leaves them alone");
        annotate(&stage, "domain-extensions", Some("b.example.com")).await;
        assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        assert!(stage.failures("web").iter().any(|text| text.contains("domain-extensions is \"b.example.com\"")));
        annotate(&stage, "domain-extensions", Some("")).await;
        assert_eq!(domains(), Vec::<String>::new(), "empty removes them");
    });
}

#[test]
fn protocol_and_forwarding_of_a_port_can_be_changed_and_taken_back() {
    play(|stage| async move {
        with_certificates(&stage, &[("cert-1", "2030-01-01T00:00:00Z")]);
        let _replica = stage.start_alone();
        stage.joined(1).await;
        let ports = json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 443 }, { "name": "c", "port": 8443 }]);
        let asked =
            [("protocol-port", "http:80,https:443,https:8443"), ("cert-id", "cert-1"), ("forward-port", "80:443")];
        stage.ask("web", &asked, json!({ "type": "LoadBalancer", "ports": ports }));
        stage.address("web").await;
        stage.pass(Duration::from_secs(20)).await;
        let listeners = || -> Vec<String> {
            let one =
                |l: Listener| format!("{}/{} {}", l.port, l.protocol.as_str(), l.setting("ForwardPort").unwrap_or("-"));
            stage.cloud().listeners(&stage.balancer().id).into_iter().map(one).collect()
        };
        assert_eq!(listeners(), ["80/http 443", "443/https -", "8443/https -"], "{:?}", stage.told("web"));
        annotate(&stage, "forward-port", Some("80:8443")).await;
        assert_eq!(listeners()[0], "80/http 8443");
        for wrong in ["80", "80:443:1", "x:y"] {
            stage.clear_calls();
            annotate(&stage, "forward-port", Some(wrong)).await;
            assert!(stage.failures("web").iter().any(|text| text.contains(&format!("forward-port is {wrong:?}"))));
            assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        }
        annotate(&stage, "forward-port", None).await;
        assert_eq!(listeners()[0], "80/http -");
        for wrong in ["http", "ftp:80", "http:80,https:80", "http:0"] {
            stage.clear_calls();
            annotate(&stage, "protocol-port", Some(wrong)).await;
            assert!(stage.failures("web").iter().any(|text| text.contains(&format!("protocol-port is {wrong:?}"))));
            assert_eq!(stage.balancer_writes(), Vec::<String>::new());
        }
        annotate(&stage, "protocol-port", Some("https:80,https:443")).await;
        assert_eq!(listeners(), ["80/https -", "443/https -", "8443/tcp -"], "{:?}", stage.failures("web"));
        annotate(&stage, "protocol-port", None).await;
        assert_eq!(listeners(), ["80/tcp -", "443/tcp -", "8443/tcp -"], "{:?}", stage.failures("web"));
    });
}
