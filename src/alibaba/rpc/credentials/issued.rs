//! A temporary key as servers write it.

use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;

use super::Credentials;
use crate::clock::Clock;

/// The four fields that the metadata server, STS and credential URIs all use.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Issued {
    access_key_id: Option<String>,
    access_key_secret: Option<SecretString>,
    security_token: Option<SecretString>,
    expiration: Option<Timestamp>,
}

// === impl Issued ===

impl Issued {
    /// The key, if it is whole and not over. The error shows nothing of it.
    pub(super) fn into_credentials(self, clock: &Clock) -> Result<Credentials, String> {
        let (Some(access_key_id), Some(access_key_secret), Some(security_token), Some(expires)) =
            (self.access_key_id, self.access_key_secret, self.security_token, self.expiration)
        else {
            return Err("the answer is not complete".to_owned());
        };
        if expires <= clock.now() {
            return Err(format!("the key expired at {expires}"));
        }
        Ok(Credentials {
            access_key_id,
            access_key_secret,
            security_token: Some(security_token),
            expires: Some(expires),
        })
    }
}
