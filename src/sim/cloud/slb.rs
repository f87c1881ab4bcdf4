//! The SLB product: classic load balancers (CLB), their listeners and server groups.

pub(crate) mod describe;
pub(crate) mod load_balancer;
pub(crate) mod specification;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::load_balancer::LoadBalancer;
use super::{Handler, error::Failure};

/// All resources of the SLB product, by id.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Slb {
    /// Load balancers by id.
    pub load_balancers: BTreeMap<String, LoadBalancer>,
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    Some(match action {
        "CreateLoadBalancer" => load_balancer::create,
        "DeleteLoadBalancer" => load_balancer::delete,
        "DescribeLoadBalancers" => describe::describe,
        "DescribeLoadBalancerAttribute" => describe::describe_attribute,
        "SetLoadBalancerName" => specification::set_name,
        "SetLoadBalancerDeleteProtection" => specification::set_delete_protection,
        "SetLoadBalancerModificationProtection" => specification::set_modification_protection,
        "ModifyLoadBalancerInternetSpec" => specification::modify_internet_spec,
        "ModifyLoadBalancerInstanceSpec" => specification::modify_instance_spec,
        "ModifyLoadBalancerInstanceChargeType" => specification::modify_instance_charge_type,
        "DescribeRegions" => super::region::describe_regions,
        "DescribeZones" => super::region::describe_slb_zones,
        _ => return None,
    })
}

// === impl Slb ===

impl Slb {
    pub(crate) fn load_balancer(&self, id: &str) -> Result<&LoadBalancer, Failure> {
        self.load_balancers.get(id).ok_or_else(|| load_balancer::missing(id))
    }

    pub(crate) fn load_balancer_mut(&mut self, id: &str) -> Result<&mut LoadBalancer, Failure> {
        self.load_balancers.get_mut(id).ok_or_else(|| load_balancer::missing(id))
    }
}
