//! Carries out a command.

use super::{Command, Exit};

/// Runs until the command is over.
pub fn run(command: Command) -> Exit {
    match command {
        Command::Run(config) => {
            let found = format!("warnings: {:?}\nconfiguration: {config}\n", config.warnings);
            absent("the daemon", &found)
        }
        #[cfg(feature = "sim")]
        Command::Demo(_) => absent("demo", ""),
        #[cfg(feature = "sim")]
        Command::Simulate(_) => absent("simulate", ""),
    }
}

fn absent(name: &str, found: &str) -> Exit {
    Exit { code: 1, message: format!("{found}error: {name} is not part of this build\n") }
}
