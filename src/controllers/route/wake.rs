//! Which changes of a Node are worth a pass over the routes.
//!
//! Pure.

use k8s_openapi::api::core::v1::Node;

use crate::{
    controllers::node::{kind::Kind, plan::NETWORK_UNAVAILABLE},
    kubernetes::condition,
};

/// Whether the change from `old` to `new` (absent: not there) can change a route or a condition.
pub(super) fn wakes(old: Option<&Node>, new: Option<&Node>) -> bool {
    old.map(facts) != new.map(facts)
}

type Facts<'a> = (Option<&'a str>, Kind, Vec<&'a str>, bool, Option<(&'a str, Option<&'a str>)>);

fn facts(node: &Node) -> Facts<'_> {
    let spec = node.spec.as_ref();
    let many = spec.and_then(|spec| spec.pod_cidrs.as_ref()).into_iter().flatten().map(String::as_str);
    let one = spec.and_then(|spec| spec.pod_cidr.as_deref());
    let condition = condition::get(node, NETWORK_UNAVAILABLE);
    (
        node.metadata.uid.as_deref(),
        Kind::of(node),
        many.chain(one).collect(),
        node.metadata.deletion_timestamp.is_some(),
        condition.map(|condition| (condition.status.as_str(), condition.reason.as_deref())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::node::fixtures::mk_node;

    #[test]
    fn only_what_routes_depend_on_starts_a_pass() {
        let base = || mk_node("n").provider_id("cn-hangzhou.i-1").pod_cidrs(&["10.0.0.0/24"]);
        for (what, new, want) in [
            ("nothing", base(), false),
            ("ready", base().ready("True"), false),
            ("a label", base().label("a", "b"), false),
            ("another spelling", base().provider_id("alicloud://cn-hangzhou.i-1"), false),
            ("a second pod CIDR", base().pod_cidrs(&["10.0.0.0/24", "fd00::/64"]), true),
            ("another pod CIDR", base().pod_cidrs(&["10.0.1.0/24"]), true),
            ("another instance", base().provider_id("cn-hangzhou.i-2"), true),
            ("excluded", base().label("service.alibabacloud.com/exclude-node", ""), true),
            ("leaving", base().leaving(), true),
            ("condition", base().condition(NETWORK_UNAVAILABLE, "True", "NoRouteCreated"), true),
        ] {
            assert_eq!(wakes(Some(&base().build()), Some(&new.build())), want, "{what}");
        }
        assert!(wakes(None, Some(&base().build())));
        assert!(wakes(Some(&base().build()), None));
    }
}
