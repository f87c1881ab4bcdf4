//! Makes a cloud's first state out of a world, and adds what is left out.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use jiff::Timestamp;

use super::{World, WorldError};
use crate::{
    entropy::Entropy,
    sim::cloud::{
        State, Tags,
        agenda::Agenda,
        context::new_id,
        ecs::{Ecs, Instance, Interface, SecurityGroup},
        nlb::Nlb,
        slb::{Certificate, Slb},
        sts::Keys,
        vpc::{Eip, Network, RouteEntry, RouteStatus, RouteTable, VSwitch, Vpc},
    },
};

// === impl World ===

impl World {
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
            tags: Tags::new(),
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
            let taken = interface.private_ips.iter().enumerate().find_map(|(index, address)| {
                self.reserve(&interface.id, &vswitch.id, Some(*address)).err().map(|error| (index, error))
            });
            if let Some((index, error)) = taken {
                // A refused interface leaves no trace.
                interface.private_ips[..index].iter().for_each(|one| self.network.release_address(&vswitch.id, *one));
                return Err(error);
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
                    tags: Tags::new(),
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
        destination: destination.into(),
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
