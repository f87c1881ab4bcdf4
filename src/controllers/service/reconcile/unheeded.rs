//! What a Service asks for and does not get, without that being a reason to fail.

use k8s_openapi::api::core::v1::{Service, ServicePort};

use crate::{
    cloud::{AddressType, LoadBalancer, Protocol, Setting},
    controllers::service::{
        annotations::Requested,
        desired::{BY_SPEC, BY_USE},
    },
};

/// One sentence for each such wish. `there` is the load balancer as it was before.
pub(super) fn notices(service: &Service, requested: &Requested, there: Option<&LoadBalancer>) -> Vec<String> {
    let affinity = client_affinity(service, requested);
    let others = [specification(requested, there), affinity, attributes(requested)];
    own_address(service, requested, there).into_iter().chain(others.into_iter().flatten()).collect()
}

/// Load balancers that are paid by use have no specification.
fn specification(requested: &Requested, there: Option<&LoadBalancer>) -> Option<String> {
    let asked = requested.spec.as_ref().filter(|_| requested.id.is_none())?;
    let paid = there.and_then(|there| there.instance_charge_type.as_deref());
    let paid = requested.instance_charge_type.as_deref().filter(|_| there.is_none()).or(paid).unwrap_or(BY_USE);
    (paid == BY_USE).then(|| {
        format!(
            "the annotation spec ({asked}) has no effect: the load balancer is paid by use ({BY_USE}) and has no \
             specification; a new one has one with the annotation instance-charge-type: {BY_SPEC}"
        )
    })
}

/// kube-proxy keeps a client with a pod as far as one node sees it. The load balancer in front spreads
/// clients over nodes as it likes, unless asked for more.
fn client_affinity(service: &Service, requested: &Requested) -> Option<String> {
    let spec = service.spec.as_ref()?;
    let asked = spec.session_affinity.as_deref() == Some("ClientIP");
    let keeps = |protocol| {
        let settings = requested.listener_settings(protocol);
        settings.get(Setting::PersistenceTimeout).is_some_and(|seconds| seconds != "0")
            || settings.get(Setting::StickySession) == Some("on")
    };
    let own = |port: &ServicePort| if port.protocol.as_deref() == Some("UDP") { Protocol::Udp } else { Protocol::Tcp };
    let protocol_of = |port: &ServicePort| Some(requested.protocol_of(u16::try_from(port.port).ok()?, own(port)));
    let loose = spec.ports.iter().flatten().any(|port| protocol_of(port).is_some_and(|protocol| !keeps(protocol)));
    (asked && loose).then(|| {
        "spec.sessionAffinity ClientIP holds behind the load balancer only: for the load balancer itself, set the annotation \
         persistence-timeout (TCP) or sticky-session (HTTP, HTTPS)"
            .to_owned()
    })
}

/// `spec.loadBalancerIP` counts when an intranet load balancer is made, and then no more.
fn own_address(service: &Service, requested: &Requested, there: Option<&LoadBalancer>) -> Option<String> {
    let asked = service.spec.as_ref()?.load_balancer_ip.as_deref().filter(|asked| !asked.is_empty())?;
    let why = match there {
        Some(there) if there.address == asked => return None,
        Some(there) => format!("the address of a load balancer that exists cannot be changed; it is {}", there.address),
        None if requested.address.is_some() => "the annotation ip asks for an address, too".to_owned(),
        None if requested.address_type != Some(AddressType::Intranet) => {
            "the cloud chooses internet addresses itself; to keep one, make the load balancer yourself and use the \
             annotation id, or use address-type: intranet and bind an elastic address to it"
                .to_owned()
        }
        None if asked.parse::<std::net::IpAddr>().is_err() => "it is no address".to_owned(),
        None => return None,
    };
    Some(format!("spec.loadBalancerIP {asked} has no effect: {why}"))
}

/// On a load balancer of the user's, attributes are the user's as well.
fn attributes(requested: &Requested) -> Option<String> {
    if requested.id.is_none() || requested.force_override_listeners {
        return None;
    }
    let asked = [
        ("name", requested.name.is_some()),
        ("spec", requested.spec.is_some()),
        ("instance-charge-type", requested.instance_charge_type.is_some()),
        ("charge-type", requested.charge_type.is_some()),
        ("bandwidth", requested.bandwidth.is_some()),
        ("delete-protection", requested.delete_protection.is_some()),
        ("modification-protection", requested.modification_protection.is_some()),
        ("additional-resource-tags", !requested.tags.is_empty()),
    ];
    left_alone(&asked)
}

/// That those of the attributes which are asked for are left alone.
pub(in crate::controllers::service) fn left_alone(attributes: &[(&str, bool)]) -> Option<String> {
    let asked: Vec<&str> = attributes.iter().filter(|(_, is_asked)| *is_asked).map(|(name, _)| *name).collect();
    (!asked.is_empty()).then(|| {
        format!(
            "the annotations {} have no effect: the load balancer is yours (annotation id), and its attributes and \
             listeners are left alone unless the annotation force-override-listeners is true",
            asked.join(", ")
        )
    })
}
