//! Puts the parts together and watches over them.
//!
//! Every replica keeps its cache warm; the one that holds the lease runs the controllers. Losing
//! the lease, or any part that ends or panics, ends the process: it is started again in a clean
//! state. When asked to stop, the controllers finish what they are at, and then the lease is given
//! back, so that the next replica need not wait for it to run out.

mod cloud;
mod controllers;
mod credentials;
mod facts;
pub mod shutdown;

use std::{sync::Arc, time::Duration};

use kube::Client;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use self::shutdown::Shutdown;
use crate::{
    admin::{self, Checks, Heartbeat},
    alibaba::rpc::{self, Transport},
    clock::Clock,
    cloud::fence::MayWrite,
    config::{BindAddress, Config, build_info},
    entropy::Entropy,
    kubernetes::{cache::Cache, events::Recorder},
    leader::{self, Elector, Ended},
    metrics::Metrics,
};

/// How long the controllers may take to finish when asked to stop. Within kubelet's default of
/// 30 s between SIGTERM and SIGKILL.
const DRAIN: Duration = Duration::from_secs(20);

/// What ties the daemon to the world. In production sockets and the machine's clock; in tests
/// simulators in the same process and simulated time.
pub struct Surroundings {
    /// The API server, without a fence.
    pub client: Client,
    /// The cloud.
    pub transport: Arc<dyn Transport>,
    /// The metadata server, which is never behind a proxy.
    pub metadata: Arc<dyn Transport>,
    pub clock: Clock,
    pub entropy: Entropy,
    /// Where everything is counted.
    pub metrics: Metrics,
}

/// Why the daemon ended other than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Bind(#[from] admin::BindError),
    #[error("lost the leader lease {0}; another replica may be leading")]
    LostLease(String),
    #[error("{0} ended unexpectedly")]
    Ended(String),
    #[error("stopped before all work was finished: {0}")]
    NotDrained(&'static str),
}

/// Runs until asked to stop.
pub async fn run(config: Config, surroundings: Surroundings, shutdown: Shutdown) -> Result<(), Error> {
    info!("{}", build_info::line());
    info!("configuration: {config}");
    for warning in &config.warnings {
        warn!("{warning}");
    }
    let daemon = Daemon::new(config, surroundings);
    let stop = shutdown.requested();
    tokio::select! {
        biased;
        () = shutdown.aborted() => Err(Error::NotDrained("told to stop a second time")),
        result = daemon.run(&stop) => result,
    }
}

struct Daemon {
    config: Config,
    client: Client,
    transport: Arc<dyn Transport>,
    metadata: Arc<dyn Transport>,
    clock: Clock,
    entropy: Entropy,
    metrics: Metrics,
    /// What is counted about calls to the cloud.
    calls: rpc::Metrics,
    /// What is counted about keys for them.
    keys: rpc::credentials::Metrics,
    cache: Cache,
    elector: Elector,
    /// Ends what only tells about the work, after the work.
    background: CancellationToken,
    recorders: Mutex<Vec<Recorder>>,
}

// === impl Daemon ===

impl Daemon {
    fn new(config: Config, surroundings: Surroundings) -> Self {
        let Surroundings { client, transport, metadata, clock, entropy, metrics } = surroundings;
        let lease = &config.leader;
        let options = leader::Options {
            namespace: lease.namespace.clone(),
            name: lease.name.clone(),
            identity: format!("{}_{}", lease.hostname, entropy.uuid()),
            lease_duration: lease.lease_duration,
            renew_deadline: lease.renew_deadline,
            retry_period: lease.retry_period,
        };
        let (calls, keys) = (rpc::Metrics::new(), rpc::credentials::Metrics::default());
        metrics.register(|registry| {
            calls.register(registry);
            keys.register(registry);
        });
        let elector = Elector::new(client.clone(), options, clock.clone(), entropy.fork());
        Self {
            config,
            client,
            transport,
            metadata,
            clock,
            entropy,
            metrics,
            calls,
            keys,
            cache: Cache::new(),
            elector,
            background: CancellationToken::new(),
            recorders: Mutex::default(),
        }
    }

