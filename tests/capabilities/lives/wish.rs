//! Services that users wish for, at random.

pub mod paint;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    dice::Dice,
    foreign::Foreign,
    marks::{Kind, NETWORK_CLASS, PREFIX},
};

const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";
const PRESERVE: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-preserve-lb-on-delete";

/// How many Services there are at most, and how they are called.
pub const NAMES: [&str; 5] = ["s0", "s1", "s2", "s3", "s4"];
/// Where clients may come from.
const RANGES: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "1.2.3.4/32"];

/// What stands behind a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// The pods of a Deployment, by node ports.
    Workload,
    /// Addresses in slices that are made by hand.
    Slices,
}

/// How Services say which kind of load balancer they want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// All want this kind, the network one by class.
    All(Kind),
    /// Either kind, by annotation, so that it can change.
    Mixed,
}

/// One Service as its user wishes it.
#[derive(Clone, Debug)]
pub struct Wish {
    cast: Cast,
    pub kind: Kind,
    pub behind: Behind,
    /// On the user's load balancer with this id.
    pub shared: Option<String>,
    /// Of Kubernetes.
    pub type_: &'static str,
    pub ports: Value,
    annotations: BTreeMap<String, Option<String>>,
    /// Where clients may come from; from anywhere if empty.
    ranges: Vec<&'static str>,
    local: bool,
    /// What a classic load balancer is made with and cannot become: private, and paid by specification.
    private: bool,
    by_specification: bool,
}

// === impl Wish ===

impl Wish {
    /// A new Service with this name.
    pub fn new(dice: &Dice, cast: Cast, name: &str, foreign: &Foreign) -> Self {
        let kind = match cast {
            Cast::All(kind) => kind,
            Cast::Mixed => dice.choose(&[Kind::Classic, Kind::Network]),
        };
        let behind = if dice.chance(25) { Behind::Slices } else { Behind::Workload };
        let mut wish = Self {
            cast,
            kind,
            behind,
            shared: dice.chance(25).then(|| foreign.shared(kind).to_owned()),
            type_: "LoadBalancer",
            ports: Value::Null,
            annotations: BTreeMap::new(),
            ranges: Vec::new(),
            local: behind == Behind::Workload && dice.chance(40),
            private: dice.chance(30),
            by_specification: dice.chance(30),
        };
        if behind == Behind::Slices && dice.chance(80) {
            wish.annotations.insert(BACKEND_TYPE.to_owned(), Some("eni".to_owned()));
        }
        wish.begin(dice);
        wish.reopen(dice, name);
        wish
    }

    /// The annotations that a kind needs, and some more.
    fn begin(&mut self, dice: &Dice) {
        if let Some(id) = self.shared.clone() {
            self.set("id", &id);
            // Without, it is for listeners of the user's, of which there are none.
            if dice.chance(70) {
                self.set("force-override-listeners", "true");
            }
        } else if self.private {
            self.set("address-type", "intranet");
        }
        if self.cast == Cast::Mixed {
            self.set("type", if self.kind == Kind::Network { "nlb" } else { "clb" });
        }
        if self.shared.is_none() && dice.chance(50) {
            self.set("recreate-lb-on-loss", "on");
        }
        for (suffix, values) in self.lasting() {
            self.set(suffix, dice.choose(values));
        }
        if self.kind == Kind::Classic && self.shared.is_none() && self.by_specification {
            self.pay(dice);
        }
        self.repaint(dice);
    }

    fn pay(&mut self, dice: &Dice) {
        for (suffix, values) in paint::PAYMENT {
            self.set(suffix, dice.choose(values));
        }
    }

