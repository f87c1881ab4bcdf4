//! Turns checked values into what is requested of a network load balancer.

use std::collections::BTreeMap;

use super::{
    NetworkRequested,
    table::{ALL, Sets},
};
use crate::{
    cloud::{AllocationId, NetworkGroupKind, NetworkProtocol, PortRange, Settings, VSwitchId, ZoneId, ZoneMapping},
    controllers::service::annotations::{
        Annotations, Mistakes, Requested,
        catalogue::Annotation,
        checked::Checked,
        value::{Value::AnyCase, port},
    },
};

/// Which groups there are, beside who is in them.
const ABOUT_GROUPS: &[&str] = &["server-group-type", "protocol-port", "listener-port-range"];

/// Reads and checks everything, or tells all that is wrong.
pub(super) fn requested(annotations: &Annotations<'_>) -> Result<NetworkRequested, Mistakes> {
    let mut checked = checked(annotations);
    let requested = read(&mut checked);
    checked.outcome(requested)
}

/// Reads what can be read, unless an annotation that has a say about members is wrong.
pub(super) fn requested_of_members(annotations: &Annotations<'_>) -> Option<NetworkRequested> {
    let mut checked = checked(annotations);
    let requested = read(&mut checked);
    checked.outcome_for_members(requested, ABOUT_GROUPS)
}

fn checked<'a>(annotations: &'a Annotations<'a>) -> Checked<'a> {
    Checked::of(annotations, ALL.iter().map(|annotation| (annotation.suffix, annotation.value)))
}

fn read(checked: &mut Checked<'_>) -> NetworkRequested {
    let group_kind = match checked.text("server-group-type").as_deref() {
        Some("Ip") => NetworkGroupKind::Ip,
        _ => NetworkGroupKind::Instance,
    };
    let members = Requested { by_address: group_kind == NetworkGroupKind::Ip, ..checked.members() };
    let zones = zones(checked);
    let protocols = checked.pairs("protocol-port", "80:TCP or TCPSSL:443, each with TCP, UDP or TCPSSL", |a, b| {
        let named = |protocol: &NetworkProtocol| protocol.as_str().eq_ignore_ascii_case(a);
        Some((port(b)?, NetworkProtocol::ALL.into_iter().find(named)?))
    });
    let mut ranges: BTreeMap<u16, Vec<PortRange>> = BTreeMap::new();
    for (range, number) in checked.pairs("listener-port-range", "30000-30100:443", |a, b| Some((range(a)?, port(b)?))) {
        ranges.entry(number).or_default().push(range);
    }
    NetworkRequested {
        id: members.id.clone(),
        force_override_listeners: members.force_override_listeners,
        address_type: checked.address_type("address-type"),
        ip_version: members.ip_version.clone(),
        ipv6_address_type: checked.address_type("ipv6-address-type"),
        name: checked.text("name"),
        resource_group: checked.text("resource-group-id"),
        tags: checked.tags(),
        zones,
        security_groups: checked.words("security-group-ids").map(|all| all.into_iter().map(Into::into).collect()),
        bandwidth_package: checked
            .annotations
            .has("bandwidth-package-id")
            .then(|| checked.text("bandwidth-package-id").filter(|text| !text.is_empty())),
        cross_zone: checked.switch("cross-zone-enabled"),
        protocols,
        ranges,
        additional_certificates: checked.words("additional-cert-ids"),
        listener: settings(checked, |sets| match sets {
            Sets::Listener(setting) => Some(setting),
            _ => None,
        }),
        group_kind,
        group: {
            let checks = checked.text("health-check-flag").is_some();
            settings(checked, |sets| match sets {
                Sets::Group(setting) => Some(setting),
                Sets::HealthCheck(setting) => Some(setting).filter(|_| checks),
                _ => None,
            })
        },
        members,
    }
}

fn settings<S: Copy + Ord>(checked: &Checked<'_>, which: impl Fn(Sets) -> Option<S>) -> Settings<S> {
    let spelled = |annotation: &Annotation<Sets>, value: &str| match annotation.value {
        AnyCase(words) if words == ["on", "off"] => (value == "on").to_string(),
        _ => value.to_owned(),
    };
    ALL.iter()
        .filter_map(|annotation| {
            let value = checked.text(annotation.suffix)?;
            Some((which(annotation.sets)?, spelled(annotation, &value)))
        })
        .collect()
}

fn zones(checked: &mut Checked<'_>) -> Vec<ZoneMapping> {
    let Some((key, value)) = checked.annotations.find("zone-maps") else { return Vec::new() };
    let mut zones: Vec<ZoneMapping> = Vec::new();
    let mut wrong = false;
    for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match zone(part) {
            Some(mapping) if zones.iter().all(|other| other.zone != mapping.zone) => zones.push(mapping),
            _ => wrong = true,
        }
    }
    if wrong || zones.is_empty() {
        let expected = "different zones such as zone-a:vsw-id-1,zone-b:vsw-id-2, each with a private address and an \
                        elastic address's id behind if wanted (ZoneMapping format error)";
        checked.mistake(key, value, expected.to_owned());
    }
    zones
}

/// `zone:vswitch[:address[:allocation]]`; an address may be left empty before an allocation.
fn zone(text: &str) -> Option<ZoneMapping> {
    let mut parts = text.split(':').map(str::trim);
    let zone = parts.next().filter(|text| !text.is_empty())?;
    let vswitch = parts.next().filter(|text| !text.is_empty())?;
    let private_address = match parts.next().filter(|text| !text.is_empty()) {
        Some(address) => Some(address.parse::<std::net::Ipv4Addr>().ok()?.into()),
        None => None,
    };
    let allocation = parts.next().filter(|text| !text.is_empty()).map(AllocationId::new);
    parts.next().is_none().then(|| ZoneMapping {
        zone: ZoneId::new(zone),
        vswitch: VSwitchId::new(vswitch),
        private_address,
        allocation,
    })
}

fn range(text: &str) -> Option<PortRange> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (port(first)?, port(last)?);
    (first < last).then_some(PortRange { first, last })
}
