//! Changes to load balancers as plain data: printable, countable, comparable.
//!
//! An action names objects by the ids they have, so it can only be planned once they exist:
//! a plan that creates something is followed by another that uses it.

use std::{collections::BTreeMap, fmt};

use ipnet::IpNet;

use super::{
    AccessListId, AddressType, Listener, ListenerSettings, LoadBalancer, LoadBalancerId, Member, Protocol,
    ServerGroupId, VSwitchId, VpcId,
};

/// One change, which is one API call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// SLB `CreateLoadBalancer`.
    CreateLoadBalancer(CreateLoadBalancer),
    /// SLB `DeleteLoadBalancer`; listeners and groups go with it.
    DeleteLoadBalancer { load_balancer: LoadBalancerId },
    /// SLB `SetLoadBalancerDeleteProtection`.
    SetDeleteProtection { load_balancer: LoadBalancerId, on: bool },
    /// SLB `SetLoadBalancerModificationProtection`.
    SetModificationProtection { load_balancer: LoadBalancerId, status: String, reason: String },
    /// SLB `SetLoadBalancerName`.
    SetName { load_balancer: LoadBalancerId, name: String },
    /// SLB `ModifyLoadBalancerInternetSpec`; what is `None` is not sent.
    SetInternetSpec { load_balancer: LoadBalancerId, charge_type: Option<String>, bandwidth: Option<u32> },
    /// SLB `ModifyLoadBalancerInstanceSpec`.
    SetSpec { load_balancer: LoadBalancerId, spec: String },
    /// SLB `ModifyLoadBalancerInstanceChargeType`.
    SetInstanceChargeType { load_balancer: LoadBalancerId, charge_type: String, spec: Option<String> },
    /// SLB `TagResources` on the load balancer.
    Tag { load_balancer: LoadBalancerId, tags: BTreeMap<String, String> },
    /// SLB `UntagResources` on the load balancer.
    Untag { load_balancer: LoadBalancerId, keys: Vec<String> },
    /// SLB `CreateVServerGroup`, with up to [`MEMBERS_PER_CALL`] first members.
    CreateServerGroup { load_balancer: LoadBalancerId, name: String, members: Vec<Member> },
    /// SLB `DeleteVServerGroup`.
    DeleteServerGroup { load_balancer: LoadBalancerId, group: ServerGroupId },
    /// SLB `AddVServerGroupBackendServers`, up to [`MEMBERS_PER_CALL`].
    AddMembers { load_balancer: LoadBalancerId, group: ServerGroupId, members: Vec<Member> },
    /// SLB `SetVServerGroupAttribute`: new weights and descriptions of members that are there.
    UpdateMembers { load_balancer: LoadBalancerId, group: ServerGroupId, members: Vec<Member> },
    /// SLB `RemoveVServerGroupBackendServers`.
    RemoveMembers { load_balancer: LoadBalancerId, group: ServerGroupId, members: Vec<Member> },
    /// SLB `CreateLoadBalancer{TCP,UDP,HTTP,HTTPS}Listener`. The listener is stopped afterwards.
    CreateListener(ListenerChange),
    /// SLB `SetLoadBalancer{TCP,UDP,HTTP,HTTPS}ListenerAttribute`; settings that are `None` are not sent.
    UpdateListener(ListenerChange),
    /// SLB `StartLoadBalancerListener`.
    StartListener { load_balancer: LoadBalancerId, port: u16, protocol: Protocol },
    /// SLB `DeleteLoadBalancerListener`.
    DeleteListener { load_balancer: LoadBalancerId, port: u16, protocol: Protocol },
    /// SLB `CreateDomainExtension`.
    CreateDomainExtension { load_balancer: LoadBalancerId, port: u16, domain: String, certificate: String },
    /// SLB `SetDomainExtensionAttribute`.
    SetDomainExtension { load_balancer: LoadBalancerId, port: u16, id: String, certificate: String },
    /// SLB `DeleteDomainExtension`.
    DeleteDomainExtension { load_balancer: LoadBalancerId, port: u16, id: String },
    /// SLB `CreateAccessControlList`. The list is empty afterwards, and an empty white list keeps
    /// nobody out.
    CreateAccessList(CreateAccessList),
    /// SLB `AddAccessControlListEntry`, up to [`ENTRIES_PER_CALL`].
    AddAccessEntries { list: AccessListId, entries: Vec<IpNet> },
    /// SLB `RemoveAccessControlListEntry`, up to [`ENTRIES_PER_CALL`].
    RemoveAccessEntries { list: AccessListId, entries: Vec<IpNet> },
    /// SLB `DeleteAccessControlList`; refused while a listener uses it.
    DeleteAccessList { list: AccessListId },
    /// SLB `UntagResources` on the list.
    UntagAccessList { list: AccessListId, keys: Vec<String> },
}

