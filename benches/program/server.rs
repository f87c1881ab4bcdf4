//! Serves the simulators over TLS, as the real ones are.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{Router, serve::Listener};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// The certificate of this machine's servers.
pub(crate) struct Identity {
    /// What clients have to trust, as PEM.
    pub(crate) pem: String,
    acceptor: TlsAcceptor,
}

struct Tls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

// === impl Identity ===

impl Identity {
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        Self { pem: made.cert.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) }
    }

    /// Serves on a free port; answers `host:port`.
    pub(crate) async fn serve(&self, router: Router) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let tls = Tls { listener, acceptor: self.acceptor.clone() };
        tokio::spawn(async move { axum::serve(tls, router).await });
        address
    }
}

// === impl Tls ===

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
