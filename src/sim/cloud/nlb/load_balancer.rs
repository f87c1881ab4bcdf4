//! Network load balancers: creation, deletion, and the lock that guards them.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Due, Nlb,
    job::{self, Effect},
    zone::{self, ZoneMapping},
};
use crate::sim::cloud::{
    Context, State, agenda,
    error::Failure,
    tag::{self, Tags},
};

/// A network load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkLoadBalancer {
    /// `nlb-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// Region id.
    pub region: String,
    /// Where it is in its life.
    pub status: NlbStatus,
    /// The name that clients connect to.
    pub dns_name: String,
    /// `Internet` or `Intranet`.
    pub address_type: String,
    /// `ipv4` or `DualStack`.
    pub ip_version: String,
    /// `Internet` or `Intranet`, for `DualStack`.
    pub ipv6_address_type: String,
    /// The VPC's id.
    pub vpc: String,
    /// Its place in each zone.
    pub zones: Vec<ZoneMapping>,
    /// Security group ids.
    pub security_groups: Vec<String>,
    /// The common bandwidth package that its public addresses share.
    pub bandwidth_package: Option<String>,
    /// Whether it sends connections to servers of other zones.
    pub cross_zone: bool,
    /// New connections a second; 0 for no limit.
    pub cps: i64,
    /// Whether deletion is refused, and why.
    pub delete_protection: Option<String>,
    /// `NonProtection` or `ConsoleProtection`.
    pub modification_protection: String,
    /// Why it is protected.
    pub modification_protection_reason: String,
    /// Resource group id.
    pub resource_group: String,
    /// Tags.
    pub tags: Tags,
    /// Creation time.
    pub created: Timestamp,
    /// The job that works on it.
    pub lock: Option<String>,
}

/// Where a network load balancer is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum NlbStatus {
    /// Being created.
    Provisioning,
    /// In service.
    Active,
    /// A job works on it.
    Configuring,
    /// Being deleted.
    Deleting,
}

// === impl NlbStatus ===

impl NlbStatus {
    /// As the product spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "Provisioning",
            Self::Active => "Active",
            Self::Configuring => "Configuring",
            Self::Deleting => "Deleting",
        }
    }
}

// === impl Nlb ===

impl Nlb {
    pub(super) fn load_balancer(&self, id: &str) -> Result<&NetworkLoadBalancer, Failure> {
        self.load_balancers.get(id).ok_or_else(|| missing(id))
    }

    /// A load balancer that takes writes now.
    pub(super) fn writable(&mut self, id: &str) -> Result<&mut NetworkLoadBalancer, Failure> {
        let lb = self.load_balancers.get_mut(id).ok_or_else(|| missing(id))?;
        match lb.status {
            NlbStatus::Provisioning | NlbStatus::Deleting => Err(Failure::bad(
                "IncorrectStatus.loadbalancer",
                format!("The load balancer {id} is {}, which does not support the operation.", lb.status.as_str()),
            )),
            NlbStatus::Active | NlbStatus::Configuring if lb.lock.is_some() => Err(Failure::bad(
                "Conflict.Lock",
                format!("Another operation on the load balancer {id} is in progress."),
            )),
            NlbStatus::Active | NlbStatus::Configuring => Ok(lb),
        }
    }
}

pub(super) fn missing(id: &str) -> Failure {
    Failure::not_found("ResourceNotFound.loadBalancer", format!("The specified resource {id} is not found."))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let limit = cx.options.quotas.network_load_balancers;
    if limit.is_some_and(|limit| state.nlb.load_balancers.len() >= limit) {
        return Err(Failure::bad("QuotaExceeded.QuotaInsufficient", "The number of load balancers exceeds the quota."));
    }
    let vpc = cx.params.required("VpcId")?;
    if !state.network.vpcs.contains_key(vpc) {
        return Err(Failure::not_found("ResourceNotFound.Vpc", format!("The VPC {vpc} does not exist.")));
    }
    let address_type = cx.params.required("AddressType")?.to_owned();
    let tags = tag::given(cx.params)?;
    let package = cx.params.get("BandwidthPackageId").map(str::to_owned);
    if let Some(package) = &package {
        super::bandwidth::check(state, package)?;
    }
    let id = cx.id("nlb-");
    let zones = zone::place(cx, state, &id, vpc, &address_type, &[])?;
    let deletion = cx.params.object("DeletionProtectionConfig");
    let modification = cx.params.object("ModificationProtectionConfig");
    let lb = NetworkLoadBalancer {
        name: cx.params.get("LoadBalancerName").map_or_else(|| id.clone(), str::to_owned),
        region: cx.region.to_owned(),
        status: NlbStatus::Provisioning,
        dns_name: format!("{id}.{}.nlb.aliyuncsslb.com", cx.region),
        address_type,
        ip_version: cx.params.get("AddressIpVersion").unwrap_or("ipv4").to_owned(),
        ipv6_address_type: "Intranet".to_owned(),
        vpc: vpc.to_owned(),
        zones,
        security_groups: Vec::new(),
        bandwidth_package: package,
        cross_zone: true,
        cps: 0,
        delete_protection: (deletion.flag("Enabled") == Some(true)).then(|| deletion.text("Reason")),
        modification_protection: modification.get("Status").unwrap_or("NonProtection").to_owned(),
        modification_protection_reason: modification.text("Reason"),
        resource_group: cx.params.get("ResourceGroupId").map_or_else(|| state.resource_group(), str::to_owned),
        tags,
        created: cx.now,
        lock: None,
        id: id.clone(),
    };
    cx.change();
    state.nlb.load_balancers.insert(id.clone(), lb);
    state.later(cx, cx.options.delays.provisioning, agenda::Due::Nlb(Due::Active(id.clone())));
    // This spelling is the product's.
    Ok(json!({ "LoadbalancerId": id, "OrderId": 0 }))
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let lb = state.nlb.writable(id)?;
    if lb.delete_protection.is_some() {
        return Err(Failure::bad(
            "OperationDenied.DeletionProtectionEnabled",
            format!("The load balancer {id} is protected against deletion."),
        ));
    }
    lb.status = NlbStatus::Deleting;
    for mapping in std::mem::take(&mut lb.zones) {
        zone::release(state, &mapping);
    }
    Ok(job::begin(cx, state, Some(id), vec![Effect::LoadBalancerGone(id.to_owned())]))
}
