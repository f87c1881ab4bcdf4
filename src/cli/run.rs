//! Carries out a command.

use std::{ffi::OsString, future::Future, sync::Arc, time::Duration};

use super::{Command, Exit};
use crate::{
    alibaba::{Limits, rpc::Https},
    clock::Clock,
    config::{self, Config, build_info, environment},
    daemon::{self, Surroundings, shutdown::Shutdown},
    entropy::Entropy,
    kubernetes::client,
    metrics::Metrics,
    telemetry,
};

/// How long one call to the API server may take. Longer than a slow list of a large cluster.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs until the command is over.
pub fn run(command: Command) -> Exit {
    match command {
        Command::Run { config, arguments } => run_within(*config, arguments, Limits::default()),
        #[cfg(feature = "sim")]
        Command::Demo(options) => on_runtime(async { super::demo::run(options).await.map(|()| Exit::done()) }),
        #[cfg(feature = "sim")]
        Command::Simulate(options) => on_runtime(async { super::simulate::run(options).await.map(|()| Exit::done()) }),
    }
}

/// The daemon, with these limits on calls to the cloud rather than the usual ones.
pub fn run_within(config: Config, arguments: Vec<OsString>, limits: Limits) -> Exit {
    on_runtime(daemon(config, arguments, limits))
}

fn on_runtime(command: impl Future<Output = anyhow::Result<Exit>>) -> Exit {
    // Two threads are plenty for a program that waits for others most of the time.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(command));
    result.unwrap_or_else(|error| Exit::failed(format!("{error:#}")))
}

async fn daemon(config: Config, arguments: Vec<OsString>, limits: Limits) -> anyhow::Result<Exit> {
    telemetry::init(&config.logging)?;
    let shutdown = Shutdown::on_signals()?;
    let options = client::Options {
        kubeconfig: config.kubernetes.kubeconfig.clone(),
        kubeconfig_env: config.kubernetes.kubeconfig_env.clone(),
        home: config.kubernetes.home.clone(),
        master: config.kubernetes.master.clone(),
        user_agent: format!("alibaba-cloud-controller-manager/{}", build_info::VERSION),
        qps: config.kubernetes.qps,
        burst: config.kubernetes.burst,
        timeout: CALL_TIMEOUT,
    };
    let located = client::locate(&options).await?;
    tracing::info!(server = %located.config.cluster_url, "API server {} ({})", located.config.cluster_url, located.source);
    // The election must be able to write before this replica leads; the controllers' client is
    // fenced by it later.
    let client = client::connect(located.config, &options, Arc::new(|| true))?;
    let transport = Arc::new(Https::new()?);
    let metadata = Arc::new(Https::direct()?);
    let surroundings = Surroundings {
        client,
        transport,
        metadata,
        limits,
        clock: Clock::system(),
        entropy: Entropy::system(),
        metrics: Metrics::new(build_info::VERSION, build_info::COMMIT),
        reread: Some(Arc::new(move || config::reread(&arguments, &environment::Process))),
    };
    Ok(match daemon::run(config, surroundings, shutdown).await? {
        Some(report) => Exit { code: report.exit_code(), message: report.to_string(), result: report.json() },
        None => Exit::done(),
    })
}
