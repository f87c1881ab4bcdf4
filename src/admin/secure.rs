//! Health and metrics over TLS, for callers that somebody else vouches for.

use std::{fmt, future::Future, io, net::SocketAddr, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    serve::Listener,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

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

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// PEM files: the chain, and the private key.
    Files(PathBuf, PathBuf),
    /// Made up for this process; callers cannot check it.
    SelfSigned,
}

/// The certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot use the certificate in {0} (--tls-cert-file): {1}")]
    Chain(String, String),
    #[error("cannot use the private key in {0} (--tls-private-key-file): {1}")]
    Key(String, String),
    #[error("cannot make a certificate: {0}")]
    Made(String),
    #[error("certificate and private key do not fit: {0}")]
    Unfit(String),
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

/// Reads or makes the certificate.
pub fn server_config(certificate: &Certificate) -> Result<ServerConfig, TlsError> {
    let (chain, key) = match certificate {
        Certificate::Files(chain, key) => {
            let read = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let failed = |error: &dyn fmt::Display| TlsError::Chain(chain.display().to_string(), error.to_string());
            let chain = read.map_err(|error| failed(&error))?;
            let read = PrivateKeyDer::from_pem_file(key);
            (chain, read.map_err(|error| TlsError::Key(key.display().to_string(), error.to_string()))?)
        }
        Certificate::SelfSigned => {
            let made =
                rcgen::generate_simple_self_signed(["cloud-controller-manager".to_owned(), "localhost".to_owned()])
                    .map_err(|error| TlsError::Made(error.to_string()))?;
            let key = PrivateKeyDer::try_from(made.signing_key.serialize_der());
            (vec![made.cert.der().clone()], key.map_err(|error| TlsError::Made(error.to_owned()))?)
        }
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Made(error.to_string()))?;
    builder.with_no_client_auth().with_single_cert(chain, key).map_err(|error| TlsError::Unfit(error.to_string()))
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
    /// Agrees on TLS with whoever connects, each on a task of its own, until cancelled.
    ///
    /// # Errors
    /// When the listener's own address cannot be told.
    pub fn over(listener: TcpListener, config: ServerConfig, cancel: CancellationToken) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, agreed) = mpsc::channel(WAITING);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            let mut listener = listener;
            loop {
                // axum's own: waits a while where the process has no descriptor left.
                let (stream, peer) = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    accepted = Listener::accept(&mut listener) => accepted,
                };
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
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
mod tests {
    use axum::routing::get;

    use super::*;

    fn gate() -> Gate {
        let judge: Judge = Arc::new(|token, method, path| {
            Box::pin(async move {
                match (token.as_deref(), method.as_str(), path.as_str()) {
                    (Some("good"), "get", "/metrics") => Ok(()),
                    (Some("good"), ..) => Err(Refusal::Forbidden("scraper".to_owned())),
                    (Some("any"), ..) => Err(Refusal::Unknown("away".to_owned())),
                    _ => Err(Refusal::Unauthenticated),
                }
            })
        });
        Gate { judge, open: vec!["/healthz".to_owned(), "/open/*".to_owned()] }
    }

    #[tokio::test]
    async fn callers_are_judged_over_tls() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let text = || async { "served" };
        let router = ["/metrics", "/healthz", "/open/door", "/other"]
            .into_iter()
            .fold(Router::new(), |router, path| router.route(path, get(text)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let cancel = CancellationToken::new();
        let config = server_config(&Certificate::SelfSigned).unwrap();
        let secured = Secured::over(listener, config, cancel.clone()).unwrap();
        let address = secured.local_addr().unwrap();
        let server = tokio::spawn(axum::serve(secured, guarded(router, gate())).into_future());
        let client = reqwest::Client::builder().no_proxy().danger_accept_invalid_certs(true).build().unwrap();
        for (path, token, expected) in [
            ("/metrics", None, 401),
            ("/metrics", Some("bad"), 401),
            ("/metrics", Some("good"), 200),
            ("/other", Some("good"), 403),
            ("/metrics", Some("any"), 503),
            ("/healthz", None, 200),
            ("/open/door", None, 200),
        ] {
            let mut request = client.get(format!("https://{address}{path}"));
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            assert_eq!(request.send().await.unwrap().status().as_u16(), expected, "{path} {token:?}");
        }
        // Nothing is told to who speaks plain HTTP.
        assert!(client.get(format!("http://{address}/healthz")).send().await.is_err());
        cancel.cancel();
        server.abort();
    }

    #[test]
    fn a_certificate_that_cannot_be_used_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let told = |chain: &str, key: &str| {
            server_config(&Certificate::Files(chain.into(), key.into())).unwrap_err().to_string()
        };
        assert!(told("/nowhere", &path).starts_with("cannot use the certificate in /nowhere (--tls-cert-file): "));
        assert!(
            told(&path, &path).starts_with(&format!("cannot use the private key in {path} (--tls-private-key-file): "))
        );
    }
}
