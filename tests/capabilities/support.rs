//! The harness: the real controller between the simulated cloud and the embedded Kubernetes API,
//! in one process, without a socket, on simulated time and one seed. Each story ends with a look
//! for secrets in all that was shown: see [`secrets`].

pub mod clb;
pub mod host;
pub mod log;
pub mod secrets;

pub mod picture;
pub mod tripwire;

use std::{collections::BTreeMap, future::Future, sync::Arc, time::Duration};

use ccm::{
    alibaba::{
        Limits,
        rpc::{InProcess, Transport},
    },
    clock::Clock,
    config::Config,
    daemon::{self, Reread, Surroundings, dry_run::Report, shutdown::Shutdown},
    entropy::Entropy,
    metrics::Metrics,
    sim::{
        cloud::{self, Cloud},
        world::World,
    },
};
use k8s_openapi::api::core::v1::{Event, Node, Service};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinHandle;

use self::{
    host::{Host, KEY_ID, KEY_SECRET},
    secrets::{Overheard, Watch},
};

/// Runs a story on one thread, on paused time.
pub fn play<F: Future<Output = ()>>(story: impl FnOnce(Stage) -> F) {
    play_seeded(1, story);
}

/// Runs a story of thousands of objects: nobody reads along in its log, which would take most of the time.
pub fn play_unheard<F: Future<Output = ()>>(story: impl FnOnce(Stage) -> F) {
    play_as(1, Watched { log: false, end: true }, story);
}

/// The same seed gives the same calls, byte for byte.
pub fn play_seeded<F: Future<Output = ()>>(seed: u64, story: impl FnOnce(Stage) -> F) {
    play_as(seed, Watched { log: true, end: true }, story);
}

/// One of a thousand stories: nobody looks for secrets in it, which would take half of the time, unless it is `watched`.
pub fn play_one_of_many<F: Future<Output = ()>>(seed: u64, watched: bool, story: impl FnOnce(Stage) -> F) {
    play_as(seed, Watched { log: watched, end: watched }, story);
}

/// Where secrets are looked for.
struct Watched {
    log: bool,
    /// In what is there at the end.
    end: bool,
}

fn play_as<F: Future<Output = ()>>(seed: u64, watched: Watched, story: impl FnOnce(Stage) -> F) {
    // With a single subscriber in the process, places that log are switched off for good when a
    // thread without one reaches them first. A second subscriber, of nothing, keeps them open for
    // the test that reads the log.
    let _ = tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let stage = Stage::new(seed);
        let listening = watched.log.then(|| stage.secrets.listen());
        story(stage.clone()).await;
        drop(listening);
        if watched.end {
            stage.look_for_secrets();
        }
        assert_eq!(not_allowed(&stage), Vec::<String>::new(), "add them to config/ram-policies");
        assert_eq!(stage.world.cloud.contract_breaches(), Vec::<String>::new(), "the simulator broke the contract");
    });
}

/// The actions called that the RAM policies we ship do not allow.
fn not_allowed(stage: &Stage) -> Vec<String> {
    let policies = [
        include_str!("../../config/ram-policies/node.json"),
        include_str!("../../config/ram-policies/route.json"),
        include_str!("../../config/ram-policies/service.json"),
        include_str!("../../config/ram-policies/nlb.json"),
    ];
    let allowed =
        |action: &str| policies.iter().any(|policy| policy.contains(&format!("\"{}\"", action.replace('.', ":"))));
    let needs_a_policy =
        |action: &String| ["slb.", "nlb.", "ecs.", "vpc."].iter().any(|product| action.starts_with(product));
    stage.cloud().call_counts().into_keys().filter(needs_a_policy).filter(|action| !allowed(action)).collect()
}

/// A cluster, a cloud, and any number of controller replicas.
#[derive(Clone)]
pub struct Stage {
    pub world: World,
    pub clock: Clock,
    pub entropy: Entropy,
    pub secrets: Watch,
    /// Of every controller that was started, in that order.
    metrics: Arc<Mutex<Vec<Metrics>>>,
}

/// A running controller.
pub struct Replica {
    task: JoinHandle<daemon::Outcome>,
    shutdown: Shutdown,
}

