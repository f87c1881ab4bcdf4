//! What a Service should have of a network load balancer: a pure function from Kubernetes objects
//! and options.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ipnet::IpNet;
use k8s_openapi::api::core::v1::{Service, ServicePort};

use crate::{
    cloud::{
        AddressType, Member, MemberKind, NetworkGroupKind, NetworkGroupSetting, NetworkGroupSettings,
        NetworkListenerSettings, NetworkProtocol, PortRange, RulePolicy, ServerGroupId, SourceRule,
        network_action::{CreateNetworkGroup, CreateNetworkLoadBalancer, CreateSecurityGroup},
    },
    controllers::service::{
        Options,
        annotations::NetworkRequested,
        checks::policy,
        desired::{GroupKey, target_port},
        members::{self, Backends, Families, Ports},
        ownership::{Owner, PROTECTION_REASON, ports_word},
    },
};

/// The cloud's limit of rules in one security group.
pub const RULES_PER_GROUP: usize = 200;

/// What should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    pub owner: Owner,
    pub requested: NetworkRequested,
    /// What to make the load balancer from, if it is to be made; without a token.
    pub create: CreateNetworkLoadBalancer,
    pub listeners: BTreeMap<(NetworkProtocol, PortRange), DesiredListener>,
    pub groups: BTreeMap<GroupKey, DesiredGroup>,
    /// `None` if everybody may come.
    pub sources: Option<DesiredSources>,
    /// The Service may have had source ranges before.
    pub may_have_sources: bool,
    /// Why which port is left out.
    pub problems: Vec<String>,
    /// The ports left out; what is there for them stays.
    pub troubled_ports: BTreeSet<u16>,
    /// Whether the traffic policy was seen to change, so that checks of groups that are there follow it.
    pub policy_changed: bool,
}

/// A listener that should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredListener {
    pub description: String,
    /// The group it sends traffic to.
    pub group: GroupKey,
    pub settings: NetworkListenerSettings,
    /// `None` leaves alone what is there.
    pub additional_certificates: Option<BTreeSet<String>>,
}

/// A group that should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredGroup {
    /// What it is made from; one of the user's has to be like that.
    pub create: CreateNetworkGroup,
    /// What is kept so afterwards; nothing of a group of the user's.
    pub keep: NetworkGroupSettings,
    /// How members are checked so as to follow the traffic policy Local; `None` if annotations say how, or
    /// there is nothing to follow.
    pub check: Option<NetworkGroupSettings>,
    pub members: Vec<Member>,
}

/// The security group that should be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredSources {
    pub create: CreateSecurityGroup,
    pub rules: Vec<SourceRule>,
}

/// What a wish is made from beside the Service and its annotations.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub backends: &'a Backends,
    /// Pod address → network interface.
    pub interfaces: &'a BTreeMap<IpAddr, String>,
    /// Instance → its node's address, for groups of addresses.
    pub addresses: &'a BTreeMap<String, IpAddr>,
    pub ranges: &'a BTreeSet<IpNet>,
    /// At which addresses pods are members.
    pub families: Families,
    /// Which families of addresses the load balancer has, if there is one: it keeps them whatever is asked for.
    pub ip_version: Option<&'a str>,
    pub options: &'a Options,
}

/// Where a listener sends its traffic.
struct Target<'a> {
    protocol: NetworkProtocol,
    /// What stands for the port in the group's mark.
    word: String,
    /// For members that get traffic on all ports, the one that is checked.
    any_port: Option<u16>,
    ports: Ports<'a>,
    /// The port at which kube-proxy tells of each node, if all members are nodes.
    check_port: Option<u16>,
    /// The group of the user's that members go into.
    users: Option<ServerGroupId>,
}

/// What `service` should have.
pub fn desired(service: &Service, requested: NetworkRequested, around: Around<'_>) -> Desired {
    let owner = Owner::of(service, &around.options.cluster_id);
    let create = load_balancer(&owner, &requested, around.options);
    let sources = sources(&owner, &create, &around);
    let eni = requested.members.eni.unwrap_or(around.options.eni_by_default);
    let mut desired = Desired {
        owner,
        requested,
        create,
        listeners: BTreeMap::new(),
        groups: BTreeMap::new(),
        sources,
        may_have_sources: false,
        problems: Vec::new(),
        troubled_ports: BTreeSet::new(),
        policy_changed: false,
    };
    let check_port = policy::port_of(service).filter(|_| !eni && around.backends.pods.is_empty());
    for port in service.spec.iter().flat_map(|spec| spec.ports.iter().flatten()) {
        if let Err(problem) = desired.add(port, around, eni, check_port) {
            desired.problems.push(problem);
            desired.troubled_ports.extend(u16::try_from(port.port));
        }
    }
    desired
}

