//! Checks the values of annotations against the catalogue and turns them into what is requested.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use super::{
    Annotations, LEGACY_PREFIX, Mistake, Mistakes, PREFIX, RECREATE, Requested, Shows,
    catalogue::{self, Sets, Value},
};
use crate::cloud::{AddressType, Protocol, ServerGroupId, VSwitchId};

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

/// The values of the catalogue's annotations, checked and in the API's spelling.
pub(super) struct Values<'a> {
    annotations: &'a Annotations<'a>,
    checked: BTreeMap<&'static str, String>,
    mistakes: Vec<Mistake>,
}

// === impl Values ===

impl<'a> Values<'a> {
    /// Checks them all.
    pub(super) fn of(annotations: &'a Annotations<'a>) -> Self {
        let mut values = Self { annotations, checked: BTreeMap::new(), mistakes: Vec::new() };
        values.check();
        values
    }

    /// What they ask for, or all that is wrong.
    pub(super) fn requested(mut self) -> Result<Requested, Mistakes> {
        let requested = self.read();
        if self.mistakes.is_empty() { Ok(requested) } else { Err(Mistakes(self.mistakes)) }
    }

    /// What they ask for, unless one that has a say about members is wrong.
    pub(super) fn requested_of_members(mut self) -> Option<Requested> {
        let requested = self.read();
        let is_about_members = |mistake: &Mistake| {
            let suffix = mistake.key.strip_prefix(PREFIX).or_else(|| mistake.key.strip_prefix(LEGACY_PREFIX));
            suffix.is_some_and(|suffix| ABOUT_MEMBERS.contains(&suffix))
        };
        (!self.mistakes.iter().any(is_about_members)).then_some(requested)
    }

    fn check(&mut self) {
        for annotation in catalogue::ALL {
            if matches!(annotation.sets, Sets::Network | Sets::Nothing) {
                continue;
            }
            let Some((key, value)) = self.annotations.find(annotation.suffix) else { continue };
            match annotation.value.read(value) {
                Ok(canonical) => {
                    self.checked.insert(annotation.suffix, canonical);
                }
                Err(expected) => self.mistake(key, value, expected),
            }
        }
    }

    fn text(&self, suffix: &str) -> Option<String> {
        self.checked.get(suffix).cloned()
    }

    fn switch(&self, suffix: &str) -> Option<bool> {
        self.checked.get(suffix).map(|value| value == "on")
    }

