//! The world that a simulated cloud starts with, as it is written in a YAML file.

mod build;
mod file;

use ipnet::Ipv4Net;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use self::build::system_entry;
pub use self::file::WrongWorld;
use super::{
    AccessKey, Region,
    ecs::{Instance, Interface, SecurityGroup},
    slb::Certificate,
    vpc::{BandwidthPackage, Eip, RouteTable, VSwitch, Vpc},
};

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
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::entropy::Entropy;

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
