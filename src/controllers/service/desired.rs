//! What a Service should have: a pure function from Kubernetes objects and options.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use k8s_openapi::{
    api::core::v1::{Service, ServicePort},
    apimachinery::pkg::util::intstr::IntOrString,
};
use sha2::{Digest, Sha256};

use super::{
    Options,
    annotations::Requested,
    checks::policy,
    hash,
    members::{self, Backends, Ports},
    ownership::{Owner, PROTECTION_REASON},
};
use crate::cloud::{
    AddressType, ListenerSettings, Member, Protocol, ServerGroupId, Setting, VSwitchId, action::CreateLoadBalancer,
};

/// `InstanceChargeType`: paid by what is used. That of new load balancers, as the released controller
/// chose it.
pub const BY_USE: &str = "PayByCLCU";
/// `InstanceChargeType`: paid by specification.
pub const BY_SPEC: &str = "PayBySpec";
/// `InternetChargeType`: paid by peak bandwidth.
pub const BY_BANDWIDTH: &str = "paybybandwidth";
/// Specification where one is needed and none was asked for.
pub const DEFAULT_SPEC: &str = "slb.s1.small";
const DEFAULT_SCHEDULER: &str = "rr";
/// No limit beyond the load balancer's own.
const UNLIMITED: &str = "-1";

/// What should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    pub owner: Owner,
    pub requested: Requested,
    /// What to make the load balancer from, if it is to be made.
    pub create: CreateLoadBalancer,
    /// Other vSwitches that it may be made in if there is no room.
    pub spare_vswitches: Vec<VSwitchId>,
    /// What idempotency tokens are made from besides the parameters.
    token_seed: String,
    pub listeners: BTreeMap<(u16, Protocol), DesiredListener>,
    /// The groups and their members.
    pub groups: BTreeMap<GroupKey, Vec<Member>>,
    /// Why which port is left out.
    pub problems: Vec<String>,
    /// The ports left out; what is there for them stays.
    pub troubled_ports: BTreeSet<u16>,
    /// Whether the traffic policy was seen to change, so that checks of listeners that are there follow it.
    pub policy_changed: bool,
}

/// A group that should have members of the Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKey {
    /// One of the Service's own, by its name.
    Own(String),
    /// One that the user made.
    Users(ServerGroupId),
}

/// A listener that should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredListener {
    pub description: String,
    /// The group it sends traffic to.
    pub group: GroupKey,
    /// What it is created with.
    pub create: ListenerSettings,
    /// What is kept so afterwards.
    pub keep: ListenerSettings,
    /// How members are checked so as to follow the traffic policy Local; `None` if annotations say how, or
    /// there is nothing to follow.
    pub check: Option<ListenerSettings>,
    /// The HTTPS port that its requests are sent on to.
    pub forward: Option<u16>,
    /// Domain → certificate; `None` leaves alone what is there.
    pub domain_extensions: Option<BTreeMap<String, String>>,
}

/// What `service` should have.
pub fn desired(
    service: &Service,
    requested: Requested,
    backends: &Backends,
    interfaces: &BTreeMap<IpAddr, String>,
    options: &Options,
) -> Desired {
    let owner = Owner::of(service, &options.cluster_id);
    let create = load_balancer(service, &owner, &requested, options);
    let chooses_vswitch = requested.vswitch.is_none() && create.vswitch.is_some() && create.address.is_none();
    let spare_vswitches = options
        .vswitches
        .iter()
        .filter(|spare| chooses_vswitch && create.vswitch.as_ref() != Some(*spare))
        .cloned()
        .collect();
    let eni = requested.eni.unwrap_or(options.eni_by_default);
    let mut desired = Desired {
        owner,
        requested,
        create,
        spare_vswitches,
        token_seed: String::new(),
        listeners: BTreeMap::new(),
        groups: BTreeMap::new(),
        problems: Vec::new(),
        troubled_ports: BTreeSet::new(),
        policy_changed: false,
    };
    let check_port = policy::port_of(service).filter(|_| !eni && backends.pods.is_empty());
    for port in service.spec.iter().flat_map(|spec| spec.ports.iter().flatten()) {
        if let Err(problem) = desired.add(port, backends, interfaces, eni, check_port) {
            desired.problems.push(problem);
            desired.troubled_ports.extend(u16::try_from(port.port));
        }
    }
    desired
}

