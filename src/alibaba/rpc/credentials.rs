//! Keys for signing, and where they come from.
//!
//! A [`Source`] hands out the key to use now. Sources that ask a server are wrapped in
//! [`Cached`], which refreshes ahead of the expiry and lives through failures. A new kind of
//! source is one more small file here.

mod addon_token;
mod assume_role;
mod cached;
mod fixed;
mod issued;
mod metrics;
mod oidc;
mod ram_role;
mod replaceable;
mod uri;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::SecretString;

pub use addon_token::AddonToken;
pub use assume_role::AssumeRole;
pub use cached::Cached;
pub use fixed::Fixed;
pub use metrics::Metrics;
pub use oidc::{Oidc, OidcRole};
pub use ram_role::RamRole;
pub use replaceable::Replaceable;
pub use uri::CredentialsUri;

/// Where keys come from.
#[async_trait]
pub trait Source: Send + Sync {
    /// The key to sign with now. Called for each request: cheap unless a new key is due.
    async fn credentials(&self) -> Result<Credentials, CredentialsError>;

    /// The cloud did not accept this key; whoever caches should ask for another.
    fn rejected(&self, _access_key_id: &str) {}
}

/// An access key, for good or for a while.
#[derive(Clone)]
pub struct Credentials {
    pub access_key_id: String,
    pub access_key_secret: SecretString,
    /// Comes with temporary keys.
    pub security_token: Option<SecretString>,
    /// When a temporary key ends.
    pub expires: Option<Timestamp>,
}

/// No key could be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no credentials from {origin}: {message}")]
pub struct CredentialsError {
    /// Such as `the RAM role of this instance`.
    pub origin: &'static str,
    pub message: String,
}

#[async_trait]
impl<S: Source + ?Sized> Source for Arc<S> {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        (**self).credentials().await
    }

    fn rejected(&self, access_key_id: &str) {
        (**self).rejected(access_key_id);
    }
}

// === impl Credentials ===

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not even the id: it is half of a pair, and of no use in a log.
        f.debug_struct("Credentials").field("expires", &self.expires).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
