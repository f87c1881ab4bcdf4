//! The client: one call from parameters to reply.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

use super::{
    Endpoints, Kind, Metrics, Params, Policy, Reached, Request, Transport, TransportError, classify,
    credentials::Source, limits::Limits, retry::Retries, signature, throttle::Throttle,
};
use crate::{
    clock::Clock,
    cloud::{Class, Error, RegionId},
    entropy::Entropy,
};

/// What a client is made of.
pub struct Parts {
    /// The region of calls that name none.
    pub region: RegionId,
    pub endpoints: Endpoints,
    pub user_agent: String,
    pub limits: Limits,
    pub policy: Policy,
    pub transport: Arc<dyn Transport>,
    pub credentials: Arc<dyn Source>,
    pub clock: Clock,
    pub entropy: Entropy,
    pub metrics: Metrics,
}

/// Calls actions: signs, keeps to the rate limits, retries what may be retried, and reads
/// errors. Cheap to clone; clones share their limits.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    parts: Parts,
    throttle: Throttle,
}

/// No attempt takes longer, whatever the transport does.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(25);
/// A throttled action stays blocked until the next minute starts; this is how long it pauses
/// when the cloud does not say.
const THROTTLED_PAUSE: Duration = Duration::from_secs(5);

// === impl Client ===

impl Client {
    pub fn new(parts: Parts) -> Self {
        let throttle = Throttle::new(parts.limits);
        Self(Arc::new(Inner { parts, throttle }))
    }

    /// The region of calls that name none.
    pub fn region(&self) -> &RegionId {
        &self.0.parts.region
    }

    /// Calls an action and reads its reply. A reply that lacks a field which `T` needs is an error:
    /// the cloud's own, if it carries a code.
    pub async fn call<T: DeserializeOwned>(&self, request: &Request) -> Result<T, Error> {
        let value = self.value(request).await?;
        match T::deserialize(&value) {
            Ok(reply) => Ok(reply),
            Err(parse) => Err(match self.failure_in(request, &value) {
                Some(error) => error,
                None => Error {
                    request_id: text(&value, "RequestId"),
                    ..error(request, Class::Malformed, format!("the answer is not understood: {parse}"))
                },
            }),
        }
    }

    /// Calls an action of whose reply nothing is needed.
    pub async fn run(&self, request: &Request) -> Result<(), Error> {
        let value = self.value(request).await?;
        self.failure_in(request, &value).map_or(Ok(()), Err)
    }

    /// Calls an action and returns its reply as it came.
    pub async fn value(&self, request: &Request) -> Result<Value, Error> {
        let Inner { parts, .. } = &*self.0;
        let tokened;
        let request = if request.fresh_token {
            tokened = request.clone().param("ClientToken", parts.entropy.uuid());
            &tokened
        } else {
            request
        };
        let mut retries = Retries::new(parts.policy);
        let mut renewed = false;
        let mut may_have_happened = false;
        loop {
            let (key, error) = match self.attempt(request).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            // The key may have been replaced before its time: ask for another, once.
            if let Some(key) = key.filter(|_| classify::rejects_the_key(&error.code)) {
                parts.credentials.rejected(&key);
                if !renewed {
                    renewed = true;
                    continue;
                }
            }
            may_have_happened |= request.kind == Kind::Write && error.class == Class::Unknown;
            let Some(wait) = retries.next(request, &error, &parts.entropy) else {
                // That a later attempt was refused says nothing about an earlier one.
                let class = if may_have_happened { Class::Unknown } else { error.class };
                return Err(Error { class, ..error });
            };
            debug!(%error, wait.seconds = wait.as_secs_f64(), "calling again");
            parts.metrics.retry(request.product, &request.action);
            sleep(wait).await;
        }
    }

