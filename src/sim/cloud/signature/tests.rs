use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use jiff::Timestamp;
use serde::Deserialize;

use super::*;
use crate::sim::cloud::{AccessKey, wire};

#[derive(Deserialize)]
struct Vectors {
    v1: Vec<V1>,
    v3: Vec<V3>,
    percent_encoding: Vec<Encoding>,
    v1_url: V1Url,
}

#[derive(Deserialize)]
struct V1 {
    name: String,
    method: String,
    access_key_secret: String,
    query: BTreeMap<String, String>,
    body: BTreeMap<String, String>,
    string_to_sign: String,
    signature: String,
}

#[derive(Deserialize)]
struct V1Url {
    url: String,
    string_to_sign: String,
}

#[derive(Deserialize)]
struct V3 {
    name: String,
    method: String,
    query: BTreeMap<String, String>,
    body: String,
    headers: BTreeMap<String, String>,
    access_key_id: String,
    access_key_secret: String,
    canonical_request: String,
    string_to_sign: String,
    authorization: String,
}

#[derive(Deserialize)]
struct Encoding {
    r#in: String,
    out: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../../tests/data/signature-vectors.json")).unwrap()
}

fn form(params: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = params.iter().map(|(k, v)| format!("{}={}", wire::encode(k), wire::encode(v))).collect();
    pairs.join("&")
}

/// The request of a v1 vector, as a client sends it.
fn v1_request(vector: &V1, signature: &str) -> Request {
    let mut query = vector.query.clone();
    query.insert("Signature".to_owned(), signature.to_owned());
    let uri: Uri = format!("/?{}", form(&query)).parse().unwrap();
    let method: Method = vector.method.parse().unwrap();
    Request::new(method, &uri, HeaderMap::new(), Bytes::from(form(&vector.body)))
}

fn v3_request(vector: &V3, authorization: &str) -> Request {
    let mut headers = HeaderMap::new();
    for (name, value) in
        vector.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).chain([("authorization", authorization)])
    {
        headers.insert(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap());
    }
    let uri: Uri = format!("/?{}", form(&vector.query)).parse().unwrap();
    Request::new(vector.method.parse().unwrap(), &uri, headers, Bytes::from(vector.body.clone()))
}

/// Checks at the time that the request itself names.
fn check(request: &Request, key: (&str, &str)) -> Result<Caller, Failure> {
    let keys = Keys::new(&[AccessKey { id: key.0.to_owned(), secret: key.1.to_owned() }]);
    let stamp =
        request.param("Timestamp").or_else(|| request.param("TimeStamp")).or_else(|| request.header("x-acs-date"));
    let stamp: Timestamp = stamp.unwrap().parse().unwrap();
    authenticate(request, &keys, &mut Nonces::default(), (stamp, stamp), false)
}

