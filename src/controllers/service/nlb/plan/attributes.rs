//! The part of the plan that is about the load balancer itself.

use std::collections::BTreeMap;

use super::{Planner, Scope};
use crate::{
    cloud::{NetworkAction, NetworkLoadBalancer, NetworkStatus, ZoneMapping},
    controllers::service::nlb::desired::Desired,
};

impl Planner<'_> {
    pub(super) fn attributes(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let asked = &desired.requested;
        let id = || there.id.clone();
        let leaves_alone = desired.leaves_attributes_alone();
        let marks = if asked.id.is_some() { BTreeMap::default() } else { desired.owner.tags() };
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
            self.push(Scope::Attribute("tags"), NetworkAction::Tag { load_balancer: id(), tags });
        }
        self.fixed(desired, there);
        if leaves_alone {
            return;
        }
        // What is being made has the attributes it was asked for, and the rest is not known yet.
        if there.status == NetworkStatus::Provisioning {
            return;
        }
        if let Some(address_type) = asked.address_type.filter(|wanted| *wanted != there.address_type) {
            let action =
                NetworkAction::SetAddressType { load_balancer: id(), address_type, zones: asked.zones.clone() };
            self.push(Scope::Attribute("address type"), action);
        }
        self.zones(&asked.zones, there);
        self.ipv6(desired, there);
        self.bandwidth_package(desired, there);
        let name = asked.name.clone().filter(|name| *name != there.name);
        let cross_zone = asked.cross_zone.filter(|wanted| there.cross_zone != Some(*wanted));
        if name.is_some() || cross_zone.is_some() {
            let action = NetworkAction::SetAttributes { load_balancer: id(), name, cross_zone };
            self.push(Scope::Attribute("name and cross-zone forwarding"), action);
        }
    }

    /// What the API cannot change.
    fn fixed(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let asked = &desired.requested;
        for (what, asked, there_is) in [
            ("AddressIpVersion", &asked.ip_version, &there.ip_version),
            ("ResourceGroupId", &asked.resource_group, &there.resource_group),
        ] {
            if let (Some(asked), Some(there_is)) = (asked, there_is)
                && !asked.eq_ignore_ascii_case(there_is)
            {
                self.plan.conflicts.push(format!(
                    "{what} cannot be changed once created: {} has {there_is}, the Service asks for {asked}",
                    there.id
                ));
            }
        }
    }

    fn zones(&mut self, wanted: &[ZoneMapping], there: &NetworkLoadBalancer) {
        if wanted.is_empty() {
            return;
        }
        let mut differs = there.zones.iter().any(|old| wanted.iter().all(|new| new.zone != old.zone));
        let mut zones = Vec::new();
        for new in wanted {
            let Some(old) = there.zones.iter().find(|old| old.zone == new.zone) else {
                differs = true;
                zones.push(new.clone());
                continue;
            };
            let fixed = [
                ("vSwitch", Some(new.vswitch.to_string()), Some(old.vswitch.to_string())),
                ("private address", text(new.private_address.as_ref()), text(old.private_address.as_ref())),
                ("elastic address", text(new.allocation.as_ref()), text(old.allocation.as_ref())),
            ];
            for (what, new_is, old_is) in fixed {
                if new_is.is_some() && new_is != old_is {
                    self.plan.conflicts.push(format!(
                        "the {what} in zone {} of {} cannot be changed from {} to {}; take the zone out of zone-maps first, \
                         and put it in again then",
                        new.zone,
                        there.id,
                        old_is.unwrap_or_else(|| "none".to_owned()),
                        new_is.unwrap_or_default()
                    ));
                }
            }
            // What stays is named without its addresses, which count as taken.
            zones.push(ZoneMapping {
                zone: old.zone.clone(),
                vswitch: old.vswitch.clone(),
                private_address: None,
                allocation: None,
            });
        }
        if differs {
            self.push(Scope::Attribute("zones"), NetworkAction::SetZones { load_balancer: there.id.clone(), zones });
        }
    }

    fn ipv6(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let Some(wanted) = desired.requested.ipv6_address_type else { return };
        if !there.ip_version.as_deref().is_some_and(|version| version.eq_ignore_ascii_case("dualstack")) {
            let id = &there.id;
            self.plan.conflicts.push(format!("{id} has no IPv6 addresses, so ipv6-address-type has no effect on it"));
        } else if there.ipv6_address_type != Some(wanted) {
            let action = NetworkAction::SetIpv6AddressType { load_balancer: there.id.clone(), address_type: wanted };
            self.push(Scope::Attribute("IPv6 address type"), action);
        }
    }

    fn bandwidth_package(&mut self, desired: &Desired, there: &NetworkLoadBalancer) {
        let Some(wanted) = &desired.requested.bandwidth_package else { return };
        if *wanted == there.bandwidth_package {
            return;
        }
        let load_balancer = || there.id.clone();
        let scope = || Scope::Attribute("bandwidth package");
        match (&there.bandwidth_package, wanted) {
            (Some(package), _) => {
                let package = package.clone();
                let action = NetworkAction::DetachBandwidthPackage { load_balancer: load_balancer(), package };
                self.push(scope(), action);
            }
            (None, Some(package)) => {
                let package = package.clone();
                let action = NetworkAction::AttachBandwidthPackage { load_balancer: load_balancer(), package };
                self.push(scope(), action);
            }
            (None, None) => {}
        }
    }
}

fn text<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}
