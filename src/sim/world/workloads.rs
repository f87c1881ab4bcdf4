//! Workloads: Deployments become pods, pods get nodes, Services get EndpointSlices.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentStatus},
        core::v1::{
            ContainerState, ContainerStateRunning, ContainerStatus, Node, ObjectReference, Pod, PodCondition, PodIP,
            PodSpec, PodStatus, Service, ServicePort,
        },
        discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice},
    },
    apimachinery::pkg::{
        apis::meta::v1::{ObjectMeta, OwnerReference, Time},
        util::intstr::IntOrString,
    },
};

use sha2::{Digest, Sha256};

use super::{Counters, Error, World};

/// Tells the pods of one template of a Deployment from those of another.
const HASH_LABEL: &str = "pod-template-hash";
const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";
/// Who made a slice; those of others are left alone.
const MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";

impl World {
    /// Lets scheduler, kubelets and controller manager act until nothing is left to do.
    pub fn settle(&self) -> Result<(), Error> {
        let _turn = self.turn.lock();
        self.act()
    }

    fn act(&self) -> Result<(), Error> {
        self.remove_lost_pods()?;
        self.scale_deployments()?;
        self.schedule_pods()?;
        self.look_at_readiness()?;
        self.count_replicas()?;
        self.sync_slices()
    }

    /// Deletes a pod as `kubectl delete pod` does; its Deployment replaces it, elsewhere if there
    /// is an elsewhere.
    pub fn evict(&self, namespace: &str, pod: &str) -> Result<(), Error> {
        let _turn = self.turn.lock();
        let avoid = self.kube.get::<Pod>(namespace, pod).and_then(|pod| pod.spec?.node_name);
        self.kube.delete::<Pod>(namespace, pod)?;
        self.scale_deployments()?;
        self.schedule_avoiding(avoid.as_deref())?;
        self.act()
    }

    /// The pods of nodes that are gone go too.
    fn remove_lost_pods(&self) -> Result<(), Error> {
        let nodes: BTreeSet<String> = self.kube.list::<Node>().into_iter().filter_map(|n| n.metadata.name).collect();
        for pod in self.kube.list::<Pod>() {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
            if node.is_some_and(|node| !nodes.contains(node)) {
                let (namespace, name) = name_of(&pod.metadata);
                self.kube.delete::<Pod>(namespace, name)?;
            }
        }
        Ok(())
    }

