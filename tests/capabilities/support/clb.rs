//! What stories about Services on a classic load balancer begin with and look at.

use std::collections::BTreeSet;

use ccm::sim::cloud::slb::{Group, Listener, LoadBalancer};
use k8s_openapi::api::core::v1::Service;
use serde_json::{Map, Value, json};

use super::Stage;

/// The prefix of annotations.
pub const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

/// The key of the annotation with this suffix.
pub fn key(suffix: &str) -> String {
    format!("{PREFIX}{suffix}")
}

impl Stage {
    /// A Service with annotations given by their suffixes.
    pub fn ask(&self, name: &str, annotations: &[(&str, &str)], spec: Value) -> Service {
        let annotations: Vec<(String, &str)> = annotations.iter().map(|(suffix, v)| (key(suffix), *v)).collect();
        let annotations: Vec<(&str, &str)> = annotations.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        self.expose(name, &annotations, spec)
    }

    /// The Service `web` with the TCP port 80.
    pub fn ask_web(&self, annotations: &[(&str, &str)]) -> Service {
        self.ask("web", annotations, json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }))
    }

    /// Sets annotations, given by their suffixes, or with `None` takes them away.
    pub fn annotate(&self, name: &str, changes: &[(&str, Option<&str>)]) {
        let changes: Map<String, Value> = changes.iter().map(|(suffix, value)| (key(suffix), json!(value))).collect();
        self.change(name, json!({ "metadata": { "annotations": changes } }));
    }

    /// Patches a Service.
    pub fn change(&self, name: &str, patch: Value) {
        self.world.kube.patch::<Service>("default", name, patch).unwrap();
    }

    /// The messages of the events with this reason about an object.
    pub fn texts(&self, object: &str, reason: &str) -> Vec<String> {
        let told = self.told(object).into_iter();
        told.filter(|(its, _)| its == reason).map(|(_, text)| text).collect()
    }

    /// What was told of failed passes over a Service.
    pub fn failures(&self, name: &str) -> Vec<String> {
        self.texts(name, "SyncLoadBalancerFailed")
    }

    /// The calls so far that changed a load balancer or what hangs on it.
    pub fn balancer_writes(&self) -> Vec<String> {
        let calls = self.cloud().calls().into_iter();
        calls.filter(|call| call.changed && call.product == "slb").map(|call| call.action).collect()
    }

    /// The load balancer that was made last.
    pub fn balancer(&self) -> LoadBalancer {
        self.cloud().load_balancers().pop().unwrap()
    }

    /// The first listener of the load balancer that was made last.
    pub fn only_listener(&self) -> Option<Listener> {
        let load_balancer = self.cloud().load_balancers().pop()?;
        self.cloud().listeners(&load_balancer.id).pop()
    }

    /// All groups of all load balancers.
    pub fn all_groups(&self) -> Vec<Group> {
        self.cloud().load_balancers().iter().flat_map(|lb| self.cloud().groups(&lb.id)).collect()
    }

    /// The names of the nodes that are members of any group.
    pub fn member_nodes(&self) -> BTreeSet<String> {
        let servers = self.all_groups().into_iter().flat_map(|group| group.servers);
        servers.map(|server| format!("cn-hangzhou.{}", server.id)).collect()
    }
}
