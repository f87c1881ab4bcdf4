//! Serves the cloud on a socket.

use std::io;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Cloud;

// === impl Cloud ===

impl Cloud {
    /// Serves all products and the metadata server over HTTP until it is cancelled.
    pub async fn serve(self, listener: TcpListener, cancel: CancellationToken) -> io::Result<()> {
        axum::serve(listener, self.router()).with_graceful_shutdown(cancel.cancelled_owned()).await
    }
}
