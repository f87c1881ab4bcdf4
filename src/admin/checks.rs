//! Named checks for liveness and readiness.

use std::{collections::BTreeMap, fmt, sync::Arc};

/// Passes, or tells why not. Must not block.
pub type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// All checks of the process.
#[derive(Clone)]
pub struct Checks {
    live: BTreeMap<String, Check>,
    ready: BTreeMap<String, Check>,
}

/// What the checks of one kind said.
pub(super) struct Report(BTreeMap<String, Result<(), String>>);

// === impl Checks ===

impl Default for Checks {
    fn default() -> Self {
        Self::new()
    }
}

impl Checks {
    /// With the checks that every such server has: `ping`, and `default`, the one the released
    /// controller answered to by name. Both pass if an answer comes at all.
    pub fn new() -> Self {
        let ok: Check = Arc::new(|| Ok(()));
        let always = BTreeMap::from(["default", "ping"].map(|name| (name.to_owned(), ok.clone())));
        Self { live: always.clone(), ready: always }
    }

    /// Adds a condition without which the process ought to be restarted.
    #[must_use]
    pub fn live(mut self, name: &str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.live.insert(name.to_owned(), Arc::new(check));
        self
    }

    /// Adds a condition without which the process does not do its work (yet).
    #[must_use]
    pub fn ready(mut self, name: &str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.ready.insert(name.to_owned(), Arc::new(check));
        self
    }

    pub(super) fn run_live(&self) -> Report {
        Report::of(&self.live)
    }

    pub(super) fn run_ready(&self) -> Report {
        Report::of(&self.ready)
    }
}

// === impl Report ===

impl Report {
    fn of(checks: &BTreeMap<String, Check>) -> Self {
        Self(checks.iter().map(|(name, check)| (name.clone(), check())).collect())
    }

    pub(super) fn passed(&self) -> bool {
        self.0.values().all(Result::is_ok)
    }

    pub(super) fn outcome(&self, name: &str) -> Option<&Result<(), String>> {
        self.0.get(name)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, outcome) in &self.0 {
            match outcome {
                Ok(()) => writeln!(f, "[+]{name} ok")?,
                Err(reason) => writeln!(f, "[-]{name} failed: {reason}")?,
            }
        }
        Ok(())
    }
}
