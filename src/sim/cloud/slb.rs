//! The SLB product: classic load balancers (CLB), their listeners and server groups.

pub(crate) mod acl;
pub(crate) mod certificate;
pub(crate) mod certificate_text;
pub(crate) mod default_server;
pub(crate) mod describe;
pub(crate) mod domain_extension;
pub(crate) mod group;
pub(crate) mod health;
pub(crate) mod listener;
pub(crate) mod listener_change;
pub(crate) mod listener_view;
pub(crate) mod load_balancer;
pub(crate) mod member;
pub(crate) mod old_tags;
pub(crate) mod reference;
pub(crate) mod rule;
pub(crate) mod settings;
pub(crate) mod specification;
pub(crate) mod tagging;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::{
    acl::Acl,
    certificate::Certificate,
    domain_extension::DomainExtension,
    group::Group,
    listener::{Listener, ListenerStatus, Protocol},
    load_balancer::LoadBalancer,
    member::Server,
    rule::Rule,
    settings::Settings,
};
use super::{Handler, error::Failure};

/// All resources of the SLB product, by id.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Slb {
    /// Load balancers with their listeners.
    pub load_balancers: BTreeMap<String, LoadBalancer>,
    /// Server groups.
    pub groups: BTreeMap<String, Group>,
    /// Forwarding rules.
    pub rules: BTreeMap<String, Rule>,
    /// Additional domains of HTTPS listeners.
    pub domain_extensions: BTreeMap<String, DomainExtension>,
    /// Server certificates.
    pub certificates: BTreeMap<String, Certificate>,
    /// CA certificates.
    pub ca_certificates: BTreeMap<String, Certificate>,
    /// Access lists.
    pub acls: BTreeMap<String, Acl>,
}

/// A change that takes effect later.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    Listener { load_balancer: String, port: u16, protocol: Protocol, status: ListenerStatus },
    GroupIdle(String),
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    load_balancer_action(action)
        .or_else(|| listener_action(action))
        .or_else(|| group_action(action))
        .or_else(|| other_action(action))
}

fn load_balancer_action(action: &str) -> Option<Handler> {
    Some(match action {
        "CreateLoadBalancer" => load_balancer::create,
        "DeleteLoadBalancer" => load_balancer::delete,
        "DescribeLoadBalancers" => describe::describe,
        "DescribeLoadBalancerAttribute" => describe::describe_attribute,
        "SetLoadBalancerName" => specification::set_name,
        "SetLoadBalancerStatus" => specification::set_status,
        "SetLoadBalancerDeleteProtection" => specification::set_delete_protection,
        "SetLoadBalancerModificationProtection" => specification::set_modification_protection,
        "ModifyLoadBalancerInternetSpec" => specification::modify_internet_spec,
        "ModifyLoadBalancerInstanceSpec" => specification::modify_instance_spec,
        "ModifyLoadBalancerInstanceChargeType" => specification::modify_instance_charge_type,
        "MoveResourceGroup" => specification::move_resource_group,
        "TagResources" => tagging::tag,
        "UntagResources" => tagging::untag,
        "ListTagResources" => tagging::list,
        "AddTags" => old_tags::add,
        "RemoveTags" => old_tags::remove,
        "DescribeTags" => old_tags::describe,
        _ => return None,
    })
}

fn listener_action(action: &str) -> Option<Handler> {
    Some(match action {
        "CreateLoadBalancerTCPListener"
        | "CreateLoadBalancerUDPListener"
        | "CreateLoadBalancerHTTPListener"
        | "CreateLoadBalancerHTTPSListener" => listener_change::create,
        "SetLoadBalancerTCPListenerAttribute"
        | "SetLoadBalancerUDPListenerAttribute"
        | "SetLoadBalancerHTTPListenerAttribute"
        | "SetLoadBalancerHTTPSListenerAttribute" => listener_change::set,
        "DescribeLoadBalancerTCPListenerAttribute"
        | "DescribeLoadBalancerUDPListenerAttribute"
        | "DescribeLoadBalancerHTTPListenerAttribute"
        | "DescribeLoadBalancerHTTPSListenerAttribute" => listener_change::describe_attribute,
        "DescribeLoadBalancerListeners" => listener_view::describe,
        "StartLoadBalancerListener" => listener_change::start,
        "StopLoadBalancerListener" => listener_change::stop,
        "DeleteLoadBalancerListener" => listener_change::delete,
        "SetListenerAccessControlStatus" => listener_change::set_access_control_status,
        "CreateRules" => rule::create,
        "DeleteRules" => rule::delete,
        "DescribeRules" => rule::describe,
        "CreateDomainExtension" => domain_extension::create,
        "DeleteDomainExtension" => domain_extension::delete,
        "DescribeDomainExtensions" => domain_extension::describe,
        "DescribeDomainExtensionAttribute" => domain_extension::describe_attribute,
        "SetDomainExtensionAttribute" => domain_extension::set,
        _ => return None,
    })
}