    fn scale_deployments(&self) -> Result<(), Error> {
        let deployments = self.kube.list::<Deployment>();
        let owners: BTreeSet<String> = deployments.iter().filter_map(|d| d.metadata.uid.clone()).collect();
        let mut pods: BTreeMap<String, Vec<Pod>> = BTreeMap::new();
        for pod in self.kube.list::<Pod>() {
            let Some(owner) = owner_of(&pod) else { continue };
            if !owners.contains(&owner) {
                let (namespace, name) = name_of(&pod.metadata);
                self.kube.delete::<Pod>(namespace, name)?;
            } else if pod.metadata.deletion_timestamp.is_none() {
                pods.entry(owner).or_default().push(pod);
            }
        }
        for deployment in deployments {
            let uid = deployment.metadata.uid.clone().unwrap_or_default();
            self.scale(&deployment, &pods.remove(&uid).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Brings a Deployment's pods to the number and the template it asks for: what is old goes only as
    /// fast as its rolling update allows.
    fn scale(&self, deployment: &Deployment, there: &[Pod]) -> Result<(), Error> {
        let spec = deployment.spec.clone().unwrap_or_default();
        let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
        let version = version_of(deployment);
        let (new, old): (Vec<&Pod>, Vec<&Pod>) = there.iter().partition(|pod| label(pod, HASH_LABEL) == Some(&version));
        let (surge, unavailable) = if old.is_empty() { (0, 0) } else { pace_of(deployment, wanted) };
        let room = (wanted + surge).saturating_sub(there.len());
        for _ in 0..wanted.saturating_sub(new.len()).min(room) {
            self.kube.create(&self.pod_of(deployment, spec.template.spec.clone().unwrap_or_default()))?;
        }
        let available = there.iter().filter(|pod| is_ready(pod)).count();
        let mut spare = available.saturating_sub(wanted - unavailable.min(wanted));
        for pod in old {
            // One that serves nobody can go at once.
            if is_ready(pod) && spare == 0 {
                continue;
            }
            spare -= usize::from(is_ready(pod));
            let (namespace, name) = name_of(&pod.metadata);
            self.kube.delete::<Pod>(namespace, name)?;
        }
        for pod in new.iter().skip(wanted) {
            let (namespace, name) = name_of(&pod.metadata);
            self.kube.delete::<Pod>(namespace, name)?;
        }
        Ok(())
    }

    fn pod_of(&self, deployment: &Deployment, spec: PodSpec) -> Pod {
        let (namespace, name) = name_of(&deployment.metadata);
        let template = deployment.spec.as_ref().and_then(|spec| spec.template.metadata.clone()).unwrap_or_default();
        Pod {
            metadata: ObjectMeta {
                name: Some(format!("{name}-{}", self.entropy.alphanumeric(5))),
                namespace: Some(namespace.into()),
                labels: Some(
                    template
                        .labels
                        .into_iter()
                        .flatten()
                        .chain([(HASH_LABEL.into(), version_of(deployment))])
                        .collect(),
                ),
                annotations: template.annotations,
                owner_references: Some(vec![OwnerReference {
                    api_version: "apps/v1".into(),
                    kind: "Deployment".into(),
                    name: name.into(),
                    uid: deployment.metadata.uid.clone().unwrap_or_default(),
                    controller: Some(true),
                    block_owner_deletion: None,
                }]),
                ..ObjectMeta::default()
            },
            spec: Some(spec),
            ..Pod::default()
        }
    }

    fn schedule_pods(&self) -> Result<(), Error> {
        self.schedule_avoiding(None)
    }

    fn schedule_avoiding(&self, avoid: Option<&str>) -> Result<(), Error> {
        let mut load: BTreeMap<String, usize> = self
            .kube
            .list::<Node>()
            .iter()
            .filter(|node| is_schedulable(node))
            .map(|n| (name_of(&n.metadata).1.to_owned(), 0))
            .collect();
        let pods = self.kube.list::<Pod>();
        for node in pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.as_ref()) {
            if let Some(count) = load.get_mut(node) {
                *count += 1;
            }
        }
        for pod in pods.iter().filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none())) {
            let others = load.len() > 1;
            let choice =
                load.iter_mut().filter(|(name, _)| !others || avoid != Some(name.as_str())).min_by_key(|(_, n)| **n);
            let Some((node, count)) = choice else { return Ok(()) };
            *count += 1;
            self.start(pod, node)?;
        }
        Ok(())
    }

