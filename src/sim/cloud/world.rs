//! The world that a simulated cloud starts with, as it is written in a YAML file.

mod file;

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::file::WrongWorld;
use super::{
    AccessKey, Region, State,
    agenda::Agenda,
    context::new_id,
    ecs::{Ecs, Instance, Interface, SecurityGroup},
    nlb::Nlb,
    slb::{Certificate, Slb},
    sts::Keys,
    vpc::{BandwidthPackage, Eip, Network, RouteEntry, RouteStatus, RouteTable, VSwitch, Vpc},
};
use crate::entropy::Entropy;

/// Regions, networks and instances that exist at the start. What is left out gets ordinary
/// values: each VPC a System route table, each instance an address and a primary interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// The account's number, 16 digits.
    #[serde(default = "default_account")]
    pub account: String,
    /// Access keys of the account.
    #[serde(default = "default_access_keys")]
    pub access_keys: Vec<AccessKey>,
    /// The RAM role that the metadata server hands out keys for.
    #[serde(default)]
    pub role: Option<String>,
    /// The instance that the metadata server speaks for; the first one if left out.
    #[serde(default)]
    pub metadata_instance: Option<String>,
    /// Whether the metadata server insists on a session token.
    #[serde(default)]
    pub metadata_token_required: bool,
    /// Regions with their zones.
    pub regions: Vec<Region>,
    /// VPCs.
    pub vpcs: Vec<Vpc>,
    /// VSwitches.
    pub vswitches: Vec<VSwitch>,
    /// Route tables; a System table is added to a VPC that has none.
    #[serde(default)]
    pub route_tables: Vec<RouteTable>,
    /// Elastic addresses.
    #[serde(default)]
    pub eips: Vec<Eip>,
    /// Server certificates.
    #[serde(default)]
    pub certificates: Vec<Certificate>,
    /// Common bandwidth packages.
    #[serde(default)]
    pub bandwidth_packages: Vec<BandwidthPackage>,
    /// Security groups.
    #[serde(default)]
    pub security_groups: Vec<SecurityGroup>,
    /// Instances.
    #[serde(default)]
    pub instances: Vec<Instance>,
    /// Network interfaces beside the primary ones.
    #[serde(default)]
    pub interfaces: Vec<Interface>,
}

/// Why a world cannot be.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The text is not a world.
    #[error("world file: {0}")]
    Yaml(#[from] serde_yaml::Error),
    /// An object names something that is not there.
    #[error("world file: {object} names {field} {value:?}, which the file does not have")]
    Missing {
        /// The object.
        object: String,
        /// Its field.
        field: &'static str,
        /// The field's value.
        value: String,
    },
    /// An address cannot be given.
    #[error("world file: {object} cannot have the address {address}: outside vswitch {vswitch} or taken")]
    Address {
        /// The object.
        object: String,
        /// The wanted address, or `any`.
        address: String,
        /// The vswitch.
        vswitch: String,
    },
}

fn default_account() -> String {
    "1234567890123456".to_owned()
}

fn default_access_keys() -> Vec<AccessKey> {
    vec![AccessKey { id: "testid".to_owned(), secret: "testsecret".to_owned() }]
}

// === impl World ===

