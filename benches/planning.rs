//! The pure path of a Service: from Kubernetes objects to what is to be done, without a call.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use ccm::{
    cloud::{Action, Effect, LoadBalancerState},
    controllers::service::{
        Options,
        annotations::{Annotations, Requested},
        desired::{Desired, desired},
        members::{self, Around, Backends, ControlPlaneNodes},
        observed,
        plan::plan,
    },
};
use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::json;

/// The program's allocator, so that the figures are the program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MEMBERS: usize = 500;

fn main() {
    divan::main();
}

/// A cluster of 500 nodes with one Service, and the load balancer that it asks for.
struct Scene {
    service: Service,
    nodes: Vec<Arc<Node>>,
    options: Options,
    state: Option<LoadBalancerState>,
}

// === impl Scene ===

impl Scene {
    fn converged() -> Self {
        let service = json!({
            "metadata": { "name": "web", "namespace": "default", "uid": "5e4dbfc9-c2ae-4642-b033-5607860aef6a" },
            "spec": { "type": "LoadBalancer", "ports": [{ "port": 80, "nodePort": 30080, "protocol": "TCP" }] },
        });
        let options = Options {
            cluster_id: "c1".into(),
            vpc: Some("vpc-1".into()),
            vswitches: vec!["vsw-1".into()],
            resource_group: None,
            disable_public: false,
            type_annotation: false,
            eni_by_default: false,
            ipv6_members: false,
            control_plane_nodes: ControlPlaneNodes::Legacy,
            only_ready_nodes: false,
            workers: 3,
            settle: Duration::from_secs(1),
            audit_period: Duration::from_secs(6 * 60 * 60),
            looks_for_strays: false,
        };
        let mut scene = Self {
            service: serde_json::from_value(service).unwrap(),
            nodes: (0..MEMBERS).map(node).collect(),
            options,
            state: None,
        };
        scene.converge();
        scene
    }

    fn backends(&self) -> Backends {
        let around = Around {
            eni: false,
            families: members::Families::V4,
            control_plane: ControlPlaneNodes::Legacy,
            only_ready: false,
            nodes: &self.nodes,
            slices: &[],
            admitted: &BTreeSet::new(),
        };
        members::backends(&self.service, &Requested::default(), &around)
    }

    fn desired(&self, backends: &Backends) -> Desired {
        let requested = Annotations::of(&self.service).parse().unwrap();
        desired(&self.service, requested, backends, &BTreeMap::new(), &self.options)
    }

    /// From members to the number of steps.
    fn pass(&self, backends: &Backends) -> usize {
        plan(&self.desired(backends), self.state.as_ref(), &BTreeSet::new()).steps.len()
    }

    /// The last node leaves and another one comes.
    fn with_a_change() -> Self {
        let mut scene = Self::converged();
        scene.nodes.pop();
        scene.nodes.push(node(MEMBERS));
        scene
    }

    /// Plans, and enters each step into the state as if the cloud had carried it out.
    fn converge(&mut self) {
        let desired = self.desired(&self.backends());
        loop {
            let steps = plan(&desired, self.state.as_ref(), &BTreeSet::new()).steps;
            if steps.is_empty() {
                return;
            }
            for step in steps {
                let effect = match &step.action {
                    Action::CreateLoadBalancer(create) => {
                        Effect::LoadBalancerCreated(Box::new(create.created("lb-1".into(), "192.0.2.1")))
                    }
                    Action::CreateServerGroup { .. } => Effect::ServerGroupCreated("rsp-1".into()),
                    _ => Effect::Done,
                };
                self.state = observed::after(self.state.take(), &step.action, &effect);
            }
        }
    }
}

/// A node with about as many labels and conditions as a real one has.
fn node(number: usize) -> Arc<Node> {
    let instance = format!("i-bp1{number:017}");
    let name = format!("cn-hangzhou.{instance}");
    let conditions: Vec<_> = ["NetworkUnavailable", "MemoryPressure", "DiskPressure", "PIDPressure"]
        .map(|kind| json!({ "type": kind, "status": "False" }))
        .into_iter()
        .chain([json!({ "type": "Ready", "status": "True" })])
        .collect();
    let node = json!({
        "metadata": { "name": name, "labels": {
            "alibabacloud.com/nodepool-id": "np0123456789",
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/instance-type": "ecs.g7.xlarge",
            "beta.kubernetes.io/os": "linux",
            "failure-domain.beta.kubernetes.io/region": "cn-hangzhou",
            "failure-domain.beta.kubernetes.io/zone": "cn-hangzhou-h",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "ecs.g7.xlarge",
            "topology.kubernetes.io/region": "cn-hangzhou",
            "topology.kubernetes.io/zone": "cn-hangzhou-h",
        } },
        "spec": { "providerID": name },
        "status": { "conditions": conditions },
    });
    Arc::new(serde_json::from_value(node).unwrap())
}

/// Desired and plan. Nothing is to be done.
#[divan::bench]
fn converged(bencher: divan::Bencher) {
    let scene = Scene::converged();
    let backends = scene.backends();
    assert_eq!(scene.pass(&backends), 0);
    bencher.bench_local(|| scene.pass(&backends));
}

/// Desired and plan. One member is to be added and one to be removed.
#[divan::bench]
fn one_member_changed(bencher: divan::Bencher) {
    let scene = Scene::with_a_change();
    let backends = scene.backends();
    assert_eq!(scene.pass(&backends), 2);
    bencher.bench_local(|| scene.pass(&backends));
}

/// What comes before: which of 500 nodes are members.
#[divan::bench]
fn members_of_a_service(bencher: divan::Bencher) {
    let scene = Scene::converged();
    bencher.bench_local(|| scene.backends());
}

/// The second half alone: the difference between two lists of 500 members.
#[divan::bench]
fn plan_alone(bencher: divan::Bencher) {
    let scene = Scene::converged();
    let desired = scene.desired(&scene.backends());
    bencher.bench_local(|| plan(&desired, scene.state.as_ref(), &BTreeSet::new()));
}
