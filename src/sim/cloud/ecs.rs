//! The ECS product: instances and their network interfaces.

pub(crate) mod attachment;
pub(crate) mod instance;
pub(crate) mod interface;
pub(crate) mod lifecycle;
pub(crate) mod rule;
pub(crate) mod security_group;
pub(crate) mod tagging;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::{
    instance::{Instance, InstanceStatus},
    interface::Interface,
    rule::Rule,
    security_group::SecurityGroup,
};
use super::Handler;

/// All resources of the ECS product, by id.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ecs {
    /// Instances by id.
    pub instances: BTreeMap<String, Instance>,
    /// Network interfaces by id.
    pub interfaces: BTreeMap<String, Interface>,
    /// Security groups by id.
    pub security_groups: BTreeMap<String, SecurityGroup>,
}

/// A change that takes effect later.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    Status(String, InstanceStatus),
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    Some(match action {
        "DescribeInstances" => instance::describe,
        "DeleteInstance" => lifecycle::delete,
        "DescribeInstanceStatus" => lifecycle::describe_status,
        "DescribeInstanceAttribute" => lifecycle::describe_attribute,
        "DescribeInstanceTypes" => lifecycle::describe_types,
        "AttachInstanceRamRole" => lifecycle::attach_role,
        "DescribeInstanceRamRole" => lifecycle::describe_role,
        "CreateNetworkInterface" => attachment::create,
        "DeleteNetworkInterface" => attachment::delete,
        "AttachNetworkInterface" => attachment::attach,
        "DetachNetworkInterface" => attachment::detach,
        "TagResources" => tagging::tag,
        "UntagResources" => tagging::untag,
        "ListTagResources" => tagging::list,
        "DescribeNetworkInterfaces" => interface::describe,
        "ModifyNetworkInterfaceAttribute" => interface::modify,
        "CreateSecurityGroup" => security_group::create,
        "DeleteSecurityGroup" => security_group::delete,
        "ModifySecurityGroupAttribute" => security_group::modify,
        "DescribeSecurityGroups" => security_group::describe,
        "DescribeSecurityGroupAttribute" => security_group::describe_attribute,
        "JoinSecurityGroup" => security_group::join,
        "LeaveSecurityGroup" => security_group::leave,
        "AuthorizeSecurityGroup" => rule::authorize,
        "RevokeSecurityGroup" => rule::revoke,
        "ModifySecurityGroupRule" => rule::modify,
        "DescribeRegions" => super::region::describe_regions,
        "DescribeZones" => super::region::describe_zones,
        _ => return None,
    })
}

// === impl Ecs ===

impl Ecs {
    pub(crate) fn apply(&mut self, due: Due) {
        let Due::Status(id, status) = due;
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.status = status;
        }
    }

    /// The interfaces of an instance, the primary one first.
    pub fn interfaces_of(&self, instance: &Instance) -> Vec<&Interface> {
        instance.interfaces.iter().filter_map(|id| self.interfaces.get(id)).collect()
    }
}