impl Default for World {
    /// One region with three zones, one VPC with a vswitch in each zone, no instances.
    fn default() -> Self {
        let zones = ["cn-hangzhou-h", "cn-hangzhou-i", "cn-hangzhou-j"];
        let cidr = |text: &str| text.parse::<Ipv4Net>().unwrap_or_default();
        let vswitch = |(index, zone): (usize, &&str)| VSwitch {
            id: format!("vsw-bp1sim{}", &zone[zone.len() - 1..]),
            vpc: "vpc-bp1sim".to_owned(),
            zone: (*zone).to_owned(),
            cidr: cidr(&format!("10.0.{}.0/19", index * 32)),
            name: format!("nodes-{}", &zone[zone.len() - 1..]),
            tags: super::Tags::new(),
            created: Timestamp::default(),
        };
        Self {
            account: default_account(),
            access_keys: default_access_keys(),
            role: Some("KubernetesMasterRole".to_owned()),
            metadata_instance: None,
            metadata_token_required: false,
            regions: vec![Region {
                id: "cn-hangzhou".to_owned(),
                zones: zones.iter().map(|zone| (*zone).to_owned()).collect(),
            }],
            vpcs: vec![Vpc {
                id: "vpc-bp1sim".to_owned(),
                region: "cn-hangzhou".to_owned(),
                cidr: cidr("10.0.0.0/16"),
                name: "cluster".to_owned(),
                router: "vrt-bp1sim".to_owned(),
                tags: super::Tags::new(),
                created: Timestamp::default(),
            }],
            vswitches: zones.iter().enumerate().map(vswitch).collect(),
            route_tables: Vec::new(),
            eips: Vec::new(),
            certificates: Vec::new(),
            bandwidth_packages: Vec::new(),
            security_groups: Vec::new(),
            instances: Vec::new(),
            interfaces: Vec::new(),
        }
    }
}

impl World {
    /// Reads a world file. Errors name the line.
    pub fn parse(text: &str) -> Result<Self, WorldError> {
        Ok(serde_yaml::from_str(text)?)
    }

    /// The default world with so many instances, spread over the zones in turn. The first
    /// one has the id `i-bp1node0001`.
    pub fn with_nodes(count: usize) -> Self {
        let mut world = Self::default();
        for index in 0..count {
            let vswitch = world.vswitches[index % world.vswitches.len()].id.clone();
            world.instances.push(Instance::new(&format!("i-bp1node{:04}", index + 1), &vswitch));
        }
        world
    }

    /// Makes the state that a cloud starts with.
    pub(crate) fn into_state(self, now: Timestamp, entropy: &Entropy) -> Result<State, WorldError> {
        let mut state = State {
            keys: Keys::new(&self.access_keys),
            metadata_instance: self.metadata_instance.or_else(|| self.instances.first().map(|first| first.id.clone())),
            metadata_token_required: self.metadata_token_required,
            account: self.account,
            regions: self.regions,
            role: self.role,
            slb: Slb::default(),
            nlb: Nlb::default(),
            ecs: Ecs::default(),
            network: Network::default(),
            agenda: Agenda::default(),
        };
        for vpc in self.vpcs {
            known(&vpc.id, "region", &vpc.region, state.regions.iter().any(|region| region.id == vpc.region))?;
            state.network.vpcs.insert(vpc.id.clone(), Vpc { created: or(vpc.created, now), ..vpc });
        }
        for vswitch in self.vswitches {
            known(&vswitch.id, "vpc", &vswitch.vpc, state.network.vpcs.contains_key(&vswitch.vpc))?;
            let zones = state.regions.iter().flat_map(|region| &region.zones);
            known(&vswitch.id, "zone", &vswitch.zone, zones.into_iter().any(|zone| *zone == vswitch.zone))?;
            state
                .network
                .vswitches
                .insert(vswitch.id.clone(), VSwitch { created: or(vswitch.created, now), ..vswitch });
        }
        for instance in self.instances {
            state.add_instance(instance, now, entropy)?;
        }
        for interface in self.interfaces {
            state.add_interface(interface, now)?;
        }
        for table in self.route_tables {
            known(&table.id, "vpc", &table.vpc, state.network.vpcs.contains_key(&table.vpc))?;
            state
                .network
                .route_tables
                .insert(table.id.clone(), RouteTable { created: or(table.created, now), ..table });
        }
        for eip in self.eips {
            state.network.eips.insert(eip.id.clone(), Eip { created: or(eip.created, now), ..eip });
        }
        for one in self.security_groups {
            let vpc = state.network.vpcs.get(&one.vpc);
            known(&one.id, "vpc", &one.vpc, vpc.is_some())?;
            let region = vpc.map(|vpc| vpc.region.clone()).unwrap_or_default();
            state
                .ecs
                .security_groups
                .insert(one.id.clone(), SecurityGroup { region, created: or(one.created, now), ..one });
        }
        for one in self.bandwidth_packages {
            state.network.bandwidth_packages.insert(one.id.clone(), one);
        }
        for one in self.certificates {
            state.slb.certificates.insert(one.id.clone(), Certificate { created: or(one.created, now), ..one });
        }
        state.complete_route_tables(now, entropy);
        Ok(state)
    }
}

