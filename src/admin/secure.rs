//! Health and metrics over TLS, for callers that somebody else vouches for.

mod certificate;

use std::{future::Future, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    serve::Listener,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

pub use certificate::{Certificate, Source, TlsError};

/// How long a caller may take to agree on a connection.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Connections that wait to be served.
const WAITING: usize = 16;

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Unauthenticated,
    Forbidden(String),
    /// Nobody could be asked.
    Unknown(String),
}

type Judgement = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send>>;

/// Judges a request by its token, its method in lower case, and its path.
pub type Judge = Arc<dyn Fn(Option<String>, String, String) -> Judgement + Send + Sync>;

/// What is asked of callers.
#[derive(Clone)]
pub struct Gate {
    pub judge: Judge,
    /// Paths that are for everybody; with `*` at the end, all that begin so.
    pub open: Vec<String>,
}

/// Connections whose TLS is agreed upon.
pub struct Secured {
    agreed: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

/// The router behind the gate.
pub fn guarded(router: Router, gate: Gate) -> Router {
    router.layer(from_fn_with_state(gate, admit))
}

async fn admit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    if gate.is_open(&path) {
        return next.run(request).await;
    }
    let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let token = header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let token = token.map(|(_, token)| token.trim().to_owned()).filter(|token| !token.is_empty());
    let method = request.method().as_str().to_ascii_lowercase();
    match (gate.judge)(token, method, path).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

// === impl Gate ===

impl Gate {
    fn is_open(&self, path: &str) -> bool {
        self.open.iter().any(|open| match open.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => path == open,
        })
    }
}

// === impl Refusal ===

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Unauthenticated => {
                (StatusCode::UNAUTHORIZED, "a bearer token of this cluster is needed\n".to_owned())
            }
            Self::Forbidden(user) => (StatusCode::FORBIDDEN, format!("{user} may not do this\n")),
            Self::Unknown(reason) => {
                tracing::warn!("cannot tell whether a caller may be served: {reason}");
                (StatusCode::SERVICE_UNAVAILABLE, "the API server cannot be asked who you are\n".to_owned())
            }
        }
        .into_response()
    }
}

// === impl Secured ===

impl Secured {
    /// Agrees on TLS with whoever connects, each on a task of its own, until cancelled; with the
    /// certificate that is in use then.
    ///
    /// # Errors
    /// When the listener's own address cannot be told.
    pub fn over(listener: TcpListener, certificate: Arc<Certificate>, cancel: CancellationToken) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, agreed) = mpsc::channel(WAITING);
        tokio::spawn(async move {
            let mut listener = listener;
            loop {
                // axum's own: waits a while where the process has no descriptor left.
                let (stream, peer) = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    accepted = Listener::accept(&mut listener) => accepted,
                };
                let (acceptor, sender) = (TlsAcceptor::from(certificate.config()), sender.clone());
                tokio::spawn(async move {
                    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => _ = sender.send((stream, peer)).await,
                        Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS with {peer}"),
                        Err(_) => tracing::debug!(%peer, "no TLS with {peer} in time"),
                    }
                });
            }
        });
        Ok(Self { agreed, address })
    }
}

impl Listener for Secured {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.agreed.recv().await {
            Some(connection) => connection,
            // Only once the server is ending.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

#[cfg(test)]
mod tests;
