//! How the process is asked to stop: the first signal lets it finish, the second does not.

use tokio_util::sync::CancellationToken;

/// The two stages of being asked to stop. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    requested: CancellationToken,
    aborted: CancellationToken,
}

// === impl Shutdown ===

impl Shutdown {
    /// Asked by nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asked by SIGTERM or SIGINT to this process.
    ///
    /// # Errors
    /// When the operating system does not let signals be watched.
    pub fn on_signals() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let shutdown = Self::new();
        let told = shutdown.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    received = terminate.recv() => if received.is_none() { return },
                    received = interrupt.recv() => if received.is_none() { return },
                }
                told.request();
            }
        });
        Ok(shutdown)
    }

    /// Asks to stop; the second time, at once.
    pub fn request(&self) {
        if self.requested.is_cancelled() {
            self.aborted.cancel();
        }
        self.requested.cancel();
    }

    /// Cancelled when asked to stop.
    pub fn requested(&self) -> CancellationToken {
        self.requested.clone()
    }

    /// Returns when asked to stop at once.
    pub async fn aborted(&self) {
        self.aborted.cancelled().await;
    }
}
