//! Who may reach a Service, as its spec says, put into effect with one pass.

use k8s_openapi::api::core::v1::Service;

use super::failure::Failure;
use crate::{
    cloud::{AccessListId, Class, Error, LoadBalancerState},
    controllers::service::{
        Controller, Key,
        access::{self, AccessPass},
        annotations::{Mistake, Mistakes},
        class::Kind,
        desired::Desired,
        hash,
        ownership::{HASH_LABEL, Owner},
        source_ranges::{Allowed, SourceRanges},
    },
    kubernetes::events::reference_of,
};

/// Which lists of the Service's are to go once its listeners are in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leftovers {
    /// None, as far as can be told.
    Unknown,
    /// All but the one that is needed.
    But(Option<AccessListId>),
}

impl Controller {
    /// Sees to the Service's list, and puts it before the listeners that are `desired`.
    pub(super) async fn limit_access(
        &self,
        access: &mut AccessPass<'_>,
        (key, service): (&Key, &Service),
        ranges: Option<&SourceRanges>,
        desired: &mut Desired,
        state: Option<&LoadBalancerState>,
    ) -> Result<Leftovers, Mistakes> {
        let requested = &desired.requested;
        let manages_listeners = requested.id.is_none() || requested.force_override_listeners;
        let by_annotation = requested.names_access_lists();
        let there = state.and_then(|state| state.load_balancer.ip_version.clone());
        let version = there.or_else(|| requested.ip_version.clone()).unwrap_or_else(|| "ipv4".to_owned());
        self.tell_limits(key, service, ranges, manages_listeners, by_annotation, &version);
        if !manages_listeners {
            return Ok(Leftovers::Unknown);
        }
        let allowed = ranges.filter(|_| !by_annotation).map(|ranges| ranges.for_version(&version));
        match allowed {
            Some(Allowed::Only(ranges)) => {
                let group = desired.create.resource_group.clone();
                let list = access.ensure(&version, &ranges, group.as_deref()).await;
                Ok(if let Some(list) = list {
                    access::limit(desired, &list);
                    Leftovers::But(Some(list))
                } else {
                    access::hold(desired);
                    Leftovers::Unknown
                })
            }
            Some(Allowed::Nobody) => Err(Mistakes(vec![Mistake {
                key: "spec.loadBalancerSourceRanges".to_owned(),
                value: ranges.map(|ranges| ranges.without_effect(&version).join(",")).unwrap_or_default(),
                expected: format!("at least one {version} range, because that is the family of the address"),
            }])),
            Some(Allowed::Everybody) | None => {
                let unexplained = state.is_some_and(|state| access::has_unexplained_list(desired, state));
                if (unexplained || self.lists.is_doubted() || self.may_have_stopped_halfway(key, service, Kind::Clb))
                    && let Err(error) = self.look_for_lists().await
                {
                    access.failures.push(error);
                    return Ok(Leftovers::Unknown);
                }
                let lists = self.lists.own(&desired.owner).into_iter().map(|own| own.list.id).collect();
                if let Some(state) = state {
                    access::open(desired, state, &lists);
                }
                Ok(Leftovers::But(None))
            }
        }
    }

    /// Looks for lists that may be left from before. Whoever is not allowed to see any has made none.
    async fn look_for_lists(&self) -> Result<(), Error> {
        match self.lists.look(&*self.cloud, &self.options.cluster_id).await {
            Err(error) if error.class == Class::Denied => {
                tracing::debug!(%error, "access control lists cannot be seen; there are none of ours, then");
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Whether a process before this one may have been stopped before it was done with the Service
    /// as it is now.
    pub(in crate::controllers::service) fn may_have_stopped_halfway(
        &self,
        key: &Key,
        service: &Service,
        kind: Kind,
    ) -> bool {
        let label = service.metadata.labels.as_ref().and_then(|labels| labels.get(HASH_LABEL));
        !self.records.is_settled(key) && kind.marks(service) && label != Some(&hash::of(service))
    }

    fn tell_limits(
        &self,
        key: &Key,
        service: &Service,
        ranges: Option<&SourceRanges>,
        manages_listeners: bool,
        by_annotation: bool,
        version: &str,
    ) {
        let without_effect = ranges.map(|ranges| ranges.without_effect(version)).unwrap_or_default();
        let notice = match ranges {
            Some(_) if !manages_listeners => Some(
                "LoadBalancerSourceRanges is not supported for user-managed LB. Its listeners are left alone unless the \
                 annotation force-override-listeners is true; limit access on the listeners themselves"
                    .to_owned(),
            ),
            Some(_) if by_annotation => Some(
                "spec.loadBalancerSourceRanges has no effect beside the annotations acl-status, acl-id and acl-type, which \
                 limit access in another way; remove one or the other"
                    .to_owned(),
            ),
            Some(_) if !without_effect.is_empty() => Some(format!(
                "of spec.loadBalancerSourceRanges, {} have no effect: the address is {version}",
                without_effect.join(", ")
            )),
            _ => None,
        };
        for notice in self.records.new_notices(key, "source ranges", notice) {
            self.recorder.warning(&reference_of(service), "FeatureNotSupported", notice);
        }
    }

    /// Removes what lists a Service has that is going: after its listeners, or, with `release`,
    /// only our marks on them.
    pub(super) async fn drop_access_lists(
        &self,
        key: &Key,
        service: &Service,
        owner: &Owner,
        release: bool,
    ) -> Result<(), Failure> {
        let ranges = service.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.as_ref());
        let limits = ranges.is_some_and(|ranges| !ranges.is_empty());
        if limits || self.lists.is_doubted() || !self.records.is_settled(key) {
            // A refusal may pass: the Service waits for that rather than leave a list behind. Without ranges in
            // its spec, it does not wait for ever.
            match self.lists.look(&*self.cloud, &self.options.cluster_id).await {
                Err(error) if error.class == Class::Denied && !limits && self.lists.are_beyond_our_rights() => {
                    tracing::debug!(%error, "access control lists cannot be seen; there are none of ours, then");
                }
                outcome => outcome?,
            }
        }
        let mut access = AccessPass::new(&*self.cloud, &self.lists, owner);
        if release {
            access.release().await;
        } else {
            access.remove(None, true).await;
        }
        for list in &access.in_use {
            let message =
                format!("access control list {list} stays, because a listener that is not of this Service uses it");
            self.recorder.warning(&reference_of(service), "AccessListInUse", message);
        }
        let errors: Vec<Error> = access.failures.into_iter().filter(|error| error.class != Class::NotFound).collect();
        if errors.is_empty() { Ok(()) } else { Err(Failure::Cloud { errors, others: Vec::new() }) }
    }
}
