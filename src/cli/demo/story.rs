//! The story: what happens to the cluster, and what is to be seen of it.

use std::time::Duration;

use anyhow::{Context, anyhow};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    super::screen::Screen,
    look::{self, NAMESPACE},
    scene::{EXAMPLE, Scene},
    seconds,
    sight::{Found, Sight, sight, watch},
};
use crate::sim::{kube::Kind, world::World};

/// How long one step may take. Far longer than it does, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// The Service of the example, and the one beside it that sends traffic only where pods are.
const SERVICES: [&str; 2] = ["nginx", "nginx-local"];
const REPLICAS: usize = 2;
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Tells the story once.
pub(super) struct Story<'a> {
    world: World,
    screen: &'a mut Screen,
    start: Instant,
    steps: usize,
}

// === impl Story ===

impl<'a> Story<'a> {
    pub(super) fn new(scene: &Scene, screen: &'a mut Screen) -> Self {
        Self { world: scene.world.clone(), screen, start: Instant::now(), steps: 0 }
    }

    /// From the first node to the last load balancer.
    pub(super) async fn tell(mut self) -> anyhow::Result<()> {
        let nodes = self.nodes_register().await?;
        self.a_service_is_created().await?;
        self.a_node_is_added().await?;
        if let Some(last) = nodes.last() {
            self.a_node_leaves(last).await?;
        }
        self.a_pod_moves().await?;
        self.the_services_are_deleted().await?;
        let calls = self.world.cloud.calls();
        let writes = calls.iter().filter(|call| call.changed).count();
        self.screen.blank();
        self.screen.line(format_args!(
            "All {} steps seen in {}, with {} calls to the cloud, {writes} of which changed something.",
            self.steps,
            seconds(self.start.elapsed()),
            calls.len(),
        ));
        Ok(())
    }

    async fn nodes_register(&mut self) -> anyhow::Result<Vec<String>> {
        let start = self.title("Three nodes register, as kubelet does with --cloud-provider=external");
        let nodes = (0..3).map(|_| self.world.join()).collect::<Result<Vec<_>, _>>()?;
        let mut sights: Vec<Sight> = nodes.iter().map(|node| self.look("node", node, look::registered)).collect();
        self.watch(start, sights).await?;
        sights = nodes.iter().map(|node| self.look("node", node, look::initialized)).collect();
        sights.extend(nodes.iter().map(|node| self.look("route", node, look::routed)));
        sights.extend(nodes.first().map(|node| self.event(node, "InitializedNode")));
        self.watch(start, sights).await?;
        Ok(nodes)
    }

    async fn a_service_is_created(&mut self) -> anyhow::Result<()> {
        let (deployment, service) = example()?;
        let start = self.title("kubectl apply: nginx, its Service, and one with externalTrafficPolicy Local");
        let mut local = service.clone();
        local.metadata.name = Some(SERVICES[1].to_owned());
        local.spec.get_or_insert_default().external_traffic_policy = Some("Local".to_owned());
        self.apply(&deployment)?;
        // Pods are there when the Services come, as they mostly are.
        self.world.settle()?;
        for service in [service, local] {
            self.apply(&service)?;
        }
        self.world.settle()?;
        let world = self.world.clone();
        let mut sights = vec![sight("pods", move || look::running(&world, REPLICAS))];
        for name in SERVICES {
            sights.push(self.look("balancer", name, look::balanced));
            sights.push(self.look("listener", name, look::listening));
            sights.push(self.look("members", name, look::members));
            sights.push(self.look("service", name, look::published));
        }
        sights.push(self.event(SERVICES[0], "EnsuredLoadBalancer"));
        self.watch(start, sights).await
    }

    async fn a_node_is_added(&mut self) -> anyhow::Result<()> {
        let start = self.title("A node is added");
        let node = self.world.join()?;
        let first = self.look("node", &node, look::registered);
        self.watch(start, vec![first]).await?;
        let mut sights = vec![self.look("node", &node, look::initialized), self.look("route", &node, look::routed)];
        sights.push(self.member(&node, true));
        self.watch(start, sights).await
    }

