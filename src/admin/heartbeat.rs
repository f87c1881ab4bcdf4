//! Notices that the event loop does not run tasks any more.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const PERIOD: Duration = Duration::from_secs(1);
/// So long may a beat be missing, on a machine that is very busy.
const TOLERANCE: Duration = Duration::from_secs(30);

/// A task that notes each second that it ran.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<Mutex<Instant>>);

// === impl Heartbeat ===

impl Heartbeat {
    /// Beats until cancelled, on a task of its own.
    pub fn start(cancel: CancellationToken) -> Self {
        let last = Arc::new(Mutex::new(Instant::now()));
        let noted = last.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(PERIOD) => *noted.lock() = Instant::now(),
                }
            }
        });
        Self(last)
    }

    /// Fails if the last beat is too long ago.
    pub fn check(&self) -> Result<(), String> {
        let age = self.0.lock().elapsed();
        if age <= TOLERANCE { Ok(()) } else { Err(format!("the event loop has run no timer for {age:.0?}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_stands_still_is_noticed() {
        let cancel = CancellationToken::new();
        let heartbeat = Heartbeat::start(cancel.clone());
        tokio::time::sleep(Duration::from_mins(10)).await;
        assert_eq!(heartbeat.check(), Ok(()));

        cancel.cancel();
        tokio::time::sleep(TOLERANCE + PERIOD * 2).await;
        assert!(heartbeat.check().unwrap_err().contains("no timer"));
    }
}
