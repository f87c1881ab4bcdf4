//! What a story is played on: a cluster, a simulated cloud, and replicas of the real controller.
//!
//! A story speaks to the cluster as people do, through its API, and so cannot tell which of the
//! two it is. It waits for what it wants to see, and never for a time to pass.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use ccm::{
    alibaba::{Limits, rpc::InProcess},
    clock::Clock,
    config::{self, Config, Request},
    daemon::{self, Surroundings, shutdown::Shutdown},
    entropy::Entropy,
    sim::{
        cloud::{self, Call, Cloud, ecs::InstanceStatus},
        world::World,
    },
};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::Deployment,
        coordination::v1::Lease,
        core::v1::{Event, Node, Pod, Service, Taint},
    },
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Access keys of the cloud, with their secrets. Each replica takes the next, so that the cloud can
/// tell one from another.
pub const KEYS: [(&str, &str); 4] =
    [("testid", "testsecret"), ("first", "secret1"), ("second", "secret2"), ("third", "secret3")];

/// What the annotations for classic load balancers begin with.
pub const PREFIX: &str = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-";

/// Where a network load balancer stands, by annotation.
pub const ZONES: (&str, &str) = (
    "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-zone-maps",
    "cn-hangzhou-h:vsw-bp1simh,cn-hangzhou-i:vsw-bp1simi",
);

/// Flags for a lease that is over soon, and long enough to be renewed on a busy machine.
pub const SHORT: [&str; 3] =
    ["--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=1s"];
/// How long that lease lasts.
pub const SHORT_LEASE: Duration = Duration::from_secs(10);

/// What the controller calls itself in events.
const COMPONENTS: [&str; 5] =
    ["alibaba-cloud-controller-manager", "node-controller", "nlb-controller", "route-controller", "service-controller"];
/// The label of nodes that have a machine, for the real cluster's kubelets.
const MACHINE: &str = "machine.test/running";
/// How long a story waits for what it wants to see.
const PATIENCE: Duration = Duration::from_secs(90);
const PACE: Duration = Duration::from_millis(100);

/// The way into a cluster.
#[derive(Clone)]
pub struct Cluster {
    /// May do anything; stands for the people of the story.
    pub administrator: Client,
    /// May do what the controller may.
    pub controller: Client,
    /// Whether kubelets and a controller manager are at work, or the simulated world plays them.
    pub real: bool,
}

/// A cluster, a cloud, and any number of controller replicas.
#[derive(Clone)]
pub struct Stage {
    world: World,
    cluster: Cluster,
    clock: Clock,
    entropy: Entropy,
    machines: Arc<AtomicU32>,
    replicas: Arc<AtomicU32>,
}

/// A running controller.
pub struct Replica {
    task: JoinHandle<daemon::Outcome>,
    shutdown: Shutdown,
}

// === impl Stage ===

impl Stage {
    pub fn new(world: World, cluster: Cluster, clock: Clock, entropy: Entropy) -> Self {
        Self { world, cluster, clock, entropy, machines: Arc::default(), replicas: Arc::default() }
    }

    /// Plays a story to its end.
    pub async fn play<F: Future<Output = ()>>(self, story: impl FnOnce(Self) -> F) {
        story(self.clone()).await;
        assert_eq!(self.cloud().contract_breaches(), Vec::<String>::new(), "the simulated cloud broke its contract");
    }

    pub fn cloud(&self) -> &Cloud {
        &self.world.cloud
    }

    /// Of the people of the story.
    pub fn administrator(&self) -> Client {
        self.cluster.administrator.clone()
    }

    /// Of the controller.
    pub fn controller(&self) -> Client {
        self.cluster.controller.clone()
    }

    /// Starts a controller as the DaemonSet does, with VPC routes.
    pub fn start(&self) -> Replica {
        self.start_through(self.controller())
    }

    /// Starts a controller that reaches the API server in another way.
    pub fn start_through(&self, client: Client) -> Replica {
        self.start_with(client, &[])
    }

    /// The same with more flags.
    pub fn start_with(&self, client: Client, flags: &[&str]) -> Replica {
        let key = KEYS[self.replicas.fetch_add(1, Ordering::Relaxed) as usize % KEYS.len()];
        let shutdown = Shutdown::new();
        let surroundings = Surroundings {
            client,
            transport: Arc::new(InProcess::new(self.cloud().router())),
            metadata: Arc::new(InProcess::new(self.cloud().router())),
            limits: Limits::default(),
            clock: self.clock.clone(),
            entropy: self.entropy.fork(),
            metrics: ccm::metrics::Metrics::default(),
            reread: None,
        };
        Replica { task: tokio::spawn(daemon::run(config(key, flags), surroundings, shutdown.clone())), shutdown }
    }

