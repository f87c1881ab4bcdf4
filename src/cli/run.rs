//! Carries out a command.

use std::{future::Future, sync::Arc, time::Duration};

use super::{Command, Exit};
use crate::{
    alibaba::rpc::Https,
    clock::Clock,
    config::{Config, build_info},
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
        Command::Run(config) => on_runtime(daemon(*config)),
        #[cfg(feature = "sim")]
        Command::Demo(options) => on_runtime(super::demo::run(options)),
        #[cfg(feature = "sim")]
        Command::Simulate(options) => on_runtime(super::simulate::run(options)),
    }
}

fn on_runtime(command: impl Future<Output = anyhow::Result<()>>) -> Exit {
    // Two threads are plenty for a program that waits for others most of the time.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(command));
    match result {
        Ok(()) => Exit { code: 0, message: String::new() },
        Err(error) => Exit { code: 1, message: format!("error: {error:#}\n") },
    }
}

async fn daemon(config: Config) -> anyhow::Result<()> {
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
        clock: Clock::system(),
        entropy: Entropy::system(),
        metrics: Metrics::new(build_info::VERSION, build_info::COMMIT),
    };
    daemon::run(config, surroundings, shutdown).await?;
    Ok(())
}
