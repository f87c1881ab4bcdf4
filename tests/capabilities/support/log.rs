//! The log as an operator sees it.

use std::{io, sync::Arc};

use ccm::telemetry;
use parking_lot::Mutex;

/// Lines that were logged.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

// === impl Log ===

impl Log {
    /// Collects what this thread logs with the default verbosity, until the guard is dropped.
    pub fn collect() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = telemetry::subscriber(&telemetry::Options::default(), move || writer.clone()).unwrap();
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// The lines so far, which are forgotten.
    pub fn take(&self) -> Vec<String> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock())).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