    /// Whether time is, so that how long something takes is exact.
    pub fn is_simulated(&self) -> bool {
        !self.cluster.real
    }

    /// Lets time pass, where a story is about things that last.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Waits until `seen` finds something; fails the test if it does not in time.
    pub async fn until<T, F: Future<Output = Option<T>>>(&self, what: &str, mut seen: impl FnMut() -> F) -> T {
        for _ in 0..PATIENCE.as_millis() / PACE.as_millis() {
            if let Some(found) = seen().await {
                return found;
            }
            tokio::time::sleep(PACE).await;
        }
        let events: Vec<String> = self
            .list::<Event>()
            .await
            .into_iter()
            .map(|e| format!("{:?} {:?}: {:?}", e.involved_object.name, e.reason, e.message))
            .collect();
        panic!("not seen in time: {what}\nevents: {events:#?}\ncalls: {:#?}", self.calls());
    }

    /// The actions called so far, oldest first, such as `slb.CreateLoadBalancer`; failures with
    /// their code.
    pub fn calls(&self) -> Vec<String> {
        let word = |call: Call| match call.code {
            Some(code) => format!("{}.{} {code}", call.product, call.action),
            None => format!("{}.{}", call.product, call.action),
        };
        self.cloud().calls().into_iter().filter(|call| call.product != "metadata").map(word).collect()
    }

    /// The calls that changed something.
    pub fn writes(&self) -> Vec<String> {
        let changed = self.cloud().calls().into_iter().filter(|call| call.changed);
        changed.map(|call| format!("{}.{}", call.product, call.action)).collect()
    }

    /// The access keys of those who changed something, one for each turn.
    pub fn turns(&self) -> Vec<String> {
        let changed = self.cloud().calls().into_iter().filter(|call| call.changed);
        let mut turns: Vec<String> = changed.map(|call| call.caller.access_key).filter(|key| !key.is_empty()).collect();
        turns.dedup();
        turns
    }
}

// Machines.
impl Stage {
    /// A new instance boots, and its kubelet registers it as one with an external cloud provider
    /// does. Answers the node's name.
    pub async fn join(&self) -> String {
        let number = self.machines.fetch_add(1, Ordering::Relaxed) + 1;
        let instance = self.world.boot(number).unwrap();
        let name = format!("cn-hangzhou.{instance}");
        let mut node = self.world.node(&name, Some(&name), number);
        node.labels_mut().insert(MACHINE.into(), "true".into());
        if self.cluster.real {
            // The controller manager gives each node its part of the pod network.
            let spec = node.spec.as_mut().unwrap();
            (spec.pod_cidr, spec.pod_cidrs) = (None, None);
        }
        let nodes: Api<Node> = Api::all(self.cluster.administrator.clone());
        nodes.create(&PostParams::default(), &node).await.unwrap();
        name
    }

    /// Joins nodes and waits until the controller has taken them into service.
    pub async fn joined(&self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(self.join().await);
        }
        for name in &names {
            let initialised = || async { self.node(name).await.filter(|node| !is_tainted(node)) };
            self.until("an initialised node", initialised).await;
        }
        names
    }

    /// A new instance that is no node; answers its id.
    pub fn boot(&self) -> String {
        self.world.boot(self.machines.fetch_add(1, Ordering::Relaxed) + 1).unwrap()
    }

    /// The instance of a node is switched off: kubelet falls silent.
    pub async fn switch_off(&self, node: &str) {
        self.cloud().set_instance_status(node.split_once('.').unwrap().1, InstanceStatus::Stopped);
        self.speak(node, false).await;
    }

    pub async fn switch_on(&self, node: &str) {
        self.cloud().set_instance_status(node.split_once('.').unwrap().1, InstanceStatus::Running);
        self.speak(node, true).await;
    }

    async fn speak(&self, node: &str, speaks: bool) {
        if self.cluster.real {
            let label = json!({ "metadata": { "labels": { MACHINE: speaks.then_some("true") } } });
            let nodes: Api<Node> = Api::all(self.administrator());
            nodes.patch(node, &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
        } else {
            self.world.set_ready(node, if speaks { "True" } else { "Unknown" }).unwrap();
        }
    }

    /// The instance of a node is released: kubelet falls silent.
    pub async fn release(&self, node: &str) {
        self.cloud().remove_instance(node.split_once('.').unwrap().1);
        self.speak(node, false).await;
    }

    /// Puts a taint with the effect `NoSchedule` on a node, beside those that it has.
    pub async fn taint(&self, node: &str, key: &str) {
        let nodes: Api<Node> = Api::all(self.cluster.administrator.clone());
        let put = || async {
            let mut node = nodes.get(node).await.unwrap();
            let taint = Taint { key: key.into(), effect: "NoSchedule".into(), ..Taint::default() };
            node.spec.get_or_insert_default().taints.get_or_insert_default().push(taint);
            // Somebody else may have written it in between.
            nodes.replace(&node.name_any(), &PostParams::default(), &node).await.ok()
        };
        self.until("the taint", put).await;
    }

    pub async fn node(&self, name: &str) -> Option<Node> {
        Api::all(self.cluster.administrator.clone()).get_opt(name).await.unwrap()
    }
}

