//! Changes to network load balancers, their groups and their security groups as plain data.
//!
//! As for classic load balancers, one action is one API call and names objects by the ids they
//! have. Most are only begun when the call answers; see [`super::NetworkEffect::job`].

use std::{collections::BTreeMap, fmt};

use super::{
    AddressType, ListenerId, LoadBalancerId, Member, NetworkGroup, NetworkGroupKind, NetworkGroupSettings,
    NetworkGroupStatus, NetworkListener, NetworkListenerSettings, NetworkListenerStatus, NetworkLoadBalancer,
    NetworkProtocol, NetworkStatus, PortRange, SecurityGroupId, ServerGroupId, SourceRule, VpcId, ZoneMapping,
};

/// One change, which is one API call. Of NLB, unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkAction {
    /// `CreateLoadBalancer`. No job: it is provisioning until its status says otherwise.
    CreateLoadBalancer(CreateNetworkLoadBalancer),
    /// `DeleteLoadBalancer`; listeners go with it, groups stay.
    DeleteLoadBalancer { load_balancer: LoadBalancerId },
    /// `UpdateLoadBalancerProtection`: both protections off.
    Unprotect { load_balancer: LoadBalancerId },
    /// `UpdateLoadBalancerAttribute`; what is `None` is not sent.
    SetAttributes { load_balancer: LoadBalancerId, name: Option<String>, cross_zone: Option<bool> },
    /// `UpdateLoadBalancerAddressTypeConfig`; the zones name elastic addresses to use.
    SetAddressType { load_balancer: LoadBalancerId, address_type: AddressType, zones: Vec<ZoneMapping> },
    /// `UpdateLoadBalancerZones`: zones that are not in the list are given up.
    SetZones { load_balancer: LoadBalancerId, zones: Vec<ZoneMapping> },
    /// `EnableLoadBalancerIpv6Internet` or `DisableLoadBalancerIpv6Internet`.
    SetIpv6AddressType { load_balancer: LoadBalancerId, address_type: AddressType },
    /// `LoadBalancerJoinSecurityGroup`.
    JoinSecurityGroups { load_balancer: LoadBalancerId, groups: Vec<SecurityGroupId> },
    /// `LoadBalancerLeaveSecurityGroup`.
    LeaveSecurityGroups { load_balancer: LoadBalancerId, groups: Vec<SecurityGroupId> },
    /// `AttachCommonBandwidthPackageToLoadBalancer`.
    AttachBandwidthPackage { load_balancer: LoadBalancerId, package: String },
    /// `DetachCommonBandwidthPackageFromLoadBalancer`.
    DetachBandwidthPackage { load_balancer: LoadBalancerId, package: String },
    /// `TagResources` on the load balancer.
    Tag { load_balancer: LoadBalancerId, tags: BTreeMap<String, String> },
    /// `UntagResources` on the load balancer.
    Untag { load_balancer: LoadBalancerId, keys: Vec<String> },
    /// `CreateServerGroup`; without members, which the API cannot take along.
    CreateGroup(CreateNetworkGroup),
    /// `UpdateServerGroupAttribute`; settings that are not given are left alone.
    UpdateGroup { group: ServerGroupId, settings: NetworkGroupSettings },
    /// `DeleteServerGroup`.
    DeleteGroup { group: ServerGroupId },
    /// `UntagResources` on groups.
    UntagGroups { groups: Vec<ServerGroupId>, keys: Vec<String> },
    /// `AddServersToServerGroup`, up to [`MEMBERS_PER_CALL`].
    AddMembers { group: ServerGroupId, members: Vec<Member> },
    /// `UpdateServerGroupServersAttribute`: new weights and descriptions of members that are there.
    UpdateMembers { group: ServerGroupId, members: Vec<Member> },
    /// `RemoveServersFromServerGroup`.
    RemoveMembers { group: ServerGroupId, members: Vec<Member> },
    /// `CreateListener`; it runs as soon as it is there.
    CreateListener(CreateNetworkListener),
    /// `UpdateListenerAttribute`; what is not given is left alone.
    UpdateListener(NetworkListenerChange),
    /// `StartListener`.
    StartListener { load_balancer: LoadBalancerId, listener: ListenerId },
    /// `DeleteListener`.
    DeleteListener { load_balancer: LoadBalancerId, listener: ListenerId },
    /// `AssociateAdditionalCertificatesWithListener`, up to [`CERTIFICATES_PER_CALL`].
    AddCertificates { load_balancer: LoadBalancerId, listener: ListenerId, certificates: Vec<String> },
    /// `DisassociateAdditionalCertificatesWithListener`, up to [`CERTIFICATES_PER_CALL`].
    RemoveCertificates { load_balancer: LoadBalancerId, listener: ListenerId, certificates: Vec<String> },
    /// ECS `CreateSecurityGroup`, of the type `enterprise`, which lets nothing in without rules.
    CreateSecurityGroup(CreateSecurityGroup),
    /// ECS `ModifySecurityGroupAttribute`.
    NameSecurityGroup { group: SecurityGroupId, name: String, description: String },
    /// ECS `AuthorizeSecurityGroup`.
    AddRules { group: SecurityGroupId, rules: Vec<SourceRule> },
    /// ECS `RevokeSecurityGroup`, by the rules' ids.
    RemoveRules { group: SecurityGroupId, rules: Vec<String> },
    /// ECS `DeleteSecurityGroup`.
    DeleteSecurityGroup { group: SecurityGroupId },
}

