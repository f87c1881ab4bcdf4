//! Builders of Nodes and instances for tests, and a cluster to run controllers in.

#[cfg(feature = "sim")]
pub(crate) mod cloud;
#[cfg(feature = "sim")]
pub(crate) mod cluster;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, Taint},
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::plan::UNINITIALIZED_TAINT;
use crate::cloud::{Instance, InstanceStatus};

#[derive(Clone)]
pub(crate) struct MkNode(Node);

pub(crate) fn mk_node(name: &str) -> MkNode {
    let mut node = Node::default();
    node.metadata.name = Some(name.to_owned());
    node.metadata.uid = Some(format!("uid-{name}"));
    node.metadata.resource_version = Some("1".to_owned());
    node.metadata.creation_timestamp = Some(Time("2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap()));
    node.spec = Some(NodeSpec::default());
    node.status = Some(NodeStatus::default());
    MkNode(node)
}

impl MkNode {
    pub(crate) fn build(self) -> Node {
        self.0
    }

    fn spec(&mut self) -> &mut NodeSpec {
        self.0.spec.as_mut().unwrap()
    }

    fn status(&mut self) -> &mut NodeStatus {
        self.0.status.as_mut().unwrap()
    }

    pub(crate) fn provider_id(mut self, id: &str) -> Self {
        self.spec().provider_id = (!id.is_empty()).then(|| id.to_owned());
        self
    }

    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.0.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn taint(mut self, key: &str, effect: &str) -> Self {
        self.spec().taints.get_or_insert_default().push(Taint {
            key: key.to_owned(),
            effect: effect.to_owned(),
            ..Taint::default()
        });
        self
    }

    pub(crate) fn joining(self) -> Self {
        self.taint(UNINITIALIZED_TAINT, "NoSchedule")
    }

    pub(crate) fn address(mut self, kind: &str, address: &str) -> Self {
        self.status()
            .addresses
            .get_or_insert_default()
            .push(NodeAddress { type_: kind.to_owned(), address: address.to_owned() });
        self
    }

    pub(crate) fn condition(mut self, kind: &str, status: &str, reason: &str) -> Self {
        self.status().conditions.get_or_insert_default().push(NodeCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            ..NodeCondition::default()
        });
        self
    }

    pub(crate) fn ready(self, status: &str) -> Self {
        self.condition("Ready", status, "Kubelet")
    }

    pub(crate) fn pod_cidrs(mut self, cidrs: &[&str]) -> Self {
        self.spec().pod_cidr = cidrs.first().map(|&cidr| cidr.to_owned());
        self.spec().pod_cidrs = Some(cidrs.iter().map(|&cidr| cidr.to_owned()).collect());
        self
    }

    pub(crate) fn leaving(mut self) -> Self {
        self.0.metadata.deletion_timestamp = self.0.metadata.creation_timestamp.clone();
        self
    }
}

/// A running instance in `cn-hangzhou` with one private address.
pub(crate) fn mk_instance(id: &str, address: &str) -> Instance {
    Instance {
        id: id.into(),
        region: "cn-hangzhou".into(),
        zone: Some("cn-hangzhou-h".into()),
        status: InstanceStatus::Running,
        name: format!("name-of-{id}"),
        host_name: format!("host-of-{id}"),
        instance_type: "ecs.g7.large".to_owned(),
        charge_type: "PostPaid".to_owned(),
        spot_strategy: "NoSpot".to_owned(),
        public_addresses: Vec::new(),
        private_addresses: vec![address.parse().unwrap()],
        ipv6_addresses: Vec::new(),
        primary_interface: Some(format!("eni-of-{id}").into()),
        tags: std::collections::BTreeMap::new(),
    }
}