// Objects of the namespace `default`.
impl Stage {
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.cluster.administrator.clone(), "default")
    }

    pub async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    pub async fn list<K>(&self) -> Vec<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        self.api().list(&ListParams::default()).await.unwrap().items
    }

    pub async fn service(&self, name: &str) -> Option<Service> {
        self.api().get_opt(name).await.unwrap()
    }

    /// Creates a Service with this spec.
    pub async fn expose(&self, name: &str, annotations: &[(&str, &str)], spec: Value) -> Service {
        let annotations: BTreeMap<&str, &str> = annotations.iter().copied().collect();
        self.create(json!({ "metadata": { "name": name, "annotations": annotations }, "spec": spec })).await
    }

    /// Creates a Service of type LoadBalancer with one TCP port.
    pub async fn expose_web(&self) -> Service {
        let spec = json!({ "type": "LoadBalancer", "selector": { "app": "web" }, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] });
        self.expose("web", &[], spec).await
    }

    /// Creates one for a network load balancer, with more annotations.
    pub async fn expose_on_network(&self, name: &str, more: &[(&str, &str)]) -> Service {
        let ports = json!([{ "name": "http", "port": 80, "targetPort": 8080 }]);
        let class = "alibabacloud.com/nlb";
        let spec =
            json!({ "type": "LoadBalancer", "loadBalancerClass": class, "selector": { "app": "web" }, "ports": ports });
        self.expose(name, &[&[ZONES], more].concat(), spec).await
    }

    /// Changes the spec of a Service by a merge patch.
    pub async fn change(&self, name: &str, spec: Value) -> Service {
        self.patch_service(name, json!({ "spec": spec })).await
    }

    pub async fn annotate(&self, service: &str, key: &str, value: &str) {
        self.patch_service(service, json!({ "metadata": { "annotations": { key: value } } })).await;
    }

    /// Changes a Service by a merge patch.
    pub async fn patch_service(&self, name: &str, change: Value) -> Service {
        self.api().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap()
    }

    pub async fn annotate_node(&self, node: &str, key: &str, value: &str) {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { key: value } } }));
        let nodes: Api<Node> = Api::all(self.administrator());
        nodes.patch(node, &PatchParams::default(), &patch).await.unwrap();
    }

    pub async fn delete_service(&self, name: &str) {
        self.api::<Service>().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until the Service shows an address; answers it.
    pub async fn address(&self, name: &str) -> String {
        self.until("an address in the Service's status", || async { address_of(&self.service(name).await?) }).await
    }

    /// Waits until the Service shows a host name; answers it.
    pub async fn host_name(&self, name: &str) -> String {
        let shown = |service: Service| service.status?.load_balancer?.ingress?.pop()?.hostname;
        self.until("a host name in the Service's status", || async { shown(self.service(name).await?) }).await
    }

    /// Waits until the Service's load balancer was told to be in place.
    pub async fn ensured(&self, name: &str) {
        let told = || async {
            self.told(name).await.iter().any(|(_, reason, _)| reason == "EnsuredLoadBalancer").then_some(())
        };
        self.until("the success told", told).await;
    }

    /// Runs so many pods with the label `app: web`.
    pub async fn deploy_web(&self, replicas: u32) {
        let labels = json!({ "app": "web" });
        let container = json!({ "name": "web", "image": "nginx:1.29", "ports": [{ "containerPort": 8080 }] });
        let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [container] } });
        let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": template });
        self.create::<Deployment>(json!({ "metadata": { "name": "web" }, "spec": spec })).await;
    }

    /// Runs so many pods with the label `app: web` that are ready only once the Service `web` has them, at
    /// addresses that network interfaces hold. `version` tells one template from another.
    pub async fn deploy_gated_web(&self, replicas: u32, version: &str) {
        let labels = json!({ "app": "web" });
        let container =
            json!({ "name": "web", "image": format!("nginx:{version}"), "ports": [{ "containerPort": 8080 }] });
        let gates = json!([{ "conditionType": "service.readiness.alibabacloud.com/web" }]);
        let template = json!({
            "metadata": { "labels": labels }, "spec": { "containers": [container], "readinessGates": gates },
        });
        let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": template });
        let deployments = self.api::<Deployment>();
        if deployments.get_opt("web").await.unwrap().is_some() {
            let patch = Patch::Merge(json!({ "spec": spec }));
            deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
        } else {
            self.create::<Deployment>(json!({ "metadata": { "name": "web" }, "spec": spec })).await;
        }
    }

    /// What the network plug-in does: gives each pod's address to a network interface, for as long as
    /// the story lasts.
    pub fn give_pods_interfaces(&self) {
        let stage = self.clone();
        tokio::spawn(async move {
            loop {
                // The story may be over, and its cluster with it.
                let Ok(pods) = stage.api::<Pod>().list(&ListParams::default()).await else { return };
                stage.cloud().with_state(|state| {
                    let Some(interface) = state.ecs.interfaces.values_mut().next() else { return };
                    for pod in pods.items {
                        let address = pod.status.and_then(|status| status.pod_ip).and_then(|ip| ip.parse().ok());
                        if let Some(address) = address.filter(|address| !interface.private_ips.contains(address)) {
                            interface.private_ips.push(address);
                        }
                    }
                });
                tokio::time::sleep(PACE).await;
            }
        });
    }

    /// Type, reason and message of all events about an object, but for those of others: the
    /// endpoints controller warns of its own conflicts.
    pub async fn told(&self, object: &str) -> Vec<(String, String, String)> {
        let about = ListParams::default().fields(&format!("involvedObject.name={object}"));
        let events: Api<Event> = Api::all(self.cluster.administrator.clone());
        let list = events.list(&about).await.unwrap();
        let pick =
            |e: Event| (e.type_.unwrap_or_default(), e.reason.unwrap_or_default(), e.message.unwrap_or_default());
        let own = |event: &Event| {
            let component = event.source.as_ref().and_then(|source| source.component.as_deref());
            component.is_some_and(|component| COMPONENTS.contains(&component))
        };
        list.items.into_iter().filter(own).map(pick).collect()
    }
}

