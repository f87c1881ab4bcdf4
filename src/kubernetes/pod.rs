//! Pods' readiness gates: which a pod has, what their conditions say, and the patch that sets one.
//!
//! A pod with a gate becomes ready only when its containers are and the gate's condition is `True`
//! (Kubernetes, "Pod Lifecycle", "Pod readiness").

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Pod, PodCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};
use serde_json::{Value, json};

/// The condition types that the pod's readiness waits for.
pub fn gates(pod: &Pod) -> impl Iterator<Item = &str> {
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    gates.map(|gate| gate.condition_type.as_str())
}

/// The condition of this type, if the pod has it.
fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    pod.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == kind)
}

/// Whether the condition is there and `True`.
pub fn is_true(pod: &Pod, kind: &str) -> bool {
    condition(pod, kind).is_some_and(|condition| condition.status == "True")
}

/// The strategic merge patch of the pod's status that sets the condition, on this pod and no other of
/// the same name; `None` if it stands there already. The transition time moves only with the status.
pub fn set_condition(
    pod: &Pod,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Option<Value> {
    let old = condition(pod, kind);
    let same_status = old.is_some_and(|old| old.status == status);
    let same_text =
        old.is_some_and(|old| old.reason.as_deref() == Some(reason) && old.message.as_deref() == Some(message));
    if same_status && same_text {
        return None;
    }
    let mut condition = json!({ "type": kind, "status": status, "reason": reason, "message": message });
    if !same_status {
        condition["lastTransitionTime"] = json!(Time(now));
    }
    Some(json!({ "metadata": { "uid": pod.metadata.uid }, "status": { "conditions": [condition] } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(conditions: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "p", "uid": "u-1" },
            "spec": { "containers": [], "readinessGates": [{ "conditionType": "a/b" }, { "conditionType": "c" }] },
            "status": { "conditions": conditions },
        }))
        .unwrap()
    }

    #[test]
    fn a_condition_is_written_only_when_it_says_something_new() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let set = |pod: &Pod, message: &str| set_condition(pod, "a/b", "True", "Done", message, now);
        assert_eq!(gates(&pod(&json!([]))).collect::<Vec<_>>(), ["a/b", "c"]);
        let first = set(&pod(&json!([])), "in").unwrap();
        let condition = &first["status"]["conditions"][0];
        assert_eq!((&condition["status"], &first["metadata"]["uid"]), (&json!("True"), &json!("u-1")));
        assert_eq!(condition["lastTransitionTime"], json!("2026-01-01T00:00:00Z"));

        let there = pod(&first["status"]["conditions"]);
        assert!(is_true(&there, "a/b"));
        assert_eq!(set(&there, "in"), None);
        let reworded = set(&there, "still in").unwrap();
        assert!(reworded["status"]["conditions"][0].get("lastTransitionTime").is_none(), "{reworded}");
    }
}
