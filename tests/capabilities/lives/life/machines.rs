//! Nodes and pods come, change and go.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Node, Pod},
};
use serde_json::json;

use super::Life;

impl Life {
    /// Nodes whose instances are gone are deleted, which without hurry would be the controller's part,
    /// and there is one that works.
    pub(super) fn bury(&mut self) {
        let instances: Vec<String> = self.stage.cloud().instances().into_iter().map(|one| one.id).collect();
        let names = self.stage.world.kube.list::<Node>().into_iter().filter_map(|node| node.metadata.name);
        let is_gone = |name: &String| !instances.iter().any(|id| name.ends_with(id.as_str()));
        names.filter(is_gone).for_each(|name| self.stage.world.kube.delete::<Node>("", &name).unwrap());
        self.stage.world.join().unwrap();
        self.settle();
    }

    pub(super) fn node(&self) -> Option<String> {
        let nodes = self.stage.world.kube.list::<Node>();
        self.dice.pick(&nodes).and_then(|node| node.metadata.name.clone())
    }

    pub(super) fn join(&mut self) -> Option<String> {
        Some(format!("{} joins", self.stage.world.join().unwrap()))
    }

    pub(super) fn leave(&mut self) -> Option<String> {
        let node = self.node()?;
        self.stage.world.leave(&node).unwrap();
        Some(format!("the instance of {node} is released"))
    }

    pub(super) fn ready(&mut self) -> Option<String> {
        let (node, status) = (self.node()?, self.dice.choose(&["True", "True", "False", "Unknown"]));
        self.stage.world.set_ready(&node, status).unwrap();
        Some(format!("{node} becomes Ready={status}"))
    }

    pub(super) fn label(&mut self) -> Option<String> {
        let node = self.node()?;
        let on = self.dice.chance(50).then_some("true");
        let (key, tainted) = ("node.kubernetes.io/exclude-from-external-load-balancers", self.dice.chance(40));
        let kube = &self.stage.world.kube;
        if tainted {
            kube.modify::<Node>("", &node, |node| {
                let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
                taints.retain(|taint| taint.key != "ToBeDeletedByClusterAutoscaler");
                if on.is_some() {
                    let taint =
                        json!({ "key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule", "value": "1" });
                    taints.push(serde_json::from_value(taint).unwrap());
                }
            })
            .unwrap();
        } else {
            kube.patch::<Node>("", &node, json!({ "metadata": { "labels": { key: on } } })).unwrap();
        }
        Some(format!(
            "{node} is {} by {}",
            if on.is_some() { "left out" } else { "taken in" },
            if tainted { "taint" } else { "label" }
        ))
    }

    pub(super) fn cordon(&mut self) -> Option<String> {
        let (node, on) = (self.node()?, self.dice.chance(50).then_some(true));
        self.stage.world.kube.patch::<Node>("", &node, json!({ "spec": { "unschedulable": on } })).unwrap();
        Some(format!("{node} is unschedulable: {on:?}"))
    }

    pub(super) fn scale(&mut self) -> Option<String> {
        let (app, replicas) = (self.dice.choose(&["a", "b"]), self.dice.below(5));
        self.stage.world.kube.patch::<Deployment>("default", app, json!({ "spec": { "replicas": replicas } })).unwrap();
        Some(format!("{app} is scaled to {replicas}"))
    }

    pub(super) fn evict(&mut self) -> Option<String> {
        let pods = self.stage.world.kube.list::<Pod>();
        let pod = self.dice.pick(&pods)?.metadata.name.clone()?;
        let _ = self.stage.world.evict("default", &pod);
        Some(format!("{pod} is evicted"))
    }
}