fn group_action(action: &str) -> Option<Handler> {
    Some(match action {
        "CreateVServerGroup" => group::create,
        "DeleteVServerGroup" => group::delete,
        "DescribeVServerGroups" => group::describe,
        "DescribeVServerGroupAttribute" => group::describe_attribute,
        "SetVServerGroupAttribute" => member::set,
        "AddVServerGroupBackendServers" => member::add,
        "RemoveVServerGroupBackendServers" => member::remove,
        "ModifyVServerGroupBackendServers" => member::modify,
        "AddBackendServers" => default_server::add,
        "RemoveBackendServers" => default_server::remove,
        "SetBackendServers" => default_server::set,
        "DescribeHealthStatus" => health::describe,
        _ => return None,
    })
}

fn other_action(action: &str) -> Option<Handler> {
    Some(match action {
        "UploadServerCertificate" => certificate::upload,
        "UploadCACertificate" => certificate::upload_ca,
        "DescribeServerCertificates" => certificate::describe,
        "DescribeCACertificates" => certificate::describe_ca,
        "DeleteServerCertificate" => certificate::delete,
        "SetServerCertificateName" => certificate::set_name,
        "CreateAccessControlList" => acl::create,
        "DeleteAccessControlList" => acl::delete,
        "AddAccessControlListEntry" => acl::add_entries,
        "RemoveAccessControlListEntry" => acl::remove_entries,
        "DescribeAccessControlLists" => acl::describe,
        "DescribeAccessControlListAttribute" => acl::describe_attribute,
        "DescribeRegions" => super::region::describe_regions,
        "DescribeZones" => super::region::describe_slb_zones,
        "DescribeAvailableResource" => super::region::describe_available_resource,
        _ => return None,
    })
}

// === impl Slb ===

impl Slb {
    pub(crate) fn apply(&mut self, due: Due) {
        match due {
            Due::Listener { load_balancer, port, protocol, status } => {
                self.apply_listener(&load_balancer, port, protocol, status);
            }
            Due::GroupIdle(id) => {
                if let Some(group) = self.groups.get_mut(&id) {
                    group.busy = false;
                }
            }
        }
    }

    pub(crate) fn load_balancer(&self, id: &str) -> Result<&LoadBalancer, Failure> {
        self.load_balancers.get(id).ok_or_else(|| load_balancer::missing(id))
    }

    pub(crate) fn load_balancer_mut(&mut self, id: &str) -> Result<&mut LoadBalancer, Failure> {
        self.load_balancers.get_mut(id).ok_or_else(|| load_balancer::missing(id))
    }

    /// Removes what hangs on a listener that is gone.
    pub(crate) fn forget_listener(&mut self, load_balancer: &str, port: u16, protocol: Protocol) {
        let here = |lb: &str, on: u16| lb == load_balancer && on == port;
        self.rules.retain(|_, rule| !here(&rule.load_balancer, rule.port) || rule.protocol != protocol);
        if protocol == Protocol::Https {
            self.domain_extensions.retain(|_, extension| !here(&extension.load_balancer, extension.port));
        }
    }

    /// Takes a server that is gone for good out of everything.
    pub(crate) fn forget_server(&mut self, id: &str) {
        self.groups.values_mut().for_each(|group| group.servers.retain(|server| server.id != id));
        self.load_balancers.values_mut().for_each(|lb| lb.servers.retain(|server| server.id != id));
    }
}
