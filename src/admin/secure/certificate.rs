//! The certificate of a server, which may be renewed while it serves.

use std::{path::PathBuf, sync::Arc, time::Duration};

use parking_lot::Mutex;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use sha2::{Digest, Sha256};
use tracing::{info, warn};

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(10);

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
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

/// What new connections are agreed upon with.
pub struct Certificate {
    source: Source,
    current: Mutex<Current>,
}

struct Current {
    /// Of the contents of both files, which tells whether they have changed.
    digest: [u8; 32],
    config: Arc<ServerConfig>,
}

// === impl Certificate ===

impl Certificate {
    /// Reads or makes it.
    ///
    /// # Errors
    /// When a file cannot be read, is no PEM, or the two do not belong together.
    pub fn new(source: Source) -> Result<Self, TlsError> {
        let current = match &source {
            Source::Files(..) => source.read(None)?.ok_or_else(|| TlsError::Made("nothing was read".to_owned()))?,
            Source::SelfSigned => Current { digest: [0; 32], config: make()? },
        };
        Ok(Self { source, current: Mutex::new(current) })
    }

    /// For the next connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.current.lock().config.clone()
    }

    /// Reads the files again, and tells whether there is something new in them. While what is there
    /// cannot be used, as between the renewal of the one file and of the other, nothing changes.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn refresh(&self) -> Result<bool, TlsError> {
        let digest = self.current.lock().digest;
        let Some(new) = self.source.read(Some(digest))? else { return Ok(false) };
        *self.current.lock() = new;
        Ok(true)
    }

    /// Keeps it as the files are, for as long as it is awaited. What cannot be used is told once.
    pub async fn follow(&self) {
        let mut refused = None;
        loop {
            tokio::time::sleep(PERIOD).await;
            match self.refresh() {
                Ok(true) => {
                    refused = None;
                    info!("the certificate of the secure port was renewed");
                }
                Ok(false) => refused = None,
                Err(error) => {
                    let reason = error.to_string();
                    if refused.as_ref() != Some(&reason) {
                        warn!("the certificate before stays in use: {reason}");
                        refused = Some(reason);
                    }
                }
            }
        }
    }
}

// === impl Source ===

impl Source {
    /// What the files hold, unless it is what this digest is of.
    fn read(&self, known: Option<[u8; 32]>) -> Result<Option<Current>, TlsError> {
        let Self::Files(chain, key) = self else { return Ok(None) };
        let unusable_chain = |reason: String| TlsError::Chain(chain.display().to_string(), reason);
        let unusable_key = |reason: String| TlsError::Key(key.display().to_string(), reason);
        let chain_pem = std::fs::read(chain).map_err(|error| unusable_chain(error.to_string()))?;
        let key_pem = std::fs::read(key).map_err(|error| unusable_key(error.to_string()))?;
        let digest = Sha256::new().chain_update(Sha256::digest(&chain_pem)).chain_update(&key_pem).finalize().into();
        if known == Some(digest) {
            return Ok(None);
        }
        let chain = CertificateDer::pem_slice_iter(&chain_pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable_chain(error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(&key_pem).map_err(|error| unusable_key(error.to_string()))?;
        Ok(Some(Current { digest, config: config(chain, key)? }))
    }
}

fn make() -> Result<Arc<ServerConfig>, TlsError> {
    let made = rcgen::generate_simple_self_signed(["cloud-controller-manager".to_owned(), "localhost".to_owned()])
        .map_err(|error| TlsError::Made(error.to_string()))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der());
    config(vec![made.cert.der().clone()], key.map_err(|error| TlsError::Made(error.to_owned()))?)
}

fn config(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Arc<ServerConfig>, TlsError> {
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Made(error.to_string()))?;
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    config.map(Arc::new).map_err(|error| TlsError::Unfit(error.to_string()))
}
