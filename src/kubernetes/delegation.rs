//! Asks the API server who a caller is and what it may do, as its own aggregated servers do.
//!
//! Answers are kept for a short while, so that a scraper costs one question each time they run out.
//! Tokens are kept as digests only.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout};

use super::failure;

/// How long one question may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Answers that are kept at most; whoever asks with ever new tokens shall not fill the memory.
const KEPT: usize = 1000;

/// How long answers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Who a token belongs to.
    pub identity: Duration,
    /// That a caller may do something.
    pub allowed: Duration,
    /// That it may not.
    pub denied: Duration,
}

/// What comes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// No token, or one that the API server does not know.
    Unauthenticated,
    /// The named user may not.
    Forbidden(String),
    /// The API server could not be asked.
    Unknown(String),
}

/// Judges requests.
pub struct Delegation {
    client: Client,
    times: Times,
    identities: Kept<[u8; 32], Option<Identity>>,
    decisions: Kept<(Identity, String, String), bool>,
}

/// Answers, each with its end.
struct Kept<K, V>(Mutex<BTreeMap<K, (Instant, V)>>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    name: String,
    uid: Option<String>,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

// === impl Delegation ===

impl Delegation {
    /// `client` has to be allowed to create TokenReviews and SubjectAccessReviews, as the shipped
    /// ClusterRole and `system:auth-delegator` allow it.
    pub fn new(client: Client, times: Times) -> Self {
        Self { client, times, identities: Kept::default(), decisions: Kept::default() }
    }

    /// Whether whoever has this token may `verb` (an HTTP method in lower case) `path`.
    pub async fn judge(&self, token: Option<&str>, verb: &str, path: &str) -> Verdict {
        let Some(token) = token else { return Verdict::Unauthenticated };
        let identity = match self.identity(token).await {
            Ok(Some(identity)) => identity,
            Ok(None) => return Verdict::Unauthenticated,
            Err(reason) => return Verdict::Unknown(reason),
        };
        let name = identity.name.clone();
        match self.may(identity, verb, path).await {
            Ok(true) => Verdict::Allowed,
            Ok(false) => Verdict::Forbidden(name),
            Err(reason) => Verdict::Unknown(reason),
        }
    }

    async fn identity(&self, token: &str) -> Result<Option<Identity>, String> {
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.identities.get(&digest) {
            return Ok(known);
        }
        let spec = TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let answer = self.ask(&review).await?.status.unwrap_or_default();
        let user = answer.user.filter(|_| answer.authenticated == Some(true)).unwrap_or_default();
        let identity = user.username.filter(|name| !name.is_empty()).map(|name| Identity {
            name,
            uid: user.uid,
            groups: user.groups.unwrap_or_default(),
            extra: user.extra.unwrap_or_default(),
        });
        self.identities.put(digest, identity.clone(), self.times.identity);
        Ok(identity)
    }

    async fn may(&self, identity: Identity, verb: &str, path: &str) -> Result<bool, String> {
        let key = (identity, verb.to_owned(), path.to_owned());
        if let Some(known) = self.decisions.get(&key) {
            return Ok(known);
        }
        let (identity, ..) = &key;
        let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some(verb.to_owned()) };
        let spec = SubjectAccessReviewSpec {
            user: Some(identity.name.clone()),
            uid: identity.uid.clone(),
            groups: Some(identity.groups.clone()),
            extra: Some(identity.extra.clone()),
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let allowed = self.ask(&review).await?.status.is_some_and(|status| status.allowed);
        self.decisions.put(key, allowed, if allowed { self.times.allowed } else { self.times.denied });
        Ok(allowed)
    }

    async fn ask<K>(&self, review: &K) -> Result<K, String>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        let api = Api::<K>::all(self.client.clone());
        match timeout(TIMEOUT, api.create(&PostParams::default(), review)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(format!("{} {}", K::kind(&()), failure::describe(&error))),
            Err(_) => Err(format!("{} no answer within {} s", K::kind(&()), TIMEOUT.as_secs())),
        }
    }
}

