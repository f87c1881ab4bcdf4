//! From which addresses clients may come: `spec.loadBalancerSourceRanges`.
//!
//! Pure. What the ranges ask for is read here, and how an access control list gets there.

use std::collections::BTreeSet;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;

use super::annotations::Mistake;
use crate::cloud::action::{ENTRIES_PER_CALL, ENTRIES_PER_LIST};

const FIELD: &str = "spec.loadBalancerSourceRanges";

/// The ranges of a Service that names some, of both families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRanges(BTreeSet<IpNet>);

/// What the ranges mean for a load balancer of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// The whole family: no list is needed.
    Everybody,
    /// At least one range.
    Only(BTreeSet<IpNet>),
    /// The ranges are all of the other family.
    Nobody,
}

/// One step on the way to what a list should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Add(Vec<IpNet>),
    Remove(Vec<IpNet>),
}

// === impl SourceRanges ===

impl SourceRanges {
    /// The ranges of `service`; `None` if it does not limit who may come.
    ///
    /// # Errors
    /// What is no range, and more ranges of one family than a list can hold.
    pub fn of(service: &Service) -> Result<Option<Self>, Mistake> {
        let texts = service.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.as_deref());
        let mut ranges = BTreeSet::new();
        for text in texts.unwrap_or_default() {
            let range = text.trim().parse::<IpNet>().map_err(|_| Mistake {
                key: FIELD.to_owned(),
                value: text.clone(),
                expected: "a range such as 10.0.0.0/8".to_owned(),
            })?;
            ranges.insert(range.trunc());
        }
        for version in ["ipv4", "ipv6"] {
            let count = ranges.iter().filter(|range| is_of(range, version)).count();
            if count > ENTRIES_PER_LIST {
                return Err(Mistake {
                    key: FIELD.to_owned(),
                    value: format!("{count} ranges"),
                    expected: format!("at most {ENTRIES_PER_LIST}, which is what an access control list can hold"),
                });
            }
        }
        Ok((!ranges.is_empty()).then_some(Self(ranges)))
    }

    /// What they mean for a load balancer whose addresses are of this version, `ipv4` or `ipv6`.
    pub fn for_version(&self, version: &str) -> Allowed {
        let ours: BTreeSet<IpNet> = self.0.iter().copied().filter(|range| is_of(range, version)).collect();
        if ours.is_empty() {
            Allowed::Nobody
        } else if ours.iter().any(|range| range.prefix_len() == 0) {
            Allowed::Everybody
        } else {
            Allowed::Only(ours)
        }
    }

    /// Those that no client of a load balancer of this version can have.
    pub fn without_effect(&self, version: &str) -> Vec<String> {
        self.0.iter().filter(|range| !is_of(range, version)).map(ToString::to_string).collect()
    }
}

fn is_of(range: &IpNet, version: &str) -> bool {
    matches!(range, IpNet::V6(_)) == (version == "ipv6")
}

/// The next step from what a list holds to what it should hold; `None` once it does.
///
/// What is wanted is added before what is not wanted goes, so that nobody who may come is kept
/// out, and the list is never empty: an empty white list lets everybody in.
pub fn next(there: &BTreeSet<IpNet>, wanted: &BTreeSet<IpNet>) -> Option<Step> {
    let some = |from: &BTreeSet<IpNet>, but: &BTreeSet<IpNet>, most: usize| -> Vec<IpNet> {
        from.difference(but).copied().take(most).collect()
    };
    let room = ENTRIES_PER_LIST.saturating_sub(there.len());
    let missing = some(wanted, there, ENTRIES_PER_CALL.min(room.max(1)));
    if !missing.is_empty() && room > 0 {
        return Some(Step::Add(missing));
    }
    let extra = some(there, wanted, ENTRIES_PER_CALL);
    (!extra.is_empty()).then_some(Step::Remove(extra))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> BTreeSet<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn service(ranges: Vec<String>) -> Service {
        let mut service = Service::default();
        service.spec.get_or_insert_default().load_balancer_source_ranges = Some(ranges);
        service
    }

    fn hosts(from: usize, to: usize) -> BTreeSet<IpNet> {
        (from..to).map(|n| format!("10.0.{}.{}/32", n / 256, n % 256).parse().unwrap()).collect()
    }

    #[test]
    fn ranges_are_read_as_networks_of_the_load_balancers_family() {
        let texts = ["10.1.2.3/8", " 10.0.0.0/8", "1.2.3.4/32", "2001:db8::/32"].map(str::to_owned).to_vec();
        let ranges = SourceRanges::of(&service(texts)).unwrap().unwrap();
        assert_eq!(ranges.for_version("ipv4"), Allowed::Only(nets(&["10.0.0.0/8", "1.2.3.4/32"])));
        assert_eq!(ranges.for_version("ipv6"), Allowed::Only(nets(&["2001:db8::/32"])));
        assert_eq!(ranges.without_effect("ipv4"), ["2001:db8::/32"]);
        let all = SourceRanges::of(&service(vec!["0.0.0.0/0".into(), "10.0.0.0/8".into()])).unwrap().unwrap();
        assert_eq!(all.for_version("ipv4"), Allowed::Everybody);
        assert_eq!(all.for_version("ipv6"), Allowed::Nobody);
        assert_eq!(SourceRanges::of(&service(Vec::new())).unwrap(), None);
        assert_eq!(SourceRanges::of(&Service::default()).unwrap(), None);
    }

    #[test]
    fn what_no_list_can_hold_is_a_mistake() {
        let wrong = SourceRanges::of(&service(vec!["10.0.0.0/8".into(), "10.0.0.300/32".into()])).unwrap_err();
        assert_eq!((wrong.key.as_str(), wrong.value.as_str()), (FIELD, "10.0.0.300/32"));
        let many = |count| service(hosts(0, count).iter().map(ToString::to_string).collect());
        assert!(SourceRanges::of(&many(300)).unwrap().is_some());
        assert_eq!(SourceRanges::of(&many(301)).unwrap_err().value, "301 ranges");
    }

    #[test]
    fn a_list_gets_there_in_calls_of_fifty_and_is_never_empty_or_too_long_on_the_way() {
        for (from, to) in [(hosts(0, 0), hosts(0, 120)), (hosts(0, 300), hosts(300, 600)), (hosts(0, 7), hosts(5, 9))] {
            let mut there = from.clone();
            let mut calls = 0;
            while let Some(step) = next(&there, &to) {
                match step {
                    Step::Add(entries) => {
                        assert!(entries.len() <= 50);
                        there.extend(entries);
                    }
                    Step::Remove(entries) => {
                        assert!(entries.len() <= 50);
                        there.retain(|entry| !entries.contains(entry));
                    }
                }
                calls += 1;
                assert!(!there.is_empty() && there.len() <= 300 && calls < 20, "{} after {calls} calls", there.len());
            }
            assert_eq!(there, to);
        }
    }
}