fn load_balancer(owner: &Owner, requested: &NetworkRequested, options: &Options) -> CreateNetworkLoadBalancer {
    CreateNetworkLoadBalancer {
        name: requested.name.clone().unwrap_or_else(|| owner.default_name()),
        address_type: requested.address_type.unwrap_or(AddressType::Internet),
        ip_version: requested.ip_version.clone(),
        vpc: options.vpc.clone(),
        zones: requested.zones.clone(),
        bandwidth_package: requested.bandwidth_package.clone().flatten(),
        resource_group: requested.resource_group.clone().or_else(|| options.resource_group.clone()),
        protection_reason: PROTECTION_REASON.to_owned(),
        // Of a tag that is also a mark, the mark counts.
        tags: requested.tags.clone().into_iter().chain(owner.tags()).collect(),
        token: String::new(),
    }
}

/// Lets in what comes from the ranges, and nothing else.
fn sources(owner: &Owner, create: &CreateNetworkLoadBalancer, around: &Around<'_>) -> Option<DesiredSources> {
    let Around { ranges, ip_version, .. } = around;
    if ranges.is_empty() {
        return None;
    }
    let description = owner.security_group_description();
    let rule = |source: IpNet, policy, priority| SourceRule {
        id: String::new(),
        source,
        policy,
        priority,
        description: description.clone(),
    };
    let mut rules: Vec<SourceRule> = ranges.iter().map(|range| rule(*range, RulePolicy::Accept, 1)).collect();
    let everything = |v6: bool| {
        let address: IpAddr =
            if v6 { std::net::Ipv6Addr::UNSPECIFIED.into() } else { std::net::Ipv4Addr::UNSPECIFIED.into() };
        IpNet::new_assert(address, 0)
    };
    rules.push(rule(everything(false), RulePolicy::Drop, 100));
    let versions = [create.ip_version.as_deref(), *ip_version];
    if versions.into_iter().flatten().any(|version| version.eq_ignore_ascii_case("DualStack")) {
        rules.push(rule(everything(true), RulePolicy::Drop, 100));
    }
    Some(DesiredSources {
        create: CreateSecurityGroup {
            name: owner.security_group_name(),
            description,
            vpc: create.vpc.clone(),
            resource_group: create.resource_group.clone(),
            tags: owner.tags(),
        },
        rules,
    })
}

// === impl Desired ===

impl Desired {
    /// Notes that what should listen on these ports is left out.
    pub fn leave_out(&mut self, ports: PortRange) {
        let ranged = self.requested.ranges.iter().filter(|(_, ranges)| ranges.contains(&ports)).map(|(port, _)| *port);
        self.troubled_ports.extend(ranged.chain(ports.single()).collect::<Vec<_>>());
    }

    /// Whether attributes and listeners of the load balancer are the user's.
    pub fn leaves_attributes_alone(&self) -> bool {
        self.requested.id.is_some() && !self.requested.force_override_listeners
    }

    fn add(
        &mut self,
        port: &ServicePort,
        around: Around<'_>,
        eni: bool,
        check_port: Option<u16>,
    ) -> Result<(), String> {
        let protocol = match port.protocol.as_deref().unwrap_or("TCP") {
            "TCP" => NetworkProtocol::Tcp,
            "UDP" => NetworkProtocol::Udp,
            other => return Err(format!("port {} has the protocol {other}; use TCP or UDP", port.port)),
        };
        let number = u16::try_from(port.port).map_err(|_| format!("port {} is not a port number", port.port))?;
        let protocol = self.requested.protocol_of(number, protocol);
        let name = port.name.as_deref().unwrap_or_default();
        let node_port = port.node_port.and_then(|p| u16::try_from(p).ok()).filter(|p| *p != 0);
        let ranges = self.requested.ranges.get(&number).cloned().unwrap_or_default();
        let (word, ports) = match node_port {
            _ if eni => (target_port(port), Ports { node_port: None, name }),
            _ if !ranges.is_empty() => {
                return Err(format!(
                    "port {number}: listener port range can only be used for eni backend type service; set the annotation \
                     service.beta.kubernetes.io/backend-type: eni"
                ));
            }
            Some(node_port) => (node_port.to_string(), Ports { node_port: Some(node_port), name }),
            None => {
                return Err(format!(
                    "port {number} has no node port; set spec.allocateLoadBalancerNodePorts to true, or use pods as \
                     members with the annotation service.beta.kubernetes.io/backend-type: eni"
                ));
            }
        };
        let users = self.requested.members.user_groups.get(&number).filter(|_| self.requested.id.is_some()).cloned();
        if ranges.is_empty() {
            let target = Target { protocol, word, any_port: None, ports, check_port, users };
            return self.listen(PortRange::one(number), &target, around);
        }
        let any_port = Some(word.parse().unwrap_or_default());
        for range in ranges {
            let target =
                Target { protocol, word: ports_word(range), any_port, ports, check_port: None, users: users.clone() };
            self.listen(range, &target, around)?;
        }
        Ok(())
    }

