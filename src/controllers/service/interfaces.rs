//! Which network interface holds a pod's address.
//!
//! A pod keeps its interface for life, so each is looked up once. Addresses are used again by
//! other pods, therefore what is known is known of a pod and not of an address.

use std::{collections::BTreeMap, net::IpAddr};

use parking_lot::Mutex;

use super::members::PodBackend;
use crate::cloud::{CloudProvider, Error, Member, MemberKind};

/// More pods than one process will ever serve; beyond that, all is looked up anew.
const MOST: usize = 50_000;

/// The interfaces found so far: address → pod and interface.
#[derive(Default)]
pub struct Interfaces(Mutex<BTreeMap<IpAddr, (String, String)>>);

// === impl Interfaces ===

impl Interfaces {
    /// The interfaces of these pods, asking for those that are not known yet (100 a call). An
    /// address that the cloud does not show (yet) keeps the interface that it is a member with in
    /// `there`, and otherwise is not in the answer.
    pub async fn resolve<'a>(
        &self,
        cloud: &dyn CloudProvider,
        pods: &BTreeMap<IpAddr, PodBackend>,
        there: impl Iterator<Item = &'a Member>,
    ) -> Result<BTreeMap<IpAddr, String>, Error> {
        let mut unknown = Vec::new();
        let mut found = BTreeMap::new();
        {
            let known = self.0.lock();
            for (address, pod) in pods {
                match known.get(address) {
                    Some((identity, interface)) if *identity == pod.identity => {
                        found.insert(*address, interface.clone());
                    }
                    _ => unknown.push(*address),
                }
            }
        }
        if unknown.is_empty() {
            return Ok(found);
        }
        let interfaces = cloud.network_interfaces_by_address(&unknown).await?;
        let mut known = self.0.lock();
        if known.len() > MOST {
            known.clear();
        }
        for interface in interfaces {
            for address in interface.addresses {
                if let Some(pod) = pods.get(&address) {
                    known.insert(address, (pod.identity.clone(), interface.id.to_string()));
                    found.insert(address, interface.id.to_string());
                }
            }
        }
        for member in there.filter(|member| member.kind == MemberKind::Eni) {
            if let Some(address) = member.address.filter(|address| pods.contains_key(address)) {
                found.entry(address).or_insert_with(|| member.server.clone());
            }
        }
        Ok(found)
    }
}
