//! The program as clap sees it: all of the help, and the commands beside the daemon.

use std::ffi::OsString;

use super::{Command, Exit};
use crate::config::grouped_flags;

const NAME: &str = "alibaba-cloud-controller-manager";

const ABOUT: &str = "Connects a Kubernetes cluster to Alibaba Cloud: initialises and watches over nodes, keeps VPC \
                     routes for pod networks, and gives Services of type LoadBalancer a load balancer. Without a \
                     command it is the daemon.";

const AFTER: &str = "A flag wins over an environment variable, that over the cloud-config file. Switches take a value \
                     only after an equals sign, as in --leader-elect=false. Keys of the cloud-config file and \
                     environment variables are explained in docs/configuration.md.";

/// Everything there is to explain.
pub(super) fn usage() -> clap::Command {
    let command = clap::Command::new(NAME)
        .about(ABOUT)
        .after_help(AFTER)
        .override_usage(if cfg!(feature = "sim") {
            format!("{NAME} --cloud-config=<path> [flags]\n       {NAME} <command> [options]")
        } else {
            format!("{NAME} --cloud-config=<path> [flags]")
        })
        .disable_version_flag(true)
        .arg(
            clap::Arg::new("version")
                .long("version")
                .help("Print version, commit and date")
                .action(clap::ArgAction::SetTrue),
        );
    grouped_flags(subcommands(command))
}

#[cfg(feature = "sim")]
fn subcommands(command: clap::Command) -> clap::Command {
    use clap::Args;

    use super::{DemoOptions, SimulateOptions};

    command
        .subcommand(
            DemoOptions::augment_args(clap::Command::new("demo"))
                .about("Play the main job on a simulated cloud and an embedded Kubernetes API"),
        )
        .subcommand(
            SimulateOptions::augment_args(clap::Command::new("simulate"))
                .about("Serve the simulated cloud and the embedded Kubernetes API alone"),
        )
}

#[cfg(not(feature = "sim"))]
fn subcommands(command: clap::Command) -> clap::Command {
    command
}

/// Reads a command line that starts with a command.
#[cfg(feature = "sim")]
pub(super) fn command(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Exit> {
    let arguments = std::iter::once(OsString::from(NAME)).chain(arguments);
    let matches = usage().subcommand_required(true).try_get_matches_from(arguments).map_err(|error| {
        let (code, text) = (u8::try_from(error.exit_code()).unwrap_or(2), error.render().to_string());
        if code == 0 { Exit::printing(text) } else { Exit { code, message: text, result: String::new() } }
    })?;
    chosen(&matches)
}

#[cfg(feature = "sim")]
fn chosen(matches: &clap::ArgMatches) -> Result<Command, Exit> {
    use clap::FromArgMatches;

    use super::{DemoOptions, SimulateOptions};

    let read = match matches.subcommand() {
        Some(("demo", options)) => DemoOptions::from_arg_matches(options).map(Command::Demo),
        Some(("simulate", options)) => SimulateOptions::from_arg_matches(options).map(Command::Simulate),
        _ => return Err(Exit::printing(usage().render_long_help().to_string())),
    };
    read.map_err(Exit::usage)
}

/// Without the simulators there is only `help`.
#[cfg(not(feature = "sim"))]
pub(super) fn command(_: impl IntoIterator<Item = OsString>) -> Result<Command, Exit> {
    Err(Exit::printing(usage().render_long_help().to_string()))
}
