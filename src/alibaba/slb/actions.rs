//! Changes as SLB calls.

use super::{access_list, setting, wire};
use crate::{
    alibaba::rpc::{Client, Product, Request},
    cloud::{
        Action, Class, Effect, Error, ListenerSettings, LoadBalancerId, Member, Protocol, Setting,
        action::{CreateLoadBalancer, ListenerChange},
    },
};

/// Carries out one change. Deleting what is gone is a success.
pub(super) async fn execute(client: &Client, action: &Action) -> Result<Effect, Error> {
    let request = request(action);
    match action {
        Action::CreateLoadBalancer(create) => {
            let reply = client.call::<wire::Created>(&request).await?;
            Ok(Effect::LoadBalancerCreated(Box::new(reply.into_load_balancer(create))))
        }
        Action::CreateServerGroup { .. } => {
            let reply = client.call::<wire::GroupCreated>(&request).await?;
            Ok(Effect::ServerGroupCreated(reply.id()))
        }
        Action::CreateDomainExtension { .. } => {
            let reply = client.call::<wire::DomainExtensionCreated>(&request).await?;
            Ok(Effect::DomainExtensionCreated(reply.id()))
        }
        Action::CreateAccessList(_) => {
            let reply = client.call::<access_list::Created>(&request).await?;
            Ok(Effect::AccessListCreated(reply.id.into()))
        }
        Action::AddAccessEntries { .. } | Action::RemoveAccessEntries { .. } => {
            client.run(&request).await.map(|()| Effect::Done).map_err(access_list::about_it)
        }
        Action::Tag { .. } => client.run(&request).await.map(|()| Effect::Done).map_err(access_list::about_it),
        Action::Untag { .. } | Action::DeleteAccessList { .. } | Action::UntagAccessList { .. } => {
            match client.run(&request).await.map_err(access_list::about_it) {
                Err(error) if error.class != Class::NotFound => Err(error),
                _ => Ok(Effect::Done),
            }
        }
        Action::DeleteLoadBalancer { .. }
        | Action::DeleteServerGroup { .. }
        | Action::DeleteListener { .. }
        | Action::DeleteDomainExtension { .. }
        | Action::RemoveMembers { .. } => match client.run(&request).await {
            Err(error) if error.class != Class::NotFound => Err(error),
            _ => Ok(Effect::Done),
        },
        _ => client.run(&request).await.map(|()| Effect::Done),
    }
}

/// The call that a change is.
pub(super) fn request(action: &Action) -> Request {
    match action {
        Action::CreateLoadBalancer(create) => create_load_balancer(create),
        Action::DeleteLoadBalancer { load_balancer } => on("DeleteLoadBalancer", load_balancer),
        Action::SetDeleteProtection { load_balancer, on: protect } => {
            on("SetLoadBalancerDeleteProtection", load_balancer).param("DeleteProtection", switch(*protect))
        }
        Action::SetModificationProtection { load_balancer, status, reason } => {
            on("SetLoadBalancerModificationProtection", load_balancer)
                .param("ModificationProtectionStatus", status)
                .param_if("ModificationProtectionReason", filled(reason))
        }
        Action::SetName { load_balancer, name } => {
            on("SetLoadBalancerName", load_balancer).param("LoadBalancerName", name)
        }
        Action::SetInternetSpec { load_balancer, charge_type, bandwidth } => {
            on("ModifyLoadBalancerInternetSpec", load_balancer)
                .param_if("InternetChargeType", charge_type.as_ref())
                .param_if("Bandwidth", *bandwidth)
        }
        Action::SetSpec { load_balancer, spec } => {
            on("ModifyLoadBalancerInstanceSpec", load_balancer).param("LoadBalancerSpec", spec)
        }
        Action::SetInstanceChargeType { load_balancer, charge_type, spec } => {
            on("ModifyLoadBalancerInstanceChargeType", load_balancer)
                .param("InstanceChargeType", charge_type)
                .param_if("LoadBalancerSpec", spec.as_ref())
        }
        Action::Tag { load_balancer, tags } => tagging("TagResources", load_balancer).tags(tags),
        Action::Untag { load_balancer, keys } => tagging("UntagResources", load_balancer).list("TagKey", keys),
        Action::CreateServerGroup { load_balancer, name, members } => {
            let request = on("CreateVServerGroup", load_balancer).param("VServerGroupName", name);
            if members.is_empty() { request } else { with_members(request, members) }
        }
        Action::DeleteServerGroup { load_balancer, group } => {
            slb("DeleteVServerGroup").about(format!("{group} of {load_balancer}")).param("VServerGroupId", group)
        }
        Action::AddMembers { load_balancer, group, members } => with_members(
            slb("AddVServerGroupBackendServers")
                .about(format!("{group} of {load_balancer}"))
                .param("VServerGroupId", group),
            members,
        ),
        Action::UpdateMembers { load_balancer, group, members } => with_members(
            slb("SetVServerGroupAttribute").about(format!("{group} of {load_balancer}")).param("VServerGroupId", group),
            members,
        ),
        Action::RemoveMembers { load_balancer, group, members } => with_members(
            slb("RemoveVServerGroupBackendServers")
                .about(format!("{group} of {load_balancer}"))
                .param("VServerGroupId", group),
            members,
        ),
        Action::CreateListener(change) => create_listener(change),
        Action::UpdateListener(change) => update_listener(change),
        Action::StartListener { load_balancer, port, protocol } => {
            listener("StartLoadBalancerListener", load_balancer, *port, *protocol).param("ListenerProtocol", protocol)
        }
        Action::DeleteListener { load_balancer, port, protocol } => {
            listener("DeleteLoadBalancerListener", load_balancer, *port, *protocol).param("ListenerProtocol", protocol)
        }
        Action::CreateDomainExtension { load_balancer, port, domain, certificate } => {
            listener("CreateDomainExtension", load_balancer, *port, Protocol::Https)
                .param("Domain", domain)
                .param("ServerCertificateId", certificate)
        }
        Action::SetDomainExtension { load_balancer, port, id, certificate } => slb("SetDomainExtensionAttribute")
            .about(format!("{id} of {port}/https of {load_balancer}"))
            .param("DomainExtensionId", id)
            .param("ServerCertificateId", certificate),
        Action::DeleteDomainExtension { load_balancer, port, id } => slb("DeleteDomainExtension")
            .about(format!("{id} of {port}/https of {load_balancer}"))
            .param("DomainExtensionId", id),
        Action::CreateAccessList(create) => access_list::create(create),
        Action::AddAccessEntries { list, entries } => access_list::change("AddAccessControlListEntry", list, entries),
        Action::RemoveAccessEntries { list, entries } => {
            access_list::change("RemoveAccessControlListEntry", list, entries)
        }
        Action::DeleteAccessList { list } => access_list::on("DeleteAccessControlList", list),
        Action::UntagAccessList { list, keys } => access_list::untag(list, keys),
    }
}

