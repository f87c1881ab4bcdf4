//! Which routes the cluster's Nodes need.
//!
//! Pure: one route for each pod CIDR of each ECS node, to that node's instance. Only pod CIDRs
//! inside the cluster's CIDRs count, because only routes in there are ever ours to change.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;

use crate::{
    cloud::{InstanceId, RouteChange},
    controllers::node::{
        kind::{Foreign, Kind},
        observe::name_of,
    },
    kubernetes::provider_id::ProviderId,
};

/// Where routes may be ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// `--cluster-cidr`: one CIDR, or one of each family.
    pub cluster_cidrs: Vec<IpNet>,
    /// Whether IPv6 routes are wanted. If not, IPv6 pod CIDRs and routes do not exist for us.
    pub ipv6: bool,
}

/// The routes that should be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    /// By destination. Destinations that several nodes claim are not in here.
    pub routes: BTreeMap<IpNet, Wanted>,
    /// What each node with pod CIDRs needs, by node name.
    pub nodes: BTreeMap<String, Need>,
    /// Claimed by several nodes: never created, changed or deleted until that is settled, or two
    /// nodes would take the route from each other forever.
    pub contested: BTreeSet<IpNet>,
    /// Instances behind the nodes we look after: whatever points at them in our range is ours.
    pub backing: BTreeSet<InstanceId>,
    /// Instances behind nodes that are excluded from our care: whatever points at them is not ours.
    pub excluded: BTreeSet<InstanceId>,
}

/// One wanted route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub node: String,
    pub instance: InstanceId,
}

/// What one node needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub instance: InstanceId,
    pub destinations: BTreeSet<IpNet>,
    /// What is wrong with the node's pod CIDRs.
    pub problem: Option<String>,
    /// A pod CIDR cannot get a route as it is.
    pub incomplete: bool,
}

// === impl Scope ===

impl Scope {
    /// Whether a route to `destination` may be ours: a family we serve, and wholly inside.
    pub fn covers(&self, destination: &IpNet) -> bool {
        self.serves(destination) && self.cluster_cidrs.iter().any(|cidr| cidr.contains(destination))
    }

    fn serves(&self, destination: &IpNet) -> bool {
        self.ipv6 || matches!(destination, IpNet::V4(_))
    }
}

// === impl Desired ===

impl Desired {
    /// The routes that `nodes` need.
    pub fn of(nodes: &[Arc<Node>], scope: &Scope) -> Self {
        let mut desired = Self::default();
        let mut claims: BTreeMap<IpNet, Vec<Wanted>> = BTreeMap::new();
        for node in nodes {
            let kind = Kind::of(node);
            if let Kind::Foreign(Foreign::Excluded(_)) = kind {
                desired.excluded.extend(ProviderId::of(node).ecs().map(|(_, instance)| instance.into()));
            }
            let Some(machine) = kind.machine() else { continue };
            desired.backing.insert(machine.instance.clone());
            if node.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let need = need(node, &machine.instance, scope);
            for destination in &need.destinations {
                let wanted = Wanted { node: name_of(node), instance: machine.instance.clone() };
                claims.entry(*destination).or_default().push(wanted);
            }
            if !need.destinations.is_empty() || need.problem.is_some() {
                desired.nodes.insert(name_of(node), need);
            }
        }
        for (destination, mut wanted) in claims {
            if wanted.len() == 1 {
                desired.routes.extend(wanted.pop().map(|wanted| (destination, wanted)));
                continue;
            }
            desired.contested.insert(destination);
            let names: Vec<_> = wanted.iter().map(|wanted| wanted.node.clone()).collect();
            for name in &names {
                if let Some(need) = desired.nodes.get_mut(name) {
                    let names = names.join(", ");
                    need.problem = Some(format!(
                        "pod CIDR {destination} is assigned to several nodes ({names}): no route is changed until one of \
                         them gives it up"
                    ));
                }
            }
        }
        desired
    }

