//! Puts the parts together and watches over them.
//!
//! Every replica keeps its cache warm; the one that holds the lease runs the controllers. Losing
//! the lease, or any part that ends or panics, ends the process: it is started again in a clean
//! state. When asked to stop, the controllers finish what they are at, and then the lease is given
//! back, so that the next replica need not wait for it to run out.

mod cloud;
mod controllers;
mod credentials;
pub mod dry_run;
mod facts;
mod reload;
mod secure;
pub mod shutdown;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kube::Client;
use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use self::{
    dry_run::{Records, Report},
    shutdown::Shutdown,
};
use crate::{
    admin::{self, Checks, Heartbeat},
    alibaba::{
        Limits,
        rpc::{self, Transport},
    },
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
    /// How often each action of the cloud may be called.
    pub limits: Limits,
    pub clock: Clock,
    pub entropy: Entropy,
    /// Where everything is counted.
    pub metrics: Metrics,
    /// How to read the configuration again; `None` where it cannot change.
    pub reread: Option<Reread>,
}

pub use reload::Reread;

/// Why the daemon ended other than by being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Bind(#[from] admin::BindError),
    #[error(transparent)]
    Tls(#[from] admin::secure::TlsError),
    #[error("the secure port cannot be served: {0}")]
    Secure(std::io::Error),
    #[error("lost the leader lease {0}; another replica may be leading")]
    LostLease(String),
    #[error("{0} ended unexpectedly")]
    Ended(String),
    #[error("stopped before all work was finished: {0}")]
    NotDrained(&'static str),
}

/// How the daemon ended; a dry run has a report.
pub type Outcome = Result<Option<Report>, Error>;

/// Runs until asked to stop. A dry run ends by itself, with its report.
pub async fn run(config: Config, surroundings: Surroundings, shutdown: Shutdown) -> Outcome {
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
    limits: Limits,
    clock: Clock,
    entropy: Entropy,
    metrics: Metrics,
    /// What is counted about calls to the cloud.
    calls: rpc::Metrics,
    /// What is counted about keys for them.
    keys: rpc::credentials::Metrics,
    cache: Cache,
    elector: Elector,
    /// What is to be in force, as far as it can change.
    current: watch::Sender<Arc<Config>>,
    reread: Option<Reread>,
    reloads: reload::Metrics,
    /// Where a dry run writes things down.
    records: Option<Records>,
    /// Ends what only tells about the work, after the work.
    background: CancellationToken,
    /// By component.
    recorders: Mutex<BTreeMap<&'static str, Recorder>>,
}

// === impl Daemon ===

impl Daemon {
    fn new(config: Config, surroundings: Surroundings) -> Self {
        let Surroundings { client, transport, metadata, limits, clock, entropy, metrics, reread } = surroundings;
        let lease = &config.leader;
        let options = leader::Options {
            namespace: lease.namespace.clone(),
            name: lease.name.clone(),
            identity: format!("{}_{}", lease.hostname, entropy.uuid()),
            lease_duration: lease.lease_duration,
            renew_deadline: lease.renew_deadline,
            retry_period: lease.retry_period,
        };
        let (calls, keys, reloads) =
            (rpc::Metrics::new(), rpc::credentials::Metrics::default(), reload::Metrics::default());
        metrics.register(|registry| {
            calls.register(registry);
            keys.register(registry);
            reloads.register(registry);
        });
        let elector = Elector::new(client.clone(), options, clock.clone(), entropy.fork());
        Self {
            current: watch::Sender::new(Arc::new(config.clone())),
            reread: reread.filter(|_| !config.dry_run),
            reloads,
            records: config.dry_run.then(Records::new),
            config,
            client,
            transport,
            metadata,
            limits,
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

    async fn run(mut self, stop: &CancellationToken) -> Outcome {
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
        if let Some(reread) = self.reread.clone() {
            let (current, metrics, cancel) = (self.current.clone(), self.reloads.clone(), self.background.clone());
            tasks.spawn(async move {
                cancel.run_until_cancelled(reload::follow(reread, current, metrics)).await;
                "the watch over the configuration".to_owned()
            });
        }
        let work = async {
            match &self.records {
                // Three passes at once are more than a stack should hold.
                Some(records) => Box::pin(self.rehearse(records, stop)).await,
                None => self.work(stop).await.map(|()| None),
            }
        };
        let result = tokio::select! {
            biased;
            result = work => result,
            ended = tasks.join_next() => Err(Error::Ended(name_of(ended))),
        };
        self.background.cancel();
        let recorders = std::mem::take(&mut *self.recorders.lock());
        for recorder in recorders.into_values() {
            recorder.closed().await;
        }
        result
    }

    /// Tells of events under the name of a component.
    fn recorder(&self, component: &'static str) -> Recorder {
        if let Some(records) = &self.records {
            return records.events.clone();
        }
        let make = || {
            let (clock, entropy) = (self.clock.clone(), self.entropy.fork());
            Recorder::new(self.client.clone(), clock, entropy, component, self.background.clone())
        };
        self.recorders.lock().entry(component).or_insert_with(make).clone()
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

    /// Runs the controllers until `stop`, then lets them finish. A configuration that concerns them
    /// makes them finish and start anew, with the lease and the caches as they are.
    async fn lead(&self, stop: &CancellationToken, may_write: &MayWrite) -> Result<(), Error> {
        let mut current = self.current.subscribe();
        loop {
            let mut config = current.borrow_and_update().clone();
            let Some(connected) = self.connect_cloud(&config, stop).await else { return Ok(()) };
            let mut tasks = JoinSet::new();
            let cancel = CancellationToken::new();
            self.start_controllers(&mut tasks, &config, &connected, may_write, &cancel);
            let stopping = loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break true,
                    Some(ended) = tasks.join_next() => return Err(Error::Ended(name_of(Some(ended)))),
                    Ok(()) = current.changed() => {}
                    () = connected.more_facts() => break false,
                }
                let new = current.borrow_and_update().clone();
                if !reload::only_credentials_differ(&config, &new) {
                    break false;
                }
                connected.replace_credentials(&new.credentials);
                config = new;
            };
            cancel.cancel();
            if stopping || !finished(&mut tasks, stop).await {
                return drained(&mut tasks).await;
            }
            self.cache.forget_handlers();
            info!("the controllers start anew with what is known now");
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
        let (health, metrics) = (admin::health_router(checks), admin::metrics_router(self.metrics.clone()));
        if let Some(secure) = &serving.secure {
            let current = self.current.subscribe();
            let configz = admin::configz_router(move || current.borrow().lines());
            self.serve_securely(tasks, secure, health.clone().merge(metrics.clone()).merge(configz)).await?;
        }
        let text = |address: &Option<BindAddress>| address.as_ref().map_or_else(String::new, ToString::to_string);
        for (flag, address, router) in [
            ("--health-probe-bind-addr", text(&serving.health), health),
            ("--metrics-bind-addr", text(&serving.metrics), metrics),
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

/// Waits until the controllers have finished what they were at; `false` when asked to stop before.
///
/// However long it takes: every call has its limit, the lease is kept meanwhile, and ending a leader whose cloud
/// hangs would help nobody. Giving up what is under way would let two passes over the same object write.
async fn finished(tasks: &mut JoinSet<String>, stop: &CancellationToken) -> bool {
    info!("finishing what is under way before the controllers start anew");
    tokio::select! {
        biased;
        () = all(tasks) => true,
        () = stop.cancelled() => false,
    }
}

/// Waits for the same at the end of the process, as long as kubelet lets it.
async fn drained(tasks: &mut JoinSet<String>) -> Result<(), Error> {
    info!("asked to stop; finishing what is under way");
    let limit = tokio::time::timeout(DRAIN, all(tasks)).await;
    limit.map_err(|_| Error::NotDrained("the controllers took too long to finish"))
}

async fn all(tasks: &mut JoinSet<String>) {
    while tasks.join_next().await.is_some() {}
}

fn name_of(ended: Option<Result<String, tokio::task::JoinError>>) -> String {
    match ended {
        Some(Ok(name)) => name,
        Some(Err(error)) => format!("a part of the program ({error})"),
        None => "everything".to_owned(),
    }
}
