//! The NLB product: network load balancers, whose writes are jobs.

pub(crate) mod attribute;
pub(crate) mod bandwidth;
pub(crate) mod certificate;
pub(crate) mod health;
pub(crate) mod job;
pub(crate) mod listener;
pub(crate) mod listener_view;
pub(crate) mod load_balancer;
pub(crate) mod security_group;
pub(crate) mod security_policy;
pub(crate) mod server;
pub(crate) mod server_group;
pub(crate) mod server_group_view;
pub(crate) mod tagging;
pub(crate) mod view;
pub(crate) mod zone;

use std::collections::BTreeMap;

use serde::Serialize;

use self::job::Effect;
pub use self::{
    certificate::{CertificateState, ListenerCertificate},
    job::{Job, JobStatus},
    listener::{ListenerState, NlbListener},
    load_balancer::{NetworkLoadBalancer, NlbStatus},
    security_policy::SecurityPolicy,
    server::{NlbServer, ServerState},
    server_group::{GroupState, ServerGroup},
    zone::ZoneMapping,
};
use super::Handler;

/// All resources of the NLB product, by id.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Nlb {
    /// Load balancers.
    pub load_balancers: BTreeMap<String, NetworkLoadBalancer>,
    /// Listeners.
    pub listeners: BTreeMap<String, NlbListener>,
    /// Server groups with their servers.
    pub server_groups: BTreeMap<String, ServerGroup>,
    /// Own TLS policies.
    pub security_policies: BTreeMap<String, SecurityPolicy>,
    /// Jobs, done or under way.
    pub jobs: BTreeMap<String, Job>,
    /// Jobs do not end while this is set.
    pub jobs_paused: bool,
    /// The region's fine-grained monitoring: log project and metric store.
    pub monitoring: Option<(String, String)>,
    #[serde(skip)]
    held: Vec<Due>,
    #[serde(skip)]
    job_order: std::collections::VecDeque<String>,
}

/// A change that takes effect later.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    /// A job ends, and what it worked on becomes true.
    Job { id: String, effects: Vec<Effect> },
    /// A job ends, and nothing of it becomes true.
    FailedJob(String),
    /// A new load balancer becomes usable; no job stands for that.
    Active(String),
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    load_balancer_action(action).or_else(|| listener_action(action)).or_else(|| group_action(action))
}

fn load_balancer_action(action: &str) -> Option<Handler> {
    Some(match action {
        "CreateLoadBalancer" => load_balancer::create,
        "DeleteLoadBalancer" => load_balancer::delete,
        "ListLoadBalancers" => view::list,
        "GetLoadBalancerAttribute" => view::get,
        "UpdateLoadBalancerAttribute" => attribute::update,
        "UpdateLoadBalancerProtection" => attribute::update_protection,
        "UpdateLoadBalancerAddressTypeConfig" => attribute::update_address_type,
        "EnableLoadBalancerIpv6Internet" => attribute::enable_ipv6_internet,
        "DisableLoadBalancerIpv6Internet" => attribute::disable_ipv6_internet,
        "UpdateLoadBalancerZones" => zone::update,
        "StartShiftLoadBalancerZones" => zone::start_shift,
        "CancelShiftLoadBalancerZones" => zone::cancel_shift,
        "LoadBalancerJoinSecurityGroup" => security_group::join,
        "LoadBalancerLeaveSecurityGroup" => security_group::leave,
        "AttachCommonBandwidthPackageToLoadBalancer" => bandwidth::attach,
        "DetachCommonBandwidthPackageFromLoadBalancer" => bandwidth::detach,
        "TagResources" => tagging::tag,
        "UntagResources" => tagging::untag,
        "ListTagResources" => tagging::list,
        "MoveResourceGroup" => tagging::move_resource_group,
        "DescribeRegions" => super::region::describe_nlb_regions,
        "DescribeZones" => super::region::describe_nlb_zones,
        _ => return None,
    })
}

fn listener_action(action: &str) -> Option<Handler> {
    Some(match action {
        "CreateListener" => listener::create,
        "UpdateListenerAttribute" => listener::update,
        "DeleteListener" => listener::delete,
        "StartListener" => listener::start,
        "StopListener" => listener::stop,
        "ListListeners" => listener_view::list,
        "GetListenerAttribute" => listener_view::get,
        "GetListenerHealthStatus" => health::get,
        "AssociateAdditionalCertificatesWithListener" => certificate::associate,
        "DisassociateAdditionalCertificatesWithListener" => certificate::disassociate,
        "ListListenerCertificates" => certificate::list,
        "CreateSecurityPolicy" => security_policy::create,
        "UpdateSecurityPolicyAttribute" => security_policy::update,
        "DeleteSecurityPolicy" => security_policy::delete,
        "ListSecurityPolicy" => security_policy::list,
        "ListSystemSecurityPolicy" => security_policy::list_system,
        "SetHdMonitorRegionConfig" => health::set_monitoring,
        "DescribeHdMonitorRegionConfig" => health::describe_monitoring,
        _ => return None,
    })
}

fn group_action(action: &str) -> Option<Handler> {
    Some(match action {
        "CreateServerGroup" => server_group::create,
        "UpdateServerGroupAttribute" => server_group::update,
        "DeleteServerGroup" => server_group::delete,
        "ListServerGroups" => server_group_view::list,
        "ListServerGroupServers" => server_group_view::list_servers,
        "AddServersToServerGroup" => server::add,
        "RemoveServersFromServerGroup" => server::remove,
        "UpdateServerGroupServersAttribute" => server::update,
        "GetJobStatus" => job::get,
        "ListAsynJobs" => job::list,
        _ => return None,
    })
}