    /// The scheduler binds a pod, and kubelet starts it.
    fn start(&self, pod: &Pod, node: &str) -> Result<(), Error> {
        let (namespace, name) = name_of(&pod.metadata);
        let cidr = self.kube.get::<Node>("", node).and_then(|node| node.spec?.pod_cidr).unwrap_or_default();
        let number = Counters::next(&self.counters.pods) % 250 + 2;
        let ip = cidr.replace(".0/24", &format!(".{number}"));
        self.kube.modify::<Pod>(namespace, name, |pod| {
            pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
        })?;
        let now = Some(Time(self.clock.now()));
        let mut started = self.kube.get::<Pod>(namespace, name).unwrap_or_default();
        let waits = started.spec.as_ref().is_some_and(|spec| spec.readiness_gates.iter().flatten().next().is_some());
        let condition = |kind: &str| PodCondition {
            type_: kind.into(),
            status: if kind == "Ready" && waits { "False".into() } else { "True".into() },
            last_transition_time: now.clone(),
            ..PodCondition::default()
        };
        let containers = started.spec.iter().flat_map(|spec| &spec.containers).map(|container| ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            ready: true,
            started: Some(true),
            state: Some(ContainerState {
                running: Some(ContainerStateRunning { started_at: now.clone() }),
                ..ContainerState::default()
            }),
            ..ContainerStatus::default()
        });
        let containers = containers.collect();
        started.status = Some(PodStatus {
            container_statuses: Some(containers),
            phase: Some("Running".into()),
            pod_ip: Some(ip.clone()),
            pod_ips: Some(vec![PodIP { ip }]),
            start_time: now.clone(),
            conditions: Some(["PodScheduled", "Initialized", "ContainersReady", "Ready"].map(condition).into()),
            ..PodStatus::default()
        });
        self.kube.update_status(&started)?;
        Ok(())
    }

    /// What kubelet does: a pod is ready when its containers are and all its readiness gates say so.
    fn look_at_readiness(&self) -> Result<(), Error> {
        for mut pod in self.kube.list::<Pod>() {
            let gates: Vec<String> = pod
                .spec
                .iter()
                .flat_map(|s| s.readiness_gates.iter().flatten())
                .map(|g| g.condition_type.clone())
                .collect();
            if gates.is_empty() {
                continue;
            }
            let holds = |kind: &str| is_true(&pod, kind);
            let ready = holds("ContainersReady") && gates.iter().all(|gate| holds(gate));
            if ready == is_ready(&pod) {
                continue;
            }
            let now = Some(Time(self.clock.now()));
            let conditions = pod.status.iter_mut().flat_map(|status| status.conditions.iter_mut().flatten());
            for condition in conditions.filter(|condition| condition.type_ == "Ready") {
                condition.status = if ready { "True".into() } else { "False".into() };
                condition.last_transition_time.clone_from(&now);
            }
            self.kube.update_status(&pod)?;
        }
        Ok(())
    }

    fn count_replicas(&self) -> Result<(), Error> {
        let pods = self.kube.list::<Pod>();
        for mut deployment in self.kube.list::<Deployment>() {
            let of = |pod: &&Pod| owner_of(pod) == deployment.metadata.uid;
            let all = i32::try_from(pods.iter().filter(of).count()).unwrap_or(i32::MAX);
            let version = version_of(&deployment);
            let updated = pods.iter().filter(of).filter(|pod| label(pod, HASH_LABEL) == Some(&version)).count();
            let ready = pods.iter().filter(of).filter(|pod| is_ready(pod)).count();
            let ready = i32::try_from(ready).unwrap_or(i32::MAX);
            let status = DeploymentStatus {
                replicas: Some(all),
                updated_replicas: Some(i32::try_from(updated).unwrap_or(i32::MAX)),
                ready_replicas: Some(ready),
                available_replicas: Some(ready),
                observed_generation: deployment.metadata.generation,
                ..DeploymentStatus::default()
            };
            if deployment.status.as_ref() != Some(&status) {
                deployment.status = Some(status);
                self.kube.update_status(&deployment)?;
            }
        }
        Ok(())
    }

    /// What the endpoint slice controller does: one slice a Service with a selector.
    fn sync_slices(&self) -> Result<(), Error> {
        let pods = self.kube.list::<Pod>();
        let mut stale: BTreeMap<(String, String), EndpointSlice> = self
            .kube
            .list::<EndpointSlice>()
            .into_iter()
            .filter(|slice| {
                slice.metadata.labels.as_ref().and_then(|l| l.get(MANAGED_BY_LABEL)).is_some_and(|by| by == MANAGER)
            })
            .map(|slice| (key_of(&slice.metadata), slice))
            .collect();
        for service in self.kube.list::<Service>() {
            let Some(selector) = service.spec.as_ref().and_then(|spec| spec.selector.clone()) else { continue };
            let slice = slice_of(&service, &selector, &pods);
            match stale.remove(&key_of(&slice.metadata)) {
                None => {
                    self.kube.create(&slice)?;
                }
                Some(old) if old.endpoints != slice.endpoints || old.ports != slice.ports => {
                    let (namespace, name) = name_of(&slice.metadata);
                    self.kube.modify::<EndpointSlice>(namespace, name, |there| {
                        there.endpoints = slice.endpoints;
                        there.ports = slice.ports;
                    })?;
                }
                Some(_) => {}
            }
        }
        for (namespace, name) in stale.into_keys() {
            self.kube.delete::<EndpointSlice>(&namespace, &name)?;
        }
        Ok(())
    }
}

