//! What the annotations ask for of a classic load balancer, beyond its members.

use std::net::IpAddr;

use super::{
    Annotations, Mistakes, PREFIX, Requested, Shows,
    catalogue::{self, Sets},
    checked::Checked,
    value::port,
};
use crate::{
    cloud::{Protocol, VSwitchId},
    controllers::service::desired::{BY_BANDWIDTH, BY_USE},
};

/// Reads and checks everything, or tells all that is wrong.
pub(super) fn requested(annotations: &Annotations<'_>) -> Result<Requested, Mistakes> {
    let mut checked = checked(annotations);
    let requested = read(&mut checked);
    checked.outcome(requested)
}

/// Reads what can be read, unless an annotation that has a say about members is wrong.
pub(super) fn requested_of_members(annotations: &Annotations<'_>) -> Option<Requested> {
    let mut checked = checked(annotations);
    let requested = read(&mut checked);
    checked.outcome_for_members(requested, &[])
}

fn checked<'a>(annotations: &'a Annotations<'a>) -> Checked<'a> {
    let ours = catalogue::ALL.iter().filter(|annotation| !matches!(annotation.sets, Sets::Network | Sets::Nothing));
    Checked::of(annotations, ours.map(|annotation| (annotation.suffix, annotation.value)))
}

fn read(checked: &mut Checked<'_>) -> Requested {
    let members = checked.members();
    let protocols =
        checked.pairs("protocol-port", "80:http or https:443, each with tcp, udp, http or https", |a, b| {
            let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == a)?;
            Some((port(b)?, protocol))
        });
    let forwards = checked.pairs("forward-port", "80:443", |a, b| Some((port(a)?, port(b)?)));
    let domain_extensions = checked.annotations.has("domain-extensions").then(|| {
        let split = |a: &str, b: &str| Some((a.to_owned(), b.to_owned())).filter(|_| !a.is_empty() && !b.is_empty());
        checked.pairs("domain-extensions", "example.com:certificate-id", split)
    });
    let listener = catalogue::ALL
        .iter()
        .filter(|annotation| matches!(annotation.sets, Sets::Listener(_) | Sets::Layer4(_) | Sets::Layer7(_)))
        .filter_map(|annotation| Some((annotation.sets, checked.text(annotation.suffix)?)))
        .collect();
    let address = checked.text("ip");
    if let Some((key, value)) = checked.annotations.find("ip")
        && checked.text("address-type").as_deref() != Some("intranet")
        && checked.annotations.get("id").is_none()
    {
        checked.mistake(key, value, "absent: without address-type: intranet, the cloud chooses the address".to_owned());
    }
    if let Some(wrong) = address.as_ref().filter(|text| text.parse::<IpAddr>().is_err()) {
        checked.mistake(format!("{PREFIX}ip"), wrong, "an address such as 192.168.0.10".to_owned());
    }
    contradictions(checked);
    Requested {
        address_type: checked.address_type("address-type"),
        address,
        name: checked.text("name"),
        spec: checked.text("spec"),
        instance_charge_type: checked.text("instance-charge-type"),
        charge_type: checked.text("charge-type"),
        bandwidth: checked.text("bandwidth").and_then(|value| value.parse().ok()),
        vswitch: checked.text("vswitch-id").map(VSwitchId::new),
        master_zone: checked.text("master-zoneid"),
        slave_zone: checked.text("slave-zoneid"),
        resource_group: checked.text("resource-group-id"),
        tags: checked.tags(),
        delete_protection: checked.switch("delete-protection"),
        modification_protection: checked.text("modification-protection"),
        shows: match (checked.text("hostname"), checked.text("external-ip-type")) {
            (Some(name), _) => Shows::HostName(name),
            (None, Some(_)) => Shows::ElasticAddresses,
            (None, None) => Shows::Address,
        },
        protocols,
        forwards,
        certificate: checked.text("cert-id"),
        domain_extensions,
        listener,
        ..members
    }
}

/// What cannot be had together, whatever there is in the cloud.
fn contradictions(checked: &mut Checked<'_>) {
    if let (Some((key, BY_BANDWIDTH)), Some(BY_USE)) =
        (checked.annotations.find("charge-type"), checked.text("instance-charge-type").as_deref())
    {
        let expected = "paybytraffic beside instance-charge-type: PayByCLCU, which is paid by use, traffic included";
        checked.mistake(key, BY_BANDWIDTH, expected.to_owned());
    }
    if let (Some((key, value)), Some(version)) = (checked.annotations.find("ip"), checked.text("ip-version"))
        && value.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6() != (version == "ipv6"))
    {
        checked.mistake(key, value, format!("an {version} address, because ip-version is {version}"));
    }
}
