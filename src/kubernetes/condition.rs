//! Conditions in a node's status: read, and set so that an unchanged one stays unwritten.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Node, NodeCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};

/// The condition of this type, if the node has it.
pub fn get<'a>(node: &'a Node, kind: &str) -> Option<&'a NodeCondition> {
    node.status.as_ref()?.conditions.as_ref()?.iter().find(|condition| condition.type_ == kind)
}

/// The condition's status: `True`, `False` or `Unknown`.
pub fn status<'a>(node: &'a Node, kind: &str) -> Option<&'a str> {
    get(node, kind).map(|condition| condition.status.as_str())
}

/// Whether the condition is there and `True`.
pub fn is_true(node: &Node, kind: &str) -> bool {
    status(node, kind) == Some("True")
}

/// The condition to write for the wanted outcome, or `None` if the node already says so. The
/// transition time moves only when the status does (Kubernetes API conventions, "Typical status
/// properties"); the heartbeat moves with every write.
pub fn set(
    node: &Node,
    kind: &str,
    wanted: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Option<NodeCondition> {
    let old = get(node, kind);
    let same_status = old.is_some_and(|old| old.status == wanted);
    let same_text = old.is_some_and(|old| {
        old.reason.as_deref() == Some(reason) && old.message.as_deref().unwrap_or_default() == message
    });
    if same_status && same_text {
        return None;
    }
    let transition = old.filter(|_| same_status).and_then(|old| old.last_transition_time.clone());
    Some(NodeCondition {
        type_: kind.to_owned(),
        status: wanted.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: Some(transition.unwrap_or(Time(now))),
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::NodeStatus;

    use super::*;

    fn mk_node(conditions: Vec<NodeCondition>) -> Node {
        Node { status: Some(NodeStatus { conditions: Some(conditions), ..Default::default() }), ..Default::default() }
    }

    #[test]
    fn a_condition_is_written_only_when_it_says_something_new() {
        let (t0, t1): (Timestamp, Timestamp) =
            ("2026-01-01T00:00:00Z".parse().unwrap(), "2026-01-01T01:00:00Z".parse().unwrap());
        let first = set(&mk_node(vec![]), "NetworkUnavailable", "True", "NoRouteCreated", "no", t0).unwrap();
        assert_eq!(first.last_transition_time, Some(Time(t0)));

        let node = mk_node(vec![first]);
        assert!(is_true(&node, "NetworkUnavailable"));
        assert_eq!(set(&node, "NetworkUnavailable", "True", "NoRouteCreated", "no", t1), None);

        let reworded = set(&node, "NetworkUnavailable", "True", "NoRouteCreated", "quota", t1).unwrap();
        assert_eq!(reworded.last_transition_time, Some(Time(t0)), "the status did not change");
        assert_eq!(reworded.last_heartbeat_time, Some(Time(t1)));

        let flipped = set(&node, "NetworkUnavailable", "False", "RouteCreated", "yes", t1).unwrap();
        assert_eq!(flipped.last_transition_time, Some(Time(t1)));
    }
}
