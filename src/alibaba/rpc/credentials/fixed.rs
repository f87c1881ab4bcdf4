//! A key that was configured.

use async_trait::async_trait;
use secrecy::SecretString;

use super::{Credentials, CredentialsError, Source};

/// Always the same key: an access key pair, or a temporary key with its token.
#[derive(Clone, Debug)]
pub struct Fixed(Credentials);

// === impl Fixed ===

impl Fixed {
    /// An access key pair of a RAM user.
    pub fn access_key(id: impl Into<String>, secret: impl Into<SecretString>) -> Self {
        Self(Credentials {
            access_key_id: id.into(),
            access_key_secret: secret.into(),
            security_token: None,
            expires: None,
        })
    }

    /// A temporary key that somebody else renews.
    pub fn sts(id: impl Into<String>, secret: impl Into<SecretString>, token: impl Into<SecretString>) -> Self {
        Self(Credentials {
            access_key_id: id.into(),
            access_key_secret: secret.into(),
            security_token: Some(token.into()),
            expires: None,
        })
    }
}

#[async_trait]
impl Source for Fixed {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        Ok(self.0.clone())
    }
}
