//! Machines and their kubelets.

use k8s_openapi::{
    api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint},
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{ObjectMeta, Time},
    },
};

use super::{Counters, Error, World};
use crate::sim::cloud::ecs::Instance;

/// What kubelet puts on a node of a cluster with an external cloud provider.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const REGION: &str = "cn-hangzhou";
const VSWITCHES: [&str; 3] = ["vsw-bp1simh", "vsw-bp1simi", "vsw-bp1simj"];

impl World {
    /// A new instance boots, and its kubelet registers it as
    /// `--cloud-provider=external --provider-id=<region>.<instance>` does. The controller manager
    /// gives it a pod CIDR. Answers the node's name.
    pub fn join(&self) -> Result<String, Error> {
        let number = Counters::next(&self.counters.machines);
        let instance = self.boot(number)?;
        self.register(REGION, &instance, number)
    }

    /// The kubelets of instances that are there already register; answers the nodes' names.
    pub fn join_all(&self) -> Result<Vec<String>, Error> {
        let instances = self.cloud.instances();
        let join = |instance: Instance| {
            let number = Counters::next(&self.counters.machines);
            self.register(&instance.region, &instance.id, number)
        };
        instances.into_iter().map(join).collect()
    }

    fn register(&self, region: &str, instance: &str, number: u32) -> Result<String, Error> {
        let name = format!("{region}.{instance}");
        self.kube.create(&self.node(&name, Some(&name), number))?;
        Ok(name)
    }

    /// A new instance that is no node; answers its id.
    pub fn boot(&self, number: u32) -> Result<String, Error> {
        let id = format!("i-bp1{}", self.entropy.alphanumeric(17));
        let vswitch = VSWITCHES[number as usize % VSWITCHES.len()];
        let mut instance = Instance::new(&id, vswitch);
        instance.name = format!("worker-{number}");
        self.cloud.add_instance(instance)?;
        Ok(id)
    }

    /// A Node object as kubelet and the controller manager make it.
    pub fn node(&self, name: &str, provider_id: Option<&str>, number: u32) -> Node {
        let cidr = format!("172.{}.{}.0/24", 20 + number / 256, number % 256);
        let now = Time(self.clock.now());
        let condition = |kind: &str, status: &str, reason: &str| NodeCondition {
            type_: kind.into(),
            status: status.into(),
            reason: Some(reason.into()),
            last_heartbeat_time: Some(now.clone()),
            last_transition_time: Some(now.clone()),
            ..NodeCondition::default()
        };
        let resources = || {
            Some(
                [("cpu", "4"), ("memory", "16Gi"), ("pods", "110")]
                    .map(|(k, v)| (k.to_owned(), Quantity(v.into())))
                    .into(),
            )
        };
        Node {
            metadata: ObjectMeta {
                name: Some(name.into()),
                labels: Some(
                    [("kubernetes.io/hostname", name), ("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")]
                        .map(|(k, v)| (k.to_owned(), v.to_owned()))
                        .into(),
                ),
                ..ObjectMeta::default()
            },
            spec: Some(NodeSpec {
                provider_id: provider_id.map(Into::into),
                pod_cidr: Some(cidr.clone()),
                pod_cidrs: Some(vec![cidr]),
                taints: Some(vec![Taint {
                    key: UNINITIALIZED.into(),
                    value: Some("true".into()),
                    effect: "NoSchedule".into(),
                    time_added: None,
                }]),
                ..NodeSpec::default()
            }),
            status: Some(NodeStatus {
                addresses: Some(vec![NodeAddress { type_: "Hostname".into(), address: name.into() }]),
                allocatable: resources(),
                capacity: resources(),
                conditions: Some(vec![
                    condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                    condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                    condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                    condition("Ready", "True", "KubeletReady"),
                ]),
                node_info: Some(NodeSystemInfo {
                    kubelet_version: "v1.33.4".into(),
                    os_image: "Alibaba Cloud Linux 3".into(),
                    kernel_version: "5.10.134".into(),
                    container_runtime_version: "containerd://2.0.5".into(),
                    architecture: "amd64".into(),
                    operating_system: "linux".into(),
                    ..NodeSystemInfo::default()
                }),
                ..NodeStatus::default()
            }),
        }
    }

    /// The instance of a node is released; some time later the controller manager notices that
    /// kubelet is silent, which this plays at once.
    pub fn leave(&self, node: &str) -> Result<(), Error> {
        if let Some((_, instance)) = node.split_once('.') {
            self.cloud.remove_instance(instance);
        }
        self.set_ready(node, "Unknown")
    }

    /// Sets a node's condition Ready: `True`, `False` or `Unknown`.
    pub fn set_ready(&self, node: &str, status: &str) -> Result<(), Error> {
        let now = Time(self.clock.now());
        let reason = match status {
            "True" => "KubeletReady",
            "False" => "KubeletNotReady",
            _ => "NodeStatusUnknown",
        };
        let Some(mut object) = self.kube.get::<Node>("", node) else { return Ok(()) };
        let conditions = object.status.get_or_insert_default().conditions.get_or_insert_default();
        if let Some(ready) = conditions.iter_mut().find(|condition| condition.type_ == "Ready") {
            status.clone_into(&mut ready.status);
            ready.reason = Some(reason.into());
            ready.last_heartbeat_time = Some(now.clone());
            ready.last_transition_time = Some(now);
        }
        self.kube.update_status(&object)?;
        Ok(())
    }
}
