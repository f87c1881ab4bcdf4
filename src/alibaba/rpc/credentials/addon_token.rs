//! The key that an add-on of managed clusters keeps in a file.
//!
//! Each part is encrypted with a key that lies beside it in the same file (AES in CBC mode, padded
//! as in PKCS #7): that hides it from a glance and from searches, no more.

use std::path::PathBuf;

use aes::{
    Aes128, Aes192, Aes256, Block,
    cipher::{BlockCipherDecrypt, KeyInit},
};
use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tracing::warn;

use super::{Credentials, CredentialsError, Source};
use crate::clock::Clock;

/// Reads the file each time it is asked. Wrap it in [`super::Cached`].
#[derive(Clone, Debug)]
pub struct AddonToken {
    path: PathBuf,
    clock: Clock,
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "access.key.id")]
    id: SecretString,
    #[serde(rename = "access.key.secret")]
    secret: SecretString,
    #[serde(rename = "security.token")]
    token: SecretString,
    /// `YYYY-MM-DDTHH:MM:SSZ`
    #[serde(default)]
    expiration: String,
    /// Its bytes are the key: 16, 24 or 32.
    keyring: SecretString,
}

/// The length of a block, and of the initial vector before the first.
const BLOCK: usize = 16;

// === impl AddonToken ===

impl AddonToken {
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self { path, clock }
    }

    fn failure(&self, what: &str) -> CredentialsError {
        CredentialsError { origin: "the add-on token", message: format!("{} {what}", self.path.display()) }
    }
}

#[async_trait]
impl Source for AddonToken {
    async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let text = tokio::fs::read_to_string(&self.path)
            .await
            .map(SecretString::from)
            .map_err(|error| self.failure(&format!("cannot be read: {error}")))?;
        // The error of the parser would quote parts of the file.
        let file: File =
            serde_json::from_str(text.expose_secret()).map_err(|_| self.failure("is not what the add-on writes"))?;
        let key = file.keyring.expose_secret().as_bytes();
        let open = |text: &SecretString, part: &str| {
            decrypt(text.expose_secret(), key)
                .ok_or_else(|| self.failure(&format!("has a part {part} that cannot be decrypted")))
        };
        let expires = file.expiration.trim().parse::<Timestamp>();
        match &expires {
            Ok(expires) if *expires <= self.clock.now() => {
                return Err(self.failure(&format!("holds an invalid token which is expired, since {expires}")));
            }
            Err(_) => warn!("{} does not tell when the token ends; using it", self.path.display()),
            Ok(_) => {}
        }
        Ok(Credentials {
            access_key_id: open(&file.id, "access.key.id")?,
            access_key_secret: open(&file.secret, "access.key.secret")?.into(),
            security_token: Some(open(&file.token, "security.token")?.into()),
            expires: expires.ok(),
        })
    }
}

/// Opens base64 of an initial vector and the blocks after it.
fn decrypt(text: &str, key: &[u8]) -> Option<String> {
    let bytes = STANDARD.decode(text.trim()).ok()?;
    let plain = match key.len() {
        16 => decrypt_with(&Aes128::new_from_slice(key).ok()?, &bytes),
        24 => decrypt_with(&Aes192::new_from_slice(key).ok()?, &bytes),
        32 => decrypt_with(&Aes256::new_from_slice(key).ok()?, &bytes),
        _ => None,
    }?;
    String::from_utf8(plain).ok().filter(|text| !text.is_empty())
}

