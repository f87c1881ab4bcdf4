//! A cloud on paper, and wishes for it: what the tests of the plan have in common.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::*;
use crate::{
    cloud::{Effect, ListenerSettings, ListenerStatus},
    controllers::service::{
        Options, annotations, annotations::Requested, desired::desired, members::Backends, observed::after,
    },
};

/// A cloud that does what it is told and hands out ids.
#[derive(Default)]
pub(super) struct Paper {
    pub(super) made: u32,
    pub(super) actions: Vec<Action>,
}

// === impl Paper ===

impl Paper {
    pub(super) fn carry_out(&mut self, state: Option<LoadBalancerState>, action: &Action) -> Option<LoadBalancerState> {
        self.made += 1;
        let effect = match action {
            Action::CreateLoadBalancer(create) => {
                Effect::LoadBalancerCreated(Box::new(create.created(format!("lb-{}", self.made).into(), "1.2.3.4")))
            }
            Action::CreateServerGroup { .. } => Effect::ServerGroupCreated(format!("rsp-{}", self.made).into()),
            Action::CreateDomainExtension { .. } => Effect::DomainExtensionCreated(format!("de-{}", self.made)),
            _ => Effect::Done,
        };
        self.actions.push(action.clone());
        after(state, action, &effect)
    }

    pub(super) fn converge(
        &mut self,
        desired: &Desired,
        mut state: Option<LoadBalancerState>,
    ) -> Option<LoadBalancerState> {
        for _ in 0..20 {
            let plan = plan(desired, state.as_ref(), &BTreeSet::new());
            assert!(!plan.needs_groups);
            if plan.steps.is_empty() {
                return state;
            }
            for step in plan.steps {
                state = self.carry_out(state, &step.action);
            }
        }
        panic!("does not settle: {:#?}", self.actions);
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

pub(super) fn backends(instances: &[(String, u8)]) -> Backends {
    Backends { instances: instances.iter().cloned().collect(), ..Backends::default() }
}

pub(super) fn numbered(count: usize) -> Backends {
    backends(&(0..count).map(|n| (format!("i-{n:03}"), 100)).collect::<Vec<_>>())
}

pub(super) fn want(service: &Service, requested: Requested, backends: &Backends) -> Desired {
    desired(service, requested, backends, &BTreeMap::new(), &Options::for_test())
}

pub(super) fn words(actions: &[Action]) -> Vec<String> {
    actions.iter().map(ToString::to_string).collect()
}

pub(super) fn request(pairs: &[(&str, &str)]) -> Requested {
    let mut service = Service::default();
    let key = |suffix: &str| format!("{}{suffix}", annotations::PREFIX);
    service.metadata.annotations = Some(pairs.iter().map(|(suffix, value)| (key(suffix), (*value).into())).collect());
    annotations::Annotations::of(&service).parse().unwrap()
}

pub(super) fn foreign_listener(port: u16, description: &str) -> Listener {
    Listener {
        port,
        protocol: Protocol::Tcp,
        status: ListenerStatus::Stopped,
        description: description.into(),
        group: None,
        settings: ListenerSettings::default(),
        domain_extensions: None,
    }
}

pub(super) fn foreign_member(server: &str) -> Member {
    Member {
        kind: MemberKind::Ecs,
        server: server.into(),
        address: None,
        port: 8080,
        weight: 7,
        description: "by hand".into(),
    }
}

/// A load balancer of the user's with a listener and a group.
pub(super) fn users_own() -> LoadBalancerState {
    let create = want(&service(&[]), Requested::default(), &numbered(0)).create;
    let mut load_balancer = create.created("lb-user".into(), "5.6.7.8");
    load_balancer.tags.clear();
    LoadBalancerState {
        load_balancer,
        listeners: vec![foreign_listener(80, "by hand"), foreign_listener(81, "k8s/81/other/shop/c1")],
        groups: vec![ServerGroup {
            id: "rsp-user".into(),
            name: "by hand".into(),
            members: vec![foreign_member("i-x")],
        }],
        groups_view: GroupsView::Complete,
    }
}