    async fn run(mut self, stop: &CancellationToken) -> Result<(), Error> {
        let recorder = self.recorder("alibaba-cloud-controller-manager");
        let status = self.metrics.leader.of(&self.config.leader.name);
        self.elector = self.elector.with_recorder(recorder).with_status(status);
        let mut tasks = JoinSet::new();
        self.serve(&mut tasks).await?;
        let (cache, client, entropy) = (self.cache.clone(), self.client.clone(), self.entropy.fork());
        let token = self.background.clone();
        tasks.spawn(async move {
            cache.run(client, entropy, token).await;
            "the informers".to_owned()
        });
        let result = tokio::select! {
            biased;
            result = self.work(stop) => result,
            ended = tasks.join_next() => Err(Error::Ended(name_of(ended))),
        };
        self.background.cancel();
        let recorders = std::mem::take(&mut *self.recorders.lock());
        for recorder in recorders {
            recorder.closed().await;
        }
        result
    }

    /// Tells of events under the name of a component.
    fn recorder(&self, component: &'static str) -> Recorder {
        let (clock, entropy) = (self.clock.clone(), self.entropy.fork());
        let recorder = Recorder::new(self.client.clone(), clock, entropy, component, self.background.clone());
        self.recorders.lock().push(recorder.clone());
        recorder
    }

    /// Waits for the lease, works, and gives the lease back.
    async fn work(&self, stop: &CancellationToken) -> Result<(), Error> {
        if !self.config.leader.elect {
            return self.lead(stop, &(Arc::new(|| true) as MayWrite)).await;
        }
        if self.elector.acquire(stop).await.is_err() {
            return Ok(());
        }
        let (finished, lost) = (CancellationToken::new(), CancellationToken::new());
        let holding = async {
            let ended = self.elector.hold(&finished).await;
            if ended == Ended::Lost {
                lost.cancel();
            }
            ended
        };
        let may_write = self.elector.may_write();
        let leading = async {
            let result = tokio::select! {
                biased;
                () = lost.cancelled() => Ok(()),
                result = self.lead(stop, &may_write) => result,
            };
            finished.cancel();
            result
        };
        match tokio::join!(holding, leading) {
            (Ended::Lost, _) => {
                Err(Error::LostLease(format!("{}/{}", self.config.leader.namespace, self.config.leader.name)))
            }
            (Ended::Cancelled, result) => result,
        }
    }

    /// Runs the controllers until `stop`, then lets them finish.
    async fn lead(&self, stop: &CancellationToken, may_write: &MayWrite) -> Result<(), Error> {
        let Some(connected) = self.connect_cloud(stop).await else { return Ok(()) };
        let mut tasks = JoinSet::new();
        let inner = stop.child_token();
        self.start_controllers(&mut tasks, &connected, may_write, &inner);
        if tasks.is_empty() {
            stop.cancelled().await;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            ended = tasks.join_next() => return Err(Error::Ended(name_of(ended))),
        }
        info!("asked to stop; finishing what is under way");
        let all = async { while tasks.join_next().await.is_some() {} };
        match tokio::time::timeout(DRAIN, all).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::NotDrained("the controllers took too long to finish")),
        }
    }

    async fn serve(&self, tasks: &mut JoinSet<String>) -> Result<(), Error> {
        let cancel = &self.background;
        let heartbeat = Heartbeat::start(cancel.clone());
        let (elector, cache) = (self.elector.clone(), self.cache.clone());
        let checks = Checks::new()
            .live("ping", || Ok(()))
            .live("leaderElection", move || elector.health())
            .live("eventLoop", move || heartbeat.check())
            .ready("informers", move || {
                if cache.is_synced() { Ok(()) } else { Err("the first lists are not complete yet".to_owned()) }
            });
        let serving = &self.config.serving;
        let text = |address: &Option<BindAddress>| address.as_ref().map_or_else(String::new, ToString::to_string);
        for (flag, address, router) in [
            ("--health-probe-bind-addr", text(&serving.health), admin::health_router(checks)),
            ("--metrics-bind-addr", text(&serving.metrics), admin::metrics_router(self.metrics.clone())),
        ] {
            let Some(listener) = admin::bind(flag, &address).await? else { continue };
            let cancel = cancel.clone();
            tasks.spawn(async move {
                if let Err(error) = admin::serve(listener, router, cancel).await {
                    error!(%error, "the server of {flag} failed");
                }
                format!("the server of {flag}")
            });
        }
        Ok(())
    }
}

fn name_of(ended: Option<Result<String, tokio::task::JoinError>>) -> String {
    match ended {
        Some(Ok(name)) => name,
        Some(Err(error)) => format!("a part of the program ({error})"),
        None => "everything".to_owned(),
    }
}
