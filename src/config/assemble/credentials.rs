//! Which credentials are used: the key of the file, the key of the environment, the RAM role,
//! in that order, which is the released controller's. Nothing of a key is ever shown.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::SecretString;

use super::{
    super::{AccessKey, Credentials},
    Sources,
};

/// Where managed clusters find a token that an add-on writes.
const ADDON_TOKEN: &str = "/var/addon/token-config";

impl Sources<'_> {
    pub(super) fn credentials(&mut self) -> Credentials {
        if self.environment.exists(Path::new(ADDON_TOKEN)) {
            self.problems.warn(format!(
                "{ADDON_TOKEN} is there but is not read: use an AccessKey or the RAM role of the instance"
            ));
        }
        let in_file = self.file_key();
        let in_environment = self.environment_key();
        match (in_file, in_environment) {
            (Some(key), other) => {
                if other.is_some() {
                    self.problems.warn(
                        "ACCESS_KEY_ID and ACCESS_KEY_SECRET are not used: the cloud-config file has an AccessKey"
                            .to_owned(),
                    );
                }
                if self.file.text("uid").is_some() {
                    let place = self.file.place("uid");
                    self.problems.warn(format!(
                        "{place} asks for the servicetoken helper, which is not supported: the AccessKey is used as it is"
                    ));
                }
                Credentials::File(key)
            }
            (None, Some(key)) => Credentials::Environment(key),
            (None, None) => Credentials::RamRole,
        }
    }

    fn file_key(&mut self) -> Option<AccessKey> {
        let id = self.decoded("accessKeyID");
        let secret = self.decoded("accessKeySecret");
        for (there, missing) in [("accessKeyID", "accessKeySecret"), ("accessKeySecret", "accessKeyID")] {
            if self.file.text(there).is_some() && self.file.text(missing).is_none() {
                let place = self.file.place(there);
                self.problems.fail(format!(
                    "{place} is set but {missing} is not: set both, or none to use the RAM role of the instance"
                ));
            }
        }
        Some(AccessKey { id: id?, secret: secret?, token: None })
    }

    /// A key half in base64.
    fn decoded(&mut self, name: &str) -> Option<SecretString> {
        let text = self.file.text(name)?.to_owned();
        let place = self.file.place(name);
        let decoded = STANDARD.decode(&text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let plain = decoded.as_deref().map(str::trim_end).filter(|text| is_key(text));
        let Some(plain) = plain else {
            let hint = if looks_raw(&text) { "it looks like the key itself; " } else { "" };
            self.problems.fail(format!(
                "{place} is not base64 of a key: {hint}write the output of: echo -n \"$KEY\" | base64 -w0"
            ));
            return None;
        };
        if decoded.as_deref() != Some(plain) {
            self.problems.warn(format!("{place} ends in blanks once decoded, which are left out: encode with echo -n"));
        }
        Some(SecretString::from(plain))
    }

    fn environment_key(&mut self) -> Option<AccessKey> {
        let id = self.variable("ACCESS_KEY_ID");
        let secret = self.variable("ACCESS_KEY_SECRET");
        let token = self.variable("SECURITY_TOKEN");
        match (id, secret) {
            (Some(id), Some(secret)) => Some(AccessKey {
                id: SecretString::from(id),
                secret: SecretString::from(secret),
                token: token.map(SecretString::from),
            }),
            (None, None) => None,
            (id, _) => {
                let (there, missing) = if id.is_some() {
                    ("ACCESS_KEY_ID", "ACCESS_KEY_SECRET")
                } else {
                    ("ACCESS_KEY_SECRET", "ACCESS_KEY_ID")
                };
                self.problems.fail(format!(
                    "{there} is set but {missing} is not: set both, or none to use the RAM role of the instance"
                ));
                None
            }
        }
    }
}

/// Whether the decoded text can be half of a key.
fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic())
}

/// AccessKey ids start like this, those of temporary keys like that; a secret has 30 letters
/// and digits, which base64 of whole bytes never has.
fn looks_raw(text: &str) -> bool {
    text.starts_with("LTAI")
        || text.starts_with("STS.")
        || (text.len() == 30 && text.chars().all(|c| c.is_ascii_alphanumeric()))
}
