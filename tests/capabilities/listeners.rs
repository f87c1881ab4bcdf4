//! Listeners and their settings, against the simulated cloud: what is asked for is set, changed
//! in place, and left alone when it is not asked for any more.

use std::time::Duration;

use ccm::sim::cloud::slb::{Certificate, Listener};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use crate::support::{Stage, play};

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

/// Annotation, the protocol of a listener that has the setting, the setting's name in the API, two
/// values and a wrong one.
const SETTINGS: &[(&str, &str, &str, &str, &str, &str)] = &[
    ("scheduler", "tcp", "Scheduler", "wrr", "rr", "best"),
    ("established-timeout", "tcp", "EstablishedTimeout", "60", "600", "5"),
    ("persistence-timeout", "tcp", "PersistenceTimeout", "300", "0", "3601"),
    ("connection-drain", "tcp", "ConnectionDrain", "on", "off", "yes"),
    ("health-check-type", "tcp", "HealthCheckType", "http", "tcp", "udp"),
    ("health-check-switch", "udp", "HealthCheck", "off", "on", "no"),
    ("health-check-connect-timeout", "udp", "HealthCheckConnectTimeout", "9", "20", "301"),
    ("proxy-protocol", "tcp", "ProxyProtocolV2Enabled", "on", "off", "v2"),
    ("health-check-interval", "tcp", "HealthCheckInterval", "3", "9", "51"),
    ("healthy-threshold", "udp", "HealthyThreshold", "4", "9", "11"),
    ("unhealthy-threshold", "tcp", "UnhealthyThreshold", "4", "9", "1"),
    ("health-check-connect-port", "tcp", "HealthCheckConnectPort", "8080", "-520", "x"),
    ("idle-timeout", "http", "IdleTimeout", "10", "50", "61"),
    ("request-timeout", "http", "RequestTimeout", "10", "50", "181"),
    ("xforwardedfor-proto", "http", "XForwardedFor_proto", "on", "off", "true"),
    ("xforwardedfor-slbport", "http", "XForwardedFor_SLBPORT", "on", "off", "true"),
    ("xforwardedfor-clientsrcport", "http", "XForwardedFor_ClientSrcPort", "on", "off", "true"),
    ("health-check-flag", "http", "HealthCheck", "on", "off", "true"),
    ("http2-enabled", "https", "EnableHttp2", "off", "on", "true"),
    ("tls-cipher-policy", "https", "TLSCipherPolicy", "tls_cipher_policy_1_2", "tls_cipher_policy_1_1", " x "),
    ("cert-id", "https", "ServerCertificateId", "cert-2", "cert-1", " x "),
];

fn key(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

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

fn only_listener(stage: &Stage) -> Option<Listener> {
    let load_balancer = stage.cloud().load_balancers().pop()?;
    stage.cloud().listeners(&load_balancer.id).pop()
}

async fn annotate(stage: &Stage, changes: Value) {
    stage.world.kube.patch::<Service>("default", "web", json!({ "metadata": { "annotations": changes } })).unwrap();
    stage.pass(Duration::from_secs(15)).await;
}

#[test]
fn each_setting_is_created_changed_left_alone_and_refused_when_wrong() {
    for (suffix, protocol, name, first, second, wrong) in SETTINGS {
        play(|stage| async move {
            with_certificates(&stage, &[("cert-1", "2030-01-01T00:00:00Z"), ("cert-2", "2030-01-01T00:00:00Z")]);
            let _replica = stage.start();
            stage.joined(1).await;
            let (as_protocol, certificate) = (format!("{protocol}:443"), key("cert-id"));
            let (protocol_key, suffix_key) = (key("protocol-port"), key(suffix));
            let mut annotations = vec![(protocol_key.as_str(), as_protocol.as_str()), (certificate.as_str(), "cert-1")];
            annotations.retain(|(key, _)| *key != suffix_key);
            annotations.push((&suffix_key, first));
            stage.expose("web", &annotations, port(protocol));
            let running = |listener: &Listener| format!("{:?}", listener.status) == "Running";
            stage.until("a running listener", || only_listener(&stage).filter(running)).await;
            // The API writes this switch as a truth value.
            let spelled = |value: &str| match *name {
                "ProxyProtocolV2Enabled" => (value == "on").to_string(),
                _ => value.to_owned(),
            };
            let is = || only_listener(&stage).unwrap().settings.get(name).map(str::to_owned);
            assert_eq!(is(), Some(spelled(first)), "{suffix} on creation");
            stage.clear_calls();
            annotate(&stage, json!({ (suffix_key.as_str()): second })).await;
            assert_eq!(is(), Some(spelled(second)), "{suffix} changed; {:?} {:?}", stage.words(), stage.told("web"));
            let writes = stage.cloud().calls().into_iter().filter(|call| call.changed).count();
            assert_eq!(writes, 1, "{suffix}: {:?}", stage.words());
            stage.clear_calls();
            annotate(&stage, json!({ (suffix_key.as_str()): null })).await;
            assert_eq!(is(), Some(spelled(second)), "{suffix} removed");
            annotate(&stage, json!({ (suffix_key.as_str()): wrong })).await;
            assert_eq!(stage.words(), Vec::<String>::new(), "{suffix}: nothing is called");
            let told = stage.told("web");
            let refused = |(reason, message): &(String, String)| {
                reason == "SyncLoadBalancerFailed" && message.contains(suffix_key.as_str())
            };
            assert!(told.iter().any(refused), "{suffix}: {told:?}");
        });
    }
}

#[test]
fn a_certificate_that_is_missing_or_over_is_never_put_in_place() {
    for (id, expires, expected) in [
        ("cert-gone", "2030-01-01T00:00:00Z", "can not found cert by id"),
        ("cert-old", "2020-01-01T00:00:00Z", "expired"),
    ] {
        play(|stage| async move {
            with_certificates(&stage, &[("cert-1", "2030-01-01T00:00:00Z"), ("cert-old", expires)]);
            let _replica = stage.start();
            stage.joined(1).await;
            let (protocol, certificate) = (key("protocol-port"), key("cert-id"));
            stage.expose("web", &[(&protocol, "https:443"), (&certificate, "cert-1")], port("tcp"));
            stage.address("web").await;
            annotate(&stage, json!({ (certificate.as_str()): id })).await;
            let listener = only_listener(&stage).unwrap();
            assert_eq!(listener.settings.get("ServerCertificateId"), Some("cert-1"));
            assert!(stage.told("web").iter().any(|(_, message)| message.contains(expected)), "{:?}", stage.told("web"));
        });
    }
}
