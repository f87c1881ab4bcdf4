//! The `NetworkUnavailable` condition: whether a node's routes are all there.
//!
//! Pure. Not knowing is a third answer, and leaves the condition as it is.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition};

use super::plan::State;
use crate::{
    controllers::node::plan::{NETWORK_UNAVAILABLE, NO_ROUTE_CREATED},
    kubernetes::condition,
};

/// The condition's reason once all routes are there.
pub const ROUTE_CREATED: &str = "RouteCreated";
/// The reason with which a condition is taken back that no route will ever answer.
pub const NO_ROUTE_NEEDED: &str = "NoRouteNeeded";

/// The condition to write for a node whose least advanced route is in `state`, if it is news. Only
/// status and reason are compared: how a text is worded is not worth a write.
pub fn of_routes(node: &Node, state: State, now: Timestamp) -> Option<NodeCondition> {
    match state {
        State::Settled => set(node, "False", ROUTE_CREATED, "RouteController created a route", now),
        State::Missing => missing(node, now),
        State::Settling | State::Unknown => match condition::status(node, NETWORK_UNAVAILABLE) {
            Some("True" | "False") => None,
            _ if state == State::Settling => missing(node, now),
            _ => None,
        },
    }
}

/// The condition to write for a node that gets no routes from us: takes back what this program or
/// the released one said while it was to make routes, and nothing that others said.
pub fn without_routes(node: &Node, why: &str, now: Timestamp) -> Option<NodeCondition> {
    let ours = condition::get(node, NETWORK_UNAVAILABLE)
        .is_some_and(|old| old.status == "True" && old.reason.as_deref() == Some(NO_ROUTE_CREATED));
    if ours { set(node, "False", NO_ROUTE_NEEDED, why, now) } else { None }
}

fn missing(node: &Node, now: Timestamp) -> Option<NodeCondition> {
    set(node, "True", NO_ROUTE_CREATED, "RouteController failed to create a route", now)
}

fn set(node: &Node, status: &str, reason: &str, message: &str, now: Timestamp) -> Option<NodeCondition> {
    let same = condition::get(node, NETWORK_UNAVAILABLE)
        .is_some_and(|old| old.status == status && old.reason.as_deref() == Some(reason));
    if same { None } else { condition::set(node, NETWORK_UNAVAILABLE, status, reason, message, now) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::node::fixtures::mk_node;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn node(condition: Option<(&str, &str)>) -> Node {
        match condition {
            Some((status, reason)) => mk_node("n").condition(NETWORK_UNAVAILABLE, status, reason).build(),
            None => mk_node("n").build(),
        }
    }

    fn said(condition: Option<NodeCondition>) -> Option<(String, String)> {
        condition.map(|condition| (condition.status, condition.reason.unwrap_or_default()))
    }

    #[test]
    fn the_condition_follows_the_routes_and_is_written_only_when_it_changes() {
        let created = Some(("False", ROUTE_CREATED));
        let none = Some(("True", NO_ROUTE_CREATED));
        for (what, before, state, want) in [
            ("no condition, created", None, State::Settled, created),
            ("no condition, not created", None, State::Missing, none),
            ("no condition, being created", None, State::Settling, none),
            ("no condition, not known", None, State::Unknown, None),
            ("same, created", created, State::Settled, None),
            ("same, not created", none, State::Missing, None),
            ("same status, CalicoIsUp", Some(("False", "CalicoIsUp")), State::Settled, created),
            ("same status, ExternalCNI", Some(("False", "ExternalCNI")), State::Settled, created),
            ("same status, other reason", Some(("True", "SomeOtherReason")), State::Missing, none),
            ("created after waiting", none, State::Settled, created),
            ("lost", created, State::Missing, none),
            ("being changed", created, State::Settling, None),
            ("still being created", none, State::Settling, None),
            ("not known, available", created, State::Unknown, None),
            ("not known, unavailable", none, State::Unknown, None),
        ] {
            let want = want.map(|(status, reason)| (status.to_owned(), reason.to_owned()));
            assert_eq!(said(of_routes(&node(before), state, NOW)), want, "{what}");
        }
    }

    #[test]
    fn without_routes_only_our_own_word_is_taken_back() {
        let taken = Some(("False".to_owned(), NO_ROUTE_NEEDED.to_owned()));
        assert_eq!(said(without_routes(&node(Some(("True", NO_ROUTE_CREATED))), "", NOW)), taken);
        for other in [None, Some(("True", "CalicoIsDown")), Some(("False", ROUTE_CREATED))] {
            assert_eq!(without_routes(&node(other), "", NOW), None);
        }
    }
}
