//! Changes as NLB and ECS calls.

use serde_json::{Map, Value};

use super::{
    setting::{self, Form},
    wire,
};
use crate::{
    alibaba::{
        lists::join,
        rpc::{Client, Product, Request},
    },
    cloud::{
        AddressType, Class, Error, ListenerId, LoadBalancerId, Made, Member, MemberKind, NetworkAction, NetworkEffect,
        NetworkGroupSettings, NetworkListenerSettings, PortRange, SecurityGroupId, ServerGroupId, SourceRule,
        ZoneMapping,
        network_action::{
            CreateNetworkGroup, CreateNetworkListener, CreateNetworkLoadBalancer, CreateSecurityGroup,
            NetworkListenerChange,
        },
    },
};

/// Begins one change. Deleting what is gone is a success.
pub(super) async fn execute(client: &Client, action: &NetworkAction) -> Result<NetworkEffect, Error> {
    let request = request(action);
    let reply = match client.call::<wire::Changed>(&request).await {
        Ok(reply) => reply,
        Err(error) if error.class == Class::NotFound && removes(action) => {
            return Ok(NetworkEffect { job: None, made: Made::Nothing });
        }
        Err(error) => return Err(error),
    };
    let missing = |what: &str| {
        Error::new(Class::Unknown, &request.action, &request.subject, format!("the answer does not tell the {what}"))
    };
    let made = match action {
        NetworkAction::CreateLoadBalancer(_) => {
            Made::LoadBalancer(reply.load_balancer.ok_or_else(|| missing("load balancer"))?.into())
        }
        NetworkAction::CreateGroup(_) => Made::Group(reply.group.ok_or_else(|| missing("server group"))?.into()),
        NetworkAction::CreateListener(_) => Made::Listener(reply.listener.ok_or_else(|| missing("listener"))?.into()),
        NetworkAction::CreateSecurityGroup(_) => {
            Made::SecurityGroup(reply.security_group.ok_or_else(|| missing("security group"))?.into())
        }
        _ => Made::Nothing,
    };
    Ok(NetworkEffect { job: reply.job.map(Into::into), made })
}

/// Whether the change is done when what it is about does not exist.
fn removes(action: &NetworkAction) -> bool {
    matches!(
        action,
        NetworkAction::DeleteLoadBalancer { .. }
            | NetworkAction::DeleteGroup { .. }
            | NetworkAction::DeleteListener { .. }
            | NetworkAction::DeleteSecurityGroup { .. }
            | NetworkAction::RemoveRules { .. }
    )
}