#[test]
fn percent_encoding_is_rfc_3986() {
    for pair in vectors().percent_encoding {
        assert_eq!(wire::encode(&pair.r#in), pair.out);
        assert_eq!(wire::decode(pair.out.as_bytes()), pair.r#in);
    }
}

#[test]
fn every_v1_vector_is_accepted() {
    for vector in vectors().v1 {
        let request = v1_request(&vector, &vector.signature);
        assert_eq!(v1::string_to_sign(&vector.method, &request.params), vector.string_to_sign, "{}", vector.name);
        let id = vector.query["AccessKeyId"].as_str();
        // One vector signs an STS key, whose token is checked elsewhere.
        if !vector.query.contains_key("SecurityToken") && vector.query.contains_key("SignatureNonce") {
            check(&request, (id, &vector.access_key_secret))
                .unwrap_or_else(|failure| panic!("{}: {failure:?}", vector.name));
        }
        assert_eq!(v1::sign(&vector.access_key_secret, &vector.string_to_sign), vector.signature, "{}", vector.name);
    }
}

#[test]
fn a_url_made_by_the_sdk_gives_the_same_text_to_sign() {
    let vector = vectors().v1_url;
    let request = Request::new(Method::POST, &vector.url.parse().unwrap(), HeaderMap::new(), Bytes::new());
    assert_eq!(v1::string_to_sign("POST", &request.params), vector.string_to_sign);
}

#[test]
fn every_v1_vector_with_one_character_changed_is_refused() {
    for vector in vectors().v1.iter().filter(|vector| !vector.query.contains_key("SecurityToken")) {
        let id = vector.query["AccessKeyId"].as_str();
        let key = (id, vector.access_key_secret.as_str());
        let other = if vector.signature.starts_with('A') { "B" } else { "A" };
        let signature = format!("{other}{}", &vector.signature[1..]);
        let failure = check(&v1_request(vector, &signature), key).unwrap_err();
        assert_eq!(failure.code, "SignatureDoesNotMatch", "{}", vector.name);
        assert!(failure.message.ends_with(&format!("server string to sign is:{}", vector.string_to_sign)));

        let mut request = v1_request(vector, &vector.signature);
        request.params.insert("Action".to_owned(), format!("{}x", request.params["Action"]));
        assert_eq!(check(&request, key).unwrap_err().code, "SignatureDoesNotMatch", "{}", vector.name);
        let wrong = (key.0, "other");
        let request = v1_request(vector, &vector.signature);
        assert_eq!(check(&request, wrong).unwrap_err().code, "SignatureDoesNotMatch", "{}", vector.name);
        let unknown = ("somebody", key.1);
        assert_eq!(check(&request, unknown).unwrap_err().code, "InvalidAccessKeyId.NotFound", "{}", vector.name);
    }
}

#[test]
fn every_v3_vector_is_accepted_and_refused_with_one_character_changed() {
    for vector in vectors().v3 {
        let request = v3_request(&vector, &vector.authorization);
        let signed = vector.authorization.split("SignedHeaders=").nth(1).unwrap().split(',').next().unwrap();
        let canonical = v3::canonical_request(&request, signed);
        assert_eq!(canonical, vector.canonical_request, "{}", vector.name);
        assert_eq!(v3::string_to_sign(&canonical), vector.string_to_sign, "{}", vector.name);
        if vector.headers.contains_key("x-acs-security-token") {
            continue;
        }
        let key = (vector.access_key_id.as_str(), vector.access_key_secret.as_str());
        check(&request, key).unwrap_or_else(|failure| panic!("{}: {failure:?}", vector.name));

        let (rest, last) = vector.authorization.split_at(vector.authorization.len() - 1);
        let changed = format!("{rest}{}", if last == "0" { "1" } else { "0" });
        let failure = check(&v3_request(&vector, &changed), key).unwrap_err();
        assert_eq!(failure.code, "SignatureDoesNotMatch", "{}", vector.name);
        assert!(failure.message.ends_with(&vector.string_to_sign), "{}", vector.name);

        let mut request = v3_request(&vector, &vector.authorization);
        request.body = Bytes::from(format!("{}x", vector.body));
        assert_eq!(check(&request, key).unwrap_err().code, "IncompleteSignature", "{}", vector.name);
        let mut request = v3_request(&vector, &vector.authorization);
        request.headers.insert("x-acs-action", HeaderValue::from_static("Other"));
        assert_eq!(check(&request, key).unwrap_err().code, "SignatureDoesNotMatch", "{}", vector.name);
    }
}

#[test]
fn timestamps_and_nonces_are_checked() {
    let vectors = vectors();
    let vector = vectors.v1.iter().find(|vector| vector.name == "post-plain").unwrap();
    let request = v1_request(vector, &vector.signature);
    let keys =
        Keys::new(&[AccessKey { id: vector.query["AccessKeyId"].clone(), secret: vector.access_key_secret.clone() }]);
    let stamp: Timestamp = vector.query["Timestamp"].parse().unwrap();
    let mut nonces = Nonces::default();
    let mut at = |seconds: i64| {
        let now = stamp + SignedDuration::from_secs(seconds);
        authenticate(&request, &keys, &mut nonces, (now, now), false).map_err(|failure| failure.code)
    };
    assert_eq!(at(901).unwrap_err(), "InvalidTimeStamp.Expired");
    assert_eq!(at(-901).unwrap_err(), "InvalidTimeStamp.Expired");
    assert!(at(900).is_ok(), "a refused call does not use up its nonce");
    assert_eq!(at(0).unwrap_err(), "SignatureNonceUsed");
    let mut request = v1_request(vector, &vector.signature);
    request.params.insert("Timestamp".to_owned(), "yesterday".to_owned());
    let failure = authenticate(&request, &keys, &mut Nonces::default(), (stamp, stamp), false).unwrap_err();
    assert_eq!(failure.code, "InvalidTimeStamp.Format");
    assert!(authenticate(&request, &keys, &mut Nonces::default(), (stamp, stamp), true).is_ok(), "relaxed");
}

#[test]
fn nonces_do_not_fill_the_memory() {
    let mut nonces = Nonces::default();
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    for index in 0..NONCES + 10 {
        let now = now + std::time::Duration::from_millis(u64::try_from(index).unwrap());
        nonces.take("key", &index.to_string(), now).unwrap();
    }
    assert_eq!((nonces.seen.len(), nonces.by_time.len()), (NONCES, NONCES));
    assert!(nonces.take("key", &NONCES.to_string(), now).is_err(), "the newest are remembered");
}
