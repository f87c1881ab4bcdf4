//! The command line: which command was asked for, and what it was told.
//!
//! Without a command the program is the daemon and takes the flags that existing DaemonSets
//! pass; those are read by [`crate::config`].

use crate::config::Config;

/// What the program was asked to do.
#[derive(Debug)]
pub enum Command {
    /// Be the cloud controller manager.
    Run(Box<Config>),
    /// Print this text (help or version) and end.
    Print(String),
    /// Play the main job on simulated surroundings.
    #[cfg(feature = "sim")]
    Demo(DemoOptions),
    /// Serve the simulated cloud and cluster for other clients.
    #[cfg(feature = "sim")]
    Simulate(SimulateOptions),
}

/// Options of `demo`.
#[cfg(feature = "sim")]
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct DemoOptions {
    /// End after the story: code 0 only if every step was seen
    #[arg(long)]
    pub exit: bool,
}

/// Options of `simulate`.
#[cfg(feature = "sim")]
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub struct SimulateOptions {
    /// Where the simulated cloud listens
    #[arg(long, value_name = "address", default_value = "127.0.0.1:18080")]
    pub cloud_bind_addr: std::net::SocketAddr,
    /// Where the embedded Kubernetes API listens
    #[arg(long, value_name = "address", default_value = "127.0.0.1:16443")]
    pub kube_bind_addr: std::net::SocketAddr,
}