/// The most members in one call, as the released controller sends them; the API admits 200.
pub const MEMBERS_PER_CALL: usize = 40;

/// The documented number of additional certificates in one call.
pub const CERTIFICATES_PER_CALL: usize = 15;

/// What a new network load balancer is made from. What is `None` is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateNetworkLoadBalancer {
    pub name: String,
    pub address_type: AddressType,
    /// `ipv4` or `DualStack`.
    pub ip_version: Option<String>,
    pub vpc: Option<VpcId>,
    pub zones: Vec<ZoneMapping>,
    pub bandwidth_package: Option<String>,
    pub resource_group: Option<String>,
    /// Why it is protected against deletion and changes by hand.
    pub protection_reason: String,
    pub tags: BTreeMap<String, String>,
    /// The idempotency token (`ClientToken`, at most 64 ASCII characters).
    pub token: String,
}

/// What a new server group is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateNetworkGroup {
    pub name: String,
    pub kind: NetworkGroupKind,
    /// `TCP` or `UDP`.
    pub protocol: &'static str,
    pub any_port: bool,
    pub vpc: Option<VpcId>,
    /// `DualStack`, or `None` for the default.
    pub ip_version: Option<String>,
    pub resource_group: Option<String>,
    pub settings: NetworkGroupSettings,
    pub tags: BTreeMap<String, String>,
}

/// What a new listener is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateNetworkListener {
    pub load_balancer: LoadBalancerId,
    pub protocol: NetworkProtocol,
    pub ports: PortRange,
    pub description: String,
    pub group: ServerGroupId,
    pub settings: NetworkListenerSettings,
}

/// What to change on a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkListenerChange {
    pub load_balancer: LoadBalancerId,
    pub listener: ListenerId,
    pub description: Option<String>,
    pub group: Option<ServerGroupId>,
    pub settings: NetworkListenerSettings,
}

/// What a new security group is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSecurityGroup {
    pub name: String,
    pub description: String,
    pub vpc: Option<VpcId>,
    pub resource_group: Option<String>,
    pub tags: BTreeMap<String, String>,
}

/// What takes no other change while a job works on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// A load balancer with its listeners.
    LoadBalancer(LoadBalancerId),
    Group(ServerGroupId),
}

// === impl NetworkAction ===

