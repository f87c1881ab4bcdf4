//! The part of the plan that is about the load balancer itself.

use std::collections::BTreeMap;

use super::{Planner, Scope};
use crate::{
    cloud::{Action, AddressType, LoadBalancer},
    controllers::service::{
        desired::{BY_BANDWIDTH, BY_SPEC, BY_USE, DEFAULT_SPEC, Desired},
        ownership,
    },
};

impl Planner<'_> {
    pub(super) fn attributes(&mut self, desired: &Desired, there: &LoadBalancer) {
        let asked = &desired.requested;
        let id = || there.id.clone();
        let missing: Vec<(String, String)> = if asked.id.is_some() {
            vec![(ownership::REUSE_TAG.to_owned(), "true".to_owned())]
        } else {
            desired.owner.tags().into_iter().collect()
        };
        let marks: BTreeMap<String, String> = missing.into_iter().collect();
        let leaves_alone = asked.id.is_some() && !asked.force_override_listeners;
        let asked_for = asked
            .tags
            .iter()
            .filter(|_| !leaves_alone)
            .filter(|(key, value)| !marks.contains_key(*key) && there.tags.get(*key) != Some(*value));
        let tags: BTreeMap<String, String> = asked_for
            .chain(marks.iter().filter(|(key, _)| !there.tags.contains_key(*key)))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !tags.is_empty() {
            self.push(Scope::Attribute("tags"), Action::Tag { load_balancer: id(), tags });
        }
        self.fixed(desired, there);
        if leaves_alone {
            return;
        }
        self.charge(desired, there);
        if let Some(status) = asked.modification_protection.clone()
            && there.modification_protection.as_ref() != Some(&status)
        {
            let reason = if status == "NonProtection" { "" } else { ownership::PROTECTION_REASON };
            let action = Action::SetModificationProtection { load_balancer: id(), status, reason: reason.to_owned() };
            self.push(Scope::Attribute("modification protection"), action);
        }
        if let Some(on) = asked.delete_protection.filter(|on| Some(*on) != there.delete_protection) {
            self.push(Scope::Attribute("delete protection"), Action::SetDeleteProtection { load_balancer: id(), on });
        }
        if let Some(name) = asked.name.clone().filter(|name| *name != there.name) {
            self.push(Scope::Attribute("name"), Action::SetName { load_balancer: id(), name });
        }
    }

    /// What the API cannot change.
    fn fixed(&mut self, desired: &Desired, there: &LoadBalancer) {
        let asked = &desired.requested;
        let address_type = asked.address_type.unwrap_or(AddressType::Internet);
        if (asked.id.is_none() || asked.address_type.is_some()) && address_type != there.address_type {
            self.plan.conflicts.push(format!(
                "can not change LoadBalancer AddressType once created. delete and retry: {} is {}, the Service asks for {}",
                there.id,
                there.address_type.as_str(),
                address_type.as_str(),
            ));
        }
        let there_is = Some(there.address.clone());
        for (what, asked, there_is) in [
            ("AddressIPVersion", &asked.ip_version, &there.ip_version),
            ("master zone id", &asked.master_zone, &there.master_zone),
            ("slave zone id", &asked.slave_zone, &there.slave_zone),
            ("ResourceGroupId", &asked.resource_group, &there.resource_group),
            ("address", &asked.address, &there_is),
        ] {
            if let (Some(asked), Some(there_is)) = (asked, there_is)
                && asked != there_is
            {
                self.plan.conflicts.push(format!(
                    "can not change LoadBalancer {what} once created: {} has {there_is}, the Service asks for {asked}",
                    there.id
                ));
            }
        }
    }

    fn charge(&mut self, desired: &Desired, there: &LoadBalancer) {
        let asked = &desired.requested;
        let id = || there.id.clone();
        let wanted_type = asked.instance_charge_type.as_deref();
        let pays_by_use = there.instance_charge_type.as_deref() == Some(BY_USE);
        match wanted_type.filter(|wanted| there.instance_charge_type.as_deref() != Some(*wanted)) {
            // The API knows only the way there.
            Some(BY_SPEC) if pays_by_use => self.plan.conflicts.push(format!(
                "can not change LoadBalancer InstanceChargeType once created: {} has {BY_USE}, the Service asks for {BY_SPEC}; \
                 the cloud allows only the change from {BY_SPEC} to {BY_USE}",
                there.id
            )),
            Some(charge_type) => {
                let spec = (charge_type == BY_SPEC).then(|| asked.spec.clone().unwrap_or_else(|| DEFAULT_SPEC.to_owned()));
                let charge_type = charge_type.to_owned();
                let action = Action::SetInstanceChargeType { load_balancer: id(), charge_type, spec };
                self.push(Scope::Attribute("instance charge type"), action);
            }
            None => {
                if let Some(spec) = asked.spec.clone().filter(|spec| there.spec.as_ref() != Some(spec))
                    && wanted_type.or(there.instance_charge_type.as_deref()) == Some(BY_SPEC)
                {
                    self.push(Scope::Attribute("specification"), Action::SetSpec { load_balancer: id(), spec });
                }
            }
        }
        if there.address_type == AddressType::Internet {
            self.internet_charge(desired, there);
        }
    }

    fn internet_charge(&mut self, desired: &Desired, there: &LoadBalancer) {
        let asked = &desired.requested;
        let charge_type = asked.charge_type.clone().filter(|c| there.internet_charge_type.as_ref() != Some(c));
        // A bandwidth limit only means something where bandwidth is paid for.
        let by_bandwidth = asked.charge_type.as_deref() == Some(BY_BANDWIDTH);
        let bandwidth = asked.bandwidth.filter(|b| by_bandwidth && there.bandwidth != Some(*b));
        if charge_type.is_none() && bandwidth.is_none() {
            return;
        }
        if by_bandwidth && there.instance_charge_type.as_deref() == Some(BY_USE) {
            self.plan.conflicts.push(format!(
                "can not change LoadBalancer InternetChargeType of {} to {BY_BANDWIDTH}: it is paid by use ({BY_USE}), and \
                 its traffic with it; take the annotation charge-type back",
                there.id
            ));
            return;
        }
        // The API takes both together or leaves the one that is missing as it is.
        let action = Action::SetInternetSpec {
            load_balancer: there.id.clone(),
            charge_type: asked.charge_type.clone(),
            bandwidth: asked.bandwidth.filter(|_| by_bandwidth),
        };
        self.push(Scope::Attribute("internet charge"), action);
    }
}
