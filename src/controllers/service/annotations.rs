//! What a Service asks for beyond its spec: the annotations under our two prefixes.
//!
//! All values are checked here, before any call, and all mistakes of a Service are reported
//! together. What is said here about a key is all there is: nothing else reads annotations.

mod catalogue;

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::core::v1::Service;

pub use catalogue::notices;

use crate::cloud::{AddressType, LoadBalancerId, VSwitchId};

/// The prefix of the annotations.
pub const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";
/// The prefix's older spelling; [`PREFIX`] wins if both are there.
pub const LEGACY_PREFIX: &str = "service.beta.kubernetes.io/alicloud-loadbalancer-";
/// Whether members are instances (`ecs`) or pods' network interfaces (`eni`).
pub const BACKEND_TYPE: &str = "service.beta.kubernetes.io/backend-type";

/// What a Service asks for. `None` is not asked for: the default on creation, no change later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// A load balancer of the user's to use instead of making one.
    pub id: Option<LoadBalancerId>,
    /// Whether listeners on that load balancer may be created and taken over.
    pub force_override_listeners: bool,
    pub address_type: Option<AddressType>,
    pub name: Option<String>,
    /// Such as `slb.s1.small`.
    pub spec: Option<String>,
    /// `PayBySpec` or `PayByCLCU`.
    pub instance_charge_type: Option<String>,
    /// `paybytraffic` or `paybybandwidth`.
    pub charge_type: Option<String>,
    /// Peak bandwidth in Mbit/s.
    pub bandwidth: Option<u32>,
    pub vswitch: Option<VSwitchId>,
    pub scheduler: Option<String>,
    pub delete_protection: Option<bool>,
}

/// A value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub key: String,
    pub value: String,
    /// What would be right, to go after "must be".
    pub expected: String,
}

/// All values of one Service that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

/// The annotations of a Service, by the suffix behind the prefix.
pub struct Annotations<'a>(Option<&'a BTreeMap<String, String>>);

// === impl Annotations ===

impl<'a> Annotations<'a> {
    /// The annotations of `service`.
    pub fn of(service: &'a Service) -> Self {
        Self(service.metadata.annotations.as_ref())
    }

    /// The key and value of an annotation that is there and not empty.
    fn find(&self, suffix: &str) -> Option<(String, &'a str)> {
        let all = self.0?;
        let (key, value) = [PREFIX, LEGACY_PREFIX]
            .map(|prefix| format!("{prefix}{suffix}"))
            .into_iter()
            .find_map(|key| all.get(&key).map(|value| (key, value.as_str())))?;
        (!value.is_empty()).then_some((key, value))
    }

    /// The value of an annotation; an empty one counts as absent.
    pub fn get(&self, suffix: &str) -> Option<&'a str> {
        self.find(suffix).map(|(_, value)| value)
    }

    /// The id of the user's load balancer that the Service uses. Readable however wrong the rest
    /// is, because deletion needs it.
    pub fn load_balancer_id(&self) -> Option<LoadBalancerId> {
        self.get("id").map(LoadBalancerId::new)
    }

    /// Whether the load balancer outlives the Service.
    pub fn preserves_load_balancer(&self) -> bool {
        self.get("preserve-lb-on-delete").is_some()
    }

    /// Reads and checks everything, or tells all that is wrong.
    pub fn parse(&self) -> Result<Requested, Mistakes> {
        let mut reader = Reader { annotations: self, mistakes: Vec::new() };
        let requested = Requested {
            id: self.load_balancer_id(),
            force_override_listeners: reader
                .choice("force-override-listeners", &["true", "false"], str::to_owned)
                .is_some_and(|value| value == "true"),
            address_type: reader.choice("address-type", &["internet", "intranet"], |value| {
                if value == "intranet" { AddressType::Intranet } else { AddressType::Internet }
            }),
            name: reader.text("name", 80),
            spec: reader.text("spec", 64),
            instance_charge_type: reader.word("instance-charge-type", &["PayBySpec", "PayByCLCU"]),
            charge_type: reader.choice("charge-type", &["paybytraffic", "paybybandwidth"], str::to_owned),
            bandwidth: reader.number("bandwidth", 1, 5120),
            vswitch: reader.text("vswitch-id", 64).map(VSwitchId::new),
            scheduler: reader.choice("scheduler", &["rr", "wrr", "wlc", "sch", "tch", "qch"], str::to_owned),
            delete_protection: reader.choice("delete-protection", &["on", "off"], |value| value == "on"),
        };
        reader.refuse_what_would_be_ignored();
        if reader.mistakes.is_empty() { Ok(requested) } else { Err(Mistakes(reader.mistakes)) }
    }
}

/// Reads values and collects the mistakes.
struct Reader<'a> {
    annotations: &'a Annotations<'a>,
    mistakes: Vec<Mistake>,
}

// === impl Reader ===

impl Reader<'_> {
    fn choice<T>(&mut self, suffix: &str, allowed: &[&str], convert: impl Fn(&str) -> T) -> Option<T> {
        let (key, value) = self.annotations.find(suffix)?;
        if allowed.contains(&value) {
            return Some(convert(value));
        }
        self.mistake(key, value, one_of(allowed));
        None
    }

    /// A word in any letter case, given back as the API writes it.
    fn word(&mut self, suffix: &str, allowed: &[&str]) -> Option<String> {
        let (key, value) = self.annotations.find(suffix)?;
        if let Some(word) = allowed.iter().find(|word| word.eq_ignore_ascii_case(value)) {
            return Some((*word).to_owned());
        }
        self.mistake(key, value, one_of(allowed));
        None
    }

    fn number(&mut self, suffix: &str, least: u32, most: u32) -> Option<u32> {
        let (key, value) = self.annotations.find(suffix)?;
        match value.parse::<u32>() {
            Ok(number) if (least..=most).contains(&number) => Some(number),
            _ => {
                self.mistake(key, value, format!("a whole number from {least} to {most}"));
                None
            }
        }
    }

    fn text(&mut self, suffix: &str, most: usize) -> Option<String> {
        let (key, value) = self.annotations.find(suffix)?;
        if value.chars().count() <= most && value.trim() == value {
            return Some(value.to_owned());
        }
        self.mistake(key, value, format!("at most {most} characters without spaces around them"));
        None
    }

    /// Annotations that change what a listener or a member is. Going on without them would not
    /// leave something out but build something else, on a load balancer that may be in use.
    fn refuse_what_would_be_ignored(&mut self) {
        for suffix in catalogue::NOT_IGNORABLE {
            if let Some((key, value)) = self.annotations.find(suffix) {
                self.mistake(key, value, "absent: this version does not handle it".to_owned());
            }
        }
        if let Some(value) = self.annotations.0.and_then(|all| all.get(BACKEND_TYPE))
            && value == "eni"
        {
            self.mistake(BACKEND_TYPE.to_owned(), value, "ecs: this version does not handle eni".to_owned());
        }
    }

    fn mistake(&mut self, key: String, value: &str, expected: String) {
        self.mistakes.push(Mistake { key, value: value.to_owned(), expected });
    }
}

fn one_of(allowed: &[&str]) -> String {
    match allowed {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

// === impl Mistakes ===

impl std::error::Error for Mistakes {}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}annotation {} is {:?} but must be {}", mistake.key, mistake.value, mistake.expected)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