impl NetworkAction {
    /// What the action works on and must have to itself; `None` for what needs no such thing.
    pub fn lock(&self) -> Option<Lock> {
        match self {
            Self::CreateListener(CreateNetworkListener { load_balancer, .. })
            | Self::UpdateListener(NetworkListenerChange { load_balancer, .. })
            | Self::DeleteLoadBalancer { load_balancer }
            | Self::Unprotect { load_balancer }
            | Self::SetAttributes { load_balancer, .. }
            | Self::SetAddressType { load_balancer, .. }
            | Self::SetZones { load_balancer, .. }
            | Self::SetIpv6AddressType { load_balancer, .. }
            | Self::JoinSecurityGroups { load_balancer, .. }
            | Self::LeaveSecurityGroups { load_balancer, .. }
            | Self::AttachBandwidthPackage { load_balancer, .. }
            | Self::DetachBandwidthPackage { load_balancer, .. }
            | Self::StartListener { load_balancer, .. }
            | Self::DeleteListener { load_balancer, .. }
            | Self::AddCertificates { load_balancer, .. }
            | Self::RemoveCertificates { load_balancer, .. } => Some(Lock::LoadBalancer(load_balancer.clone())),
            Self::UpdateGroup { group, .. }
            | Self::DeleteGroup { group }
            | Self::AddMembers { group, .. }
            | Self::UpdateMembers { group, .. }
            | Self::RemoveMembers { group, .. } => Some(Lock::Group(group.clone())),
            Self::CreateLoadBalancer(_)
            | Self::CreateGroup(_)
            | Self::Tag { .. }
            | Self::Untag { .. }
            | Self::UntagGroups { .. }
            | Self::CreateSecurityGroup(_)
            | Self::NameSecurityGroup { .. }
            | Self::AddRules { .. }
            | Self::RemoveRules { .. }
            | Self::DeleteSecurityGroup { .. } => None,
        }
    }
}

impl fmt::Display for NetworkAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateLoadBalancer(c) => {
                write!(f, "create network load balancer {} ({})", c.name, c.address_type.as_str())
            }
            Self::DeleteLoadBalancer { load_balancer } => write!(f, "delete network load balancer {load_balancer}"),
            Self::Unprotect { load_balancer } => write!(f, "turn protections of {load_balancer} off"),
            Self::SetAttributes { load_balancer, name, cross_zone } => {
                write!(f, "set on {load_balancer}:")?;
                if let Some(name) = name {
                    write!(f, " name {name}")?;
                }
                if let Some(on) = cross_zone {
                    write!(f, " cross-zone forwarding {}", if *on { "on" } else { "off" })?;
                }
                Ok(())
            }
            Self::SetAddressType { load_balancer, address_type, .. } => {
                write!(f, "change {load_balancer} to the address type {}", address_type.as_str())
            }
            Self::SetZones { load_balancer, zones } => {
                write!(f, "put {load_balancer} into the zones")?;
                zones.iter().try_for_each(|mapping| write!(f, " {}", mapping.zone))
            }
            Self::SetIpv6AddressType { load_balancer, address_type } => {
                write!(f, "change the IPv6 addresses of {load_balancer} to {}", address_type.as_str())
            }
            Self::JoinSecurityGroups { load_balancer, groups } => {
                write!(f, "put {load_balancer} into security groups {}", join(groups))
            }
            Self::LeaveSecurityGroups { load_balancer, groups } => {
                write!(f, "take {load_balancer} out of security groups {}", join(groups))
            }
            Self::AttachBandwidthPackage { load_balancer, package } => {
                write!(f, "attach bandwidth package {package} to {load_balancer}")
            }
            Self::DetachBandwidthPackage { load_balancer, package } => {
                write!(f, "detach bandwidth package {package} from {load_balancer}")
            }
            Self::Tag { load_balancer, tags } => {
                write!(f, "tag {load_balancer} with")?;
                tags.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
            }
            Self::Untag { load_balancer, keys } => write!(f, "remove tags {} from {load_balancer}", keys.join(", ")),
            Self::CreateGroup(create) => write!(f, "create group {}", create.name),
            Self::UpdateGroup { group, .. } => write!(f, "update group {group}"),
            Self::DeleteGroup { group } => write!(f, "delete group {group}"),
            Self::UntagGroups { groups, keys } => {
                write!(f, "remove tags {} from groups {}", keys.join(", "), join(groups))
            }
            Self::AddMembers { group, members } => write!(f, "add {} members to {group}", members.len()),
            Self::UpdateMembers { group, members } => write!(f, "update {} members of {group}", members.len()),
            Self::RemoveMembers { group, members } => write!(f, "remove {} members from {group}", members.len()),
            Self::CreateListener(c) => write!(f, "create listener {}/{} on {}", c.ports, c.protocol, c.load_balancer),
            Self::UpdateListener(c) => write!(f, "update listener {} of {}", c.listener, c.load_balancer),
            Self::StartListener { load_balancer, listener } => {
                write!(f, "start listener {listener} of {load_balancer}")
            }
            Self::DeleteListener { load_balancer, listener } => {
                write!(f, "delete listener {listener} of {load_balancer}")
            }
            Self::AddCertificates { listener, certificates, .. } => {
                write!(f, "add certificates {} to listener {listener}", certificates.join(", "))
            }
            Self::RemoveCertificates { listener, certificates, .. } => {
                write!(f, "remove certificates {} from listener {listener}", certificates.join(", "))
            }
            Self::CreateSecurityGroup(create) => write!(f, "create security group {}", create.name),
            Self::NameSecurityGroup { group, name, .. } => write!(f, "set name and description of {group}: {name}"),
            Self::AddRules { group, rules } => write!(f, "add {} rules to {group}", rules.len()),
            Self::RemoveRules { group, rules } => write!(f, "remove {} rules from {group}", rules.len()),
            Self::DeleteSecurityGroup { group } => write!(f, "delete security group {group}"),
        }
    }
}

