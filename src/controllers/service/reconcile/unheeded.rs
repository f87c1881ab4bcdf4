//! What a Service asks for and does not get, without that being a reason to fail.

use k8s_openapi::api::core::v1::Service;

use crate::{
    cloud::{AddressType, LoadBalancer},
    controllers::service::annotations::Requested,
};

/// One sentence for each such wish. `there` is the load balancer as it was before.
pub(super) fn notices(service: &Service, requested: &Requested, there: Option<&LoadBalancer>) -> Vec<String> {
    own_address(service, requested, there).into_iter().chain(attributes(requested)).collect()
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
