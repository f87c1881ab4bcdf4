//! What stands behind a Node: which machines this program looks after, and which it leaves alone.
//!
//! One predicate for every path (joining, sweep, deletion, routes). Nodes that are left alone
//! keep whatever they have, also the `uninitialized` taint: whoever excluded them from this
//! program has taken over the duty of initialising them.

use std::fmt;

use k8s_openapi::api::core::v1::Node;

use crate::{
    cloud::{InstanceId, RegionId},
    kubernetes::provider_id::{self, ProviderId},
};

/// Nodes with this label are none of our business, whatever its value.
pub const EXCLUDE_LABEL: &str = "service.alibabacloud.com/exclude-node";
/// The older spelling of [`EXCLUDE_LABEL`].
pub const LEGACY_EXCLUDE_LABEL: &str = "service.beta.kubernetes.io/exclude-node";
/// Nodes with this label are initialised and kept true, but neither marked as switched off nor deleted,
/// whatever its value: somebody else looks after their coming and going.
pub const LIFECYCLE_LABEL: &str = "node.kubernetes.io/exclude-from-lifecycle-management";
const LINGJUN_LABEL: &str = "alibabacloud.com/lingjun-worker";
const TIANWEN_LABEL: &str = "alibabacloud.com/lingjun-tianwen-environment";

/// What stands behind a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ECS instance.
    Ecs(Machine),
    /// Not known yet: kubelet gave no provider id.
    Unnamed,
    /// A Lingjun (PAI) machine: freed of its taint, deleted when it is gone, otherwise left alone, because
    /// ECS knows nothing of it.
    Lingjun(InstanceId),
    /// Left alone.
    Foreign(Foreign),
}

/// An ECS instance as a provider id names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    pub region: RegionId,
    pub instance: InstanceId,
}

/// Why a Node is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It carries this exclusion label.
    Excluded(&'static str),
    /// A machine outside Alibaba Cloud that ACK registered (`ack-hybrid://`).
    Hybrid,
    /// A virtual kubelet: there is no machine.
    Virtual,
    /// A Lingjun machine in a Tianwen environment, which others look after.
    Tianwen,
    /// Another provider's, or something that is not an ECS instance.
    Other(String),
}

// === impl Kind ===

impl Kind {
    /// Tells what stands behind `node` by its labels and provider id.
    pub fn of(node: &Node) -> Self {
        let label = |key: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(key));
        for excluded in [EXCLUDE_LABEL, LEGACY_EXCLUDE_LABEL] {
            if label(excluded).is_some() {
                return Self::Foreign(Foreign::Excluded(excluded));
            }
        }
        if label("type").is_some_and(|kind| kind == "virtual-kubelet") {
            return Self::Foreign(Foreign::Virtual);
        }
        let written = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
        let lingjun = label(LINGJUN_LABEL).is_some_and(|value| value == "true");
        match provider_id::parse(written) {
            ProviderId::Ecs { region, instance } if is_ecs_id(&instance) => {
                Self::Ecs(Machine { region: region.into(), instance: instance.into() })
            }
            ProviderId::Hybrid => Self::Foreign(Foreign::Hybrid),
            _ if lingjun && label(TIANWEN_LABEL).is_some() => Self::Foreign(Foreign::Tianwen),
            ProviderId::Missing => Self::Unnamed,
            _ if lingjun => Self::Lingjun(written.into()),
            ProviderId::Ecs { .. } | ProviderId::Foreign(_) => Self::Foreign(Foreign::Other(written.to_owned())),
        }
    }

    /// The ECS instance, if it is one.
    pub fn machine(&self) -> Option<&Machine> {
        match self {
            Self::Ecs(machine) => Some(machine),
            _ => None,
        }
    }
}

/// Whether somebody else decides on marking and deleting the node: see [`LIFECYCLE_LABEL`].
pub fn lives_by_others(node: &Node) -> bool {
    node.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(LIFECYCLE_LABEL))
}

/// Whether this looks like the id of an ECS instance. Container instances (`eci-…`) and others
/// share the form of the provider id, but ECS would call them absent.
pub fn is_ecs_id(id: &str) -> bool {
    id.strip_prefix("i-").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

// === impl Machine ===

impl fmt::Display for Machine {
    /// The form that is written to `spec.providerID`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.region, self.instance)
    }
}

// === impl Foreign ===

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded(label) => write!(f, "it carries the label {label}"),
            Self::Hybrid => f.write_str("it is a hybrid machine outside Alibaba Cloud"),
            Self::Virtual => f.write_str("it is a virtual kubelet"),
            Self::Tianwen => f.write_str("it belongs to a Tianwen environment"),
            Self::Other(id) => write!(
                f,
                "its provider id {id:?} does not name an ECS instance, which has the form REGION.i-… or alicloud://REGION.i-…"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixtures::mk_node, *};

    fn ecs(instance: &str) -> Kind {
        Kind::Ecs(Machine { region: "cn-hangzhou".into(), instance: instance.into() })
    }

    #[test]
    fn the_provider_id_decides() {
        for (written, want) in [
            ("cn-hangzhou.i-2zeabc", ecs("i-2zeabc")),
            ("alicloud://cn-hangzhou.i-2zeabc", ecs("i-2zeabc")),
            ("", Kind::Unnamed),
            ("ack-hybrid://idc-1", Kind::Foreign(Foreign::Hybrid)),
            ("aws:///us-east-1a/i-1", Kind::Foreign(Foreign::Other("aws:///us-east-1a/i-1".into()))),
            ("cn-hangzhou.eci-xyz", Kind::Foreign(Foreign::Other("cn-hangzhou.eci-xyz".into()))),
            ("baremetal://x", Kind::Foreign(Foreign::Other("baremetal://x".into()))),
            ("e01-cn-123", Kind::Foreign(Foreign::Other("e01-cn-123".into()))),
        ] {
            let node = mk_node("n").provider_id(written).build();
            assert_eq!(Kind::of(&node), want, "{written}");
        }
    }

    #[test]
    fn labels_go_before_the_provider_id() {
        let of = |labels: &[(&str, &str)], id: &str| {
            let mut node = mk_node("n").provider_id(id);
            for (key, value) in labels {
                node = node.label(key, value);
            }
            Kind::of(&node.build())
        };
        assert_eq!(of(&[(EXCLUDE_LABEL, "false")], "cn-a.i-1"), Kind::Foreign(Foreign::Excluded(EXCLUDE_LABEL)));
        assert_eq!(of(&[(LEGACY_EXCLUDE_LABEL, "")], ""), Kind::Foreign(Foreign::Excluded(LEGACY_EXCLUDE_LABEL)));
        assert_eq!(of(&[("type", "virtual-kubelet")], ""), Kind::Foreign(Foreign::Virtual));
        assert_eq!(of(&[(LINGJUN_LABEL, "true")], "e01-cn-123"), Kind::Lingjun("e01-cn-123".into()));
        assert_eq!(of(&[(LINGJUN_LABEL, "true"), (TIANWEN_LABEL, "")], "e01-1"), Kind::Foreign(Foreign::Tianwen));
        assert_eq!(of(&[(LINGJUN_LABEL, "true")], "cn-hangzhou.i-1"), ecs("i-1"));
        assert_eq!(of(&[(LINGJUN_LABEL, "true")], ""), Kind::Unnamed, "nobody else would give it a provider id");
        assert_eq!(of(&[(LINGJUN_LABEL, "no")], "e01-1"), Kind::Foreign(Foreign::Other("e01-1".into())));
    }
}
