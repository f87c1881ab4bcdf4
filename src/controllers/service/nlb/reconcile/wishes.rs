//! What a Service asks for of a network load balancer.

use std::collections::BTreeSet;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use sha2::{Digest, Sha256};

use super::behind::Behind;
use crate::{
    cloud::network_action::CreateNetworkLoadBalancer,
    controllers::service::{
        Controller, Key,
        annotations::{self, Annotations, Mistake, Mistakes, NetworkRequested},
        hash,
        nlb::{
            desired::{self, Desired, RULES_PER_GROUP},
            observed::State,
            reuse,
        },
        ownership::{Owner, SECURITY_GROUP_LABEL},
        reconcile::shown_id,
    },
    kubernetes::events::reference_of,
};

impl Controller {
    /// What should be there, with the token for making it.
    pub(super) fn network_desired(
        &self,
        service: &Service,
        owner: &Owner,
        requested: NetworkRequested,
        behind: &Behind,
        ranges: &BTreeSet<IpNet>,
        state: &State,
    ) -> Desired {
        let families = requested.members.families(self.options.ipv6_members);
        let mut desired = desired::desired(
            service,
            requested,
            behind.around(ranges, families, state.load_balancer.as_ref(), &self.options),
        );
        let is_there = state.sources.as_ref().is_some_and(Option::is_some);
        desired.policy_changed = self.policy_changed(&Key::of(service), service);
        desired.may_have_sources = labelled(service, SECURITY_GROUP_LABEL).is_some() || is_there;
        // What a lost one was made with makes no new one.
        let lost = shown_id(service).filter(|_| state.load_balancer.is_none()).unwrap_or_default();
        desired.create.token = token(&desired, &format!("{}/{lost}", self.network.known.deletions(owner)));
        desired
    }

    /// What a Service asks for, or all that is wrong with it.
    pub(super) fn network_wishes(
        &self,
        key: &Key,
        service: &Service,
    ) -> Result<(NetworkRequested, BTreeSet<IpNet>), Mistakes> {
        let object = reference_of(service);
        let notices = annotations::network_notices(service).into_values();
        for notice in self.records.new_notices(key, "annotations", notices) {
            self.recorder.warning(&object, "UnsupportedAnnotation", notice);
        }
        let requested = Annotations::of(service).parse_network()?;
        let mut ranges = source_ranges(service)?;
        if requested.id.is_some() {
            let ignored = (!ranges.is_empty())
                .then(|| "LoadBalancerSourceRanges is not supported for user-managed LB.".to_owned());
            for notice in self.records.new_notices(key, "spec", ignored) {
                self.recorder.warning(&object, "FeatureNotSupported", notice);
            }
            ranges.clear();
        }
        for notice in self.records.new_notices(key, "unheeded", reuse::unheeded(&requested)) {
            self.recorder.warning(&object, "FeatureNotSupported", notice);
        }
        Ok((requested, ranges))
    }
}

fn labelled<'a>(service: &'a Service, key: &str) -> Option<&'a str> {
    service.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// Whether the Service asks for source ranges, or has shown that it has a security group for them.
pub(super) fn is_limited(service: &Service) -> bool {
    let ranges = service.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.as_ref());
    ranges.is_some_and(|all| !all.is_empty()) || labelled(service, SECURITY_GROUP_LABEL).is_some()
}

/// The ranges that clients may come from; empty if everybody may.
fn source_ranges(service: &Service) -> Result<BTreeSet<IpNet>, Mistakes> {
    let texts = service.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.clone()).unwrap_or_default();
    let mistake = |value: String, expected: &str| Mistake {
        key: "spec.loadBalancerSourceRanges".to_owned(),
        value,
        expected: expected.to_owned(),
    };
    let mut ranges = BTreeSet::new();
    let mut mistakes = Vec::new();
    for text in texts {
        match text.trim().parse::<IpNet>() {
            Ok(range) => {
                ranges.insert(range.trunc());
            }
            Err(_) => mistakes.push(mistake(text, "a range such as 10.0.0.0/8")),
        }
    }
    // Two rules are for everybody else.
    if ranges.len() > RULES_PER_GROUP - 2 {
        mistakes.push(mistake(
            format!("{} ranges", ranges.len()),
            "at most 198 ranges, as many rules as a security group takes",
        ));
    }
    if mistakes.is_empty() { Ok(ranges) } else { Err(Mistakes(mistakes)) }
}

/// An idempotency token: the same for the same wish of the same Service, so that a repeated
/// request cannot make a second load balancer; another one after what it made was deleted.
fn token(desired: &Desired, seed: &str) -> String {
    let Desired { owner, create, .. } = desired;
    let create = CreateNetworkLoadBalancer { token: String::new(), ..create.clone() };
    let wish = format!("{}/{}/{seed}/{create:?}", owner.cluster, owner.uid);
    hash::hex(&Sha256::digest(wish.as_bytes()))
}