// The controller's own.
impl Stage {
    /// The leader lease.
    pub async fn lease(&self) -> Option<Lease> {
        Api::namespaced(self.cluster.administrator.clone(), "kube-system").get_opt("ccm").await.unwrap()
    }
}

// === impl Replica ===

impl Replica {
    /// SIGTERM; waits for the end.
    pub async fn stop(self) -> Result<(), daemon::Error> {
        self.shutdown.request();
        self.task.await.unwrap().map(drop)
    }

    /// Waits until it ends by itself.
    pub async fn ended(self) -> Result<(), daemon::Error> {
        self.task.await.unwrap().map(drop)
    }

    /// SIGKILL.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

fn config((id, secret): (&str, &str), more: &[&str]) -> Config {
    let global = json!({
        "accessKeyID": STANDARD.encode(id), "accessKeySecret": STANDARD.encode(secret), "clusterID": "c1",
        "region": "cn-hangzhou", "vpcid": "vpc-bp1sim", "vswitchid": "vsw-bp1simh",
    });
    let file = json!({ "Global": global }).to_string();
    let environment = config::environment::Fixed::default().with_file("/cloud-config", &file);
    let flags = [
        "--cloud-config=/cloud-config",
        "--cluster-cidr=172.20.0.0/16",
        "--health-probe-bind-addr=0",
        "--metrics-bind-addr=0",
    ];
    match config::read(flags.iter().chain(more).map(|flag| (*flag).into()), &environment).unwrap() {
        Request::Run(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// The region of a story's cloud: the usual one, with all keys.
pub fn region() -> cloud::World {
    let keys = KEYS.map(|(id, secret)| cloud::AccessKey { id: id.into(), secret: secret.into() });
    cloud::World { access_keys: keys.into(), ..cloud::World::default() }
}

pub fn is_tainted(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.map(|taint| taint.key.as_str()).any(|key| key == "node.cloudprovider.kubernetes.io/uninitialized")
}

pub fn address_of(service: &Service) -> Option<String> {
    service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?.first()?.ip.clone()
}