// === impl Kept ===

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord, V: Clone> Kept<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.0.lock().get(key).filter(|(end, _)| *end > Instant::now()).map(|(_, value)| value.clone())
    }

    fn put(&self, key: K, value: V, time: Duration) {
        let now = Instant::now();
        let mut kept = self.0.lock();
        kept.retain(|_, (end, _)| *end > now);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, (now + time, value));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    };

    use http::{Request, Response};
    use http_body_util::BodyExt;
    use kube::client::Body;
    use serde_json::{Value, json};
    use tower::BoxError;

    use super::*;

    /// Knows the token `good` as user `scraper`, who may `get /metrics`.
    #[derive(Clone, Default)]
    struct Server {
        asked: Arc<AtomicUsize>,
        away: Arc<AtomicBool>,
    }

    impl Server {
        fn client(&self) -> Client {
            let server = self.clone();
            let answer = move |request: Request<Body>| {
                let server = server.clone();
                async move {
                    server.asked.fetch_add(1, Ordering::Relaxed);
                    if server.away.load(Ordering::Relaxed) {
                        return Err(BoxError::from("connection refused"));
                    }
                    let body = request.into_body().collect().await?.to_bytes();
                    let mut review: Value = serde_json::from_slice(&body)?;
                    review["status"] = if review["kind"] == "TokenReview" {
                        let known = review["spec"]["token"] == "good";
                        json!({ "authenticated": known, "user": { "username": "scraper", "groups": ["g"] } })
                    } else {
                        let attributes = json!({ "path": "/metrics", "verb": "get" });
                        let spec = &review["spec"];
                        let fits = spec["user"] == "scraper" && spec["groups"] == json!(["g"]);
                        json!({ "allowed": fits && spec["nonResourceAttributes"] == attributes })
                    };
                    Ok(Response::new(Body::from(serde_json::to_vec(&review)?)))
                }
            };
            Client::new(tower::service_fn(answer), "default")
        }
    }

    fn delegation(server: &Server) -> Delegation {
        let times = |seconds| Duration::from_secs(seconds);
        Delegation::new(server.client(), Times { identity: times(10), allowed: times(10), denied: times(10) })
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_says_who_may_what() {
        let delegation = delegation(&Server::default());
        for (token, verb, path, expected) in [
            (None, "get", "/metrics", Verdict::Unauthenticated),
            (Some("bad"), "get", "/metrics", Verdict::Unauthenticated),
            (Some("good"), "get", "/metrics", Verdict::Allowed),
            (Some("good"), "post", "/metrics", Verdict::Forbidden("scraper".to_owned())),
            (Some("good"), "get", "/other", Verdict::Forbidden("scraper".to_owned())),
        ] {
            assert_eq!(delegation.judge(token, verb, path).await, expected, "{token:?} {verb} {path}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_count_for_a_while_and_failures_never() {
        let server = Server::default();
        let delegation = delegation(&server);
        for _ in 0..100 {
            assert_eq!(delegation.judge(Some("good"), "get", "/metrics").await, Verdict::Allowed);
        }
        assert_eq!(server.asked.swap(0, Ordering::Relaxed), 2, "who it is, and whether it may");
        server.away.store(true, Ordering::Relaxed);
        assert_eq!(delegation.judge(Some("good"), "get", "/metrics").await, Verdict::Allowed);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let unknown = delegation.judge(Some("good"), "get", "/metrics").await;
        assert_eq!(unknown, Verdict::Unknown("TokenReview connection refused".to_owned()));
        server.away.store(false, Ordering::Relaxed);
        assert_eq!(delegation.judge(Some("good"), "get", "/metrics").await, Verdict::Allowed);
    }

    #[tokio::test(start_paused = true)]
    async fn ever_new_tokens_do_not_fill_the_memory() {
        let delegation = delegation(&Server::default());
        for number in 0..KEPT * 3 {
            delegation.judge(Some(&number.to_string()), "get", "/metrics").await;
        }
        assert!(delegation.identities.0.lock().len() <= KEPT);
    }
}