    /// One attempt. A failure comes with the id of the key that was used, if it came that far.
    async fn attempt(&self, request: &Request) -> Result<Value, (Option<String>, Error)> {
        let Inner { parts, throttle } = &*self.0;
        let Request { product, action, kind, .. } = request;
        let waited = throttle.acquire(*product, action, *kind).await.map_err(|wait| {
            let message = format!("not sent: the rate limit leaves no room for another {}s", wait.as_secs());
            (None, Error { retry_after: Some(wait), ..error(request, Class::Throttled, message) })
        })?;
        parts.metrics.waited(*product, action, waited);
        let key = parts
            .credentials
            .credentials()
            .await
            .map_err(|failure| (None, error(request, Class::Transient, failure.to_string())))?;
        let _turn = match &request.one_at_a_time {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let http = self
            .sign(request, &key)
            .map_err(|failure| (None, error(request, Class::Invalid, format!("cannot be sent: {failure}"))))?;

        let host = http.uri().authority().map(ToString::to_string).unwrap_or_default();
        let start = Instant::now();
        let result = match timeout(ATTEMPT_TIMEOUT, parts.transport.send(http)).await {
            Ok(Ok(response)) => self.read(request, &response),
            Ok(Err(failure)) => Err(unreached(request, &host, &failure)),
            Err(_) => Err(unreached(request, &host, &TransportError::new("timed out", Reached::Maybe))),
        };
        let outcome = result.as_ref().map_or_else(|error| error.class.as_str(), |_| "ok");
        parts.metrics.attempt(*product, action, outcome, start.elapsed());
        match result {
            Ok(value) => {
                throttle.succeeded(*product, action, *kind);
                Ok(value)
            }
            Err(error) => {
                if error.class == Class::Throttled {
                    throttle.throttled(*product, action, *kind, error.retry_after.unwrap_or(THROTTLED_PAUSE));
                }
                Err((Some(key.access_key_id), error))
            }
        }
    }

    /// The request as it goes out: everything in the form body, so that no URL carries a key.
    fn sign(&self, request: &Request, key: &super::credentials::Credentials) -> http::Result<http::Request<Bytes>> {
        let Parts { region, endpoints, user_agent, clock, entropy, .. } = &self.0.parts;
        let region = request.region.as_ref().unwrap_or(region);
        let mut params: Params = request.params.clone();
        params.set("RegionId", region);
        params.set("Action", &request.action);
        params.set("Version", request.product.version());
        params.set("Format", "JSON");
        params.set("AccessKeyId", &key.access_key_id);
        params.set("SignatureMethod", "HMAC-SHA1");
        params.set("SignatureVersion", "1.0");
        params.set("SignatureNonce", entropy.uuid());
        params.set("Timestamp", clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"));
        if let Some(token) = &key.security_token {
            params.set("SecurityToken", token.expose_secret());
        }
        let signature = signature::sign("POST", &params, &key.access_key_secret);
        params.set("Signature", signature);
        http::Request::post(format!("{}/", endpoints.url(request.product, region)))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, user_agent)
            .body(signature::encode(&params).into())
    }

    fn read(&self, request: &Request, response: &http::Response<Bytes>) -> Result<Value, Error> {
        let status = response.status();
        let body = serde_json::from_slice::<Value>(response.body()).ok().filter(Value::is_object);
        if status.is_success() {
            return body.ok_or_else(|| match request.kind {
                Kind::Read => error(request, Class::Malformed, "the answer is not a JSON object".to_owned()),
                // It was carried out, as far as the status tells.
                Kind::Write => error(request, Class::Unknown, "the answer is not a JSON object".to_owned()),
            });
        }
        let body = body.unwrap_or_default();
        let mut failure = self.failure(request, status.as_u16(), &body);
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        if failure.request_id.is_empty() {
            header("x-acs-request-id").unwrap_or_default().clone_into(&mut failure.request_id);
        }
        if failure.message.is_empty() {
            failure.message = format!("the cloud answered {status}");
        }
        // Milliseconds in one header, seconds in the other.
        failure.retry_after = header("x-acs-retry-after")
            .and_then(|text| text.trim().parse().ok())
            .map(Duration::from_millis)
            .or_else(|| header("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs));
        Err(failure)
    }

    /// The error that a 2xx reply carries instead of what was expected.
    fn failure_in(&self, request: &Request, body: &Value) -> Option<Error> {
        (!classify::is_success(&text(body, "Code"))).then(|| self.failure(request, 400, body))
    }

    #[expect(clippy::unused_self, reason = "reads better beside the others")]
    fn failure(&self, request: &Request, status: u16, body: &Value) -> Error {
        let (code, message) = (text(body, "Code"), text(body, "Message"));
        let class = classify::classify(status, &code, &message, request.kind);
        // The gateway echoes what it signed, which names the key; the rest of the text suffices.
        let message = message.split(" server string to sign is:").next().unwrap_or_default().to_owned();
        Error { code, request_id: text(body, "RequestId"), ..error(request, class, message) }
    }
}

fn error(request: &Request, class: Class, message: String) -> Error {
    Error::new(class, &request.action, &request.subject, message)
}

fn unreached(request: &Request, host: &str, failure: &TransportError) -> Error {
    let class = match (request.kind, failure.reached) {
        (Kind::Write, Reached::Maybe) => Class::Unknown,
        (Kind::Read, _) | (_, Reached::Never) => Class::Transient,
    };
    let product = request.product.name().to_uppercase();
    error(request, class, format!("no answer from {product} at {host}: {failure}"))
}

fn text(body: &Value, field: &str) -> String {
    match body.get(field) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
