//! The values of a Service's annotations, checked against a table: what the tables of both kinds of load
//! balancer have in common.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Annotations, LEGACY_PREFIX, Mistake, Mistakes, PREFIX, Requested,
    value::{Value, labels, port, tags},
};
use crate::{
    cloud::{AddressType, ServerGroupId},
    controllers::service::members::Families,
};

/// Who is a member, in which group, and with which weight.
const ABOUT_MEMBERS: &[&str] = &[
    "id",
    "backend-label",
    "default-weight",
    "ignore-weight-update",
    "remove-unscheduled-backend",
    "backend-ip-version",
    "ip-version",
    "vgroup-port",
    "weight",
];

/// Checked values in the API's spelling, and all that is wrong with the others.
pub(super) struct Checked<'a> {
    pub(super) annotations: &'a Annotations<'a>,
    values: BTreeMap<&'static str, String>,
    mistakes: Vec<Mistake>,
}

// === impl Checked ===

impl<'a> Checked<'a> {
    /// Checks the annotations with these suffixes.
    pub(super) fn of(annotations: &'a Annotations<'a>, table: impl Iterator<Item = (&'static str, Value)>) -> Self {
        let mut checked = Self { annotations, values: BTreeMap::new(), mistakes: Vec::new() };
        for (suffix, value) in table {
            let Some((key, text)) = annotations.find(suffix) else { continue };
            match value.read(text) {
                Ok(canonical) => {
                    checked.values.insert(suffix, canonical);
                }
                Err(expected) => checked.mistake(key, text, expected),
            }
        }
        checked
    }

    /// What was read, or all that is wrong.
    pub(super) fn outcome<T>(self, read: T) -> Result<T, Mistakes> {
        if self.mistakes.is_empty() { Ok(read) } else { Err(Mistakes(self.mistakes)) }
    }

    /// What was read, unless something is wrong that has a say about members. `also` does so on this kind of
    /// load balancer alone.
    pub(super) fn outcome_for_members<T>(self, read: T, also: &[&str]) -> Option<T> {
        let is_about_members = |mistake: &Mistake| {
            let suffix = mistake.key.strip_prefix(PREFIX).or_else(|| mistake.key.strip_prefix(LEGACY_PREFIX));
            suffix.is_some_and(|suffix| ABOUT_MEMBERS.contains(&suffix) || also.contains(&suffix))
        };
        (!self.mistakes.iter().any(is_about_members)).then_some(read)
    }

    pub(super) fn mistake(&mut self, key: String, value: &str, expected: String) {
        self.mistakes.push(Mistake { key, value: value.to_owned(), expected });
    }

    pub(super) fn text(&self, suffix: &str) -> Option<String> {
        self.values.get(suffix).cloned()
    }

    pub(super) fn switch(&self, suffix: &str) -> Option<bool> {
        self.values.get(suffix).map(|value| value == "on")
    }

    fn number<T: std::str::FromStr>(&self, suffix: &str) -> Option<T> {
        self.values.get(suffix)?.parse().ok()
    }

    pub(super) fn address_type(&self, suffix: &str) -> Option<AddressType> {
        let read = |value: &String| if value == "intranet" { AddressType::Intranet } else { AddressType::Internet };
        self.values.get(suffix).map(read)
    }

    pub(super) fn tags(&self) -> BTreeMap<String, String> {
        self.text("additional-resource-tags").map(|text| tags(&text)).unwrap_or_default()
    }

    /// Words joined by commas; `None` if the annotation is not even there.
    pub(super) fn words(&self, suffix: &str) -> Option<BTreeSet<String>> {
        let split =
            |text: String| text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        self.annotations.has(suffix).then(|| self.text(suffix).map(split).unwrap_or_default())
    }

    /// Pairs joined by colons. A pair that does not convert is a mistake.
    pub(super) fn pairs<K: Ord, V>(
        &mut self,
        suffix: &str,
        expected: &str,
        convert: impl Fn(&str, &str) -> Option<(K, V)>,
    ) -> BTreeMap<K, V>
    where
        V: PartialEq,
    {
        let mut pairs = BTreeMap::new();
        let Some((key, value)) = self.annotations.find(suffix) else { return pairs };
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once(':').and_then(|(a, b)| convert(a.trim(), b.trim())) {
                Some((of, what)) => {
                    if pairs.get(&of).is_some_and(|other| *other != what) {
                        self.mistake(key.clone(), value, "pairs that do not contradict one another".to_owned());
                    }
                    pairs.insert(of, what);
                }
                None => self.mistake(key.clone(), value, format!("pairs such as {expected}, joined by commas")),
            }
        }
        pairs
    }

    /// Whose load balancer it is, and which members it gets; nothing else.
    pub(super) fn members(&mut self) -> Requested {
        let user_groups = self.pairs("vgroup-port", "rsp-bp1a:80, each a group and a port of the Service", |a, b| {
            Some((port(b)?, ServerGroupId::new(a))).filter(|_| !a.is_empty())
        });
        Requested {
            id: self.annotations.load_balancer_id(),
            force_override_listeners: self.text("force-override-listeners").is_some_and(|value| value == "true"),
            ip_version: self.text("ip-version"),
            recreates: self.switch(super::RECREATE).unwrap_or(false),
            node_labels: self.text("backend-label").map(|text| labels(&text)).unwrap_or_default(),
            default_weight: self.number("default-weight"),
            user_groups,
            weight: self.number("weight"),
            families: match self.text("backend-ip-version").as_deref() {
                Some("ipv6") => Families::V6,
                Some("dualstack") => Families::Both,
                _ => Families::V4,
            },
            eni: self.annotations.eni(),
            ignores_weights: self.switch("ignore-weight-update").unwrap_or(false),
            leaves_out_cordoned: self.switch("remove-unscheduled-backend").unwrap_or(false),
            ..Requested::default()
        }
    }
}
