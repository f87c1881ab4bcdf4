//! Which credentials are used: the first kind that is there. The kinds that the released controller
//! knows come in its order, then those of the vendor's SDKs in theirs, last the RAM role of the
//! instance. Nothing of a key is ever shown.

use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::SecretString;

use super::{
    super::{AccessKey, AssumedRole, Credentials, OidcRole, SecretUri, cli_profile, variables::base_url_of},
    Sources,
};

/// Where an add-on of managed clusters writes its token.
const ADDON_TOKEN: &str = "/var/addon/token-config";
/// How sessions of a role are called unless somebody chose a name.
const SESSION_NAME: &str = "alibaba-cloud-controller-manager";

/// The variables of a key pair and of its token.
struct Names {
    id: &'static str,
    secret: &'static str,
    token: &'static str,
}

const RELEASED: Names = Names { id: "ACCESS_KEY_ID", secret: "ACCESS_KEY_SECRET", token: "SECURITY_TOKEN" };
const SDK: Names = Names {
    id: "ALIBABA_CLOUD_ACCESS_KEY_ID",
    secret: "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
    token: "ALIBABA_CLOUD_SECURITY_TOKEN",
};

impl Sources<'_> {
    pub(super) fn credentials(&mut self) -> Credentials {
        let with = self.own_credentials();
        match self.assumed_role() {
            Some(role) => Credentials::AssumeRole { role, with: Box::new(with) },
            None => with,
        }
    }

    fn own_credentials(&mut self) -> Credentials {
        let addon = self.environment.exists(Path::new(ADDON_TOKEN));
        let file = self.file_key();
        if self.file.text("uid").is_some() {
            let place = self.file.place("uid");
            self.problems.warn(format!(
                "{place} asks for the servicetoken helper, which is not supported: use assumeRoleArn to act as a role"
            ));
        }
        let (released, sdk) = (self.environment_key(&RELEASED), self.environment_key(&SDK));
        let oidc = self.oidc();
        let mut found = [
            (ADDON_TOKEN, addon.then(|| Credentials::AddonToken(PathBuf::from(ADDON_TOKEN)))),
            ("the AccessKey of the cloud-config file", file.map(Credentials::File)),
            (RELEASED.id, released.map(Credentials::Environment)),
            (SDK.id, sdk.map(Credentials::Environment)),
            ("ALIBABA_CLOUD_OIDC_TOKEN_FILE", oidc.map(Credentials::Oidc)),
        ]
        .into_iter()
        .filter_map(|(name, credentials)| credentials.map(|credentials| (name, credentials)));
        let Some((first, credentials)) = found.next() else { return self.other_credentials() };
        for (other, _) in found {
            self.problems.warn(format!("{other} is not used for credentials: {first} comes first"));
        }
        credentials
    }

    fn other_credentials(&mut self) -> Credentials {
        if let Some(profile) = self.profile() {
            return profile;
        }
        if let Some(role) = self.variable("ALIBABA_CLOUD_ECS_METADATA") {
            return Credentials::RamRole(Some(role));
        }
        let Some(uri) = self.variable("ALIBABA_CLOUD_CREDENTIALS_URI") else { return Credentials::RamRole(None) };
        let query = uri.split('?').next().unwrap_or_default();
        if base_url_of(query).is_none() || !query.contains("://") {
            // Not repeated: it may carry a secret.
            self.problems
                .fail("ALIBABA_CLOUD_CREDENTIALS_URI is not a URL: expected http://... or https://...".to_owned());
        }
        Credentials::Uri(SecretUri(SecretString::from(uri)))
    }

    /// A profile of the aliyun command-line tool, if there is a file of them.
    fn profile(&mut self) -> Option<Credentials> {
        if self.variable("ALIBABA_CLOUD_CLI_PROFILE_DISABLED").as_deref() == Some("true") {
            return None;
        }
        let name = self.variable("ALIBABA_CLOUD_PROFILE");
        let named = self.variable("ALIBABA_CLOUD_CONFIG_FILE").map(PathBuf::from);
        let wanted = named.is_some() || name.is_some();
        let path = named.or_else(|| self.variable("HOME").map(|home| Path::new(&home).join(".aliyun/config.json")))?;
        if !wanted && !self.environment.exists(&path) {
            return None;
        }
        let session_name = self.session_name();
        let read = self.environment.file(&path).map_err(|error| format!("it cannot be read: {error}"));
        match read.and_then(|text| cli_profile::read(&text, name.as_deref(), &session_name)) {
            Ok(credentials) => Some(credentials),
            Err(why) => {
                self.problems.fail(format!("{} holds no credentials to use: {why}", path.display()));
                None
            }
        }
    }

    /// The role that ack-pod-identity offers through three variables.
    fn oidc(&mut self) -> Option<OidcRole> {
        let (provider, token) = (
            self.variable("ALIBABA_CLOUD_OIDC_PROVIDER_ARN"),
            self.variable("ALIBABA_CLOUD_OIDC_TOKEN_FILE").map(PathBuf::from),
        );
        if provider.is_none() && token.is_none() {
            return None;
        }
        let arn = self.variable("ALIBABA_CLOUD_ROLE_ARN");
        match (arn, provider, token) {
            (Some(arn), Some(provider_arn), Some(token_file)) => {
                let role = self.role("ALIBABA_CLOUD_ROLE_ARN", arn, None);
                Some(OidcRole { role, provider_arn, token_file })
            }
            (arn, provider, token) => {
                let missing: Vec<_> = [
                    ("ALIBABA_CLOUD_ROLE_ARN", arn.is_none()),
                    ("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", provider.is_none()),
                    ("ALIBABA_CLOUD_OIDC_TOKEN_FILE", token.is_none()),
                ]
                .into_iter()
                .filter_map(|(name, missing)| missing.then_some(name))
                .collect();
                let (missing, verb) = (missing.join(" and "), if missing.len() == 1 { "is" } else { "are" });
                self.problems.fail(format!("the variables of RRSA are not complete: {missing} {verb} not set"));
                None
            }
        }
    }

    /// The role to assume with whatever credentials there are.
    fn assumed_role(&mut self) -> Option<AssumedRole> {
        let external_id = self.file.text("assumeRoleExternalId").map(ToOwned::to_owned);
        if let Some(arn) = self.file.text("assumeRoleArn").map(ToOwned::to_owned) {
            let place = self.file.place("assumeRoleArn");
            return Some(self.role(&place, arn, external_id));
        }
        for key in ["assumeRoleSessionName", "assumeRoleExternalId"] {
            if self.file.text(key).is_some() {
                let place = self.file.place(key);
                self.problems.warn(format!("{place} has no effect without assumeRoleArn"));
            }
        }
        // With these it belongs to RRSA.
        if self.variable("ALIBABA_CLOUD_OIDC_PROVIDER_ARN").is_some()
            || self.variable("ALIBABA_CLOUD_OIDC_TOKEN_FILE").is_some()
        {
            return None;
        }
        let arn = self.variable("ALIBABA_CLOUD_ROLE_ARN")?;
        Some(self.role("ALIBABA_CLOUD_ROLE_ARN", arn, external_id))
    }

    fn role(&mut self, place: &str, arn: String, external_id: Option<String>) -> AssumedRole {
        if !(arn.starts_with("acs:ram::") && arn.contains(":role/")) {
            self.problems
                .fail(format!("{place} is \"{arn}\": expected a role such as acs:ram::1234567890123456:role/ccm"));
        }
        AssumedRole { arn, session_name: self.session_name(), external_id }
    }

    fn session_name(&mut self) -> String {
        let own = self.file.text("assumeRoleSessionName").map(ToOwned::to_owned);
        let name = own.or_else(|| self.variable("ALIBABA_CLOUD_ROLE_SESSION_NAME"));
        let Some(name) = name else { return SESSION_NAME.to_owned() };
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || ".@-_".contains(c));
        if !fits || !(2..=64).contains(&name.len()) {
            let message =
                format!("\"{name}\" cannot name the sessions of a role: expected 2 to 64 letters, digits and .@-_");
            self.problems.fail(message);
        }
        name
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

    fn environment_key(&mut self, names: &Names) -> Option<AccessKey> {
        let (id, secret) = (self.variable(names.id), self.variable(names.secret));
        let token = self.variable(names.token);
        match (id, secret) {
            (Some(id), Some(secret)) => Some(AccessKey {
                id: SecretString::from(id),
                secret: SecretString::from(secret),
                token: token.map(SecretString::from),
            }),
            (None, None) => None,
            (id, _) => {
                let (there, missing) = if id.is_some() { (names.id, names.secret) } else { (names.secret, names.id) };
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