    async fn a_node_leaves(&mut self, node: &str) -> anyhow::Result<()> {
        let start = self.title("A node leaves: its instance is released, its kubelet falls silent");
        self.world.leave(node)?;
        let sights = vec![
            self.look("node", node, look::node_gone),
            self.look("route", node, look::routes_gone),
            self.event(node, "DeletedNode"),
            self.member(node, false),
        ];
        self.watch(start, sights).await
    }

    async fn a_pod_moves(&mut self) -> anyhow::Result<()> {
        let (pod, from) = look::pods(&self.world).into_iter().next().context("there is no pod to move")?;
        let start = self.title(&format!("A pod moves: kubectl delete pod {pod}"));
        self.world.evict(NAMESPACE, &pod)?;
        let world = self.world.clone();
        let moved = move || {
            if look::pods(&world).into_iter().any(|(_, node)| node == from) {
                return Err(format!("a pod is still on {from}"));
            }
            look::running(&world, REPLICAS)
        };
        let sights = vec![sight("pods", moved), self.look("members", SERVICES[1], look::members)];
        self.watch(start, sights).await
    }

    async fn the_services_are_deleted(&mut self) -> anyhow::Result<()> {
        let start = self.title("kubectl delete: both Services");
        let mut sights = Vec::new();
        for name in SERVICES {
            let id = look::load_balancer(&self.world, name).map_err(|missing| anyhow!(missing))?.id;
            sights.push(self.look("balancer", &id, look::balancer_gone));
            sights.push(self.look("service", name, look::service_gone));
            self.world.kube.delete::<Service>(NAMESPACE, name).map_err(|e| anyhow!("{e}"))?;
        }
        self.watch(start, sights).await
    }

    /// Creates an object as `kubectl apply` does: with a note of what was applied, which the next
    /// `kubectl apply` looks for.
    fn apply<K: Kind>(&self, object: &K) -> anyhow::Result<()> {
        let mut noted = serde_json::to_value(object)?;
        noted["metadata"]["annotations"][LAST_APPLIED] = format!("{}\n", serde_json::to_value(object)?).into();
        self.world.kube.create::<K>(&serde_json::from_value(noted)?).map(drop).map_err(|e| anyhow!("{e}"))
    }

    fn title(&mut self, text: &str) -> Instant {
        self.steps += 1;
        self.screen.blank();
        self.screen.line(format_args!("{}. {text}", self.steps));
        Instant::now()
    }

    fn look(&self, subject: &'static str, name: &str, find: fn(&World, &str) -> Found) -> Sight {
        let (world, name) = (self.world.clone(), name.to_owned());
        sight(subject, move || find(&world, &name))
    }

    fn event(&self, object: &str, reason: &'static str) -> Sight {
        let (world, object) = (self.world.clone(), object.to_owned());
        sight("event", move || look::event(&world, &object, reason))
    }

    /// The example Service's members are right and contain the node, or do not.
    fn member(&self, node: &str, wanted: bool) -> Sight {
        let (world, instance) = (self.world.clone(), look::instance_of(node).to_owned());
        sight("members", move || {
            let lines = look::members(&world, SERVICES[0])?;
            let there = lines.iter().any(|line| line.contains(&instance));
            if there == wanted { Ok(lines) } else { Err(format!("{instance} among the members: {there}")) }
        })
    }

    async fn watch(&mut self, start: Instant, sights: Vec<Sight>) -> anyhow::Result<()> {
        let step = self.steps;
        watch(self.screen, start, PATIENCE, sights).await.with_context(|| format!("step {step}"))
    }
}

/// Deployment and Service of `config/nginx.yaml`.
fn example() -> anyhow::Result<(Deployment, Service)> {
    let mut documents = serde_yaml::Deserializer::from_str(EXAMPLE);
    let (first, second) = documents.next().zip(documents.next()).context("config/nginx.yaml has two objects")?;
    Ok((Deployment::deserialize(first)?, Service::deserialize(second)?))
}
