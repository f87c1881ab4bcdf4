//! The command line: which command was asked for, and what it was told.
//!
//! Without a command the program is the daemon and takes the flags that existing DaemonSets
//! pass; those are read by [`crate::config`], which follows pflag's rules. The other commands
//! are nobody's legacy and are read by clap.

#[cfg(feature = "sim")]
mod demo;
mod exit;
#[cfg(feature = "sim")]
mod files;
mod run;
#[cfg(feature = "sim")]
mod screen;
#[cfg(feature = "sim")]
mod serve;
#[cfg(feature = "sim")]
mod simulate;
mod usage;

use std::ffi::OsString;

use crate::config::{self, Config, Environment, Request};

pub use exit::Exit;
pub use run::{run, run_within};
#[cfg(feature = "sim")]
pub use simulate::{AllOptions, CloudOptions, ClusterOptions, Simulate, SimulateOptions};

/// What the program was asked to do.
#[derive(Debug)]
pub enum Command {
    /// Be the cloud controller manager. The arguments are those that the configuration came from.
    Run { config: Box<Config>, arguments: Vec<OsString> },
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
    /// Show the controller's log on standard error rather than write it to a file
    #[arg(long)]
    pub logs: bool,
}

/// Reads the process's arguments, of which the first is the program's name. Help and version
/// are an [`Exit`] with code 0, all that is wrong together one with code 2.
pub fn parse(arguments: impl IntoIterator<Item = OsString>, environment: &dyn Environment) -> Result<Command, Exit> {
    let mut arguments = arguments.into_iter().skip(1).peekable();
    if let Some(command) = arguments.peek().and_then(|first| first.to_str())
        && config::COMMANDS.contains(&command)
    {
        return usage::command(arguments);
    }
    let arguments: Vec<OsString> = arguments.collect();
    match config::read(arguments.clone(), environment) {
        Ok(Request::Run(config)) => Ok(Command::Run { config, arguments }),
        Ok(Request::Help { all: true }) => Err(Exit::printing(usage::usage().render_long_help().to_string())),
        Ok(Request::Help { all: false }) => Err(Exit::printing(usage::usage().render_help().to_string())),
        Ok(Request::Version) => Err(Exit::printing(format!("{}\n", config::build_info::line()))),
        Err(invalid) => Err(Exit::usage(invalid)),
    }
}

#[cfg(test)]
mod tests;