fn join<T: ToString>(ids: &[T]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

// === impl CreateNetworkLoadBalancer ===

impl CreateNetworkLoadBalancer {
    /// The load balancer as it stands right after this change created it.
    pub fn created(&self, id: LoadBalancerId) -> NetworkLoadBalancer {
        NetworkLoadBalancer {
            id,
            name: self.name.clone(),
            status: NetworkStatus::Provisioning,
            dns_name: String::new(),
            address_type: self.address_type,
            ip_version: self.ip_version.clone(),
            ipv6_address_type: None,
            vpc: self.vpc.clone(),
            zones: self.zones.clone(),
            security_groups: std::collections::BTreeSet::new(),
            bandwidth_package: self.bandwidth_package.clone(),
            cross_zone: None,
            delete_protection: Some(true),
            modification_protection: Some("ConsoleProtection".to_owned()),
            resource_group: self.resource_group.clone(),
            tags: self.tags.clone(),
        }
    }
}

// === impl CreateNetworkGroup ===

impl CreateNetworkGroup {
    /// The group as it stands right after this change began to create it.
    pub fn created(&self, id: ServerGroupId) -> NetworkGroup {
        NetworkGroup {
            id,
            name: self.name.clone(),
            status: NetworkGroupStatus::Creating,
            kind: self.kind,
            protocol: self.protocol.to_owned(),
            any_port: self.any_port,
            ip_version: self.ip_version.clone(),
            resource_group: self.resource_group.clone(),
            settings: self.settings.clone(),
            tags: self.tags.clone(),
            members: Vec::new(),
        }
    }
}

// === impl CreateNetworkListener ===

impl CreateNetworkListener {
    /// The listener as it stands right after this change began to create it.
    pub fn created(&self, id: ListenerId) -> NetworkListener {
        NetworkListener {
            id,
            protocol: self.protocol,
            ports: self.ports,
            status: NetworkListenerStatus::Changing,
            description: self.description.clone(),
            group: Some(self.group.clone()),
            settings: self.settings.clone(),
            // A listener that was just made has none.
            additional_certificates: Some(std::collections::BTreeSet::new()),
        }
    }
}