/// The call that a change is.
pub(super) fn request(action: &NetworkAction) -> Request {
    match action {
        NetworkAction::CreateLoadBalancer(create) => create_load_balancer(create),
        NetworkAction::DeleteLoadBalancer { load_balancer } => on("DeleteLoadBalancer", load_balancer),
        NetworkAction::Unprotect { load_balancer } => on("UpdateLoadBalancerProtection", load_balancer)
            .param("DeletionProtectionEnabled", false)
            .param("ModificationProtectionStatus", "NonProtection"),
        NetworkAction::SetAttributes { load_balancer, name, cross_zone } => {
            on("UpdateLoadBalancerAttribute", load_balancer)
                .param_if("LoadBalancerName", name.as_ref())
                .param_if("CrossZoneEnabled", *cross_zone)
        }
        NetworkAction::SetAddressType { load_balancer, address_type, zones } => {
            let request =
                on("UpdateLoadBalancerAddressTypeConfig", load_balancer).param("AddressType", spelled(*address_type));
            let named = zones.iter().filter(|mapping| mapping.allocation.is_some()).cloned();
            with_zones(request, &named.collect::<Vec<_>>(), false)
        }
        NetworkAction::SetZones { load_balancer, zones } => {
            with_zones(on("UpdateLoadBalancerZones", load_balancer), zones, true)
        }
        NetworkAction::SetIpv6AddressType { load_balancer, address_type } => on(
            match address_type {
                AddressType::Internet => "EnableLoadBalancerIpv6Internet",
                AddressType::Intranet => "DisableLoadBalancerIpv6Internet",
            },
            load_balancer,
        ),
        NetworkAction::JoinSecurityGroups { load_balancer, groups } => {
            on("LoadBalancerJoinSecurityGroup", load_balancer).list("SecurityGroupIds", groups)
        }
        NetworkAction::LeaveSecurityGroups { load_balancer, groups } => {
            on("LoadBalancerLeaveSecurityGroup", load_balancer).list("SecurityGroupIds", groups)
        }
        NetworkAction::AttachBandwidthPackage { load_balancer, package } => {
            on("AttachCommonBandwidthPackageToLoadBalancer", load_balancer).param("BandwidthPackageId", package)
        }
        NetworkAction::DetachBandwidthPackage { load_balancer, package } => {
            on("DetachCommonBandwidthPackageFromLoadBalancer", load_balancer).param("BandwidthPackageId", package)
        }
        NetworkAction::Tag { load_balancer, tags } => {
            tagging("TagResources", "loadbalancer", &[load_balancer.as_str()]).tags(tags)
        }
        NetworkAction::Untag { load_balancer, keys } => {
            tagging("UntagResources", "loadbalancer", &[load_balancer.as_str()]).list("TagKey", keys)
        }
        NetworkAction::UntagGroups { groups, keys } => {
            let ids: Vec<&str> = groups.iter().map(ServerGroupId::as_str).collect();
            tagging("UntagResources", "servergroup", &ids).list("TagKey", keys)
        }
        NetworkAction::CreateGroup(create) => create_group(create),
        NetworkAction::UpdateGroup { group, settings } => {
            with_group_settings(of_group("UpdateServerGroupAttribute", group), settings)
        }
        NetworkAction::DeleteGroup { group } => of_group("DeleteServerGroup", group),
        NetworkAction::AddMembers { group, members } => {
            with_members(of_group("AddServersToServerGroup", group), members, true)
        }
        NetworkAction::UpdateMembers { group, members } => {
            with_members(of_group("UpdateServerGroupServersAttribute", group), members, true)
        }
        NetworkAction::RemoveMembers { group, members } => {
            with_members(of_group("RemoveServersFromServerGroup", group), members, false)
        }
        NetworkAction::CreateListener(create) => create_listener(create),
        NetworkAction::UpdateListener(change) => update_listener(change),
        NetworkAction::StartListener { load_balancer, listener } => {
            of_listener("StartListener", load_balancer, listener)
        }
        NetworkAction::DeleteListener { load_balancer, listener } => {
            of_listener("DeleteListener", load_balancer, listener)
        }
        NetworkAction::AddCertificates { load_balancer, listener, certificates } => {
            of_listener("AssociateAdditionalCertificatesWithListener", load_balancer, listener)
                .list("AdditionalCertificateIds", certificates)
        }
        NetworkAction::RemoveCertificates { load_balancer, listener, certificates } => {
            of_listener("DisassociateAdditionalCertificatesWithListener", load_balancer, listener)
                .list("AdditionalCertificateIds", certificates)
        }
        NetworkAction::CreateSecurityGroup(create) => create_security_group(create),
        NetworkAction::NameSecurityGroup { group, name, description } => name_security_group(group, name, description),
        NetworkAction::AddRules { group, rules } => (1..)
            .zip(rules)
            .fold(of_security_group("AuthorizeSecurityGroup", group), |request, (n, rule)| with_rule(request, n, rule)),
        NetworkAction::RemoveRules { group, rules } => {
            of_security_group("RevokeSecurityGroup", group).list("SecurityGroupRuleId", rules)
        }
        NetworkAction::DeleteSecurityGroup { group } => {
            // This call takes no token; a second attempt finds nothing and is done.
            Request::write(Product::Ecs, "DeleteSecurityGroup")
                .about(group)
                .param("SecurityGroupId", group)
                .fails_when_busy()
        }
    }
}

fn nlb(action: &str) -> Request {
    Request::write(Product::Nlb, action).with_fresh_token().fails_when_busy()
}