// === impl State ===

impl State {
    /// Adds an instance and its primary interface, filling in what is left out.
    pub(crate) fn add_instance(
        &mut self,
        instance: Instance,
        now: Timestamp,
        entropy: &Entropy,
    ) -> Result<(), WorldError> {
        let mut instance = instance;
        let vswitch = self.vswitch(&instance.id, &instance.vswitch)?.clone();
        let address = self.reserve(&instance.id, &vswitch.id, instance.private_ip)?;
        instance.private_ip = Some(address);
        instance.vpc.clone_from(&vswitch.vpc);
        instance.zone.clone_from(&vswitch.zone);
        instance.region = self.network.vpcs.get(&vswitch.vpc).map(|vpc| vpc.region.clone()).unwrap_or_default();
        instance.created = or(instance.created, now);
        if instance.name.is_empty() {
            instance.name.clone_from(&instance.id);
        }
        if instance.hostname.is_empty() {
            instance.hostname = format!("iz{}z", instance.id.trim_start_matches("i-"));
        }
        let interface = Interface {
            id: new_id(entropy, "eni-bp1"),
            primary: true,
            instance: Some(instance.id.clone()),
            vswitch: vswitch.id,
            vpc: vswitch.vpc,
            zone: vswitch.zone,
            mac: mac(address),
            private_ips: vec![address],
            ipv6: Vec::new(),
            source_dest_check: true,
            name: String::new(),
            description: String::new(),
            security_groups: instance.security_groups.clone(),
            tags: super::Tags::new(),
            created: instance.created,
        };
        instance.interfaces = vec![interface.id.clone()];
        self.ecs.interfaces.insert(interface.id.clone(), interface);
        self.ecs.instances.insert(instance.id.clone(), instance);
        Ok(())
    }

    /// Adds a secondary interface, filling in what is left out.
    pub(crate) fn add_interface(&mut self, interface: Interface, now: Timestamp) -> Result<(), WorldError> {
        let mut interface = interface;
        let vswitch = self.vswitch(&interface.id, &interface.vswitch)?.clone();
        if interface.private_ips.is_empty() {
            interface.private_ips = vec![self.reserve(&interface.id, &vswitch.id, None)?];
        } else {
            for address in interface.private_ips.clone() {
                self.reserve(&interface.id, &vswitch.id, Some(address))?;
            }
        }
        interface.vpc = vswitch.vpc;
        interface.zone = vswitch.zone;
        interface.created = or(interface.created, now);
        interface.primary = false;
        if interface.mac.is_empty() {
            interface.mac = mac(interface.private_ips[0]);
        }
        if let Some(id) = &interface.instance {
            let instance = self.ecs.instances.get_mut(id);
            known(&interface.id, "instance", id, instance.is_some())?;
            if let Some(instance) = instance {
                instance.interfaces.push(interface.id.clone());
            }
        }
        self.ecs.interfaces.insert(interface.id.clone(), interface);
        Ok(())
    }

    fn vswitch(&self, object: &str, id: &str) -> Result<&VSwitch, WorldError> {
        self.network.vswitches.get(id).ok_or_else(|| WorldError::Missing {
            object: object.to_owned(),
            field: "vswitch",
            value: id.to_owned(),
        })
    }

    fn reserve(&mut self, object: &str, vswitch: &str, wanted: Option<Ipv4Addr>) -> Result<Ipv4Addr, WorldError> {
        let taken = match wanted {
            Some(address) => self.network.reserve_address(vswitch, address).then_some(address),
            None => self.network.take_address(vswitch),
        };
        taken.ok_or_else(|| WorldError::Address {
            object: object.to_owned(),
            address: wanted.map_or_else(|| "any".to_owned(), |address| address.to_string()),
            vswitch: vswitch.to_owned(),
        })
    }

