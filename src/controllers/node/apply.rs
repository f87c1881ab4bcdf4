//! Carries out what was planned for one Node.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::plan::{NETWORK_UNAVAILABLE, NO_ROUTE_CREATED, NodeChange, Plan, StatusChange, Step};
use crate::{
    clock::Clock,
    cloud::{self, Class, CloudProvider, NetworkInterfaceId, RegionId},
    kubernetes::{condition, patch},
};

/// How often a plan is made anew when someone else changed the Node in between.
const CONFLICTS: usize = 5;
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// ECS refuses to change an interface while it is being attached.
const BUSY_RETRIES: usize = 3;
const BUSY_WAIT: Duration = Duration::from_millis(500);

/// What became of a plan.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub wrote: bool,
    pub initialized: bool,
}

/// Writes to Nodes, and to their interfaces.
#[derive(Clone)]
pub struct Writer {
    nodes: Api<Node>,
    cloud: Arc<dyn CloudProvider>,
    clock: Clock,
}

// === impl Writer ===

impl Writer {
    pub fn new(client: Client, cloud: Arc<dyn CloudProvider>, clock: Clock) -> Self {
        Self { nodes: Api::all(client), cloud, clock }
    }

    /// Carries out `plan(node)` step by step, planning anew after each, so that no step rests on
    /// what the Node said before. Where it turns out to have changed, it is read again: a plan
    /// never overwrites what it did not know of.
    pub async fn apply(&self, node: &Node, plan: impl Fn(&Node) -> Plan) -> Result<Applied, patch::Error> {
        let mut node = node.clone();
        let mut done = Applied::default();
        let (mut told, mut conflicts) = (false, 0);
        loop {
            let next = plan(&node).steps.into_iter().find(|step| !told || matches!(step, Step::Node(_)));
            let Some(step) = next else { return Ok(done) };
            match self.step(&node, &step).await {
                Ok(written) => {
                    done.wrote = true;
                    node = written;
                    match step {
                        Step::Status(_) => told = true,
                        Step::Node(change) => {
                            done.initialized = change.initializes;
                            return Ok(done);
                        }
                    }
                }
                Err(patch::Error::Conflict { .. }) if conflicts < CONFLICTS => {
                    conflicts += 1;
                    node = self.reread(&node).await?;
                    told = false;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes this Node and no later one of the same name.
    pub async fn delete(&self, node: &Node) -> Result<(), patch::Error> {
        match patch::delete(&self.nodes, &node.name_any(), &node.uid().unwrap_or_default()).await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome,
        }
    }

    /// Lets an interface forward the traffic of pods.
    pub async fn open(&self, region: &RegionId, interface: &NetworkInterfaceId) -> Result<(), cloud::Error> {
        for _ in 0..BUSY_RETRIES {
            match self.cloud.disable_source_destination_check(region, interface).await {
                Err(error) if error.class == Class::Busy => tokio::time::sleep(BUSY_WAIT).await,
                outcome => return outcome,
            }
        }
        self.cloud.disable_source_destination_check(region, interface).await
    }

    /// The Node as written.
    async fn step(&self, node: &Node, step: &Step) -> Result<Node, patch::Error> {
        let name = node.name_any();
        match step {
            Step::Status(change) => {
                let body = json!({ "status": self.status(node, change) });
                patch::strategic_status(&self.nodes, &name, body).await
            }
            Step::Node(change) => match node.resource_version().filter(|_| change.taints.is_some()) {
                Some(version) => patch::merge_at(&self.nodes, &name, &version, body(node, change)).await,
                None => patch::merge(&self.nodes, &name, body(node, change)).await,
            },
        }
    }

    async fn reread(&self, node: &Node) -> Result<Node, patch::Error> {
        let name = node.name_any();
        let object = format!("Node {name}");
        let fresh = tokio::time::timeout(READ_TIMEOUT, self.nodes.get(&name)).await;
        let fresh = fresh.map_err(|_| patch::Error::Other {
            action: "read",
            object: object.clone(),
            reason: format!("no answer from the API server within {} s", READ_TIMEOUT.as_secs()),
            code: None,
        })?;
        let fresh = fresh.map_err(|error| patch::Error::new("read", &object, &error))?;
        if fresh.uid() == node.uid() { Ok(fresh) } else { Err(patch::Error::NotFound { action: "patch", object }) }
    }

    /// The list of addresses is replaced as a whole and in order, because merging it by type would
    /// lose the second address of a type. There is nothing to replace in a node without addresses,
    /// and older API servers would then store the directive as an entry.
    fn status(&self, node: &Node, change: &StatusChange) -> Value {
        let mut status = json!({});
        if let Some(addresses) = &change.addresses {
            let mut list: Vec<Value> =
                addresses.iter().map(|a| json!({ "type": a.type_, "address": a.address })).collect();
            if !super::address::current(node).is_empty() {
                list.push(json!({ "$patch": "replace" }));
            }
            status["addresses"] = json!(list);
        }
        if change.awaits_route {
            let text = "Node created without a route";
            let now = self.clock.now();
            status["conditions"] =
                json!([condition::set(node, NETWORK_UNAVAILABLE, "True", NO_ROUTE_CREATED, text, now)]);
        }
        status
    }
}

fn body(node: &Node, change: &NodeChange) -> Value {
    // The uid keeps the patch from a new object of the same name.
    let mut body = json!({ "metadata": { "uid": node.uid() } });
    if !change.labels.is_empty() {
        body["metadata"]["labels"] = json!(change.labels);
    }
    if let Some(provider_id) = &change.provider_id {
        body["spec"]["providerID"] = json!(provider_id);
    }
    if let Some(taints) = &change.taints {
        body["spec"]["taints"] = json!(taints);
    }
    body
}
