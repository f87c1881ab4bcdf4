//! The fingerprint of what a Service asks for, kept as a label.
//!
//! It is computed exactly as the released controller does it: SHA-224 over a YAML rendering of
//! part of the object, in the style of Go's yaml.v2. So neither program sees a change when it
//! takes over from the other. This program itself compares desired with observed state; the hash
//! only tells it whether the last pass reached its end.

mod yaml;

use std::fmt::Write;

use k8s_openapi::api::core::v1::Service;
use serde_json::Value;
use sha2::{Digest, Sha224};

/// The value of the hash label for `service`.
pub fn of(service: &Service) -> String {
    let spec = service.spec.as_ref();
    let json = |value: Result<Value, serde_json::Error>| value.unwrap_or(Value::Null);
    let mut list = vec![
        json(serde_json::to_value(spec.map(|s| &s.ports))),
        json(serde_json::to_value(spec.map(|s| &s.type_))),
        json(serde_json::to_value(spec.map(|s| &s.external_traffic_policy))),
        json(serde_json::to_value(spec.map(|s| &s.load_balancer_class))),
        json(serde_json::to_value(&service.metadata.annotations)),
        json(serde_json::to_value(&service.metadata.deletion_timestamp)),
    ];
    if let Some(ranges) = spec.and_then(|s| s.load_balancer_source_ranges.as_ref()).filter(|r| !r.is_empty()) {
        list.push(json(serde_json::to_value(ranges)));
    }
    of_list(list)
}

/// Annotation with what was applied last, as kubectl keeps it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether `hash` is that of `service` as it was with the traffic policy Cluster, and but for that the same. What
/// kubectl notes of a change in its annotation is part of the change.
pub fn is_of_policy_cluster(service: &Service, hash: &str) -> bool {
    let mut before = service.clone();
    before.spec.get_or_insert_default().external_traffic_policy = Some("Cluster".to_owned());
    let applied = service.metadata.annotations.iter().flatten().find(|(key, _)| *key == LAST_APPLIED);
    let Some((_, applied)) = applied else { return of(&before) == hash };
    [
        (r#""externalTrafficPolicy":"Local""#, r#""externalTrafficPolicy":"Local""#),
        (r#""externalTrafficPolicy":"Local""#, r#""externalTrafficPolicy":"Cluster""#),
        // Which is what it is where nothing is said.
        (r#""externalTrafficPolicy":"Local","#, ""),
    ]
    .into_iter()
    .any(|(now, then)| {
        let applied = applied.replacen(now, then, 1);
        before.metadata.annotations.get_or_insert_default().insert(LAST_APPLIED.to_owned(), applied);
        of(&before) == hash
    })
}

fn of_list(list: Vec<Value>) -> String {
    let list: Vec<Value> = list.into_iter().map(normalise).filter(|value| !is_zero(value)).collect();
    let mut yaml = String::new();
    yaml::write_list(&mut yaml, &list, 0);
    hex(&Sha224::digest(yaml.as_bytes()))
}

/// Bytes in lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
    }
}

/// Drops empty values inside maps. Elements of lists stay, though maps among them are cleaned.
fn normalise(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(key, _)| key != "alibabacloud.com/reconcile.hash")
                .map(|(key, value)| (key, normalise(value)))
                .filter(|(_, value)| !is_zero(value))
                .collect(),
        ),
        Value::Array(list) => {
            Value::Array(list.into_iter().map(|item| if item.is_object() { normalise(item) } else { item }).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::{ServicePort, ServiceSpec},
        apimachinery::pkg::util::intstr::IntOrString,
    };
    use serde_json::json;

    use super::*;

    fn service(annotations: &[(&str, &str)]) -> Service {
        let mut service = Service {
            spec: Some(ServiceSpec {
                type_: Some("LoadBalancer".into()),
                external_traffic_policy: Some("Cluster".into()),
                ports: Some(vec![ServicePort {
                    port: 80,
                    protocol: Some("TCP".into()),
                    target_port: Some(IntOrString::Int(80)),
                    node_port: Some(30080),
                    ..ServicePort::default()
                }]),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        };
        service.metadata.annotations = Some(annotations.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
        service
    }

    #[test]
    fn published_vectors_are_reproduced() {
        let first = json!([{"type": "Ready", "status": "True", "reason": "OK"}, {"type": "DiskFull", "reason": "OK"}]);
        assert_eq!(
            of_list(vec![first, json!({"key": "value"})]),
            "0bca66e81b3124c0ea1c8a6e16c4a12092546c00bb0e75db53de5c2b"
        );
        let second = json!([{"type": "Ready", "status": "True", "reason": "OK"}]);
        assert_eq!(of_list(vec![second]), "03e8cc3ccf0b0b0bff80371bb738d5e8fa755e9da3d022a7617ce612");
    }

    #[test]
    fn a_service_hashes_as_before() {
        assert_eq!(of(&service(&[])), "951e9ea0b0b16aed289d51391a77cd72e665f457c6dc087de8710183");
        let annotated = service(&[
            ("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type", "intranet"),
            ("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-weight", "60"),
        ]);
        assert_eq!(of(&annotated), "c99da1d68ecbab0367de9f3ca70de38daa2139f2554489fff2322120");
    }

    #[test]
    fn labels_status_and_selector_do_not_count() {
        let mut other = service(&[]);
        other.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        other.spec.get_or_insert_default().selector = Some([("app".to_owned(), "web".to_owned())].into());
        assert_eq!(of(&other), of(&service(&[])));
        other.spec.get_or_insert_default().external_traffic_policy = Some("Local".into());
        assert_ne!(of(&other), of(&service(&[])));
    }

    #[test]
    fn a_flip_of_the_policy_is_known_from_any_other_change() {
        let with = |policy: &str, annotations: &[(&str, &str)]| {
            let mut service = service(annotations);
            service.spec.get_or_insert_default().external_traffic_policy = Some(policy.to_owned());
            service
        };
        let applied = |policy: &str| format!(r#"{{"kind":"Service","spec":{{{policy}"ports":[{{"port":80}}]}}}}"#);
        let local = applied(r#""externalTrafficPolicy":"Local","#);
        let now = with("Local", &[("a", "b"), (LAST_APPLIED, &local)]);
        for before in [&local, &applied(r#""externalTrafficPolicy":"Cluster","#), &applied("")] {
            let before = with("Cluster", &[("a", "b"), (LAST_APPLIED, before)]);
            assert!(is_of_policy_cluster(&now, &of(&before)));
        }
        assert!(is_of_policy_cluster(&with("Local", &[("a", "b")]), &of(&with("Cluster", &[("a", "b")]))));
        for before in [now.clone(), with("Cluster", &[(LAST_APPLIED, &local)]), with("Local", &[])] {
            assert!(!is_of_policy_cluster(&now, &of(&before)));
        }
    }
}
