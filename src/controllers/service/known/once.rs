//! Something that is read once, by whoever needs it first, while the others wait.

use std::{
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{sync::Mutex, time::Instant};

use crate::cloud::Error;

/// Who asks this soon after the reading failed gets the same answer. Otherwise each of many Services
/// would wait for all retries of those before it, one after the other.
const FRESH: Duration = Duration::from_secs(2);

/// Whether it was read, and how that failed last.
#[derive(Default)]
pub struct Once {
    done: AtomicBool,
    failed: Mutex<Option<(Instant, Error)>>,
}

// === impl Once ===

impl Once {
    /// Reads, unless that was done.
    pub async fn read(&self, read: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
        if self.done.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut failed = self.failed.lock().await;
        if self.done.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some((at, error)) = &*failed
            && at.elapsed() < FRESH
        {
            return Err(error.clone());
        }
        match read.await {
            Ok(()) => {
                self.done.store(true, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                *failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}
