//! How the program ends when there is nothing, or nothing more, to run.

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
};

/// A last word and an exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// 0: done. 1: failed. 2: the command line or the configuration is wrong.
    pub code: u8,
    /// Goes to standard output with code 0, else to standard error.
    pub message: String,
}

// === impl Exit ===

impl Exit {
    /// Done, with this text for standard output.
    pub fn printing(text: String) -> Self {
        Self { code: 0, message: text }
    }

    /// The user has to change something before the program can start.
    pub fn usage(problem: impl fmt::Display) -> Self {
        Self { code: 2, message: format!("error: {problem}\nSee --help for all flags.\n") }
    }

    /// Says the last word and gives the code to end with.
    pub fn report(&self) -> ExitCode {
        // Nobody is left to tell if even this cannot be written.
        let _ = if self.code == 0 {
            io::stdout().write_all(self.message.as_bytes())
        } else {
            io::stderr().write_all(self.message.as_bytes())
        };
        ExitCode::from(self.code)
    }
}