fn load_balancer(service: &Service, owner: &Owner, requested: &Requested, options: &Options) -> CreateLoadBalancer {
    let address_type = requested.address_type.unwrap_or(AddressType::Internet);
    let intranet = address_type == AddressType::Intranet;
    let charge_type = requested.instance_charge_type.clone().unwrap_or_else(|| BY_USE.to_owned());
    let default_spec = (charge_type == BY_SPEC).then(|| DEFAULT_SPEC.to_owned());
    CreateLoadBalancer {
        name: requested.name.clone().unwrap_or_else(|| owner.default_name()),
        address_type,
        vpc: options.vpc.clone().filter(|_| intranet),
        vswitch: requested.vswitch.clone().or_else(|| intranet.then(|| choose_vswitch(owner, options)).flatten()),
        spec: requested.spec.clone().or(default_spec),
        instance_charge_type: Some(charge_type),
        internet_charge_type: requested.charge_type.clone(),
        bandwidth: requested.bandwidth,
        delete_protection: requested.delete_protection.unwrap_or(true),
        modification_protection: requested
            .modification_protection
            .clone()
            .unwrap_or_else(|| "ConsoleProtection".to_owned()),
        modification_protection_reason: match requested.modification_protection.as_deref() {
            Some("NonProtection") => String::new(),
            _ => PROTECTION_REASON.to_owned(),
        },
        resource_group: requested.resource_group.clone().or_else(|| options.resource_group.clone()),
        master_zone: requested.master_zone.clone(),
        slave_zone: requested.slave_zone.clone(),
        ip_version: requested.ip_version.clone(),
        address: requested.address.clone().or_else(|| own_address(service).filter(|_| intranet)),
        // Of a tag that is also a mark, the mark counts.
        tags: requested.tags.clone().into_iter().chain(owner.tags()).collect(),
        token: String::new(),
    }
}

/// `spec.loadBalancerIP`, if it is an address.
fn own_address(service: &Service) -> Option<String> {
    let asked = service.spec.as_ref()?.load_balancer_ip.as_deref()?;
    asked.parse::<IpAddr>().ok().map(|address| address.to_string())
}

/// Spreads load balancers over the configured vSwitches, the same one for the same Service.
fn choose_vswitch(owner: &Owner, options: &Options) -> Option<VSwitchId> {
    let sum = owner.uid.bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
    options.vswitches.get(sum % options.vswitches.len().max(1)).cloned()
}

// === impl GroupKey ===

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(name) => f.write_str(name),
            Self::Users(id) => write!(f, "{id}"),
        }
    }
}

// === impl Desired ===

impl Desired {
    /// Makes the idempotency token: the same for the same wish of the same Service, so that a
    /// repeated request cannot make a second load balancer; another one for each `attempt`, when
    /// what an earlier one made is gone.
    pub fn set_token(&mut self, attempt: &str) {
        self.token_seed = format!("{}/{}/{attempt}", self.owner.cluster, self.owner.uid);
        self.renew_token();
    }

    fn renew_token(&mut self) {
        self.create.token.clear();
        let digest = Sha256::digest(format!("{}/{:?}", self.token_seed, self.create).as_bytes());
        self.create.token = hash::hex(&digest);
    }

    /// Chooses another vSwitch; `false` if there is none left.
    pub fn use_spare_vswitch(&mut self) -> bool {
        if self.spare_vswitches.is_empty() {
            return false;
        }
        self.create.vswitch = Some(self.spare_vswitches.remove(0));
        self.renew_token();
        true
    }

