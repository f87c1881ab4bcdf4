//! Network interfaces that come, go, and are attached to instances.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::Interface;
use crate::sim::cloud::{Context, State, error::Failure, tag, vpc::vswitch};

fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidEniId.NotFound", format!("The network interface {id} does not exist."))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("VSwitchId")?;
    if !state.network.vswitches.contains_key(id) {
        return Err(vswitch::missing(id));
    }
    let mut groups = cx.params.list("SecurityGroupIds");
    groups.extend(cx.params.get("SecurityGroupId").map(str::to_owned));
    if let Some(unknown) = groups.iter().find(|group| !state.ecs.security_groups.contains_key(*group)) {
        return Err(super::security_group::missing(unknown));
    }
    let mut addresses = cx.params.list("PrivateIpAddress");
    if let Some(primary) = cx.params.get("PrimaryIpAddress") {
        addresses.retain(|address| address != primary);
        addresses.insert(0, primary.to_owned());
    }
    let private_ips: Vec<Ipv4Addr> = addresses
        .iter()
        .map(|text| text.parse().map_err(|_| Failure::invalid("PrivateIpAddress")))
        .collect::<Result<_, _>>()?;
    let interface = Interface {
        id: cx.id("eni-bp1"),
        primary: false,
        instance: None,
        vswitch: id.to_owned(),
        vpc: String::new(),
        zone: String::new(),
        mac: String::new(),
        private_ips,
        ipv6: Vec::new(),
        source_dest_check: cx.params.flag("SourceDestCheck").unwrap_or(true),
        name: cx.params.text("NetworkInterfaceName"),
        description: cx.params.text("Description"),
        security_groups: groups,
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    let eni = interface.id.clone();
    state
        .add_interface(interface, cx.now)
        .map_err(|error| Failure::bad("InvalidOperation.AddressAlreadyAllocated", error.to_string()))?;
    let more = cx.params.number::<usize>("SecondaryPrivateIpAddressCount")?.unwrap_or_default();
    for _ in 0..more.min(49) {
        if let Some(address) = state.network.take_address(id)
            && let Some(interface) = state.ecs.interfaces.get_mut(&eni)
        {
            interface.private_ips.push(address);
        }
    }
    cx.change();
    let interface = state.ecs.interfaces.get(&eni).ok_or_else(|| missing(&eni))?;
    let mut reply = super::interface::item(state, interface);
    if let Value::Object(fields) = &mut reply {
        for absent in ["InstanceId", "DeleteOnRelease", "CreationTime", "AssociatedPublicIp"] {
            fields.remove(absent);
        }
    }
    Ok(reply)
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("NetworkInterfaceId")?;
    let interface = state.ecs.interfaces.get(id).ok_or_else(|| missing(id))?;
    if interface.instance.is_some() {
        return Err(Failure::bad("InvalidOperation.InvalidEniState", format!("The interface {id} is attached.")));
    }
    if let Some(interface) = state.ecs.interfaces.remove(id) {
        interface.private_ips.iter().for_each(|address| state.network.release_address(&interface.vswitch, *address));
        state.slb.forget_server(id);
    }
    cx.change();
    Ok(json!({}))
}

pub(super) fn attach(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (id, to) = (cx.params.required("NetworkInterfaceId")?, cx.params.required("InstanceId")?);
    let instance = state.ecs.instances.get_mut(to).ok_or_else(|| super::instance::missing(to))?;
    let interface = state.ecs.interfaces.get_mut(id).ok_or_else(|| missing(id))?;
    if interface.instance.is_some() {
        return Err(Failure::bad("InvalidOperation.InvalidEniState", format!("The interface {id} is attached.")));
    }
    if interface.vpc != instance.vpc {
        return Err(Failure::new(403, "InvalidEni.NotSameVpc", format!("The interface {id} is in another VPC.")));
    }
    if interface.zone != instance.zone {
        return Err(Failure::new(
            403,
            "InvalidOperation.AvailabilityZoneMismatch",
            format!("The interface {id} is in another zone."),
        ));
    }
    interface.instance = Some(to.to_owned());
    instance.interfaces.push(id.to_owned());
    cx.change();
    Ok(json!({}))
}

pub(super) fn detach(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (id, from) = (cx.params.required("NetworkInterfaceId")?, cx.params.required("InstanceId")?);
    let interface = state.ecs.interfaces.get_mut(id).ok_or_else(|| missing(id))?;
    if interface.instance.as_deref() != Some(from) {
        return Err(Failure::bad(
            "InvalidParameter.EniNotBelongEcs",
            format!("The interface {id} is not attached to {from}."),
        ));
    }
    if interface.primary {
        return Err(Failure::bad(
            "InvalidOperation.DetachPrimaryEniNotAllowed",
            "A primary interface cannot be detached.",
        ));
    }
    interface.instance = None;
    if let Some(instance) = state.ecs.instances.get_mut(from) {
        instance.interfaces.retain(|one| one != id);
    }
    cx.change();
    Ok(json!({}))
}