fn slice_of(service: &Service, selector: &BTreeMap<String, String>, pods: &[Pod]) -> EndpointSlice {
    let (namespace, name) = name_of(&service.metadata);
    let selected = pods.iter().filter(|pod| {
        let labels = pod.metadata.labels.as_ref();
        pod.metadata.namespace.as_deref() == Some(namespace)
            && pod.metadata.deletion_timestamp.is_none()
            && selector.iter().all(|(key, value)| labels.and_then(|l| l.get(key)) == Some(value))
    });
    let endpoints = selected.filter_map(endpoint_of).collect();
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten()).map(|port| EndpointPort {
        name: Some(port.name.clone().unwrap_or_default()),
        port: Some(target_of(port)),
        protocol: port.protocol.clone(),
        app_protocol: None,
    });
    EndpointSlice {
        metadata: ObjectMeta {
            name: Some(format!("{name}-slice")),
            namespace: Some(namespace.into()),
            labels: Some(
                [(SERVICE_NAME_LABEL, name), (MANAGED_BY_LABEL, MANAGER)]
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
                    .into(),
            ),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".into(),
                kind: "Service".into(),
                name: name.into(),
                uid: service.metadata.uid.clone().unwrap_or_default(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]),
            ..ObjectMeta::default()
        },
        address_type: "IPv4".into(),
        endpoints,
        ports: Some(ports.collect()),
    }
}

fn endpoint_of(pod: &Pod) -> Option<Endpoint> {
    let status = pod.status.as_ref()?;
    let ready = is_ready(pod);
    Some(Endpoint {
        addresses: vec![status.pod_ip.clone()?],
        conditions: Some(EndpointConditions { ready: Some(ready), serving: Some(ready), terminating: Some(false) }),
        node_name: pod.spec.as_ref()?.node_name.clone(),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".into()),
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            ..ObjectReference::default()
        }),
        ..Endpoint::default()
    })
}

fn target_of(port: &ServicePort) -> i32 {
    match &port.target_port {
        Some(IntOrString::Int(number)) => *number,
        _ => port.port,
    }
}

fn is_ready(pod: &Pod) -> bool {
    is_true(pod, "Ready")
}

fn is_true(pod: &Pod, kind: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|c| c.type_ == kind && c.status == "True"))
}

fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a String> {
    pod.metadata.labels.as_ref()?.get(key)
}

/// Tells one template of a Deployment from another.
fn version_of(deployment: &Deployment) -> String {
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let digest = Sha256::digest(serde_json::to_vec(&template).unwrap_or_default());
    digest.iter().take(5).map(ToString::to_string).collect()
}

/// How many pods a rolling update makes beyond those wanted, and how many may be missing meanwhile.
fn pace_of(deployment: &Deployment, wanted: usize) -> (usize, usize) {
    let spec = deployment.spec.as_ref();
    let rolling =
        spec.and_then(|spec| spec.strategy.as_ref()).and_then(|s| s.rolling_update.clone()).unwrap_or_default();
    let part = |given: &Option<IntOrString>, round_up: bool| match given {
        Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or(0),
        given => {
            let text = given.as_ref().map_or("25%", |given| match given {
                IntOrString::String(text) => text,
                IntOrString::Int(_) => "",
            });
            let share = text.trim_end_matches('%').parse::<usize>().unwrap_or(25) * wanted;
            if round_up { share.div_ceil(100) } else { share / 100 }
        }
    };
    match (part(&rolling.max_surge, true), part(&rolling.max_unavailable, false)) {
        // Otherwise nothing could ever move.
        (0, 0) => (0, 1),
        pace => pace,
    }
}

/// Whether the scheduler would put a pod without tolerations on the node.
fn is_schedulable(node: &Node) -> bool {
    let spec = node.spec.clone().unwrap_or_default();
    let tainted = spec.taints.iter().flatten().any(|taint| taint.effect != "PreferNoSchedule");
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut status: BTreeMap<&str, &str> = BTreeMap::new();
    for condition in conditions {
        status.insert(&condition.type_, &condition.status);
    }
    !tainted
        && !spec.unschedulable.unwrap_or(false)
        && status.get("Ready") == Some(&"True")
        && status.get("NetworkUnavailable") != Some(&"True")
}

fn owner_of(pod: &Pod) -> Option<String> {
    let owners = pod.metadata.owner_references.as_ref()?;
    owners.iter().find(|owner| owner.kind == "Deployment").map(|owner| owner.uid.clone())
}

fn name_of(meta: &ObjectMeta) -> (&str, &str) {
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

fn key_of(meta: &ObjectMeta) -> (String, String) {
    let (namespace, name) = name_of(meta);
    (namespace.to_owned(), name.to_owned())
}
