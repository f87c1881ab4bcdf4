//! RPC signature version 1: HMAC-SHA1 over the sorted, percent-encoded parameters.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use sha1::Sha1;

use super::Params;

/// RFC 3986 keeps letters, digits and these four.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Percent-encodes as RFC 3986 says: a space is `%20`, never `+`.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// `name=value&…` in the order of the names; both the form body and the core of what is signed.
pub fn encode(params: &Params) -> String {
    let pairs: Vec<_> =
        params.iter().map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value))).collect();
    pairs.join("&")
}

/// What the signature is made over.
pub fn string_to_sign(method: &str, params: &Params) -> String {
    format!("{method}&%2F&{}", percent_encode(&encode(params)))
}

/// The `Signature` parameter for a call with these parameters.
///
/// # Panics
/// Never: HMAC takes keys of any length.
pub fn sign(method: &str, params: &Params, secret: &SecretString) -> String {
    let key = format!("{}&", secret.expose_secret());
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    let mut mac = Hmac::<Sha1>::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(string_to_sign(method, params).as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::alibaba::rpc::testing::vectors;

    #[test]
    fn reproduces_the_official_signatures() {
        let vectors = vectors();
        let cases = vectors["v1"].as_array().unwrap();
        assert!(cases.len() >= 19);
        for case in cases {
            let mut params = Params::default();
            params.flatten(&case["query"]);
            params.flatten(&case["body"]);
            let method = case["method"].as_str().unwrap();
            assert_eq!(string_to_sign(method, &params), case["string_to_sign"], "{}", case["name"]);
            let signature = sign(method, &params, &SecretString::from(case["access_key_secret"].as_str().unwrap()));
            assert_eq!(signature, case["signature"], "{}", case["name"]);
            assert_eq!(percent_encode(&signature), case["signature_urlencoded"], "{}", case["name"]);
        }
    }

    #[test]
    fn encodes_as_the_official_clients_do() {
        for case in vectors()["percent_encoding"].as_array().unwrap() {
            assert_eq!(percent_encode(case["in"].as_str().unwrap()), case["out"]);
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_the_same(pairs in proptest::collection::btree_map(".{1,12}", ".{0,40}", 0..8)) {
            let params: Params = pairs.clone().into_iter().collect();
            let body = encode(&params);
            let decoded: std::collections::BTreeMap<String, String> =
                url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
            prop_assert_eq!(decoded, pairs);
        }
    }
}
