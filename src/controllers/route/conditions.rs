//! Writes how a pass left each node's routes into its `NetworkUnavailable` condition.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use serde_json::json;

use super::{availability, desired::Desired, pass::Pass, plan::State};
use crate::{
    controllers::node::{kind::Kind, observe::name_of, plan::NETWORK_UNAVAILABLE},
    kubernetes::{condition, patch},
};

/// How many conditions are written at a time.
const WRITES_AT_ONCE: usize = 8;

impl Pass {
    pub(super) fn condition(
        &self,
        node: &Node,
        desired: &Desired,
        states: &BTreeMap<String, State>,
    ) -> Option<NodeCondition> {
        match states.get(&name_of(node)) {
            Some(State::Settled) if self.is_closed(node) => {
                availability::of_routes(node, State::Settling, self.clock.now())
            }
            Some(state) => availability::of_routes(node, *state, self.clock.now()),
            None if desired.nodes.contains_key(&name_of(node)) => None,
            None if node.metadata.deletion_timestamp.is_some() || Kind::of(node) == Kind::Unnamed => None,
            None => self.without_routes(node),
        }
    }

    /// Whether the node's interface may still drop what the routes bring. What was in service stays so.
    fn is_closed(&self, node: &Node) -> bool {
        condition::status(node, NETWORK_UNAVAILABLE) != Some("False")
            && self.openings.as_ref().is_some_and(|openings| !openings.is_open(node))
    }

    pub(super) fn without_routes(&self, node: &Node) -> Option<NodeCondition> {
        let why = match Kind::of(node) {
            Kind::Foreign(_) => return None,
            _ if self.options.configure => "This node has no pod CIDR that needs a route",
            _ => "Routes are not configured by the cloud controller manager",
        };
        availability::without_routes(node, why, self.clock.now())
    }

    /// Writes the conditions that changed. Tells whether all of them could be written.
    pub(super) async fn write_conditions(
        &self,
        nodes: &BTreeMap<String, Arc<Node>>,
        condition: impl Fn(&Node) -> Option<NodeCondition>,
    ) -> bool {
        let changed: Vec<_> =
            nodes.values().filter_map(|node| Some((node.clone(), condition(node.as_ref())?))).collect();
        let failures = stream::iter(changed)
            .map(|(node, condition)| self.write_condition(node, condition))
            .buffer_unordered(WRITES_AT_ONCE)
            .filter(|written| std::future::ready(!written))
            .count()
            .await;
        failures == 0
    }

    /// Tells whether it could be written, or need not be any more.
    async fn write_condition(&self, node: Arc<Node>, condition: NodeCondition) -> bool {
        let name = name_of(&node);
        // The uid keeps the patch from a new node of the same name.
        let body = json!({ "metadata": { "uid": node.metadata.uid }, "status": { "conditions": [condition] } });
        match patch::strategic_status(&self.api, &name, body).await {
            Ok(_) => {
                let reason = condition.reason.as_deref().unwrap_or_default();
                tracing::info!(node = name, status = condition.status, reason, "set NetworkUnavailable");
                true
            }
            Err(error) if error.is_not_found() => true,
            Err(error) => {
                tracing::warn!(%error, node = name, "cannot tell whether the node's routes are there");
                false
            }
        }
    }
}