/// The documented number of backend servers in one SLB call.
pub const MEMBERS_PER_CALL: usize = 20;

/// The documented number of entries in one call about an access control list.
pub const ENTRIES_PER_CALL: usize = 50;
/// The documented number of entries of one access control list.
pub const ENTRIES_PER_LIST: usize = 300;

/// What a new access control list is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateAccessList {
    pub name: String,
    /// `ipv4` or `ipv6`.
    pub ip_version: String,
    pub resource_group: Option<String>,
    pub tags: BTreeMap<String, String>,
}

/// What a new load balancer is made from. What is `None` is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateLoadBalancer {
    pub name: String,
    pub address_type: AddressType,
    pub vpc: Option<VpcId>,
    pub vswitch: Option<VSwitchId>,
    pub instance_charge_type: Option<String>,
    pub spec: Option<String>,
    pub internet_charge_type: Option<String>,
    pub bandwidth: Option<u32>,
    pub delete_protection: bool,
    pub modification_protection: String,
    pub modification_protection_reason: String,
    pub resource_group: Option<String>,
    pub master_zone: Option<String>,
    pub slave_zone: Option<String>,
    /// `ipv4` or `ipv6`.
    pub ip_version: Option<String>,
    /// A private address to have instead of any free one.
    pub address: Option<String>,
    pub tags: BTreeMap<String, String>,
    /// The idempotency token (`ClientToken`, at most 64 ASCII characters).
    pub token: String,
}

/// A listener to create, or what to change on one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerChange {
    pub load_balancer: LoadBalancerId,
    pub port: u16,
    pub protocol: Protocol,
    pub description: Option<String>,
    pub group: Option<ServerGroupId>,
    pub settings: ListenerSettings,
}

/// What a change brought about, beyond having succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The change is in place.
    Done,
    /// The load balancer that now exists, as far as the answer tells.
    LoadBalancerCreated(Box<LoadBalancer>),
    /// The group that now exists, with the members asked for.
    ServerGroupCreated(ServerGroupId),
    /// The id of the domain extension that now exists.
    DomainExtensionCreated(String),
    /// The access control list that now exists, without entries.
    AccessListCreated(AccessListId),
}

// === impl Action ===

