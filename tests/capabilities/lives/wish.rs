//! Services that users wish for, at random.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::dice::Dice;

const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";

/// How many Services there are at most, and how they are called.
pub const NAMES: [&str; 5] = ["s0", "s1", "s2", "s3", "s4"];

/// Annotations that are asked for and changed, with their values.
const ANY: &[(&str, &[&str])] = &[
    ("scheduler", &["rr", "wrr"]),
    ("persistence-timeout", &["0", "300"]),
    ("established-timeout", &["60", "600"]),
    ("health-check-interval", &["3", "9"]),
    ("unhealthy-threshold", &["2", "4"]),
    ("default-weight", &["10", "50"]),
    ("remove-unscheduled-backend", &["on", "off"]),
];
/// The same, for load balancers that are the Service's own.
const OWN: &[(&str, &[&str])] = &[
    ("protocol-port", &["http:80", "tcp:80", "http:80,http:8080"]),
    ("idle-timeout", &["10", "50"]),
    ("name", &["shop", "front"]),
    ("delete-protection", &["on", "off"]),
    ("modification-protection", &["ConsoleProtection", "NonProtection"]),
    ("additional-resource-tags", &["team=blue", "team=red,cost=1"]),
];
/// Where clients may come from.
const RANGES: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "1.2.3.4/32"];
/// Values that are refused.
const WRONG: &[(&str, &str)] = &[("scheduler", "best"), ("persistence-timeout", "long"), ("protocol-port", "80")];

/// What stands behind a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// The pods of a Deployment, by node ports.
    Workload,
    /// Addresses in slices that are made by hand.
    Slices,
}

/// One Service as its user wishes it.
#[derive(Clone, Debug)]
pub struct Wish {
    pub behind: Behind,
    /// On the user's load balancer with this id.
    pub shared: Option<String>,
    pub kind: &'static str,
    pub ports: Value,
    pub annotations: BTreeMap<String, Option<String>>,
    /// Where clients may come from; from anywhere if empty.
    ranges: Vec<&'static str>,
    local: bool,
}

// === impl Wish ===

impl Wish {
    /// A new Service with this name. `shared`: the load balancer that some of them use.
    pub fn new(dice: &Dice, name: &str, shared: &str) -> Self {
        let behind = if dice.chance(25) { Behind::Slices } else { Behind::Workload };
        let mut wish = Self {
            behind,
            shared: dice.chance(25).then(|| shared.to_owned()),
            kind: "LoadBalancer",
            ports: Value::Null,
            annotations: BTreeMap::new(),
            ranges: Vec::new(),
            local: behind == Behind::Workload && dice.chance(40),
        };
        if let Some(id) = &wish.shared {
            wish.annotations.insert(format!("{PREFIX}id"), Some(id.clone()));
            wish.annotations.insert(format!("{PREFIX}force-override-listeners"), Some("true".to_owned()));
        } else if dice.chance(30) {
            wish.annotations.insert(format!("{PREFIX}address-type"), Some("intranet".to_owned()));
        }
        if behind == Behind::Slices && dice.chance(80) {
            wish.annotations.insert(BACKEND_TYPE.to_owned(), Some("eni".to_owned()));
        }
        wish.repaint(dice);
        wish.reopen(dice, name);
        wish
    }

    /// Other ports.
    pub fn reopen(&mut self, dice: &Dice, name: &str) {
        // Services that share a load balancer do not get into one another's way.
        let number = NAMES.iter().position(|known| *known == name).unwrap_or_default();
        let choice: Vec<(usize, &str)> = match self.shared {
            Some(_) => (0..4).map(|port| (9000 + 100 * number + port, "TCP")).collect(),
            None => vec![(80, "TCP"), (443, "TCP"), (53, "UDP"), (53, "TCP"), (8080, "TCP")],
        };
        let mut ports: BTreeMap<(usize, &str), Value> = BTreeMap::new();
        for _ in 0..=dice.below(3) {
            let (port, protocol) = dice.choose(&choice);
            let target = dice.choose(&[8080, 9090]);
            let name = format!("{}-{port}", protocol.to_lowercase());
            ports.insert(
                (port, protocol),
                json!({ "name": name, "port": port, "protocol": protocol, "targetPort": target }),
            );
        }
        self.ports = ports.into_values().collect();
    }

    /// Other settings; some are taken back, which leaves in place what they had brought about.
    pub fn repaint(&mut self, dice: &Dice) {
        let all: Vec<&(&str, &[&str])> =
            if self.shared.is_some() { ANY.iter().collect() } else { ANY.iter().chain(OWN).collect() };
        if dice.chance(25) {
            self.ranges = RANGES.iter().copied().filter(|_| dice.chance(40)).collect();
        }
        for _ in 0..dice.below(3) {
            let (suffix, values) = dice.choose(&all);
            let value = (!dice.chance(15)).then(|| dice.choose(values).to_owned());
            self.annotations.insert(format!("{PREFIX}{suffix}"), value);
        }
    }

    /// Something that cannot be, or back to what can.
    pub fn err(&mut self, dice: &Dice) {
        let (suffix, value) = dice.choose(WRONG);
        self.annotations.insert(format!("{PREFIX}{suffix}"), Some(value.to_owned()));
    }

    /// No more mistakes.
    pub fn think_better(&mut self) {
        for (suffix, wrong) in WRONG {
            let key = format!("{PREFIX}{suffix}");
            if self.annotations.get(&key).is_some_and(|value| value.as_deref() == Some(*wrong)) {
                self.annotations.insert(key, None);
            }
        }
    }

    /// Pods instead of node ports, or back.
    pub fn turn(&mut self) {
        if self.behind == Behind::Slices {
            let value = self.annotations.entry(BACKEND_TYPE.to_owned()).or_default();
            *value = if value.is_some() { None } else { Some("eni".to_owned()) };
        } else {
            self.local = !self.local;
        }
    }

    /// The spec of a Service of that name.
    pub fn spec(&self, name: &str) -> Value {
        let mut spec = json!({ "type": self.kind, "ports": self.ports });
        if self.behind == Behind::Workload {
            // Two Services a Deployment.
            spec["selector"] = json!({ "app": if name < "s2" { "a" } else { "b" } });
        }
        if self.kind == "LoadBalancer" {
            spec["loadBalancerSourceRanges"] = json!(self.ranges);
            spec["externalTrafficPolicy"] = if self.local { "Local" } else { "Cluster" }.into();
        }
        spec
    }

    /// What to merge into a Service of that name that is there already.
    pub fn patch(&self, name: &str) -> Value {
        let mut spec = self.spec(name);
        if self.kind != "LoadBalancer" {
            spec["externalTrafficPolicy"] = Value::Null;
            spec["loadBalancerSourceRanges"] = Value::Null;
        }
        json!({ "metadata": { "annotations": self.annotations }, "spec": spec })
    }

    pub fn annotations(&self) -> Vec<(&str, &str)> {
        self.annotations.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_deref()?))).collect()
    }
}
