//! Load balancers: creation and deletion.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Listener, Server};
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    tag::{self, Tags},
};

/// A classic load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoadBalancer {
    /// `lb-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// Region id.
    pub region: String,
    /// `active`, `inactive` or `locked`.
    pub status: String,
    /// The address that clients connect to.
    pub address: Ipv4Addr,
    /// `internet` or `intranet`.
    pub address_type: String,
    /// `ipv4` or `ipv6`.
    pub ip_version: String,
    /// `slb.s1.small`, …; empty when charged by use.
    pub spec: String,
    /// `PayOnDemand` or, for a subscription, `PrePay`.
    pub pay_type: String,
    /// `PayBySpec` or `PayByCLCU`.
    pub instance_charge_type: String,
    /// `paybytraffic` or `paybybandwidth`.
    pub internet_charge_type: String,
    /// Bandwidth in Mbit/s.
    pub bandwidth: i64,
    /// The VPC's id; empty for load balancers on the internet.
    pub vpc: String,
    /// The vswitch's id; empty for load balancers on the internet.
    pub vswitch: String,
    /// Zone id.
    pub master_zone: String,
    /// Zone id.
    pub slave_zone: String,
    /// Whether deletion is refused.
    pub delete_protection: bool,
    /// `NonProtection` or `ConsoleProtection`.
    pub modification_protection: String,
    /// Why it is protected.
    pub modification_protection_reason: String,
    /// Resource group id.
    pub resource_group: String,
    /// Listeners in the order of their ports.
    pub listeners: Vec<Listener>,
    /// Default servers, which listeners without a group use.
    pub servers: Vec<Server>,
    /// Tags.
    pub tags: Tags,
    /// Creation time.
    pub created: Timestamp,
}

pub(super) fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidLoadBalancerId.NotFound", format!("The specified LoadBalancerId {id} does not exist."))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let limit = cx.options.quotas.load_balancers;
    if limit.is_some_and(|limit| state.slb.load_balancers.len() >= limit) {
        return Err(Failure::bad("OverQuota", "The number of load balancers of the account exceeds the quota."));
    }
    let vswitch = cx.params.text("VSwitchId");
    let otherwise = if vswitch.is_empty() { "internet" } else { "intranet" };
    let address_type = cx.params.get("AddressType").unwrap_or(otherwise).to_owned();
    let instance_charge_type = cx.params.get("InstanceChargeType").unwrap_or("PayBySpec").to_owned();
    let spec = cx.params.text("LoadBalancerSpec");
    if instance_charge_type == "PayBySpec" && spec.is_empty() {
        return Err(Failure::bad(
            "ShareSlbHaltSales",
            "Shared-performance load balancers are no longer sold; give a LoadBalancerSpec.",
        ));
    }
    let bandwidth = cx.params.number::<i64>("Bandwidth")?;
    let internet_charge_type = cx.params.get("InternetChargeType").unwrap_or("paybytraffic").to_owned();
    if address_type == "internet" && internet_charge_type == "paybybandwidth" && instance_charge_type == "PayByCLCU" {
        return Err(Failure::bad(
            "Instance.InternetChargeTypeNotAllowed",
            "A load balancer charged by use pays by traffic.",
        ));
    }
    check_bandwidth(&internet_charge_type, bandwidth)?;
    let tags = tag::given(cx.params)?;
    let (address, vpc, zone) = place(cx, state, &address_type, &vswitch)?;
    let zones = state
        .regions
        .iter()
        .find(|region| region.id == cx.region)
        .map(|region| region.zones.clone())
        .unwrap_or_default();
    let master_zone = cx
        .params
        .get("MasterZoneId")
        .map(str::to_owned)
        .or(zone)
        .or_else(|| zones.first().cloned())
        .unwrap_or_default();
    let slave_zone = cx.params.get("SlaveZoneId").map(str::to_owned);
    let slave_zone =
        slave_zone.or_else(|| zones.iter().find(|zone| **zone != master_zone).cloned()).unwrap_or_default();
    let on_internet = address_type == "internet";
    let id = cx.id("lb-bp1");
    let load_balancer = LoadBalancer {
        name: cx.params.get("LoadBalancerName").map_or_else(|| id.clone(), str::to_owned),
        region: cx.region.to_owned(),
        status: "active".to_owned(),
        address,
        address_type,
        ip_version: cx.params.get("AddressIPVersion").unwrap_or("ipv4").to_owned(),
        spec: if instance_charge_type == "PayBySpec" { spec } else { String::new() },
        pay_type: cx.params.get("PayType").unwrap_or("PayOnDemand").to_owned(),
        instance_charge_type,
        internet_charge_type,
        bandwidth: bandwidth.unwrap_or(5120),
        vpc,
        vswitch: if on_internet { String::new() } else { vswitch },
        master_zone,
        slave_zone,
        delete_protection: cx.params.get("DeleteProtection") == Some("on"),
        modification_protection: cx.params.get("ModificationProtectionStatus").unwrap_or("NonProtection").to_owned(),
        modification_protection_reason: cx.params.text("ModificationProtectionReason"),
        resource_group: cx.params.get("ResourceGroupId").map_or_else(|| state.resource_group(), str::to_owned),
        listeners: Vec::new(),
        servers: Vec::new(),
        tags,
        created: cx.now,
        id,
    };
    cx.change();
    let reply = json!({
        "LoadBalancerId": load_balancer.id,
        "LoadBalancerName": load_balancer.name,
        "Address": load_balancer.address.to_string(),
        "AddressIPVersion": load_balancer.ip_version,
        "NetworkType": load_balancer.network_type(),
        "VpcId": load_balancer.vpc,
        "VSwitchId": load_balancer.vswitch,
        "ResourceGroupId": load_balancer.resource_group,
        "OrderId": 0,
    });
    state.slb.load_balancers.insert(load_balancer.id.clone(), load_balancer);
    Ok(reply)
}