fn decrypt_with(
    cipher: &impl BlockCipherDecrypt<BlockSize = aes::cipher::consts::U16>,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let (blocks, []) = bytes.as_chunks::<BLOCK>() else { return None };
    let mut plain = Vec::with_capacity(bytes.len());
    for pair in blocks.windows(2) {
        let mut block = Block::from(pair[1]);
        cipher.decrypt_block(&mut block);
        plain.extend(block.iter().zip(&pair[0]).map(|(byte, before)| byte ^ before));
    }
    let padding = usize::from(*plain.last()?);
    let text = plain.len().checked_sub(padding)?;
    let padded = (1..=BLOCK).contains(&padding) && plain[text..].iter().all(|byte| usize::from(*byte) == padding);
    plain.truncate(text);
    padded.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made with: printf %s TEXT | openssl enc -aes-128-cbc -K HEX_OF_KEY -iv HEX_OF_IV, with the vector put before it.
    const KEYRING: &str = "0123456789abcdef";

    fn file(expiration: &str) -> tempfile::NamedTempFile {
        let sealed = serde_json::json!({
            "access.key.id": "ZmVkY2JhOTg3NjU0MzIxMM47KnP8Zlb8r6iO5LVDg1Q=",
            "access.key.secret": "ZmVkY2JhOTg3NjU0MzIxMMZLhAhTHLIWTXaBVXbkFHv4/Ha8tQ+UyF+UjdJp0QnI",
            "security.token": "ZmVkY2JhOTg3NjU0MzIxMG7KrvsZClRKkuISSzNmOVM=",
            "expiration": expiration,
            "keyring": KEYRING,
        });
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), sealed.to_string()).unwrap();
        file
    }

    fn source(file: &tempfile::NamedTempFile) -> AddonToken {
        AddonToken::new(file.path().to_owned(), Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_sealed_key_is_opened() {
        let file = file("2026-01-02T04:00:00Z");
        let key = source(&file).credentials().await.unwrap();
        assert_eq!(key.access_key_id, "STS.addon");
        assert_eq!(key.access_key_secret.expose_secret(), "the secret of thirty characters");
        assert_eq!(key.security_token.unwrap().expose_secret(), "token");
        assert_eq!(key.expires.unwrap().to_string(), "2026-01-02T04:00:00Z");
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_written_anew_is_followed_before_the_old_key_ends() {
        let clock = Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap());
        let file = file("2026-01-02T04:00:00Z");
        let source = AddonToken::new(file.path().to_owned(), clock.clone());
        let cached = super::super::Cached::new(source, clock.clone(), crate::entropy::Entropy::seeded(1));
        let until = async || cached.credentials().await.unwrap().expires.unwrap().to_string();
        assert_eq!(until().await, "2026-01-02T04:00:00Z");
        let sealed = std::fs::read_to_string(file.path()).unwrap();
        std::fs::write(file.path(), sealed.replace("T04:00:00Z", "T05:00:00Z")).unwrap();
        assert_eq!(until().await, "2026-01-02T04:00:00Z", "it is not read at every call");
        tokio::time::sleep(std::time::Duration::from_secs(50 * 60)).await;
        assert_eq!(until().await, "2026-01-02T05:00:00Z");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_over_or_broken_is_refused_without_showing_it() {
        let kept = file("2026-01-02T03:04:05Z");
        let over = source(&kept).credentials().await.unwrap_err().to_string();
        assert!(over.ends_with("holds an invalid token which is expired, since 2026-01-02T03:04:05Z"), "{over}");
        let undated = file("soon");
        assert_eq!(source(&undated).credentials().await.unwrap().expires, None);
        for text in [r#"{"access.key.id":"hunter2"}"#, "hunter2"] {
            std::fs::write(undated.path(), text).unwrap();
            let broken = source(&undated).credentials().await.unwrap_err().to_string();
            assert!(broken.ends_with("is not what the add-on writes"), "{broken}");
        }
        let sealed = std::fs::read_to_string(kept.path()).unwrap();
        for (from, to) in [
            (KEYRING, "0123456789abcdeX"),
            (KEYRING, "short"),
            ("ZmVkY2JhOTg3NjU0MzIxMM47KnP8Zlb8r6iO5LVDg1Q=", "ZmVkY2JhOTg3NjU0MzIxMM47KnP8Zlb8r6iO"),
        ] {
            std::fs::write(undated.path(), sealed.replace(from, to).replace("03:04:05", "04:04:05")).unwrap();
            let broken = source(&undated).credentials().await.unwrap_err().to_string();
            assert!(broken.ends_with("has a part access.key.id that cannot be decrypted"), "{broken}");
        }
    }
}
