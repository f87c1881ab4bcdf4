//! How the program ends when there is nothing, or nothing more, to run.

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
};

/// A last word and an exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// 0: done. 1: failed. 2: the command line or the configuration is wrong. 3: a dry run found
    /// something to change.
    pub code: u8,
    /// What people read, on standard error.
    pub message: String,
    /// What was asked for, on standard output.
    pub result: String,
}

// === impl Exit ===

impl Exit {
    /// Done, without a word.
    pub fn done() -> Self {
        Self { code: 0, message: String::new(), result: String::new() }
    }

    /// It did not work.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self { code: 1, message: format!("error: {error}\n"), result: String::new() }
    }

    /// Done, with this text for standard output.
    pub fn printing(text: String) -> Self {
        Self { code: 0, message: String::new(), result: text }
    }

    /// The user has to change something before the program can start.
    pub fn usage(problem: impl fmt::Display) -> Self {
        Self { code: 2, message: format!("error: {problem}\nSee --help for all flags.\n"), result: String::new() }
    }

    /// Says the last word and gives the code to end with.
    pub fn report(&self) -> ExitCode {
        // Nobody is left to tell if even this cannot be written.
        let _ = io::stderr().write_all(self.message.as_bytes());
        let _ = io::stdout().write_all(self.result.as_bytes());
        ExitCode::from(self.code)
    }
}