    /// The wanted route to `destination` in the form in which it is created.
    pub fn change(&self, destination: &IpNet) -> Option<RouteChange> {
        let instance = self.routes.get(destination)?.instance.clone();
        Some(RouteChange { destination: *destination, instance })
    }
}

fn need(node: &Node, instance: &InstanceId, scope: &Scope) -> Need {
    let mut need = Need { instance: instance.clone(), destinations: BTreeSet::new(), problem: None, incomplete: false };
    for written in pod_cidrs(node) {
        match written.parse::<IpNet>() {
            Ok(cidr) if !scope.serves(&cidr) => {}
            Ok(cidr) if scope.covers(&cidr.trunc()) => _ = need.destinations.insert(cidr.trunc()),
            Ok(cidr) => {
                let ranges: Vec<_> = scope.cluster_cidrs.iter().map(ToString::to_string).collect();
                let ranges = ranges.join(",");
                need.problem = Some(format!(
                    "pod CIDR {cidr} is outside the cluster's CIDR {ranges} and gets no route: correct --cluster-cidr here \
                     or in kube-controller-manager"
                ));
            }
            Err(_) => need.problem = Some(format!("pod CIDR {written:?} is not a CIDR such as 10.0.0.0/24")),
        }
    }
    need.incomplete = need.problem.is_some();
    need
}

