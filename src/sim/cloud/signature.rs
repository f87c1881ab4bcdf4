//! Who is calling: checks RPC v1 and ACS v3 signatures, timestamps, nonces and security
//! tokens. Written for the simulator alone; it shares nothing with the client's signer.

pub(crate) mod v1;
pub(crate) mod v3;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{error::Failure, sts::Keys, wire::Request};

/// The most nonces that are remembered. Beyond that the oldest is forgotten, so that memory
/// does not grow with the number of calls.
const NONCES: usize = 100_000;

/// How far a request's timestamp may lie from the cloud's clock.
const WINDOW: SignedDuration = SignedDuration::from_mins(15);

/// The identity behind a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Caller {
    /// The access key id, empty for calls that are sent unsigned.
    pub access_key: String,
    /// The assumed role's name, for keys that STS or the metadata server issued.
    pub role: Option<String>,
    /// The session name under which the role was assumed.
    pub session: Option<String>,
}

/// Nonces seen within the window, with the time they were used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nonces {
    seen: BTreeSet<(String, String)>,
    by_time: BTreeSet<(Timestamp, String, String)>,
}

/// The parts of a request that either signature scheme provides.
pub(crate) struct Claim<'a> {
    access_key: &'a str,
    security_token: Option<&'a str>,
    timestamp: &'a str,
    nonce: &'a str,
    signature: &'a str,
    string_to_sign: String,
    sign: fn(&str, &str) -> String,
}

/// Checks a request's signature. `relaxed` lets unsigned and wrongly signed requests pass,
/// for hand-made ones. Of the two times the first is what timestamps are measured against,
/// the second the one at which sessions expire.
pub(crate) fn authenticate(
    request: &Request,
    keys: &Keys,
    nonces: &mut Nonces,
    (clock, now): (Timestamp, Timestamp),
    relaxed: bool,
) -> Result<Caller, Failure> {
    let claim = match request.header("authorization") {
        Some(header) if header.starts_with(v3::ALGORITHM) => v3::claim(request, header),
        _ => v1::claim(request),
    };
    if relaxed {
        let access_key = claim.map(|claim| claim.access_key.to_owned()).unwrap_or_default();
        return Ok(Caller { access_key, ..Caller::default() });
    }
    let claim = claim?;
    let key = keys
        .find(claim.access_key)
        .ok_or_else(|| Failure::not_found("InvalidAccessKeyId.NotFound", "Specified access key is not found."))?;
    if !key.active {
        return Err(Failure::bad("InvalidAccessKeyId.Inactive", "Specified access key is disabled."));
    }
    let stamp: Timestamp = claim.timestamp.parse().map_err(|_| {
        Failure::bad("InvalidTimeStamp.Format", "Specified time stamp or date value is not well formatted.")
    })?;
    if clock.duration_since(stamp).abs() > WINDOW {
        return Err(Failure::bad("InvalidTimeStamp.Expired", "Specified time stamp or date value is expired."));
    }
    key.check_token(claim.security_token, now)?;
    if (claim.sign)(&key.secret, &claim.string_to_sign) != claim.signature {
        return Err(Failure::bad(
            "SignatureDoesNotMatch",
            format!(
                "Specified signature is not matched with our calculation. server string to sign is:{}",
                claim.string_to_sign
            ),
        ));
    }
    // Last, so that a request that was refused for another reason does not use up its nonce.
    nonces.take(claim.access_key, claim.nonce, clock)?;
    Ok(Caller { access_key: claim.access_key.to_owned(), role: key.role.clone(), session: key.session.clone() })
}

// === impl Nonces ===

impl Nonces {
    fn take(&mut self, access_key: &str, nonce: &str, now: Timestamp) -> Result<(), Failure> {
        // A nonce can come back only while its timestamp is still accepted.
        let full = |count: usize| count >= NONCES;
        while self
            .by_time
            .first()
            .is_some_and(|(at, ..)| full(self.by_time.len()) || now.duration_since(*at) > WINDOW * 2)
        {
            if let Some((_, access_key, nonce)) = self.by_time.pop_first() {
                self.seen.remove(&(access_key, nonce));
            }
        }
        if !self.seen.insert((access_key.to_owned(), nonce.to_owned())) {
            return Err(Failure::bad("SignatureNonceUsed", "Specified signature nonce was used already."));
        }
        self.by_time.insert((now, access_key.to_owned(), nonce.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
