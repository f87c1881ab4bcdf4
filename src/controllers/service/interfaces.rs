//! Which network interface holds a pod's address.
//!
//! A pod keeps its interface for life, so each is looked up once. Addresses are used again by
//! other pods, therefore what is known is known of a pod and not of an address.
//!
//! One call asks for up to a hundred addresses. Whoever asks fills up the call with what others will ask for,
//! and one asks at a time, so that the others find their answer when it is their turn.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Mutex as AsyncMutex, time::Instant};

use super::members::PodBackend;
use crate::cloud::{CloudProvider, Error, Member, MemberKind, NetworkInterface};

/// More pods than one process will ever serve; beyond that, all is looked up anew.
const MOST: usize = 50_000;
/// Addresses in one call (ECS `DescribeNetworkInterfaces`).
const IN_A_CALL: usize = 100;
/// How long an address that the cloud did not show is not asked for again: as long as those who waited for
/// the same answer need to read it.
const FRESH: Duration = Duration::from_secs(1);

/// The interfaces found so far.
#[derive(Default)]
pub struct Interfaces {
    inner: Mutex<Inner>,
    /// Held while the cloud is asked.
    asking: AsyncMutex<()>,
}

#[derive(Default)]
struct Inner {
    /// Address → pod and interface.
    known: BTreeMap<IpAddr, (Arc<str>, String)>,
    /// Address → pod, and when the cloud did not show it.
    missing: BTreeMap<IpAddr, (Arc<str>, Instant)>,
    /// Address → pod: what somebody will ask for.
    wanted: BTreeMap<IpAddr, Arc<str>>,
}

// === impl Interfaces ===

impl Interfaces {
    /// Tells of pods whose interfaces somebody will ask for soon, so that they are asked for together.
    pub fn announce(&self, pods: &BTreeMap<IpAddr, PodBackend>) {
        let mut inner = self.inner.lock();
        for address in inner.split(pods).1 {
            if let Some(pod) = pods.get(&address) {
                inner.wanted.insert(address, pod.identity.clone());
            }
        }
    }

    /// The interfaces of these pods, asking for those that are not known yet. An address that the
    /// cloud does not show (yet) keeps the interface that it is a member with in `there`, and
    /// otherwise is not in the answer.
    pub async fn resolve<'a>(
        &self,
        cloud: &dyn CloudProvider,
        pods: &BTreeMap<IpAddr, PodBackend>,
        there: impl Iterator<Item = &'a Member>,
    ) -> Result<BTreeMap<IpAddr, String>, Error> {
        let mut found = self.inner.lock().split(pods).0;
        if found.len() == pods.len() {
            return Ok(found);
        }
        self.announce(pods);
        let turn = self.asking.lock().await;
        // Whoever had the turn before may have asked for these.
        let unknown = self.inner.lock().split(pods).1;
        if !unknown.is_empty() {
            let asked = self.inner.lock().fill_up(&unknown, pods);
            let addresses: Vec<IpAddr> = asked.keys().copied().collect();
            let interfaces = cloud.network_interfaces_by_address(&addresses).await?;
            self.inner.lock().note(&asked, interfaces);
        }
        drop(turn);
        found = self.inner.lock().split(pods).0;
        for member in there.filter(|member| member.kind == MemberKind::Eni) {
            if let Some(address) = member.address.filter(|address| pods.contains_key(address)) {
                found.entry(address).or_insert_with(|| member.server.clone());
            }
        }
        Ok(found)
    }
}

// === impl Inner ===

impl Inner {
    /// The interfaces of these pods that are known, and the addresses that have to be asked for.
    fn split(&self, pods: &BTreeMap<IpAddr, PodBackend>) -> (BTreeMap<IpAddr, String>, Vec<IpAddr>) {
        let (mut found, mut unknown) = (BTreeMap::new(), Vec::new());
        for (address, pod) in pods {
            let missing = self.missing.get(address);
            match self.known.get(address) {
                Some((identity, interface)) if *identity == pod.identity => {
                    found.insert(*address, interface.clone());
                }
                _ if missing.is_some_and(|(identity, at)| *identity == pod.identity && at.elapsed() < FRESH) => {}
                _ => unknown.push(*address),
            }
        }
        (found, unknown)
    }

    /// These addresses, and as many that others want as fit into the calls that are made anyway.
    fn fill_up(&self, own: &[IpAddr], pods: &BTreeMap<IpAddr, PodBackend>) -> BTreeMap<IpAddr, Arc<str>> {
        let mut asked = BTreeMap::new();
        // Each family has calls of its own.
        for v6 in [false, true] {
            let own = own.iter().filter(|address| address.is_ipv6() == v6);
            let own: BTreeMap<IpAddr, Arc<str>> =
                own.filter_map(|address| Some((*address, pods.get(address)?.identity.clone()))).collect();
            let room = own.len().next_multiple_of(IN_A_CALL) - own.len();
            let others =
                self.wanted.iter().filter(|(address, _)| address.is_ipv6() == v6 && !own.contains_key(address));
            asked.extend(others.take(room).map(|(address, pod)| (*address, pod.clone())));
            asked.extend(own);
        }
        asked
    }

    /// Notes the answer to what was asked.
    fn note(&mut self, asked: &BTreeMap<IpAddr, Arc<str>>, interfaces: Vec<NetworkInterface>) {
        if self.known.len() > MOST {
            self.known.clear();
        }
        let now = Instant::now();
        self.missing.retain(|_, (_, at)| at.elapsed() < FRESH);
        for (address, pod) in asked {
            self.missing.insert(*address, (pod.clone(), now));
            // Another pod with this address may have been announced meanwhile.
            if self.wanted.get(address) == Some(pod) {
                self.wanted.remove(address);
            }
        }
        for interface in interfaces {
            for address in interface.addresses {
                if let Some(pod) = asked.get(&address) {
                    self.missing.remove(&address);
                    self.known.insert(address, (pod.clone(), interface.id.to_string()));
                }
            }
        }
    }
}