/// `podCIDRs` and `podCIDR` as written, without repetition.
fn pod_cidrs(node: &Node) -> Vec<&str> {
    let Some(spec) = &node.spec else { return Vec::new() };
    let many = spec.pod_cidrs.iter().flatten().map(String::as_str);
    let mut all: Vec<&str> = Vec::new();
    for cidr in many.chain(spec.pod_cidr.as_deref()) {
        if !cidr.is_empty() && !all.contains(&cidr) {
            all.push(cidr);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::node::fixtures::{MkNode, mk_node};

    fn scope() -> Scope {
        Scope { cluster_cidrs: vec!["10.0.0.0/16".parse().unwrap(), "fd00::/48".parse().unwrap()], ipv6: false }
    }

    fn node(name: &str, id: &str, cidrs: &[&str]) -> MkNode {
        mk_node(name).provider_id(&format!("cn-hangzhou.{id}")).pod_cidrs(cidrs)
    }

    fn of(nodes: Vec<MkNode>, scope: &Scope) -> Desired {
        Desired::of(&nodes.into_iter().map(|node| Arc::new(node.build())).collect::<Vec<_>>(), scope)
    }

    fn routes(desired: &Desired) -> Vec<String> {
        desired.routes.iter().map(|(to, wanted)| format!("{to} {}", wanted.instance)).collect()
    }

    #[test]
    fn both_spellings_of_a_provider_id_mean_the_same_instance() {
        let plain = node("a", "i-a", &["10.0.1.0/24"]);
        let long = mk_node("b").provider_id("alicloud://cn-hangzhou.i-b").pod_cidrs(&["10.0.2.0/24"]);
        assert_eq!(routes(&of(vec![plain, long], &scope())), ["10.0.1.0/24 i-a", "10.0.2.0/24 i-b"]);
    }

    #[test]
    fn pod_cidrs_come_in_all_spellings() {
        let single = |cidr: &str| {
            let mut node = node("a", "i-a", &[]).build();
            node.spec.as_mut().unwrap().pod_cidrs = None;
            node.spec.as_mut().unwrap().pod_cidr = Some(cidr.to_owned());
            Desired::of(&[Arc::new(node)], &scope())
        };
        assert_eq!(routes(&single("10.0.1.0/24")), ["10.0.1.0/24 i-a"]);
        assert_eq!(routes(&single("10.0.1.7/24")), ["10.0.1.0/24 i-a"]);
        assert_eq!(single(""), Desired { backing: BTreeSet::from(["i-a".into()]), ..Desired::default() });
        let twice = of(vec![node("a", "i-a", &["10.0.1.0/24", "10.0.1.0/24"])], &scope());
        assert_eq!(routes(&twice), ["10.0.1.0/24 i-a"]);
        let wrong = of(vec![node("a", "i-a", &["10.0.1.0"]), node("b", "i-b", &["10.0.2.0/24"])], &scope());
        assert_eq!(routes(&wrong), ["10.0.2.0/24 i-b"]);
        assert!(wrong.nodes["a"].problem.as_ref().unwrap().contains("10.0.1.0"));
    }

    #[test]
    fn families_are_told_apart() {
        let dual = || vec![node("a", "i-a", &["10.0.1.0/24", "fd00:0:0:1::/64"])];
        assert_eq!(routes(&of(dual(), &scope())), ["10.0.1.0/24 i-a"]);
        let both = Scope { ipv6: true, ..scope() };
        assert_eq!(routes(&of(dual(), &both)), ["10.0.1.0/24 i-a", "fd00:0:0:1::/64 i-a"]);
        let six = of(vec![node("a", "i-a", &["fd00:0:0:1::/64"])], &scope());
        assert!(six.routes.is_empty() && six.nodes.is_empty());
    }

    #[test]
    fn a_pod_cidr_outside_the_cluster_is_a_problem() {
        let found = of(vec![node("a", "i-a", &["172.16.0.0/24"])], &scope());
        assert!(found.routes.is_empty());
        assert!(found.nodes["a"].problem.as_ref().unwrap().contains("172.16.0.0/24"));
    }

    #[test]
    fn only_ecs_nodes_that_stay_get_routes() {
        let found = of(
            vec![
                node("excluded", "i-x", &["10.0.1.0/24"]).label("service.alibabacloud.com/exclude-node", "true"),
                node("leaving", "i-l", &["10.0.2.0/24"]).leaving(),
                mk_node("hybrid").provider_id("ack-hybrid://h").pod_cidrs(&["10.0.3.0/24"]),
                mk_node("unnamed").pod_cidrs(&["10.0.4.0/24"]),
                mk_node("foreign").provider_id("aws:///a/i-1").pod_cidrs(&["10.0.5.0/24"]),
                node("without", "i-w", &[]),
                node("lost", "i-k", &["10.0.6.0/24"]).ready("Unknown"),
            ],
            &scope(),
        );
        assert_eq!(routes(&found), ["10.0.6.0/24 i-k"]);
        assert_eq!(found.excluded, BTreeSet::from(["i-x".into()]));
        assert_eq!(found.backing, ["i-k", "i-l", "i-w"].map(InstanceId::from).into());
    }

    #[test]
    fn what_two_nodes_claim_is_left_as_it_is() {
        let found = of(vec![node("a", "i-a", &["10.0.1.0/24"]), node("b", "i-b", &["10.0.1.0/24"])], &scope());
        assert!(found.routes.is_empty());
        assert_eq!(found.contested, BTreeSet::from(["10.0.1.0/24".parse().unwrap()]));
        for name in ["a", "b"] {
            assert!(found.nodes[name].problem.as_ref().unwrap().contains("(a, b)"));
        }
    }

    #[test]
    fn the_scope_covers_what_lies_wholly_inside() {
        let scope =
            Scope { cluster_cidrs: ["10.0.0.0/16", "fe80::/10"].map(|cidr| cidr.parse().unwrap()).into(), ipv6: true };
        for (cidr, want) in [
            ("10.0.1.0/24", true),
            ("10.0.0.0/16", true),
            ("10.0.255.255/32", true),
            ("fe80::/16", true),
            ("fe80::/10", true),
            ("10.0.0.0/15", false),
            ("10.1.0.0/24", false),
            ("0.0.0.0/0", false),
            ("fe00::/9", false),
            ("fd00::/64", false),
        ] {
            assert_eq!(scope.covers(&cidr.parse().unwrap()), want, "{cidr}");
        }
    }
}
