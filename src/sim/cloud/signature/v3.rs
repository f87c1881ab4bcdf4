//! ACS signature version 3: HMAC-SHA256 over a canonical request of headers, query and the
//! body's hash.

use std::{collections::BTreeMap, fmt::Write as _};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::Claim;
use crate::sim::cloud::{
    error::Failure,
    wire::{Request, encode, hex},
};

pub(crate) const ALGORITHM: &str = "ACS3-HMAC-SHA256";

pub(crate) fn claim<'a>(request: &'a Request, authorization: &'a str) -> Result<Claim<'a>, Failure> {
    let parts = authorization_parts(authorization);
    let part = |name: &str| parts.get(name).copied().ok_or_else(|| incomplete(name));
    let header = |name: &str| request.header(name).ok_or_else(|| Failure::missing(name));
    let canonical = canonical_request(request, part("SignedHeaders")?);
    let hash = header("x-acs-content-sha256")?;
    if hash != hex(&Sha256::digest(&request.body)) {
        return Err(incomplete("x-acs-content-sha256, which is not the hash of the body"));
    }
    Ok(Claim {
        access_key: part("Credential")?,
        security_token: request.header("x-acs-security-token"),
        timestamp: header("x-acs-date")?,
        nonce: header("x-acs-signature-nonce")?,
        signature: part("Signature")?,
        string_to_sign: string_to_sign(&canonical),
        sign,
    })
}

fn incomplete(what: &str) -> Failure {
    Failure::bad(
        "IncompleteSignature",
        format!("The request signature does not conform to Aliyun standards: check {what}."),
    )
}

fn authorization_parts(header: &str) -> BTreeMap<&str, &str> {
    let list = header.strip_prefix(ALGORITHM).unwrap_or(header);
    list.split(',').filter_map(|part| part.trim().split_once('=')).collect()
}

/// The text that is hashed. The list of signed headers is the sender's: SDKs differ in what they sign.
pub(crate) fn canonical_request(request: &Request, signed_headers: &str) -> String {
    // SDKs encode values and leave keys alone.
    let query: Vec<String> = request.query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    let mut text = format!("{}\n{}\n{}\n", request.method, request.path, query.join("&"));
    for name in signed_headers.split(';') {
        let _ = writeln!(text, "{name}:{}", request.header(name).unwrap_or_default().trim());
    }
    let _ = write!(text, "\n{signed_headers}\n{}", hex(&Sha256::digest(&request.body)));
    text
}

pub(crate) fn string_to_sign(canonical_request: &str) -> String {
    format!("{ALGORITHM}\n{}", hex(&Sha256::digest(canonical_request.as_bytes())))
}

pub(crate) fn sign(secret: &str, string_to_sign: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(string_to_sign.as_bytes());
    hex(&mac.finalize().into_bytes())
}
