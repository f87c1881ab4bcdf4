//! Feature gates: `Global.featureGates` of the cloud-config file, as in `"A=true,B=false"`.

use super::{
    problems::{Problems, did_you_mean},
    value::parse_bool,
};

/// Which optional behaviours are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates {
    /// Also use IPv6 addresses of nodes, and IPv6 backends where a Service asks for them.
    pub ipv6_dual_stack: bool,
    /// The type annotation of a Service chooses between classic and network load balancers.
    pub load_balancer_type_annotation: bool,
}

/// A gate that is understood.
pub(super) struct Gate {
    pub(super) name: &'static str,
    pub(super) default: bool,
    /// What it does, or why it does nothing.
    pub(super) help: &'static str,
    effect: Effect,
}

enum Effect {
    Sets(fn(&mut FeatureGates, bool)),
    /// The behaviour is what `default` says, whatever was asked for.
    None,
}

/// Every gate of the released controller.
pub(super) const GATES: &[Gate] = &[
    Gate {
        name: "IPv6DualStack",
        default: false,
        help: "IPv6 addresses of instances become node addresses, and Services may have IPv6 backends",
        effect: Effect::Sets(|gates, on| gates.ipv6_dual_stack = on),
    },
    Gate {
        name: "EndpointSlice",
        default: true,
        help: "backends are always read from EndpointSlices",
        effect: Effect::None,
    },
    Gate {
        name: "FilterServiceOnNodeChange",
        default: true,
        help: "a node's change always reaches only the Services whose backends it changes",
        effect: Effect::None,
    },
    Gate {
        name: "LoadBalancerTypeAnnotation",
        default: false,
        help: "The type annotation of a Service chooses its kind of load balancer: clb is a classic one, nlb a network load balancer.",
        effect: Effect::Sets(|gates, on| gates.load_balancer_type_annotation = on),
    },
];

// === impl Gate ===

impl Gate {
    /// Whether asking for it changes anything.
    #[cfg(test)]
    pub(super) fn has_effect(&self) -> bool {
        matches!(self.effect, Effect::Sets(_))
    }
}

// === impl FeatureGates ===

impl FeatureGates {
    /// Reads the list; `place` says where it stands, for messages.
    pub(super) fn read(list: &str, place: &str, problems: &mut Problems) -> Self {
        let mut gates = Self::default();
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let Some((name, value)) = entry.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
                problems.fail(format!("{place}: \"{entry}\" has no value: expected Name=true or Name=false"));
                continue;
            };
            let Some(gate) = GATES.iter().find(|gate| gate.name == name) else {
                let hint = did_you_mean(name, GATES.iter().map(|gate| gate.name));
                let known: Vec<_> = GATES.iter().map(|gate| gate.name).collect();
                problems.fail(format!("{place}: unknown gate \"{name}\"{hint}; known are {}", known.join(", ")));
                continue;
            };
            let Some(on) = parse_bool(value) else {
                problems.fail(format!("{place}: {name} is \"{value}\": expected true or false"));
                continue;
            };
            match gate.effect {
                Effect::Sets(set) => set(&mut gates, on),
                Effect::None if on != gate.default => {
                    problems.warn(format!("{place}: {name}={on} has no effect: {}", gate.help));
                }
                Effect::None => {}
            }
        }
        gates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &str) -> (FeatureGates, Problems) {
        let mut problems = Problems::default();
        (FeatureGates::read(list, "gates", &mut problems), problems)
    }

    #[test]
    fn a_list_of_gates_is_read() {
        let (gates, problems) = read(" IPv6DualStack = T ,EndpointSlice=true,");
        assert!(gates.ipv6_dual_stack);
        assert!(problems.errors.is_empty() && problems.warnings.is_empty(), "{problems:?}");
        assert_eq!(read("").0, FeatureGates::default());
        assert!(!read("IPv6DualStack=true,IPv6DualStack=false").0.ipv6_dual_stack);
    }

    #[test]
    fn a_gate_that_cannot_be_followed_is_a_warning() {
        let (gates, problems) =
            read("EndpointSlice=false,LoadBalancerTypeAnnotation=true,FilterServiceOnNodeChange=true");
        assert_eq!(
            problems.warnings,
            ["gates: EndpointSlice=false has no effect: backends are always read from EndpointSlices"]
        );
        assert!(gates.load_balancer_type_annotation);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let (_, problems) = read("IPv6=true,IPv6DualStack,EndpointSlice=maybe,Xyz=true");
        let known = "known are IPv6DualStack, EndpointSlice, FilterServiceOnNodeChange, LoadBalancerTypeAnnotation";
        assert_eq!(
            problems.errors,
            [
                format!("gates: unknown gate \"IPv6\" (did you mean IPv6DualStack?); {known}"),
                "gates: \"IPv6DualStack\" has no value: expected Name=true or Name=false".to_owned(),
                "gates: EndpointSlice is \"maybe\": expected true or false".to_owned(),
                format!("gates: unknown gate \"Xyz\"; {known}"),
            ]
        );
    }
}