/// The address, and for one in a VPC the VPC and the vswitch's zone.
fn place(
    cx: &Context<'_>,
    state: &mut State,
    address_type: &str,
    vswitch: &str,
) -> Result<(Ipv4Addr, String, Option<String>), Failure> {
    if address_type == "internet" {
        return Ok((state.network.take_public_address(), String::new(), None));
    }
    if vswitch.is_empty() {
        return Err(Failure::bad("MissingParam.VSwitchId", "A load balancer in a VPC needs a VSwitchId."));
    }
    let found =
        state.network.vswitches.get(vswitch).ok_or_else(|| {
            Failure::bad("InvalidVSwitchId.NotFound", format!("The VSwitchId {vswitch} does not exist."))
        })?;
    let (vpc, zone) = (found.vpc.clone(), found.zone.clone());
    if let Some(wanted) = cx.params.get("VpcId").filter(|wanted| *wanted != vpc) {
        return Err(Failure::bad(
            "InvalidParameter.Mismatch",
            format!("{vswitch} does not belong to the VPC {wanted}."),
        ));
    }
    let wanted = cx.params.get("Address").map(|text| text.parse::<Ipv4Addr>().map_err(|_| Failure::invalid("Address")));
    let address = match wanted.transpose()? {
        Some(wanted) => state.network.reserve_address(vswitch, wanted).then_some(wanted),
        None => state.network.take_address(vswitch),
    };
    let address = address.ok_or_else(|| {
        Failure::bad("VSwitchAvailableIpNotExist", format!("The VSwitch {vswitch} has no available ip."))
    })?;
    Ok((address, vpc, Some(zone)))
}

/// Paying by bandwidth needs 1 to 5120 Mbit/s; paying by traffic takes -1 for no limit too.
pub(super) fn check_bandwidth(internet_charge_type: &str, bandwidth: Option<i64>) -> Result<(), Failure> {
    let fits = match bandwidth {
        None => true,
        Some(-1) => internet_charge_type == "paybytraffic",
        Some(bandwidth) => (1..=5120).contains(&bandwidth),
    };
    if fits { Ok(()) } else { Err(Failure::bad("InvalidParameter.Bandwidth", "The bandwidth must be 1 to 5120.")) }
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let load_balancer = state.slb.load_balancer(id)?;
    if load_balancer.delete_protection {
        return Err(Failure::bad(
            "OperationDenied.DeleteProtectionIsOn",
            format!("The load balancer {id} is protected against deletion."),
        ));
    }
    // What was paid for in advance ends with its term.
    if load_balancer.pay_type == "PrePay" {
        return Err(Failure::bad("InvalidChargeType", format!("The load balancer {id} is a subscription.")));
    }
    state.remove_load_balancer(id);
    cx.change();
    Ok(json!({}))
}

// === impl State ===

impl State {
    /// Removes a load balancer with all that belongs to it.
    pub fn remove_load_balancer(&mut self, id: &str) -> Option<LoadBalancer> {
        let removed = self.slb.load_balancers.remove(id)?;
        self.slb.groups.retain(|_, group| group.load_balancer != id);
        self.slb.rules.retain(|_, rule| rule.load_balancer != id);
        self.slb.domain_extensions.retain(|_, extension| extension.load_balancer != id);
        if !removed.vswitch.is_empty() {
            self.network.release_address(&removed.vswitch, removed.address);
        }
        Some(removed)
    }
}

// === impl LoadBalancer ===

impl LoadBalancer {
    /// Refuses changes to a locked load balancer.
    pub(super) fn check_unlocked(&self) -> Result<(), Failure> {
        if self.status == "locked" {
            return Err(Failure::bad("Operation.NotAllowed", format!("The load balancer {} is locked.", self.id)));
        }
        Ok(())
    }

    /// `vpc` or `classic`: load balancers on the internet belong to no VPC.
    pub fn network_type(&self) -> &'static str {
        if self.vpc.is_empty() { "classic" } else { "vpc" }
    }
}