    fn add(
        &mut self,
        port: &ServicePort,
        backends: &Backends,
        interfaces: &BTreeMap<IpAddr, String>,
        eni: bool,
        check_port: Option<u16>,
    ) -> Result<(), String> {
        let protocol = match port.protocol.as_deref().unwrap_or("TCP") {
            "TCP" => Protocol::Tcp,
            "UDP" => Protocol::Udp,
            other => return Err(format!("port {} has the protocol {other}; use TCP or UDP", port.port)),
        };
        let number = u16::try_from(port.port).map_err(|_| format!("port {} is not a port number", port.port))?;
        let name = port.name.as_deref().unwrap_or_default();
        let node_port = port.node_port.and_then(|p| u16::try_from(p).ok()).filter(|p| *p != 0);
        let (group, ports) = match node_port {
            // Named after the port of the pods, as far as the Service tells it.
            _ if eni => (target_port(port), Ports { node_port: None, name }),
            Some(node_port) => (node_port.to_string(), Ports { node_port: Some(node_port), name }),
            None => {
                return Err(format!(
                    "port {number} has no node port; set spec.allocateLoadBalancerNodePorts to true, or use pods as \
                     members with the annotation service.beta.kubernetes.io/backend-type: eni"
                ));
            }
        };
        let mark = self.owner.group_name(&group);
        let users = self.requested.user_groups.get(&number).filter(|_| self.requested.id.is_some());
        let group = users.map_or_else(|| GroupKey::Own(mark.clone()), |id| GroupKey::Users(id.clone()));
        let members = members::members(backends, interfaces, ports, &mark);
        let there = self.groups.entry(group.clone()).or_default();
        // Several ports may go into one group.
        there.extend(members.into_iter().filter(|member| !there.contains(member)).collect::<Vec<_>>());
        let protocol = self.requested.protocol_of(number, protocol);
        let mut keep = self.requested.listener_settings(protocol);
        if let Some(scheduler) = keep.get(Setting::Scheduler)
            && !schedulers(protocol).contains(&scheduler)
        {
            self.problems.push(format!(
                "port {number}: the annotation scheduler is {scheduler:?}, but a {protocol} listener knows only {}; the \
                 rest is in place",
                schedulers(protocol).join(", ")
            ));
            keep.remove(Setting::Scheduler);
        }
        let forward = self.requested.forwards.get(&number).copied().filter(|_| protocol == Protocol::Http);
        let mut create = defaults(protocol);
        create.overlay(&keep);
        let check =
            check_port.filter(|_| forward.is_none()).and_then(|port| policy::of_listener(protocol, port, &keep));
        if let Some(check) = &check {
            create.overlay(check);
        }
        if let Some(target) = forward {
            create.set(Setting::ForwardPort, target.to_string());
            // A listener that only sends on has no other settings worth keeping.
            keep = ListenerSettings::default();
        }
        let listener = DesiredListener {
            description: self.owner.listener_description(number),
            group,
            create,
            keep,
            check,
            forward,
            domain_extensions: self.requested.domain_extensions.clone().filter(|_| protocol == Protocol::Https),
        };
        self.listeners.insert((number, protocol), listener);
        Ok(())
    }
}

/// What a listener is created with unless asked otherwise, as the released controller chose it.
fn defaults(protocol: Protocol) -> ListenerSettings {
    let settings = ListenerSettings::default().with(Setting::Scheduler, DEFAULT_SCHEDULER);
    match protocol {
        Protocol::Tcp | Protocol::Udp => settings.with(Setting::Bandwidth, UNLIMITED),
        Protocol::Http => settings.with(Setting::HealthCheck, "off").with(Setting::StickySession, "off"),
        Protocol::Https => settings
            .with(Setting::Bandwidth, UNLIMITED)
            .with(Setting::HealthCheck, "off")
            .with(Setting::StickySession, "off"),
    }
}

/// The words that listeners of this protocol know. The cloud took `wlc` for long, and does not
/// document it any more; it has the last word on that.
fn schedulers(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::Tcp => &["wrr", "rr", "wlc", "sch", "tch"],
        Protocol::Udp => &["wrr", "rr", "wlc", "sch", "tch", "qch"],
        Protocol::Http | Protocol::Https => &["wrr", "rr", "wlc"],
    }
}

pub(super) fn target_port(port: &ServicePort) -> String {
    match &port.target_port {
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(name)) => name.clone(),
        None => port.port.to_string(),
    }
}