fn slb(action: impl Into<String>) -> Request {
    Request::write(Product::Slb, action)
}

fn on(action: &str, load_balancer: &LoadBalancerId) -> Request {
    slb(action).about(load_balancer).param("LoadBalancerId", load_balancer)
}

fn create_load_balancer(create: &CreateLoadBalancer) -> Request {
    let request = slb("CreateLoadBalancer")
        .about(&create.name)
        .param("LoadBalancerName", &create.name)
        .param("AddressType", create.address_type.as_str())
        .param_if("VpcId", create.vpc.as_ref())
        .param_if("VSwitchId", create.vswitch.as_ref())
        .param_if("InstanceChargeType", create.instance_charge_type.as_ref())
        .param_if("LoadBalancerSpec", create.spec.as_ref())
        .param_if("InternetChargeType", create.internet_charge_type.as_ref())
        .param_if("Bandwidth", create.bandwidth)
        .param("DeleteProtection", switch(create.delete_protection))
        .param_if("ModificationProtectionStatus", filled(&create.modification_protection))
        .param_if("ModificationProtectionReason", filled(&create.modification_protection_reason))
        .param_if("ResourceGroupId", create.resource_group.as_ref())
        .param_if("MasterZoneId", create.master_zone.as_ref())
        .param_if("SlaveZoneId", create.slave_zone.as_ref())
        .param_if("AddressIPVersion", create.ip_version.as_ref())
        .param_if("Address", create.address.as_ref())
        .param_if("ClientToken", filled(&create.token));
    request.tags(&create.tags)
}

fn tagging(action: &str, load_balancer: &LoadBalancerId) -> Request {
    slb(action).about(load_balancer).param("ResourceType", "instance").list("ResourceId", [load_balancer])
}

fn with_members(request: Request, members: &[Member]) -> Request {
    request.param("BackendServers", wire::backend_servers(members))
}

fn listener(action: &str, load_balancer: &LoadBalancerId, port: u16, protocol: Protocol) -> Request {
    slb(action)
        .about(format!("{port}/{protocol} of {load_balancer}"))
        .param("LoadBalancerId", load_balancer)
        .param("ListenerPort", port)
}

fn create_listener(change: &ListenerChange) -> Request {
    let ListenerChange { load_balancer, port, protocol, description, group, settings } = change;
    let action = format!("CreateLoadBalancer{}Listener", protocol.as_str().to_uppercase());
    let request = listener(&action, load_balancer, *port, *protocol)
        .param_if("Description", description.as_ref().and_then(|text| filled(text)))
        .param_if("VServerGroupId", group.as_ref())
        // Without a port to forward to it does not forward.
        .param_if("ListenerForward", settings.get(Setting::ForwardPort).map(|_| "on"));
    with_settings(request, settings, |setting| setting::created_as(setting, *protocol))
}

fn with_settings(
    request: Request,
    settings: &ListenerSettings,
    name: impl Fn(Setting) -> Option<&'static str>,
) -> Request {
    let named = settings.iter().filter_map(|(setting, value)| Some((name(setting)?, value)));
    named.fold(request, |request, (name, value)| request.param(name, value))
}

fn update_listener(change: &ListenerChange) -> Request {
    let ListenerChange { load_balancer, port, protocol, description, group, settings } = change;
    let action = format!("SetLoadBalancer{}ListenerAttribute", protocol.as_str().to_uppercase());
    let request = listener(&action, load_balancer, *port, *protocol)
        .param_if("Description", description.as_ref())
        // Without the switch the group would be ignored.
        .param_if("VServerGroup", group.as_ref().map(|_| "on"))
        .param_if("VServerGroupId", group.as_ref());
    with_settings(request, settings, |setting| setting::name(setting, *protocol))
}

fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