fn ecs(action: &str) -> Request {
    Request::write(Product::Ecs, action).with_fresh_token().fails_when_busy()
}

fn on(action: &str, load_balancer: &LoadBalancerId) -> Request {
    nlb(action).about(load_balancer).param("LoadBalancerId", load_balancer)
}

fn of_group(action: &str, group: &ServerGroupId) -> Request {
    nlb(action).about(group).param("ServerGroupId", group)
}

fn of_listener(action: &str, load_balancer: &LoadBalancerId, listener: &ListenerId) -> Request {
    nlb(action).about(format!("{listener} of {load_balancer}")).param("ListenerId", listener)
}

fn tagging(action: &str, kind: &str, ids: &[&str]) -> Request {
    nlb(action).about(join(ids)).param("ResourceType", kind).list("ResourceId", ids)
}

fn spelled(address_type: AddressType) -> &'static str {
    match address_type {
        AddressType::Internet => "Internet",
        AddressType::Intranet => "Intranet",
    }
}

fn create_load_balancer(create: &CreateNetworkLoadBalancer) -> Request {
    let request = Request::write(Product::Nlb, "CreateLoadBalancer")
        .fails_when_busy()
        .about(&create.name)
        .param("LoadBalancerName", &create.name)
        .param("AddressType", spelled(create.address_type))
        .param_if("AddressIpVersion", create.ip_version.as_ref())
        .param_if("VpcId", create.vpc.as_ref())
        .param_if("BandwidthPackageId", create.bandwidth_package.as_ref())
        .param_if("ResourceGroupId", create.resource_group.as_ref())
        .param("DeletionProtectionConfig.Enabled", true)
        .param("DeletionProtectionConfig.Reason", &create.protection_reason)
        .param("ModificationProtectionConfig.Status", "ConsoleProtection")
        .param("ModificationProtectionConfig.Reason", &create.protection_reason)
        .param_if("ClientToken", Some(&create.token).filter(|token| !token.is_empty()));
    with_zones(request, &create.zones, true).tags(&create.tags)
}

/// What is not given is left out: an empty private address is refused.
fn with_zones(request: Request, zones: &[ZoneMapping], addresses: bool) -> Request {
    (1..).zip(zones).fold(request, |request, (n, mapping)| {
        let name = |field: &str| format!("ZoneMappings.{n}.{field}");
        request
            .param(&name("ZoneId"), &mapping.zone)
            .param(&name("VSwitchId"), &mapping.vswitch)
            .param_if(&name("PrivateIPv4Address"), mapping.private_address.filter(|_| addresses))
            .param_if(&name("AllocationId"), mapping.allocation.as_ref())
    })
}

fn create_group(create: &CreateNetworkGroup) -> Request {
    let request = nlb("CreateServerGroup")
        .about(&create.name)
        .param("ServerGroupName", &create.name)
        .param("ServerGroupType", create.kind.as_str())
        .param("Protocol", create.protocol)
        .param_if("AnyPortEnabled", create.any_port.then_some(true))
        .param_if("VpcId", create.vpc.as_ref())
        .param_if("AddressIPVersion", create.ip_version.as_ref())
        .param_if("ResourceGroupId", create.resource_group.as_ref());
    with_group_settings(request, &create.settings).tags(&create.tags)
}

fn with_group_settings(request: Request, settings: &NetworkGroupSettings) -> Request {
    let request = setting::GROUP
        .into_iter()
        .filter_map(|(of, name)| Some((of, name, settings.get(of)?)))
        .fold(request, |request, (of, name, value)| request.param(name, setting::sent(of, value)));
    setting::GROUP_HEALTH.into_iter().filter_map(|(of, name, form)| Some((name, form, settings.get(of)?))).fold(
        request,
        |request, (name, form, value)| {
            let name = format!("{}.{name}", setting::HEALTH_CHECK);
            match form {
                Form::List => request.list(&name, value.split(',')),
                _ => request.param(&name, value),
            }
        },
    )
}

