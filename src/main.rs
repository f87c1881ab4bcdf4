//! The thin binary: what must be chosen once a process, then the library.

use std::process::ExitCode;

use ccm::{cli, config::environment::Process};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Both HTTP clients use the provider of the process; that it is already set is no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exit = match cli::parse(std::env::args_os(), &Process) {
        Ok(command) => cli::run(command),
        Err(exit) => exit,
    };
    exit.report()
}
