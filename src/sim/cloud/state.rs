//! All resources of the simulated cloud.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::{
    Context,
    agenda::{Agenda, Due},
    ecs::{Ecs, Instance},
    nlb::{self, NetworkLoadBalancer, Nlb},
    region::Region,
    slb::Slb,
    sts::Keys,
    vpc::{EipStatus, Network},
};

/// The cloud's resources. Tests may edit them as an administrator would.
#[derive(Clone, Debug, Serialize)]
pub struct State {
    /// The account's number.
    pub account: String,
    /// Regions with their zones.
    pub regions: Vec<Region>,
    /// The RAM role that the metadata server hands out keys for.
    pub role: Option<String>,
    /// The instance that the metadata server speaks for.
    pub metadata_instance: Option<String>,
    /// Whether the metadata server insists on a session token.
    pub metadata_token_required: bool,
    /// Load balancers of the SLB product.
    pub slb: Slb,
    /// Load balancers of the NLB product.
    pub nlb: Nlb,
    /// Instances, their interfaces and security groups.
    pub ecs: Ecs,
    /// Networks.
    pub network: Network,
    #[serde(skip)]
    pub(crate) keys: Keys,
    #[serde(skip)]
    pub(crate) agenda: Agenda,
}

// === impl State ===

impl State {
    /// Lets everything happen that is due by `now`.
    pub(crate) fn settle(&mut self, now: Timestamp) {
        while let Some(due) = self.agenda.pop(now) {
            self.apply(due);
        }
    }

    /// Lets a change happen after a delay, or at once if there is none.
    pub(crate) fn later(&mut self, cx: &Context<'_>, delay: Duration, due: Due) {
        if delay.is_zero() {
            self.apply(due);
        } else {
            self.agenda.push(cx.after(delay), due);
        }
    }

    /// What a region shows in which the account has nothing.
    pub(crate) fn elsewhere(&self) -> Self {
        Self {
            slb: Slb::default(),
            nlb: Nlb::default(),
            ecs: Ecs::default(),
            network: Network::default(),
            agenda: Agenda::default(),
            account: self.account.clone(),
            regions: self.regions.clone(),
            role: self.role.clone(),
            metadata_instance: None,
            metadata_token_required: self.metadata_token_required,
            keys: self.keys.clone(),
        }
    }

    fn apply(&mut self, due: Due) {
        match due {
            Due::Slb(due) => self.slb.apply(due),
            Due::Nlb(due) => self.nlb.apply(due),
            Due::Ecs(due) => self.ecs.apply(due),
            Due::Vpc(due) => self.network.apply(due),
        }
    }

    /// Releases an instance with its interfaces, and takes it out of all groups.
    pub fn remove_instance(&mut self, id: &str) -> Option<Instance> {
        let removed = self.ecs.instances.remove(id)?;
        self.slb.forget_server(id);
        for interface in &removed.interfaces {
            if let Some(interface) = self.ecs.interfaces.remove(interface) {
                self.slb.forget_server(&interface.id);
                for address in interface.private_ips {
                    self.network.release_address(&interface.vswitch, address);
                }
            }
        }
        for eip in self.network.eips.values_mut().filter(|eip| eip.instance.as_deref() == Some(id)) {
            (eip.status, eip.instance, eip.instance_type) = (EipStatus::Available, None, None);
        }
        Some(removed)
    }

    /// Removes a network load balancer with its listeners, protected or not.
    pub fn remove_network_load_balancer(&mut self, id: &str) -> Option<NetworkLoadBalancer> {
        let removed = self.nlb.load_balancers.remove(id)?;
        self.nlb.listeners.retain(|_, listener| listener.load_balancer != id);
        removed.zones.iter().for_each(|mapping| nlb::zone::release(self, mapping));
        Some(removed)
    }

    /// The account as a number, which some replies carry.
    pub(crate) fn owner(&self) -> i64 {
        self.account.parse().unwrap_or_default()
    }

    /// The account's default resource group.
    pub(crate) fn resource_group(&self) -> String {
        format!("rg-acfm{}", self.account)
    }
}
