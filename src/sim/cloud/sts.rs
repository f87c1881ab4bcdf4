//! STS: access keys, assumed roles and their sessions.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Context, Handler, State, context::new_id, error::Failure, time};
use crate::entropy::Entropy;

/// A long-lived access key of the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessKey {
    /// Access key id.
    pub id: String,
    /// Access key secret.
    pub secret: String,
}

/// A key that can sign: the account's own or a session's.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) secret: String,
    pub(crate) active: bool,
    pub(crate) role: Option<String>,
    pub(crate) session: Option<String>,
    token: Option<String>,
    expires: Option<Timestamp>,
}

/// The most sessions that are remembered, expired ones among them: their keys are refused with
/// a code of their own.
const SESSIONS: usize = 1_000;

/// All keys that can sign.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(BTreeMap<String, Key>);

/// A session's key as it is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) access_key: String,
    pub(crate) secret: String,
    pub(crate) token: String,
    pub(crate) expires: Timestamp,
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    Some(match action {
        "GetCallerIdentity" => get_caller_identity,
        "AssumeRole" => assume_role,
        "AssumeRoleWithOIDC" => assume_role_with_oidc,
        _ => return None,
    })
}

// === impl Keys ===

impl Keys {
    pub(crate) fn new(keys: &[AccessKey]) -> Self {
        let mut all = Self::default();
        for key in keys {
            all.add(key);
        }
        all
    }

    /// Adds a key of the account's own.
    pub(crate) fn add(&mut self, key: &AccessKey) {
        let own =
            Key { secret: key.secret.clone(), active: true, role: None, session: None, token: None, expires: None };
        self.0.insert(key.id.clone(), own);
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Key> {
        self.0.get(id)
    }

    /// Enables or disables a key. Answers whether it exists.
    pub(crate) fn set_active(&mut self, id: &str, active: bool) -> bool {
        self.0.get_mut(id).map(|key| key.active = active).is_some()
    }

    /// Ends every session now.
    pub(crate) fn expire_sessions(&mut self, now: Timestamp) {
        for key in self.0.values_mut().filter(|key| key.expires.is_some()) {
            key.expires = Some(now);
        }
    }

    /// All that nobody but the key's holder may see.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flat_map(|(id, key)| [Some(id.as_str()), Some(key.secret.as_str()), key.token.as_deref()])
            .flatten()
    }

    /// Makes room for one more session.
    fn forget_oldest(&mut self) {
        let sessions = self.0.iter().filter_map(|(id, key)| Some((key.expires?, id)));
        if sessions.clone().count() >= SESSIONS
            && let Some(id) = sessions.min().map(|(_, id)| id.clone())
        {
            self.0.remove(&id);
        }
    }

    /// Issues a key for a role.
    pub(crate) fn issue(&mut self, role: &str, session: &str, expires: Timestamp, entropy: &Entropy) -> Credentials {
        let credentials = Credentials {
            access_key: new_id(entropy, "STS.NT"),
            secret: entropy.alphanumeric(44),
            token: format!("CAIS{}", entropy.alphanumeric(200)),
            expires,
        };
        let key = Key {
            secret: credentials.secret.clone(),
            active: true,
            role: Some(role.to_owned()),
            session: Some(session.to_owned()),
            token: Some(credentials.token.clone()),
            expires: Some(expires),
        };
        self.forget_oldest();
        self.0.insert(credentials.access_key.clone(), key);
        credentials
    }
}

// === impl Key ===

impl Key {
    pub(crate) fn check_token(&self, given: Option<&str>, now: Timestamp) -> Result<(), Failure> {
        let (own, given) = match (&self.token, given) {
            (None, None) => return Ok(()),
            (Some(_), None) => return Err(Failure::missing("SecurityToken")),
            (None, Some(given)) => ("", given),
            (Some(own), Some(given)) => (own.as_str(), given),
        };
        if !given.starts_with("CAIS") {
            return Err(Failure::bad("InvalidSecurityToken.Malformed", "Specified SecurityToken is malformed."));
        }
        if own != given {
            return Err(Failure::bad(
                "InvalidSecurityToken.MismatchWithAccessKey",
                "Specified SecurityToken mismatch with the AccessKey.",
            ));
        }
        if self.expires.is_some_and(|expires| expires <= now) {
            return Err(Failure::bad("InvalidSecurityToken.Expired", "Specified SecurityToken is expired."));
        }
        Ok(())
    }
}