    fn read(&mut self) -> Requested {
        let protocols =
            self.pairs("protocol-port", "80:http or https:443, each with tcp, udp, http or https", |a, b| {
                let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == a)?;
                Some((port(b)?, protocol))
            });
        let forwards = self.pairs("forward-port", "80:443", |a, b| Some((port(a)?, port(b)?)));
        let domain_extensions = self.annotations.has("domain-extensions").then(|| {
            let split = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
            self.pairs("domain-extensions", "example.com:certificate-id", split)
        });
        let user_groups = self.pairs("vgroup-port", "rsp-bp1a:80, each a group and a port of the Service", |a, b| {
            Some((port(b)?, ServerGroupId::new(a))).filter(|_| !a.is_empty())
        });
        let node_labels = self.text("backend-label").map(|text| labels(&text)).unwrap_or_default();
        let listener = catalogue::ALL
            .iter()
            .filter(|annotation| matches!(annotation.sets, Sets::Listener(_) | Sets::Layer4(_) | Sets::Layer7(_)))
            .filter_map(|annotation| Some((annotation.sets, self.text(annotation.suffix)?)))
            .collect();
        let address = self.text("ip");
        if let Some((key, value)) = self.annotations.find("ip")
            && self.text("address-type").as_deref() != Some("intranet")
            && self.annotations.get("id").is_none()
        {
            self.mistake(
                key,
                value,
                "absent: without address-type: intranet, the cloud chooses the address".to_owned(),
            );
        }
        if let Some(wrong) = address.as_ref().filter(|text| text.parse::<IpAddr>().is_err()) {
            self.mistake(format!("{PREFIX}ip"), wrong, "an address such as 192.168.0.10".to_owned());
        }
        Requested {
            id: self.annotations.load_balancer_id(),
            force_override_listeners: self.text("force-override-listeners").is_some_and(|value| value == "true"),
            address_type: self
                .text("address-type")
                .map(|value| if value == "intranet" { AddressType::Intranet } else { AddressType::Internet }),
            address,
            ip_version: self.text("ip-version"),
            name: self.text("name"),
            spec: self.text("spec"),
            instance_charge_type: self.text("instance-charge-type"),
            charge_type: self.text("charge-type"),
            bandwidth: self.text("bandwidth").and_then(|value| value.parse().ok()),
            vswitch: self.text("vswitch-id").map(VSwitchId::new),
            master_zone: self.text("master-zoneid"),
            slave_zone: self.text("slave-zoneid"),
            resource_group: self.text("resource-group-id"),
            tags: self.text("additional-resource-tags").map(|text| tags(&text)).unwrap_or_default(),
            delete_protection: self.switch("delete-protection"),
            modification_protection: self.text("modification-protection"),
            recreates: self.switch(RECREATE).unwrap_or(false),
            shows: match (self.text("hostname"), self.text("external-ip-type")) {
                (Some(name), _) => Shows::HostName(name),
                (None, Some(_)) => Shows::ElasticAddresses,
                (None, None) => Shows::Address,
            },
            protocols,
            forwards,
            certificate: self.text("cert-id"),
            domain_extensions,
            node_labels,
            default_weight: self.text("default-weight").and_then(|value| value.parse().ok()),
            user_groups,
            weight: self.text("weight").and_then(|value| value.parse().ok()),
            ipv6_members: self.text("backend-ip-version").is_some_and(|value| value == "ipv6"),
            eni: self.annotations.eni(),
            ignores_weights: self.switch("ignore-weight-update").unwrap_or(false),
            leaves_out_cordoned: self.switch("remove-unscheduled-backend").unwrap_or(false),
            listener,
        }
    }

    /// Pairs joined by colons. A pair that does not convert is a mistake.
    fn pairs<K: Ord, V>(
        &mut self,
        suffix: &str,
        expected: &str,
        convert: impl Fn(&str, &str) -> Option<(K, V)>,
    ) -> BTreeMap<K, V> {
        let mut pairs = BTreeMap::new();
        let Some((key, value)) = self.annotations.find(suffix) else { return pairs };
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once(':').and_then(|(a, b)| convert(a.trim(), b.trim())) {
                Some((key, value)) => {
                    pairs.insert(key, value);
                }
                None => self.mistake(key.clone(), value, format!("pairs such as {expected}, joined by commas")),
            }
        }
        pairs
    }

    fn mistake(&mut self, key: String, value: &str, expected: String) {
        self.mistakes.push(Mistake { key, value: value.to_owned(), expected });
    }
}

pub(super) fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port != 0)
}

/// Tags as the released controller reads them: a key may stand without a value, and of a value
/// only the part before a second `=` counts.
pub(super) fn tags(text: &str) -> BTreeMap<String, String> {
    let pair = |part: &str| {
        let mut parts = part.trim().split('=');
        let key = parts.next().filter(|key| !key.is_empty())?;
        Some((key.to_owned(), parts.next().unwrap_or_default().to_owned()))
    };
    text.split(',').filter_map(pair).collect()
}

pub(super) fn labels(text: &str) -> BTreeMap<String, String> {
    let pair = |part: &str| part.trim().split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    text.split(',').filter_map(pair).collect()
}

// === impl Value ===

impl Value {
    /// The value in the API's spelling, or what would be right.
    pub(super) fn read(self, value: &str) -> Result<String, String> {
        let found = match self {
            Self::Word(words) => words.contains(&value).then(|| value.to_owned()),
            Self::AnyCase(words) => {
                words.iter().find(|word| word.eq_ignore_ascii_case(value)).map(|word| (*word).to_owned())
            }
            Self::Number(least, most) => {
                value.parse::<i64>().ok().filter(|n| (least..=most).contains(n)).map(|n| n.to_string())
            }
            Self::Text(most) => (value.chars().count() <= most && value.trim() == value).then(|| value.to_owned()),
            Self::Present | Self::Colons(_) => Some(value.to_owned()),
            Self::Pairs => value
                .split(',')
                .all(|part| part.trim().split_once('=').is_some_and(|(key, _)| !key.is_empty()))
                .then(|| value.to_owned()),
            Self::List => {
                let mut words: Vec<&str> = value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
                words.sort_unstable();
                (!words.is_empty()).then(|| words.join(","))
            }
        };
        found.ok_or_else(|| self.to_string())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(words) | Self::AnyCase(words) => f.write_str(&one_of(words)),
            Self::Number(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Text(most) => write!(f, "at most {most} characters without spaces around them"),
            Self::Present => f.write_str("anything that is not empty"),
            Self::Pairs => f.write_str("pairs such as key=value, joined by commas"),
            Self::Colons(form) => write!(f, "pairs such as {form}"),
            Self::List => f.write_str("words joined by commas"),
        }
    }
}

fn one_of(allowed: &[&str]) -> String {
    match allowed {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