    /// Gives each VPC a System table, and each table the entries that the cloud makes itself.
    fn complete_route_tables(&mut self, now: Timestamp, entropy: &Entropy) {
        for vpc in self.network.vpcs.values() {
            if !self.network.route_tables.values().any(|table| table.vpc == vpc.id && !table.custom) {
                let table = RouteTable {
                    id: format!("vtb-{}", vpc.id.trim_start_matches("vpc-")),
                    vpc: vpc.id.clone(),
                    custom: false,
                    name: String::new(),
                    description: String::new(),
                    vswitches: std::collections::BTreeSet::new(),
                    entries: std::collections::BTreeMap::new(),
                    tags: super::Tags::new(),
                    created: now,
                };
                self.network.route_tables.insert(table.id.clone(), table);
            }
        }
        let services: Ipv4Net = "100.64.0.0/10".parse().unwrap_or_default();
        for table in self.network.route_tables.values_mut() {
            let vswitches = self.network.vswitches.values().filter(|vswitch| vswitch.vpc == table.vpc);
            for cidr in vswitches.map(|vswitch| vswitch.cidr).chain([services]) {
                let entry = system_entry(new_id(entropy, "rte-bp1"), cidr);
                table.entries.insert(entry.id.clone(), entry);
            }
        }
    }
}

pub(crate) fn system_entry(id: String, destination: Ipv4Net) -> RouteEntry {
    RouteEntry {
        id,
        destination,
        next_hop: String::new(),
        next_hop_type: "local".to_owned(),
        name: String::new(),
        description: String::new(),
        system: true,
        status: RouteStatus::Available,
    }
}

fn or(given: Timestamp, otherwise: Timestamp) -> Timestamp {
    if given == Timestamp::default() { otherwise } else { given }
}

fn known(object: &str, field: &'static str, value: &str, found: bool) -> Result<(), WorldError> {
    if found { Ok(()) } else { Err(WorldError::Missing { object: object.to_owned(), field, value: value.to_owned() }) }
}

/// The cloud derives its MAC addresses from a fixed prefix; so does this.
fn mac(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("00:16:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_world_names_line_and_reason() {
        let error = World::parse("regions: []\nvpcs: []\nvswitches: []\ncolour: red\n").unwrap_err().to_string();
        assert!(error.contains("colour") && error.contains("line 4"), "{error}");
        let mut world = World::with_nodes(1);
        world.instances[0].vswitch = "vsw-none".to_owned();
        let error = world.into_state(Timestamp::default(), &Entropy::seeded(1)).unwrap_err().to_string();
        assert!(error.contains("i-bp1node0001") && error.contains("vsw-none"), "{error}");
    }

    #[test]
    fn the_example_world_can_be() {
        let world = World::parse(include_str!("../../../config/world.yaml")).unwrap();
        let state = world.into_state(Timestamp::default(), &Entropy::seeded(1)).unwrap();
        assert_eq!(state.ecs.interfaces_of(&state.ecs.instances["i-bp1node0001"]).len(), 2);
        assert_eq!(state.network.route_tables["vtb-bp1sim"].entries.len(), 4);
    }

    #[test]
    fn a_world_survives_its_own_yaml() {
        let world = World::with_nodes(3);
        assert_eq!(World::parse(&serde_yaml::to_string(&world).unwrap()).unwrap(), world);
    }

    #[test]
    fn instances_get_addresses_interfaces_and_zones() {
        let state = World::with_nodes(4).into_state(Timestamp::default(), &Entropy::seeded(1)).unwrap();
        let instance = &state.ecs.instances["i-bp1node0004"];
        assert_eq!(instance.zone, "cn-hangzhou-h");
        assert_eq!(instance.private_ip, Some(Ipv4Addr::new(10, 0, 0, 2)));
        assert_eq!(state.ecs.interfaces_of(instance)[0].private_ips, [Ipv4Addr::new(10, 0, 0, 2)]);
    }
}
