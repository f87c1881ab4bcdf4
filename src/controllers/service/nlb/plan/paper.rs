//! A cloud on paper, and wishes for it: what the tests of the plan have in common.

use ipnet::IpNet;
use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::*;
use crate::{
    cloud::{JobId, Made, NetworkEffect},
    controllers::service::{
        Options, annotations,
        annotations::{Annotations, NetworkRequested},
        members::{Backends, Families},
        nlb::desired::{self, Around},
    },
};

/// A cloud that does what it is told, hands out ids, and is busy until told otherwise.
#[derive(Default)]
pub(super) struct Paper {
    pub(super) made: u32,
    pub(super) actions: Vec<NetworkAction>,
    /// Stops after so many actions.
    pub(super) most: Option<usize>,
    /// Whether only some may come.
    pub(super) limited: bool,
}

impl Paper {
    pub(super) fn effect(&mut self, action: &NetworkAction) -> NetworkEffect {
        self.made += 1;
        let n = self.made;
        let made = match action {
            NetworkAction::CreateLoadBalancer(_) => Made::LoadBalancer(format!("nlb-{n}").into()),
            NetworkAction::CreateGroup(_) => Made::Group(format!("sgp-{n}").into()),
            NetworkAction::CreateListener(_) => Made::Listener(format!("lsn-{n}").into()),
            NetworkAction::CreateSecurityGroup(_) => Made::SecurityGroup(format!("sg-{n}").into()),
            _ => Made::Nothing,
        };
        let is_a_job = action.lock().is_some() || matches!(action, NetworkAction::CreateGroup(_));
        NetworkEffect { job: is_a_job.then(|| JobId::new(format!("job-{n}"))), made }
    }

    /// Runs until nothing is left to do, or as many actions as may be are done.
    pub(super) fn run(&mut self, next: impl Fn(&State) -> Plan, mut state: State) -> State {
        for _ in 0..200 {
            let plan = next(&state);
            if plan.needs_sources {
                state.sources = Some(state.sources.flatten());
            }
            for id in &plan.needs_certificates {
                let all = state.load_balancer.iter_mut().flat_map(|there| &mut there.listeners);
                all.filter(|l| l.id == *id).for_each(|l| l.additional_certificates = Some(BTreeSet::new()));
            }
            let looked = plan.needs_sources || !plan.needs_certificates.is_empty();
            let mut ran = false;
            for step in plan.steps {
                if step.action.lock().is_some_and(|lock| state.is_locked(&lock)) {
                    continue;
                }
                if self.most.is_some_and(|most| self.actions.len() >= most) {
                    return state;
                }
                let effect = self.effect(&step.action);
                state.apply(&step.action, &effect);
                self.actions.push(step.action);
                if self.limited {
                    check(&state);
                }
                ran = true;
            }
            if ran || looked {
                continue;
            }
            if state.locks().is_empty() {
                return state;
            }
            settle(&mut state);
        }
        panic!("does not settle: {:#?}", self.actions);
    }

    pub(super) fn converge(&mut self, desired: &Desired, state: State) -> State {
        self.limited = desired.sources.is_some();
        self.run(|state| plan(desired, state, &BTreeSet::new()), state)
    }

    pub(super) fn words(&self) -> Vec<String> {
        self.actions.iter().map(ToString::to_string).collect()
    }
}

/// The cloud is done with everything.
pub(super) fn settle(state: &mut State) {
    for lock in state.locks() {
        state.settle(&lock);
    }
    if let Some(there) = &mut state.load_balancer
        && there.load_balancer.status == NetworkStatus::Provisioning
    {
        there.load_balancer.status = NetworkStatus::Active;
        there.load_balancer.cross_zone = Some(true);
    }
}

/// What must hold at every moment: with source ranges, no listener without the group that keeps
/// others out.
pub(super) fn check(state: &State) {
    if let (Some(there), Some(Some(own))) = (&state.load_balancer, &state.sources)
        && own.name.starts_with("k8s-nlb-")
        && !there.listeners.is_empty()
        && there.listeners.iter().all(|l| l.description.starts_with("k8s."))
        && !there.load_balancer.tags.contains_key("open before")
    {
        let joined = there.load_balancer.security_groups.contains(&own.id);
        assert!(joined && !own.rules.is_empty(), "open to everybody: {state:#?}");
    }
}

pub(super) fn service(ports: &[(i32, &str, i32)]) -> Service {
    let ports = ports
        .iter()
        .map(|(port, protocol, node_port)| ServicePort {
            port: *port,
            protocol: Some((*protocol).into()),
            node_port: Some(*node_port),
            name: Some(format!("p{port}-{}", protocol.to_lowercase())),
            ..ServicePort::default()
        })
        .collect();
    Service {
        metadata: ObjectMeta {
            name: Some("web".into()),
            namespace: Some("shop".into()),
            uid: Some("5e4dbfc9-c2ae-4642-b033-5607860aef6a".into()),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec { type_: Some("LoadBalancer".into()), ports: Some(ports), ..ServiceSpec::default() }),
        ..Service::default()
    }
}

pub(super) fn request(pairs: &[(&str, &str)]) -> NetworkRequested {
    let mut service = Service::default();
    let key = |suffix: &str| format!("{}{suffix}", annotations::PREFIX);
    let zones = ("zone-maps", "a:vsw-1,b:vsw-2");
    let given = pairs.iter().any(|(suffix, _)| *suffix == "zone-maps" || *suffix == "id");
    let pairs = pairs.iter().copied().chain((!given).then_some(zones));
    service.metadata.annotations = Some(pairs.map(|(suffix, value)| (key(suffix), value.to_owned())).collect());
    Annotations::of(&service).parse_network().unwrap()
}

pub(super) fn nodes(names: &[&str]) -> Backends {
    Backends { instances: names.iter().map(|name| ((*name).to_owned(), 100)).collect(), ..Backends::default() }
}

pub(super) fn want_with(
    service: &Service,
    requested: NetworkRequested,
    backends: &Backends,
    ranges: &[&str],
) -> Desired {
    let ranges: BTreeSet<IpNet> = ranges.iter().map(|range| range.parse().unwrap()).collect();
    let addresses = backends.instances.keys().zip(1..).map(|(id, n)| (id.clone(), [10, 0, 0, n].into())).collect();
    let around = Around {
        backends,
        interfaces: &BTreeMap::new(),
        addresses: &addresses,
        ranges: &ranges,
        families: Families::V4,
        ip_version: None,
        options: &Options::for_test(),
    };
    desired::desired(service, requested, around)
}

pub(super) fn want(ports: &[(i32, &str, i32)], pairs: &[(&str, &str)], names: &[&str]) -> Desired {
    want_with(&service(ports), request(pairs), &nodes(names), &[])
}

pub(super) const WEB: &[(i32, &str, i32)] = &[(80, "TCP", 30080)];