fn with_members(request: Request, members: &[Member], in_full: bool) -> Request {
    (1..).zip(members).fold(request, |request, (n, member)| {
        let name = |field: &str| format!("Servers.{n}.{field}");
        let request = request
            .param(&name("ServerId"), &member.server)
            .param(&name("ServerType"), kind(member.kind))
            .param_if(&name("ServerIp"), member.address)
            .param(&name("Port"), member.port);
        if !in_full {
            return request;
        }
        request
            .param(&name("Weight"), member.weight)
            .param_if(&name("Description"), Some(&member.description).filter(|text| !text.is_empty()))
    })
}

fn kind(kind: MemberKind) -> &'static str {
    match kind {
        MemberKind::Ecs => "Ecs",
        MemberKind::Eni => "Eni",
        MemberKind::Eci => "Eci",
        MemberKind::Ip => "Ip",
    }
}

fn create_listener(create: &CreateNetworkListener) -> Request {
    let CreateNetworkListener { load_balancer, protocol, ports, description, group, settings } = create;
    let request = nlb("CreateListener")
        .about(format!("{ports}/{protocol} of {load_balancer}"))
        .param("LoadBalancerId", load_balancer)
        .param("ListenerProtocol", protocol)
        .param("ListenerDescription", description)
        .param("ServerGroupId", group);
    with_listener_settings(with_ports(request, *ports), settings)
}

fn with_ports(request: Request, ports: PortRange) -> Request {
    match ports.single() {
        Some(port) => request.param("ListenerPort", port),
        None => request.param("ListenerPort", 0).param("StartPort", ports.first).param("EndPort", ports.last),
    }
}

fn with_listener_settings(mut request: Request, settings: &NetworkListenerSettings) -> Request {
    let mut proxy = Map::new();
    for (of, name, form) in setting::LISTENER {
        let Some(value) = settings.get(of) else { continue };
        request = match form {
            Form::Plain => request.param(name, value),
            Form::List => request.list(name, value.split(',')),
            Form::Proxy => {
                proxy.insert(name.to_owned(), Value::Bool(value == "true"));
                request
            }
        };
    }
    if proxy.is_empty() { request } else { request.param("ProxyProtocolV2Config", Value::Object(proxy)) }
}

fn update_listener(change: &NetworkListenerChange) -> Request {
    let NetworkListenerChange { load_balancer, listener, description, group, settings } = change;
    with_listener_settings(of_listener("UpdateListenerAttribute", load_balancer, listener), settings)
        .param_if("ListenerDescription", description.as_ref())
        .param_if("ServerGroupId", group.as_ref())
}

fn create_security_group(create: &CreateSecurityGroup) -> Request {
    let request = ecs("CreateSecurityGroup")
        .about(&create.name)
        .param("SecurityGroupName", &create.name)
        .param("SecurityGroupType", "enterprise")
        .param("Description", &create.description)
        .param_if("VpcId", create.vpc.as_ref())
        .param_if("ResourceGroupId", create.resource_group.as_ref());
    request.tags(&create.tags)
}

fn of_security_group(action: &str, group: &SecurityGroupId) -> Request {
    ecs(action).about(group).param("SecurityGroupId", group)
}

/// This call takes no token either; a second attempt changes nothing.
fn name_security_group(group: &SecurityGroupId, name: &str, description: &str) -> Request {
    Request::write(Product::Ecs, "ModifySecurityGroupAttribute")
        .about(group)
        .param("SecurityGroupId", group)
        .param("SecurityGroupName", name)
        .param("Description", description)
        .fails_when_busy()
}

fn with_rule(request: Request, n: usize, rule: &SourceRule) -> Request {
    let name = |field: &str| format!("Permissions.{n}.{field}");
    let source = if rule.source.addr().is_ipv6() { "Ipv6SourceCidrIp" } else { "SourceCidrIp" };
    request
        .param(&name("Policy"), rule.policy.as_str())
        .param(&name(source), rule.source)
        .param(&name("Priority"), rule.priority)
        .param(&name("IpProtocol"), "ALL")
        .param(&name("PortRange"), "-1/-1")
        .param(&name("Description"), &rule.description)
}
