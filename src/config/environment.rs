//! What the process finds around itself: variables and files. Handed in as a trait, so that a
//! test's configuration depends on nothing but the test.

use std::{collections::BTreeMap, io, path::Path};

/// Variables and files, as far as the configuration needs them.
pub trait Environment {
    /// The value of a variable; `None` if it is not set or not UTF-8.
    fn variable(&self, name: &str) -> Option<String>;

    /// The whole text of a file.
    fn file(&self, path: &Path) -> io::Result<String>;

    /// Whether there is something at this path.
    fn exists(&self, path: &Path) -> bool;
}

/// The real surroundings of this process.
#[derive(Clone, Copy, Debug)]
pub struct Process;

/// Surroundings made of two maps.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    pub variables: BTreeMap<String, String>,
    /// Path to text.
    pub files: BTreeMap<String, String>,
}

// === impl Process ===

impl Environment for Process {
    fn variable(&self, name: &str) -> Option<String> {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
        std::env::var(name).ok()
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }
}

// === impl Fixed ===

impl Fixed {
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub fn with_file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }
}

impl Environment for Fixed {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn file(&self, path: &Path) -> io::Result<String> {
        path.to_str()
            .and_then(|path| self.files.get(path))
            .cloned()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "No such file or directory"))
    }

    fn exists(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.files.contains_key(path))
    }
}
