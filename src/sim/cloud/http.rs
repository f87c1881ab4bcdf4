//! The simulated cloud over HTTP: one router for all products and the metadata server.

use std::fmt::Write as _;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request as HttpRequest, State as Extracted},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderValue, header::CONTENT_TYPE};
use serde_json::Value;

use super::{
    Cloud,
    error::Failure,
    fault::Kind,
    gateway::{Arrival, Served},
    wire::Request,
};

/// Marks an answer that stands for a broken connection. Its body fails when it is read; a
/// transport without sockets can look at the header instead.
pub const DROP_HEADER: &str = "x-sim-drop";

/// The content type of all answers that are not XML.
const JSON: &str = "application/json;charset=utf-8";

/// The largest request body that is read.
const BODY_LIMIT: usize = 4 << 20;

pub(super) fn router(cloud: Cloud) -> Router {
    Router::new().fallback(serve).with_state(cloud)
}

async fn serve(Extracted(cloud): Extracted<Cloud>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_LIMIT).await else {
        let failure =
            Failure::new(413, "RequestEntityTooLarge", format!("The body is larger than {BODY_LIMIT} bytes."));
        let id = cloud.inner.lock().entropy.uuid().to_uppercase();
        return reply(failure.status, JSON, failure.body(&id, "localhost", "").to_string());
    };
    let request = Request::new(parts.method, &parts.uri, parts.headers, body);
    if request.path.starts_with("/latest") {
        return cloud.metadata(&request).await;
    }
    if request.path.starts_with("/_sim") {
        return cloud.control(&request);
    }
    let arrival = cloud.inner.lock().arrive(&request);
    let delay = arrival.delay(&cloud.options());
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let clock = cloud.clock.now();
    let served = cloud.inner.lock().serve(&request, &arrival, clock);
    respond(&request, &arrival, &served)
}

fn respond(request: &Request, arrival: &Arrival, served: &Served) -> Response {
    if served.dropped {
        return broken();
    }
    let xml = request.param("Format").is_some_and(|format| format.eq_ignore_ascii_case("xml"));
    let (status, body) = match &served.outcome {
        Ok(reply) if xml => (200, to_xml(&format!("{}Response", arrival.action), reply)),
        Ok(reply) => (200, reply.to_string()),
        Err(failure) if xml => (failure.status, failure.xml(&arrival.request_id, request.host(), &arrival.product)),
        Err(failure) => {
            (failure.status, failure.body(&arrival.request_id, request.host(), &arrival.product).to_string())
        }
    };
    let mut bytes = Bytes::from(body);
    if arrival.fault == Some(Kind::TruncatedJson) {
        bytes.truncate(bytes.len() / 2);
    }
    let mut response = reply(status, if xml { "text/xml;charset=utf-8" } else { JSON }, bytes);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&arrival.request_id) {
        headers.insert("x-acs-request-id", id);
    }
    if let Err(failure) = &served.outcome
        && let Some(wait) = failure.retry_after
    {
        // Which of the two a caller reads depends on the language of its SDK; the time left is
        // in milliseconds too.
        let wait = wait.as_millis();
        for (name, text) in
            [("x-acs-retry-after", wait.to_string()), ("x-ratelimit-user-api", format!("TimeLeft:{wait}"))]
        {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(name, value);
            }
        }
    }
    response
}

/// A plain answer.
pub(super) fn reply(status: u16, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::BAD_REQUEST);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An answer whose body breaks off before its first byte, so that a server on a socket
/// closes the connection and a reader without one gets an error.
pub(super) fn broken() -> Response {
    let cut = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "the simulated connection was cut");
    let body = Body::from_stream(futures::stream::once(async { Err::<Bytes, _>(cut) }));
    let mut response = reply(200, JSON, body);
    response.headers_mut().insert(DROP_HEADER, HeaderValue::from_static("1"));
    response
}

/// The XML form of a reply: elements of a list repeat the list's name.
fn to_xml(root: &str, reply: &Value) -> String {
    let mut text = String::from("<?xml version='1.0' encoding='UTF-8'?>");
    element(root, reply, &mut text);
    text
}

fn element(name: &str, value: &Value, text: &mut String) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|one| element(name, one, text)),
        Value::Object(fields) => {
            let _ = write!(text, "<{name}>");
            fields.iter().for_each(|(name, value)| element(name, value, text));
            let _ = write!(text, "</{name}>");
        }
        plain => {
            let plain = plain.as_str().map_or_else(|| plain.to_string(), super::error::escape);
            let _ = write!(text, "<{name}>{plain}</{name}>");
        }
    }
}
