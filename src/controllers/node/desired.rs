//! What a Node should say about the instance behind it.
//!
//! Pure: from a Node and its instance to the wanted provider id, labels and addresses.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeAddress};

use super::{address, kind::Machine};
use crate::cloud::{Instance, InstanceStatus};

/// The ECS tag whose value becomes the node pool label.
pub const NODE_POOL_TAG: &str = "ack.alibabacloud.com/nodepool-id";

/// What a Node should say.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// `REGION.INSTANCE`; written only to nodes without one, because the field cannot be changed.
    pub provider_id: String,
    /// Or why there are none to write.
    pub addresses: Result<Vec<NodeAddress>, address::Problem>,
    /// Labels to have; others are not touched.
    pub labels: BTreeMap<&'static str, String>,
    /// The instance is switched off or about to be.
    pub stopped: bool,
}

/// What `node` should say, given that it runs on `instance`. `dual_stack` lets IPv6 addresses in.
pub fn desired(node: &Node, instance: &Instance, dual_stack: bool) -> Desired {
    let machine = Machine { region: instance.region.clone(), instance: instance.id.clone() };
    Desired {
        provider_id: machine.to_string(),
        addresses: address::wanted(node, instance, dual_stack),
        labels: labels(instance),
        stopped: matches!(instance.status, InstanceStatus::Stopping | InstanceStatus::Stopped),
    }
}

/// Facts that the cloud left out, and tag values that Kubernetes refuses as label values, make no
/// label: one odd tag must not keep a node from joining.
fn labels(instance: &Instance) -> BTreeMap<&'static str, String> {
    let zone = instance.zone.as_ref().map_or("", |zone| zone.as_str());
    let pool = instance.tags.get(NODE_POOL_TAG).map_or("", String::as_str);
    [
        ("beta.kubernetes.io/instance-type", instance.instance_type.as_str()),
        ("node.kubernetes.io/instance-type", &instance.instance_type),
        ("failure-domain.beta.kubernetes.io/zone", zone),
        ("topology.kubernetes.io/zone", zone),
        ("failure-domain.beta.kubernetes.io/region", instance.region.as_str()),
        ("topology.kubernetes.io/region", instance.region.as_str()),
        ("node.alibabacloud.com/instance-charge-type", &instance.charge_type),
        ("node.alibabacloud.com/spot-strategy", &instance.spot_strategy),
        ("node.alibabacloud.com/nodepool-id", pool),
    ]
    .into_iter()
    .filter(|(_, value)| is_label_value(value))
    .map(|(key, value)| (key, value.to_owned()))
    .collect()
}

/// The rule of the Kubernetes documentation ("Labels and Selectors", syntax), without the empty value.
fn is_label_value(value: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    value.len() <= 63 && value.bytes().all(inner) && edge(value.bytes().next()) && edge(value.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixtures::{mk_instance, mk_node},
        *,
    };

    #[test]
    fn an_instance_gives_provider_id_and_labels() {
        let mut instance = mk_instance("i-1", "10.0.0.1");
        instance.tags.insert(NODE_POOL_TAG.to_owned(), "np1234".to_owned());
        let found = desired(&mk_node("n").build(), &instance, false);
        assert_eq!(found.provider_id, "cn-hangzhou.i-1");
        assert!(!found.stopped);
        let want = [
            ("beta.kubernetes.io/instance-type", "ecs.g7.large"),
            ("failure-domain.beta.kubernetes.io/region", "cn-hangzhou"),
            ("failure-domain.beta.kubernetes.io/zone", "cn-hangzhou-h"),
            ("node.alibabacloud.com/instance-charge-type", "PostPaid"),
            ("node.alibabacloud.com/nodepool-id", "np1234"),
            ("node.alibabacloud.com/spot-strategy", "NoSpot"),
            ("node.kubernetes.io/instance-type", "ecs.g7.large"),
            ("topology.kubernetes.io/region", "cn-hangzhou"),
            ("topology.kubernetes.io/zone", "cn-hangzhou-h"),
        ];
        assert_eq!(found.labels, want.map(|(key, value)| (key, value.to_owned())).into());
    }

    #[test]
    fn what_is_unknown_or_no_label_value_is_left_out() {
        let mut instance = mk_instance("i-1", "10.0.0.1");
        instance.zone = None;
        instance.instance_type.clear();
        instance.charge_type.clear();
        instance.spot_strategy.clear();
        for odd in ["a pool", "-x", "x.", &"x".repeat(64), "池"] {
            instance.tags.insert(NODE_POOL_TAG.to_owned(), odd.to_owned());
            let found = desired(&mk_node("n").build(), &instance, false).labels;
            let keys: Vec<_> = found.keys().copied().collect();
            assert_eq!(keys, ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"], "{odd}");
        }
    }

    #[test]
    fn only_stopping_and_stopped_count_as_stopped() {
        for (status, want) in [
            (InstanceStatus::Pending, false),
            (InstanceStatus::Starting, false),
            (InstanceStatus::Running, false),
            (InstanceStatus::Stopping, true),
            (InstanceStatus::Stopped, true),
            (InstanceStatus::Other("Odd".into()), false),
        ] {
            let instance = Instance { status: status.clone(), ..mk_instance("i-1", "10.0.0.1") };
            assert_eq!(desired(&mk_node("n").build(), &instance, false).stopped, want, "{status:?}");
        }
    }
}
