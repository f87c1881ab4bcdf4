//! RPC signature version 1: HMAC-SHA1 over the sorted parameters.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use super::Claim;
use crate::sim::cloud::{
    error::Failure,
    wire::{Request, encode},
};

pub(crate) fn claim(request: &Request) -> Result<Claim<'_>, Failure> {
    let get = |name: &str| request.param(name).ok_or_else(|| Failure::missing(name));
    let access_key = get("AccessKeyId")?;
    let signature = get("Signature")?;
    if get("SignatureMethod")? != "HMAC-SHA1" || get("SignatureVersion")? != "1.0" {
        return Err(Failure::bad(
            "IncompleteSignature",
            format!(
                "The request signature does not conform to Aliyun standards. server string to sign is:{}",
                string_to_sign(request.method.as_str(), &request.params)
            ),
        ));
    }
    Ok(Claim {
        access_key,
        security_token: request.param("SecurityToken"),
        // Old documents spell it TimeStamp; what was received is what is signed.
        timestamp: request
            .param("Timestamp")
            .map_or_else(|| get("TimeStamp"), Ok)
            .map_err(|_| Failure::missing("Timestamp"))?,
        nonce: get("SignatureNonce")?,
        signature,
        string_to_sign: string_to_sign(request.method.as_str(), &request.params),
        sign,
    })
}

pub(crate) fn string_to_sign(method: &str, params: &BTreeMap<String, String>) -> String {
    let joined: Vec<String> = params
        .iter()
        .filter(|(name, _)| *name != "Signature")
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect();
    format!("{method}&{}&{}", encode("/"), encode(&joined.join("&")))
}

pub(crate) fn sign(secret: &str, string_to_sign: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(format!("{secret}&").as_bytes()) else { return String::new() };
    mac.update(string_to_sign.as_bytes());
    BASE64_STANDARD.encode(mac.finalize().into_bytes())
}
