//! Which changes of a Node are worth asking the cloud about.
//!
//! Pure. Kubelet writes a Node's status every few minutes, other controllers write its labels:
//! hardly any of it concerns us.

use k8s_openapi::api::core::v1::Node;

use super::{
    address::{self, PROVIDED_NODE_IP},
    kind::Kind,
    plan::{SHUTDOWN_TAINT, has_taint, is_joining, is_ready},
};
use crate::controllers::queue::Priority;

/// How urgent the change from `old` (absent: it is new to us) to `new` is, if it is anything to us.
pub(super) fn wakes(old: Option<&Node>, new: &Node) -> Option<Priority> {
    let Some(old) = old else {
        return Some(if is_joining(new) { Priority::Fresh } else { Priority::Backlog });
    };
    let identity = |node: &Node| {
        let provided = node.metadata.annotations.as_ref().and_then(|all| all.get(PROVIDED_NODE_IP).cloned());
        (node.metadata.uid.clone(), Kind::of(node), provided)
    };
    let joins = is_joining(new) && !is_joining(old);
    let findable = Kind::of(new) == Kind::Unnamed && address::searchable(old) != address::searchable(new);
    let lost = is_ready(old) && !is_ready(new);
    let back = is_ready(new) && has_taint(new, SHUTDOWN_TAINT);
    (joins || findable || lost || back || identity(old) != identity(new)).then_some(Priority::Fresh)
}

#[cfg(test)]
mod tests {
    use super::{super::fixtures::mk_node, *};

    #[test]
    fn joining_nodes_are_fresh_and_others_can_wait() {
        assert_eq!(wakes(None, &mk_node("n").joining().build()), Some(Priority::Fresh));
        assert_eq!(wakes(None, &mk_node("n").build()), Some(Priority::Backlog));
    }

    #[test]
    fn only_changes_that_concern_us_wake_a_node() {
        let base = || mk_node("n").provider_id("cn-hangzhou.i-1");
        let unnamed = || mk_node("n").joining();
        for (what, old, new, want) in vec![
            ("nothing", base(), base(), false),
            ("a label", base(), base().label("team", "blue"), false),
            ("someone's taint", base(), base().taint("mine", "NoSchedule"), false),
            ("ready", base().ready("False"), base().ready("True"), false),
            ("lost", base().ready("True"), base().ready("Unknown"), true),
            ("still lost", base().ready("Unknown"), base().ready("False"), false),
            (
                "ready after shutdown",
                base().ready("False").taint(SHUTDOWN_TAINT, "NoSchedule"),
                base().ready("True").taint(SHUTDOWN_TAINT, "NoSchedule"),
                true,
            ),
            ("tainted again", base(), base().joining(), true),
            ("initialised", base().joining(), base(), false),
            ("provider id", mk_node("n"), base(), true),
            ("another spelling", base(), mk_node("n").provider_id("alicloud://cn-hangzhou.i-1"), false),
            ("node ip", base(), base().annotation(PROVIDED_NODE_IP, "10.0.0.1"), true),
            ("included again", base().label(super::super::kind::EXCLUDE_LABEL, ""), base(), true),
            ("address of an unnamed node", unnamed(), unnamed().address("InternalIP", "10.0.0.1"), true),
            ("address of a known node", base(), base().address("InternalIP", "10.0.0.1"), false),
        ] {
            let woken = wakes(Some(&old.build()), &new.build());
            assert_eq!(woken, want.then_some(Priority::Fresh), "{what}");
        }
    }
}