impl Stage {
    pub fn new(seed: u64) -> Self {
        let entropy = Entropy::seeded(seed);
        let clock = Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap());
        let world = World::new(cloud::Options::default(), clock.clone(), &entropy).unwrap();
        let secrets = Watch::new(&world.cloud);
        // As they stand in the cloud-config file.
        for encoded in [KEY_ID, KEY_SECRET] {
            secrets.guard(encoded);
        }
        Self { world, clock, entropy, secrets, metrics: Arc::default() }
    }

    pub fn cloud(&self) -> &Cloud {
        &self.world.cloud
    }

    /// Starts a controller as the DaemonSet does.
    pub fn start(&self) -> Replica {
        self.start_with(&[], json!({}))
    }

    /// Starts one that shares with nobody: a renewal of the lease every two seconds makes hours long.
    pub fn start_alone(&self) -> Replica {
        self.start_with(&["--leader-elect=false"], json!({}))
    }

    /// Starts a controller with more flags, and more keys in the cloud-config file.
    pub fn start_with(&self, flags: &[&str], keys: serde_json::Value) -> Replica {
        self.start_over(Arc::new(InProcess::new(self.world.cloud.router())), flags, keys)
    }

    /// Starts a controller that reaches the cloud in another way.
    pub fn start_over(&self, transport: Arc<dyn Transport>, flags: &[&str], keys: serde_json::Value) -> Replica {
        self.start_as(config(flags, keys), transport)
    }

    /// Starts a controller with what it finds on this host.
    pub fn start_on(&self, host: &Host, flags: &[&str]) -> Replica {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let read = {
            let host = host.clone();
            move || host.config(&flags)
        };
        let config = read().unwrap();
        let transport = Arc::new(InProcess::new(self.world.cloud.router()));
        self.start_daemon(self.world.kube.client(), transport, config, Some(Arc::new(read)))
    }

    pub fn start_as(&self, config: Config, transport: Arc<dyn Transport>) -> Replica {
        self.start_between(self.world.kube.client(), transport, config)
    }

    /// Starts a controller that reaches both the cluster and the cloud in another way.
    pub fn start_between(&self, client: kube::Client, transport: Arc<dyn Transport>, config: Config) -> Replica {
        self.start_daemon(client, transport, config, None)
    }

    fn start_daemon(
        &self,
        client: kube::Client,
        transport: Arc<dyn Transport>,
        config: Config,
        reread: Option<Reread>,
    ) -> Replica {
        self.secrets.look_at("the configuration", &format!("{config} {config:?}"));
        let transport = Arc::new(Overheard { inner: transport, watch: self.secrets.clone() });
        let shutdown = Shutdown::new();
        let metrics = Metrics::default();
        self.metrics.lock().push(metrics.clone());
        let surroundings = Surroundings {
            client,
            metadata: transport.clone(),
            transport,
            limits: Limits::default(),
            clock: self.clock.clone(),
            entropy: self.entropy.fork(),
            metrics,
            reread,
        };
        Replica { task: tokio::spawn(daemon::run(config, surroundings, shutdown.clone())), shutdown }
    }

    /// The metrics of the controller that was started last.
    pub fn metrics(&self) -> String {
        self.metrics.lock().last().map(|metrics| metrics.encode().unwrap()).unwrap_or_default()
    }

    /// The value of one line of those metrics.
    pub fn metric(&self, line: &str) -> Option<f64> {
        self.metrics().lines().find_map(|there| there.strip_prefix(line)?.trim().parse().ok())
    }

    fn look_for_secrets(&self) {
        for metrics in self.metrics.lock().iter() {
            self.secrets.look_at("the metrics", &metrics.encode().unwrap());
        }
        for object in self.events() {
            self.secrets.look_at("an event", &object);
        }
        for node in self.world.kube.list::<Node>() {
            self.secrets.look_at("a Node", &format!("{node:?}"));
        }
        for service in self.world.kube.list::<Service>() {
            self.secrets.look_at("a Service", &format!("{service:?}"));
        }
        self.secrets.assert_nothing_leaked();
    }

    /// Lets simulated time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Waits until `seen` finds something; fails the test if it does not within two minutes.
    pub async fn until<T>(&self, what: &str, seen: impl FnMut() -> Option<T>) -> T {
        self.until_within(Duration::from_secs(120), what, seen).await
    }

    /// The same with another patience.
    pub async fn until_within<T>(&self, patience: Duration, what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
        for _ in 0..patience.as_millis() / 100 {
            if let Some(found) = seen() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("not seen within {patience:?}: {what}\nevents: {:#?}\ncalls: {:#?}", self.events(), self.words());
    }

    /// Joins nodes and waits until they are in service.
    pub async fn joined(&self, count: usize) -> Vec<String> {
        let names: Vec<String> = (0..count).map(|_| self.world.join().unwrap()).collect();
        for name in &names {
            self.until("an initialised node", || self.node(name).filter(|node| taints(node).is_empty())).await;
        }
        names
    }

    pub fn node(&self, name: &str) -> Option<Node> {
        self.world.kube.get::<Node>("", name)
    }

    pub fn service(&self, name: &str) -> Option<Service> {
        self.world.kube.get::<Service>("default", name)
    }

    /// Creates a Service with this spec.
    pub fn expose(&self, name: &str, annotations: &[(&str, &str)], spec: serde_json::Value) -> Service {
        let annotations: BTreeMap<&str, &str> = annotations.iter().copied().collect();
        let service =
            json!({ "metadata": { "name": name, "namespace": "default", "annotations": annotations }, "spec": spec });
        let created = self.world.kube.create::<Service>(&serde_json::from_value(service).unwrap()).unwrap();
        self.world.settle().unwrap();
        created
    }

    /// Creates a Service of type LoadBalancer with one TCP port.
    pub fn expose_web(&self) -> Service {
        self.expose(
            "web",
            &[],
            json!({ "type": "LoadBalancer", "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] }),
        )
    }

    /// Waits until the Service shows an address; answers it.
    pub async fn address(&self, name: &str) -> String {
        self.until("an address in the Service's status", || address_of(&self.service(name)?)).await
    }

    /// Reasons and messages of all events about an object, oldest first.
    pub fn told(&self, object: &str) -> Vec<(String, String)> {
        let about = |event: &Event| event.involved_object.name.as_deref() == Some(object);
        let pick = |event: Event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default());
        let mut events: Vec<Event> = self.world.kube.list::<Event>().into_iter().filter(about).collect();
        events.sort_by(|one, other| one.first_timestamp.cmp(&other.first_timestamp));
        events.into_iter().map(pick).collect()
    }

    fn events(&self) -> Vec<String> {
        let line = |e: Event| format!("{:?} {:?}: {:?}", e.involved_object.name, e.reason, e.message);
        self.world.kube.list::<Event>().into_iter().map(line).collect()
    }

    /// The actions called so far, oldest first, such as `slb.CreateLoadBalancer`; failures with
    /// their code.
    pub fn words(&self) -> Vec<String> {
        let word = |call: cloud::Call| match call.code {
            Some(code) => format!("{}.{} {code}", call.product, call.action),
            None => format!("{}.{}", call.product, call.action),
        };
        self.cloud().calls().into_iter().filter(|call| call.product != "metadata").map(word).collect()
    }

    /// Forgets the calls so far.
    pub fn clear_calls(&self) {
        self.cloud().clear_calls();
    }
}

impl Replica {
    /// SIGTERM; waits for the end.
    pub async fn stop(self) -> Result<(), daemon::Error> {
        self.shutdown.request();
        self.task.await.unwrap().map(drop)
    }

    /// SIGTERM; what has become of it can be waited for while something else happens.
    pub fn ask_to_stop(&self) {
        self.shutdown.request();
    }

    /// Whether it is over without having been asked to end.
    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits until a dry run is over.
    pub async fn report(self) -> Report {
        self.task.await.unwrap().unwrap().unwrap()
    }

    /// SIGKILL.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// The configuration of these flags and keys over those of the example DaemonSet.
pub fn config(flags: &[&str], keys: serde_json::Value) -> Config {
    Host::with(keys).config(flags).unwrap()
}

pub fn taints(node: &Node) -> Vec<String> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()).map(|taint| taint.key.clone()).collect()
}

pub fn address_of(service: &Service) -> Option<String> {
    service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?.first()?.ip.clone()
}
