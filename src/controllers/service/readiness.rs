//! Pods whose readiness waits for the load balancer: readiness gates of the form
//! `service.readiness.alibabacloud.com/<Service>`.
//!
//! Such a pod becomes ready when it is registered, so a rolling update goes on only then. Pods are in
//! no cache. Those that an EndpointSlice of a Service shows as not ready are read, one call each, and
//! the ones that have the Service's gate again while they wait. What is registered is told by the same
//! observation that plans are made from, so that it makes no difference whether it happened just
//! now, in an earlier pass, or before this process started.
//!
//! Which kind of load balancer it is makes no difference here.

mod gates;
mod pass;
mod strays;

use std::{collections::BTreeMap, net::IpAddr};

use k8s_openapi::api::core::v1::Pod;

pub use self::gates::Gates;
use super::endpoints::Endpoint;
use crate::{cloud::Member, kubernetes::pod};

/// What the types of our conditions begin with; the name of the Service follows.
pub const PREFIX: &str = "service.readiness.alibabacloud.com/";

/// A pod that has the gate of a Service and is not ready.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub endpoint: Endpoint,
    pub pod: Pod,
    /// Whether its containers are ready, so that it could take traffic.
    pub containers_ready: bool,
}

/// What to tell a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Registered,
    /// It cannot be: no network interface has its address.
    WithoutInterface,
    /// It will be.
    NotYet,
}

/// The type of the condition that pods of this Service wait for.
pub fn gate_of(service: &str) -> String {
    format!("{PREFIX}{service}")
}

/// The Services that a pod's gates wait for.
pub fn services_of(pod: &Pod) -> impl Iterator<Item = &str> {
    pod::gates(pod).filter_map(|gate| gate.strip_prefix(PREFIX))
}

/// Whether the pod behind `endpoint` is registered. `wanted` are the members of each group as they should
/// be, `there` those that are; `None` for a group that does not exist or is still being changed.
/// `server` is the member that stands for the pod where pods are no members themselves, and `nowhere`
/// tells of an address that no network interface has.
///
/// A pod for which nothing is wanted, because its node takes no traffic or it lacks the port, waits
/// for the groups only.
pub fn verdict<G: Ord>(
    endpoint: &Endpoint,
    server: Option<&str>,
    wanted: &BTreeMap<G, Vec<Member>>,
    there: impl Fn(&G) -> Option<Vec<Member>>,
    nowhere: impl Fn(&IpAddr) -> bool,
) -> Verdict {
    let addresses = [Some(endpoint.address), endpoint.other];
    if addresses.iter().flatten().any(nowhere) {
        return Verdict::WithoutInterface;
    }
    let stands_for = |member: &Member| {
        (member.address.is_some() && addresses.contains(&member.address)) || Some(member.server.as_str()) == server
    };
    let same = |a: &Member, b: &Member| (&a.server, a.address, a.port) == (&b.server, b.address, b.port);
    for (group, wanted) in wanted {
        let Some(there) = there(group) else { return Verdict::NotYet };
        if !wanted.iter().filter(|member| stands_for(member)).all(|member| there.iter().any(|old| same(old, member))) {
            return Verdict::NotYet;
        }
    }
    Verdict::Registered
}

// === impl Verdict ===

impl Verdict {
    /// Status, reason and message of the condition, as the released controller words them; `None`
    /// leaves it as it is.
    pub fn condition(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self::Registered => Some(("True", "ServerRegistered", "The backend has been added to the server group")),
            Self::WithoutInterface => Some((
                "False",
                "ServerInvalidServer",
                "The backend failed to add to the server group because of the server is invalid",
            )),
            Self::NotYet => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::MemberKind;

    fn endpoint() -> Endpoint {
        Endpoint {
            address: "10.1.0.1".parse().unwrap(),
            other: Some("2001:db8::1".parse().unwrap()),
            node: Some("n1".into()),
            identity: "u-1".into(),
            pod: Some("web-1".into()),
            ports: std::sync::Arc::default(),
        }
    }

    fn pod(address: &str, port: u16) -> Member {
        Member {
            kind: MemberKind::Eni,
            server: "eni-1".into(),
            address: Some(address.parse().unwrap()),
            port,
            weight: 100,
            description: String::new(),
        }
    }

    fn node(id: &str) -> Member {
        Member { kind: MemberKind::Ecs, server: id.into(), address: None, ..pod("10.9.9.9", 30080) }
    }

    fn judge(server: Option<&str>, wanted: &[Vec<Member>], there: &[Option<Vec<Member>>]) -> Verdict {
        let wanted: BTreeMap<usize, Vec<Member>> = wanted.iter().cloned().enumerate().collect();
        verdict(&endpoint(), server, &wanted, |group| there[*group].clone(), |_| false)
    }

    #[test]
    fn a_pod_is_registered_once_it_is_in_every_group_that_wants_it() {
        let (http, tls, other) = (pod("10.1.0.1", 80), pod("10.1.0.1", 443), pod("10.1.0.2", 80));
        let wanted = [vec![http.clone(), other.clone()], vec![tls.clone()]];
        let missing_in_one = [Some(vec![http.clone(), other]), Some(vec![])];
        assert_eq!(judge(None, &wanted, &missing_in_one), Verdict::NotYet);
        assert_eq!(judge(None, &wanted, &[Some(vec![http.clone()]), None]), Verdict::NotYet, "no such group yet");
        assert_eq!(judge(None, &wanted, &[Some(vec![http.clone()]), Some(vec![tls])]), Verdict::Registered);
        let at_both = [vec![http.clone(), pod("2001:db8::1", 80)]];
        assert_eq!(judge(None, &at_both, &[Some(vec![http])]), Verdict::NotYet, "at one of its addresses");
        assert_eq!(judge(None, &at_both, &[Some(at_both[0].clone())]), Verdict::Registered);
    }

    #[test]
    fn a_pod_behind_node_ports_is_registered_with_its_node() {
        let wanted = [vec![node("i-1"), node("i-2")]];
        assert_eq!(judge(Some("i-1"), &wanted, &[Some(vec![node("i-2")])]), Verdict::NotYet);
        assert_eq!(judge(Some("i-1"), &wanted, &[Some(vec![node("i-1")])]), Verdict::Registered);
        assert_eq!(judge(Some("i-3"), &wanted, &[Some(vec![])]), Verdict::Registered, "its node takes no traffic");
    }

    #[test]
    fn an_address_without_interface_is_told() {
        let told = verdict(&endpoint(), None, &BTreeMap::<u8, _>::new(), |_| None, |_| true);
        assert_eq!(
            told.condition().map(|(status, reason, _)| (status, reason)),
            Some(("False", "ServerInvalidServer"))
        );
    }
}