fn get_caller_identity(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let account = &state.account;
    Ok(match &cx.caller.role {
        Some(role) => {
            let session = cx.caller.session.as_deref().unwrap_or_default();
            json!({
                "IdentityType": "AssumedRoleUser",
                "AccountId": account,
                "Arn": format!("acs:ram::{account}:assumed-role/{role}/{session}"),
                "RoleId": role_id(role),
                "PrincipalId": format!("{}:{session}", role_id(role)),
            })
        }
        None => json!({
            "IdentityType": "Account",
            "AccountId": account,
            "UserId": account,
            "PrincipalId": account,
            "Arn": format!("acs:ram::{account}:root"),
        }),
    })
}

fn assume_role(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (role, session, expires) = requested(cx, state)?;
    Ok(session_reply(cx, state, &role, &session, expires))
}

fn assume_role_with_oidc(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let provider = cx.params.required("OIDCProviderArn")?;
    let prefix = format!("acs:ram::{}:oidc-provider/", state.account);
    if !provider.starts_with(&prefix) {
        return Err(Failure::not_found(
            "EntityNotExist.OIDCProvider",
            format!("The OIDC provider {provider} does not exist."),
        ));
    }
    let token = cx.params.required("OIDCToken")?;
    let parts: Vec<&str> = token.split('.').collect();
    if parts.len() != 3 || parts.iter().any(|part| part.is_empty()) {
        return Err(Failure::bad("AuthenticationFail.OIDCToken.Invalid", "The OIDC token is not a signed JWT."));
    }
    let (role, session, expires) = requested(cx, state)?;
    let mut reply = session_reply(cx, state, &role, &session, expires);
    reply["OIDCTokenInfo"] = json!({ "Subject": session, "Issuer": provider });
    Ok(reply)
}

/// The role's name, the session's name and its end.
fn requested(cx: &Context<'_>, state: &State) -> Result<(String, String, Timestamp), Failure> {
    let arn = cx.params.required("RoleArn")?;
    let role = arn
        .strip_prefix(&format!("acs:ram::{}:role/", state.account))
        .filter(|role| !role.is_empty())
        .ok_or_else(|| Failure::not_found("EntityNotExist.Role", format!("The role {arn} does not exist.")))?;
    let session = cx.params.required("RoleSessionName")?;
    if !(2..=64).contains(&session.len()) {
        return Err(Failure::invalid("RoleSessionName"));
    }
    let seconds = cx.params.number::<i64>("DurationSeconds")?.unwrap_or(3600);
    if !(900..=43_200).contains(&seconds) {
        return Err(Failure::invalid("DurationSeconds"));
    }
    Ok((role.to_owned(), session.to_owned(), cx.now + SignedDuration::from_secs(seconds)))
}

fn session_reply(cx: &mut Context<'_>, state: &mut State, role: &str, session: &str, expires: Timestamp) -> Value {
    let issued = state.keys.issue(role, session, expires, cx.entropy);
    json!({
        "Credentials": {
            "AccessKeyId": issued.access_key,
            "AccessKeySecret": issued.secret,
            "SecurityToken": issued.token,
            "Expiration": time::seconds(issued.expires),
        },
        "AssumedRoleUser": {
            "Arn": format!("acs:ram::{}:role/{role}/{session}", state.account),
            "AssumedRoleId": format!("{}:{session}", role_id(role)),
        },
    })
}

/// A stable number for a role, as ids of roles are numbers.
fn role_id(role: &str) -> String {
    let sum = role.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("3{:017}", sum % 100_000_000_000_000_000)
}