    /// Adds a listener and its group.
    fn listen(&mut self, at: PortRange, target: &Target<'_>, around: Around<'_>) -> Result<(), String> {
        let protocol = target.protocol;
        let overlapping =
            |(other, range): &&(NetworkProtocol, PortRange)| protocol.excludes(*other) && at.overlaps(*range);
        if let Some((other, range)) = self.listeners.keys().find(overlapping) {
            return Err(format!("port of listener [{at}/{protocol}] overlaps with listener [{range}/{other}]"));
        }
        let mark = self.owner.network_group_name(&target.word, protocol);
        let group = target.users.clone().map_or_else(|| GroupKey::Own(mark.clone()), GroupKey::Users);
        let wanted = self.group(mark, target, around);
        match self.groups.get_mut(&group) {
            None => drop(self.groups.insert(group.clone(), wanted)),
            // Several ports may go into one group.
            Some(there) => {
                let same = |a: &Member, b: &Member| (&a.server, a.address, a.port) == (&b.server, b.address, b.port);
                let more = wanted.members.into_iter().filter(|new| !there.members.iter().any(|old| same(old, new)));
                let more: Vec<Member> = more.collect();
                there.members.extend(more);
            }
        }
        let is_ssl = protocol == NetworkProtocol::TcpSsl;
        let listener = DesiredListener {
            description: self.owner.network_listener_description(at, protocol),
            group,
            settings: self.requested.listener_settings(protocol),
            additional_certificates: self.requested.additional_certificates.clone().filter(|_| is_ssl),
        };
        self.listeners.insert((protocol, at), listener);
        Ok(())
    }

    fn group(&self, mark: String, target: &Target<'_>, around: Around<'_>) -> DesiredGroup {
        let asked = &self.requested;
        let mut settings = NetworkGroupSettings::default();
        if let Some(port) = target.any_port {
            // There is no port of its own to check a member at.
            settings.set(NetworkGroupSetting::HealthCheck, "true");
            settings.set(NetworkGroupSetting::HealthCheckConnectPort, port.to_string());
        }
        let mut keep = asked.group.clone();
        let affinity = match around.families {
            Families::V4 => None,
            Families::V6 => Some("NonAffinity"),
            Families::Both => Some("Affinity"),
        };
        if let Some(affinity) = affinity {
            keep.set(NetworkGroupSetting::AffinityMode, affinity);
        }
        settings.overlay(&keep);
        let check = target.check_port.and_then(|port| policy::of_group(target.protocol, port, &keep));
        let mut check = check.inspect(|check| settings.overlay(check));
        if target.users.is_some() {
            (keep, check) = (NetworkGroupSettings::default(), None);
        }
        let any_port = target.any_port.is_some();
        let members = match asked.group_kind {
            NetworkGroupKind::Instance => members::members(around.backends, around.interfaces, target.ports, &mark),
            NetworkGroupKind::Ip => by_address(around, target.ports, &mark),
        };
        let with_port = |member: Member| Member { port: if any_port { 0 } else { member.port }, ..member };
        let mut members: Vec<Member> = members.into_iter().map(with_port).collect();
        members.sort();
        members.dedup();
        let create = CreateNetworkGroup {
            name: mark,
            kind: asked.group_kind,
            protocol: target.protocol.of_group(),
            any_port,
            vpc: self.create.vpc.clone(),
            ip_version: affinity.map(|_| "DualStack".to_owned()),
            resource_group: self.create.resource_group.clone(),
            settings,
            tags: self.owner.tags(),
        };
        DesiredGroup { create, keep, check, members }
    }
}

/// Members by their addresses: nodes at their own, and pods without asking for their interfaces.
fn by_address(around: Around<'_>, ports: Ports<'_>, name: &str) -> Vec<Member> {
    let pods = around.backends.pods.keys().map(|address| (*address, address.to_string())).collect();
    let address_of = |member: Member| {
        let address = match member.kind {
            MemberKind::Ecs => *around.addresses.get(&member.server)?,
            _ => member.address?,
        };
        Some(Member { kind: MemberKind::Ip, server: address.to_string(), address: Some(address), ..member })
    };
    members::members(around.backends, &pods, ports, name).into_iter().filter_map(address_of).collect()
}