impl Action {
    /// The load balancer it is about; `None` for the creation of one, and for access control lists.
    pub fn load_balancer(&self) -> Option<&LoadBalancerId> {
        match self {
            Self::CreateLoadBalancer(_)
            | Self::CreateAccessList(_)
            | Self::AddAccessEntries { .. }
            | Self::RemoveAccessEntries { .. }
            | Self::DeleteAccessList { .. }
            | Self::UntagAccessList { .. } => None,
            Self::CreateListener(change) | Self::UpdateListener(change) => Some(&change.load_balancer),
            Self::DeleteLoadBalancer { load_balancer }
            | Self::SetDeleteProtection { load_balancer, .. }
            | Self::SetModificationProtection { load_balancer, .. }
            | Self::SetName { load_balancer, .. }
            | Self::SetInternetSpec { load_balancer, .. }
            | Self::SetSpec { load_balancer, .. }
            | Self::SetInstanceChargeType { load_balancer, .. }
            | Self::Tag { load_balancer, .. }
            | Self::Untag { load_balancer, .. }
            | Self::CreateServerGroup { load_balancer, .. }
            | Self::DeleteServerGroup { load_balancer, .. }
            | Self::AddMembers { load_balancer, .. }
            | Self::UpdateMembers { load_balancer, .. }
            | Self::RemoveMembers { load_balancer, .. }
            | Self::StartListener { load_balancer, .. }
            | Self::DeleteListener { load_balancer, .. }
            | Self::CreateDomainExtension { load_balancer, .. }
            | Self::SetDomainExtension { load_balancer, .. }
            | Self::DeleteDomainExtension { load_balancer, .. } => Some(load_balancer),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateLoadBalancer(c) => write!(f, "create load balancer {} ({})", c.name, c.address_type.as_str()),
            Self::DeleteLoadBalancer { load_balancer } => write!(f, "delete load balancer {load_balancer}"),
            Self::SetDeleteProtection { load_balancer, on } => {
                write!(f, "turn delete protection of {load_balancer} {}", if *on { "on" } else { "off" })
            }
            Self::SetModificationProtection { load_balancer, status, .. } => {
                write!(f, "set modification protection of {load_balancer} to {status}")
            }
            Self::SetName { load_balancer, name } => write!(f, "rename {load_balancer} to {name}"),
            Self::SetInternetSpec { load_balancer, charge_type, bandwidth } => {
                write!(f, "set internet charge of {load_balancer} to")?;
                if let Some(charge_type) = charge_type {
                    write!(f, " {charge_type}")?;
                }
                if let Some(bandwidth) = bandwidth {
                    write!(f, " {bandwidth} Mbit/s")?;
                }
                Ok(())
            }
            Self::SetSpec { load_balancer, spec } => write!(f, "set specification of {load_balancer} to {spec}"),
            Self::SetInstanceChargeType { load_balancer, charge_type, .. } => {
                write!(f, "set instance charge type of {load_balancer} to {charge_type}")
            }
            Self::Tag { load_balancer, tags } => {
                write!(f, "tag {load_balancer} with")?;
                tags.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
            }
            Self::Untag { load_balancer, keys } => write!(f, "remove tags {} from {load_balancer}", keys.join(", ")),
            Self::CreateServerGroup { load_balancer, name, members } => {
                write!(f, "create group {name} on {load_balancer} with {} members", members.len())
            }
            Self::DeleteServerGroup { load_balancer, group } => write!(f, "delete group {group} of {load_balancer}"),
            Self::AddMembers { group, members, .. } => write!(f, "add {} members to {group}", members.len()),
            Self::UpdateMembers { group, members, .. } => write!(f, "update {} members of {group}", members.len()),
            Self::RemoveMembers { group, members, .. } => write!(f, "remove {} members from {group}", members.len()),
            Self::CreateListener(c) => write!(f, "create listener {}/{} on {}", c.port, c.protocol, c.load_balancer),
            Self::UpdateListener(c) => write!(f, "update listener {}/{} of {}", c.port, c.protocol, c.load_balancer),
            Self::StartListener { load_balancer, port, protocol } => {
                write!(f, "start listener {port}/{protocol} of {load_balancer}")
            }
            Self::DeleteListener { load_balancer, port, protocol } => {
                write!(f, "delete listener {port}/{protocol} of {load_balancer}")
            }
            Self::CreateDomainExtension { load_balancer, port, domain, .. } => {
                write!(f, "add the certificate for {domain} to listener {port}/https of {load_balancer}")
            }
            Self::SetDomainExtension { load_balancer, port, id, .. } => {
                write!(f, "change the certificate of {id} on listener {port}/https of {load_balancer}")
            }
            Self::DeleteDomainExtension { load_balancer, port, id } => {
                write!(f, "delete the certificate {id} of listener {port}/https of {load_balancer}")
            }
            Self::CreateAccessList(create) => {
                write!(f, "create access control list {} ({})", create.name, create.ip_version)
            }
            Self::AddAccessEntries { list, entries } => write!(f, "let {} in by {list}", joined(entries)),
            Self::RemoveAccessEntries { list, entries } => write!(f, "let {} in no more by {list}", joined(entries)),
            Self::DeleteAccessList { list } => write!(f, "delete access control list {list}"),
            Self::UntagAccessList { list, keys } => write!(f, "remove tags {} from {list}", keys.join(", ")),
        }
    }
}

fn joined(entries: &[IpNet]) -> String {
    entries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

// === impl CreateLoadBalancer ===

impl CreateLoadBalancer {
    /// The load balancer as it stands right after this change created it.
    pub fn created(&self, id: LoadBalancerId, address: &str) -> LoadBalancer {
        LoadBalancer {
            id,
            name: self.name.clone(),
            address: address.to_owned(),
            address_type: self.address_type,
            vpc: self.vpc.clone(),
            vswitch: self.vswitch.clone(),
            instance_charge_type: self.instance_charge_type.clone(),
            spec: self.spec.clone(),
            internet_charge_type: self.internet_charge_type.clone(),
            bandwidth: self.bandwidth,
            delete_protection: Some(self.delete_protection),
            modification_protection: Some(self.modification_protection.clone()),
            ip_version: self.ip_version.clone(),
            master_zone: self.master_zone.clone(),
            slave_zone: self.slave_zone.clone(),
            resource_group: self.resource_group.clone(),
            tags: self.tags.clone(),
        }
    }
}

// === impl ListenerChange ===

impl ListenerChange {
    /// The listener as it stands right after this change created it.
    pub fn created(&self) -> Listener {
        Listener {
            port: self.port,
            protocol: self.protocol,
            status: super::ListenerStatus::Stopped,
            description: self.description.clone().unwrap_or_default(),
            group: self.group.clone(),
            settings: self.settings.clone(),
            // A listener that was just made has none.
            domain_extensions: Some(Vec::new()),
        }
    }
}