    fn lasting(&self) -> impl Iterator<Item = &'static paint::Choice> + use<> {
        let is_own = self.shared.is_none();
        paint::lasting(self.kind).iter().filter(move |(suffix, _)| is_own || *suffix != "zone-maps")
    }

    fn set(&mut self, suffix: &str, value: &str) {
        self.annotations.insert(format!("{PREFIX}{suffix}"), Some(value.to_owned()));
    }

    fn has(&self, suffix: &str) -> bool {
        self.annotations.get(&format!("{PREFIX}{suffix}")).is_some_and(Option::is_some)
    }

    /// Other ports.
    pub fn reopen(&mut self, dice: &Dice, name: &str) {
        // Those that share a load balancer have ports of their own, and some for which they compete.
        let number = NAMES.iter().position(|known| *known == name).unwrap_or_default();
        let choice: Vec<(usize, &str)> = match self.shared {
            Some(_) => (0..3).map(|port| (9010 + 100 * number + port, "TCP")).chain([(9001, "TCP")]).collect(),
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
        if dice.chance(25) {
            self.ranges = RANGES.iter().copied().filter(|_| dice.chance(40)).collect();
        }
        if self.shared.is_some() && dice.chance(10) {
            self.set("force-override-listeners", "true");
        }
        if self.has("instance-charge-type") && dice.chance(25) {
            self.pay(dice);
        }
        // Of a load balancer that is to become one of the other kind, that would be two wishes at once.
        let may_preserve = self.shared.is_none() && self.cast != Cast::Mixed && self.type_ == "LoadBalancer";
        if may_preserve && dice.chance(10) {
            let value = (!dice.chance(40)).then(|| "true".to_owned());
            self.annotations.insert(PRESERVE.to_owned(), value);
        }
        let passing = paint::passing(self.kind, self.shared.is_none());
        for _ in 0..dice.below(3) {
            let (suffix, values) = dice.choose(&passing);
            let value = (!dice.chance(15)).then(|| dice.choose(values).to_owned());
            self.annotations.insert(format!("{PREFIX}{suffix}"), value);
        }
        for (suffix, values) in self.lasting() {
            if dice.chance(15) {
                self.set(suffix, dice.choose(values));
            }
        }
    }

    /// Something that cannot be, or back to what can.
    pub fn err(&mut self, dice: &Dice) {
        let (suffix, value) = dice.choose(paint::wrong(self.kind));
        self.set(suffix, value);
    }

    /// No more mistakes, and the way out where the load balancer was lost.
    pub fn think_better(&mut self) {
        for (suffix, wrong) in paint::wrong(self.kind) {
            let key = format!("{PREFIX}{suffix}");
            if self.annotations.get(&key).is_some_and(|value| value.as_deref() == Some(*wrong)) {
                self.annotations.insert(key, None);
            }
        }
        // Packages are for public addresses.
        if self.annotations.get(&format!("{PREFIX}address-type")) == Some(&Some("intranet".to_owned())) {
            self.annotations.insert(format!("{PREFIX}bandwidth-package-id"), None);
        }
        if self.shared.is_none() {
            self.set("recreate-lb-on-loss", "on");
        }
    }

    /// A load balancer no more, or again. Only with the Service itself is one left behind.
    pub fn retype(&mut self) {
        self.type_ = if self.type_ == "LoadBalancer" { "ClusterIP" } else { "LoadBalancer" };
        self.annotations.entry(PRESERVE.to_owned()).and_modify(|value| *value = None);
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

    /// Another kind of load balancer, where the cast allows it and it is the Service's own.
    pub fn convert(&mut self, dice: &Dice) -> bool {
        if self.cast != Cast::Mixed || self.shared.is_some() {
            return false;
        }
        self.kind = if self.kind == Kind::Classic { Kind::Network } else { Kind::Classic };
        self.annotations.iter_mut().filter(|(key, _)| key.starts_with(PREFIX)).for_each(|(_, value)| *value = None);
        self.begin(dice);
        true
    }

    /// The spec of a Service of that name.
    pub fn spec(&self, name: &str) -> Value {
        let mut spec = json!({ "type": self.type_, "ports": self.ports });
        if self.behind == Behind::Workload {
            // Two Services a Deployment.
            spec["selector"] = json!({ "app": if name < "s2" { "a" } else { "b" } });
        }
        if self.type_ == "LoadBalancer" {
            spec["loadBalancerSourceRanges"] = json!(self.ranges);
            spec["externalTrafficPolicy"] = if self.local { "Local" } else { "Cluster" }.into();
            if self.cast == Cast::All(Kind::Network) {
                spec["loadBalancerClass"] = NETWORK_CLASS.into();
            }
        }
        spec
    }

    /// What to merge into a Service of that name that is there already.
    pub fn patch(&self, name: &str) -> Value {
        let mut spec = self.spec(name);
        if self.type_ != "LoadBalancer" {
            for field in ["externalTrafficPolicy", "loadBalancerSourceRanges", "loadBalancerClass"] {
                spec[field] = Value::Null;
            }
        }
        json!({ "metadata": { "annotations": self.annotations }, "spec": spec })
    }

    pub fn annotations(&self) -> BTreeMap<&str, &str> {
        self.annotations.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_deref()?))).collect()
    }
}
