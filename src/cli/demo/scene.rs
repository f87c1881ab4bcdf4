//! Where the story plays: cloud, cluster and controller in one process, on free ports.

use std::{fs::File, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use tokio::task::JoinHandle;

use super::super::{
    files::{self, Files},
    screen::Screen,
    serve::{ANY_PORT, Server},
};
use crate::{
    alibaba::{Limits, rpc::Https},
    clock::Clock,
    config::{self, Config, Request, environment::Fixed},
    daemon::{self, Surroundings, shutdown::Shutdown},
    entropy::Entropy,
    kubernetes::client,
    sim::{
        cloud::{self, ecs::Instance},
        world::World,
    },
    telemetry,
};

/// The log's name below the scene's directory.
pub(super) const LOG: &str = "controller.log";
/// The example that users are told to try.
pub(super) const EXAMPLE: &str = include_str!("../../../config/nginx.yaml");

const CLUSTER_ID: &str = "demo";
/// The machine that the controller runs on, as far as the metadata server knows.
const CONTROL_PLANE: &str = "i-bp1controlplane";
/// How long each call to the cloud takes, about as long as inside of a region.
const LATENCY: Duration = Duration::from_millis(10);
/// In production the proof that an instance is gone takes 10 s, which is long to watch.
const ABSENCE_CONFIRMATION: Duration = Duration::from_secs(1);

/// Cloud, cluster and the files to reach them.
pub(super) struct Scene {
    pub(super) world: World,
    cloud: Server,
    cluster: Server,
    files: Files,
    logs: bool,
    kubeconfig: PathBuf,
    clock: Clock,
    entropy: Entropy,
    life: JoinHandle<()>,
}

// === impl Scene ===

impl Scene {
    /// An empty cluster in a region with a VPC. With `logs` the controller's log goes to standard
    /// error, else into a file.
    pub(super) async fn open(logs: bool) -> anyhow::Result<Self> {
        let files = Files::new()?;
        let log = telemetry::Options::default();
        if logs {
            telemetry::init(&log)?;
        } else {
            let path = files.path(LOG);
            let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            tracing::subscriber::set_global_default(telemetry::subscriber(&log, Arc::new(file))?)?;
        }
        let (clock, entropy) = (Clock::system(), Entropy::system());
        let mut start = cloud::World::default();
        let vswitch = start.vswitches.first().map(|vswitch| vswitch.id.clone()).unwrap_or_default();
        start.instances.push(Instance::new(CONTROL_PLANE, &vswitch));
        let options = cloud::Options { latency: LATENCY, ..cloud::Options::default() };
        let world = World::with(start, options, clock.clone(), &entropy)?;
        let cloud = Server::start(world.cloud.router(), ANY_PORT, "the simulated cloud").await?;
        let cluster = Server::start(world.kube.router(), ANY_PORT, "the embedded Kubernetes API").await?;
        let kubeconfig = files.write("kubeconfig", &files::kubeconfig(&cluster.url()))?;
        let living = world.clone();
        let life = tokio::spawn(async move { living.live().await });
        Ok(Self { world, cloud, cluster, files, logs, kubeconfig, clock, entropy, life })
    }

    /// Starts the controller, which finds the rest out as it does on an instance with a RAM role.
    pub(super) async fn start_controller(&self, shutdown: &Shutdown) -> anyhow::Result<JoinHandle<daemon::Outcome>> {
        let config = self.config()?;
        let options = client::Options {
            kubeconfig: config.kubernetes.kubeconfig.clone(),
            kubeconfig_env: None,
            home: None,
            master: None,
            user_agent: format!("alibaba-cloud-controller-manager/{}", config::build_info::VERSION),
            qps: config.kubernetes.qps,
            burst: config.kubernetes.burst,
            timeout: Duration::from_secs(30),
        };
        let mut located = client::locate(&options).await?;
        // Both ends are on this machine, whatever proxy leads out of it.
        located.config.proxy_url = None;
        let surroundings = Surroundings {
            client: client::connect(located.config, &options, Arc::new(|| true))?,
            transport: Arc::new(Https::direct()?),
            metadata: Arc::new(Https::direct()?),
            limits: Limits::default(),
            clock: self.clock.clone(),
            entropy: self.entropy.fork(),
            metrics: crate::metrics::Metrics::default(),
            reread: None,
        };
        Ok(tokio::spawn(daemon::run(config, surroundings, shutdown.clone())))
    }

    fn config(&self) -> anyhow::Result<Config> {
        let endpoint = self.cloud.reachable().to_string();
        let mut environment = Fixed::default()
            .with_file("/etc/kubernetes/cloud-config", &format!("Global:\n  clusterID: {CLUSTER_ID}\n"))
            .with_variable("METADATA_ENDPOINT", &self.cloud.url())
            .with_variable("ALICLOUD_CLIENT_SCHEME", "HTTP")
            .with_variable("HOSTNAME", "demo");
        for product in ["ECS", "VPC", "SLB", "NLB", "STS"] {
            environment = environment.with_variable(&format!("{product}_ENDPOINT"), &endpoint);
        }
        let kubeconfig = self.kubeconfig.display();
        let arguments = [
            "--cloud-config=/etc/kubernetes/cloud-config".to_owned(),
            format!("--kubeconfig={kubeconfig}"),
            "--cluster-cidr=172.20.0.0/16".to_owned(),
            "--health-probe-bind-addr=0".to_owned(),
            "--metrics-bind-addr=0".to_owned(),
        ];
        match config::read(arguments.into_iter().map(Into::into), &environment) {
            Ok(Request::Run(mut config)) => {
                config.node.absence_confirmation = ABSENCE_CONFIRMATION;
                Ok(*config)
            }
            Ok(other) => anyhow::bail!("the demo's own command line asks for {other:?}"),
            Err(invalid) => anyhow::bail!("the demo's own command line: {invalid}"),
        }
    }

    /// Says what was started, and where.
    pub(super) fn introduce(&self, screen: &mut Screen) {
        screen.line(config::build_info::line());
        screen.line("The real controller between a simulated Alibaba Cloud and an embedded Kubernetes API.");
        screen.blank();
        screen.pair("cloud", format_args!("{}   region cn-hangzhou, vpc-bp1sim", self.cloud.url()));
        screen.pair("cluster", format_args!("{}   id {CLUSTER_ID}", self.cluster.url()));
        screen.pair("kubeconfig", self.kubeconfig.display());
        if self.logs {
            screen.pair("log", "on standard error");
        } else {
            screen.pair("log", self.files.path(LOG).display());
        }
    }

    /// Says what can be done with it now.
    pub(super) fn invite(&self, screen: &mut Screen) {
        // In a checkout the example is at hand; elsewhere it is not.
        let example = PathBuf::from("config/nginx.yaml");
        let here = std::fs::read_to_string(&example).is_ok_and(|text| text == EXAMPLE);
        let written = if here { None } else { self.files.write("nginx.yaml", EXAMPLE).ok() };
        let example = written.unwrap_or(example);
        screen.blank();
        screen.line("All of it stays up until Ctrl-C. Nodes, pods and endpoints live on. Try:");
        screen.blank();
        screen.line(format_args!("  export KUBECONFIG={}", self.kubeconfig.display()));
        for command in [
            "kubectl get nodes,svc -o wide".to_owned(),
            format!("kubectl apply -f {}", example.display()),
            "kubectl get svc nginx -w                     # EXTERNAL-IP; end with Ctrl-C".to_owned(),
            "kubectl describe svc nginx".to_owned(),
            "kubectl annotate svc nginx \\".to_owned(),
            "    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-scheduler=wrr".to_owned(),
            "kubectl get events --sort-by=.lastTimestamp".to_owned(),
            "kubectl get pods -o wide".to_owned(),
            "kubectl delete svc nginx".to_owned(),
            format!("curl '{}/_sim/calls?last=5'           # what the cloud was asked", self.cloud.url()),
        ] {
            screen.line(format_args!("  {command}"));
        }
    }

    /// Leaves the files behind; answers the directory that they are in.
    pub(super) fn leave_files(self) -> PathBuf {
        self.life.abort();
        self.files.keep()
    }
}
