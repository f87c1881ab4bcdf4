//! The API over HTTP: reads a request, calls the store, writes the answer.

mod path;

use std::{collections::BTreeMap, io};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header, request::Parts};
use serde_json::{Value, json};

use self::path::Place;
use super::{
    Kube, discovery,
    failure::Failure,
    fault::Effect,
    form::Form,
    list::Query,
    object::text,
    patch::Patch,
    resource::Resource,
    scale,
    watch::Watch,
    write::{Deleted, Options, Part, Preconditions, Target},
};

/// The real server's limit for a body.
const BODY_LIMIT: usize = 3 << 20;

/// The whole API as one service.
pub(super) fn router(kube: Kube) -> Router {
    Router::new().fallback(serve).with_state(kube)
}

async fn serve(State(kube): State<Kube>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let effect = kube.take_fault(&parts.method, parts.uri.path());
    match effect {
        Some(Effect::Delay(delay)) => tokio::time::sleep(delay).await,
        Some(Effect::Refuse) => return finish(&kube, &parts, broken()),
        Some(Effect::Status(code)) => return finish(&kube, &parts, injected(code)),
        _ => {}
    }
    let answer = match to_bytes(body, BODY_LIMIT).await {
        Ok(body) => Call::read(&kube, &parts, &body).and_then(|call| call.answer()),
        Err(_) => Err(Failure::new(413, "RequestEntityTooLarge", "the request entity is too large")),
    };
    let response = answer.unwrap_or_else(|failure| refusal(&failure));
    let response = if matches!(effect, Some(Effect::LoseAnswer)) { broken() } else { response };
    finish(&kube, &parts, response)
}

fn finish(kube: &Kube, parts: &Parts, response: Response) -> Response {
    kube.record(parts, response.status().as_u16());
    response
}

/// One request, as far as it has been understood.
struct Call<'a> {
    kube: &'a Kube,
    method: &'a Method,
    headers: &'a HeaderMap,
    path: &'a str,
    query: Query,
    body: &'a Bytes,
}

// === impl Call ===

impl<'a> Call<'a> {
    fn read(kube: &'a Kube, parts: &'a Parts, body: &'a Bytes) -> Result<Self, Failure> {
        let query = parts.uri.query().unwrap_or_default();
        let query: BTreeMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let call = Self {
            kube,
            method: &parts.method,
            headers: &parts.headers,
            path: parts.uri.path(),
            query: Query(query),
            body,
        };
        let dry_run = call.query.text("dryRun");
        if !matches!(dry_run, "" | "All") {
            return Err(Failure::bad_request(format!(
                "dryRun: Unsupported value: {dry_run:?}: supported values: \"All\""
            )));
        }
        Ok(call)
    }

    fn answer(&self) -> Result<Response, Failure> {
        if let Some(document) = discovery::answer(self.path) {
            return Ok(document);
        }
        let place = path::read(self.path).ok_or_else(Failure::no_such_path)?;
        match place.name.as_deref() {
            None => self.collection(&place),
            Some(name) => {
                let namespace = place.namespace.as_deref().unwrap_or_default();
                let target = Target { resource: place.resource, namespace, name };
                match place.subresource.as_deref() {
                    None => self.object(target, Part::Main),
                    Some("status") => self.object(target, Part::Status),
                    Some("scale") => self.scale(target),
                    Some(_) => Err(Failure::no_such_path()),
                }
            }
        }
    }

    fn collection(&self, place: &Place) -> Result<Response, Failure> {
        let (resource, namespace) = (place.resource, place.namespace.as_deref());
        match *self.method {
            Method::GET if self.query.flag("watch") => {
                let watch = Watch::open(self.kube, resource, namespace, &self.query, self.form())?;
                let response = Response::builder().header(header::CONTENT_TYPE, "application/json");
                Ok(response.body(Body::from_stream(watch.into_stream())).unwrap_or_default())
            }
            Method::GET => {
                let page = self.kube.store().list(resource, namespace, &self.query)?;
                Ok(reply(200, &self.form().list(resource, page, self.kube)))
            }
            Method::POST => {
                if resource.namespaced && namespace.is_none() {
                    return Err(Failure::method_not_allowed());
                }
                let body = self.object_body()?;
                let created =
                    self.kube.store().create(resource, namespace.unwrap_or_default(), body, self.options())?;
                Ok(self.show(201, resource, &created))
            }
            Method::DELETE => self.delete_all(place),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    fn delete_all(&self, place: &Place) -> Result<Response, Failure> {
        let (_, dry_run) = self.delete_options()?;
        let mut store = self.kube.store();
        let page = store.list(place.resource, place.namespace.as_deref(), &self.query)?;
        for object in &page.items {
            let namespace = text(object, &["metadata", "namespace"]);
            let target = Target { resource: place.resource, namespace, name: text(object, &["metadata", "name"]) };
            store.delete(target, &Preconditions::default(), dry_run)?;
        }
        drop(store);
        Ok(reply(200, &page.into_list(place.resource)))
    }

    fn object(&self, target: Target<'_>, part: Part) -> Result<Response, Failure> {
        let resource = target.resource;
        match *self.method {
            Method::GET => {
                let object = self.kube.store().get(target)?;
                Ok(self.show(200, resource, &object))
            }
            Method::PUT => {
                let body = self.object_body()?;
                let updated = self.kube.store().update(target, part, body, self.options())?;
                Ok(self.show(200, resource, &updated))
            }
            Method::PATCH => {
                let patch = Patch::read(self.content_type(), self.body)?;
                let (created, object) = self.kube.store().patch(target, part, &patch, self.options())?;
                Ok(self.show(if created { 201 } else { 200 }, resource, &object))
            }
            Method::DELETE if part == Part::Main => {
                let (preconditions, dry_run) = self.delete_options()?;
                match self.kube.store().delete(target, &preconditions, dry_run)? {
                    Deleted::Waiting(object) => Ok(self.show(200, resource, &object)),
                    Deleted::Gone(object) if resource.returns_deleted => Ok(self.show(200, resource, &object)),
                    Deleted::Gone(object) => Ok(reply(200, &deleted_status(resource, &object))),
                }
            }
            _ => Err(Failure::method_not_allowed()),
        }
    }

    fn scale(&self, target: Target<'_>) -> Result<Response, Failure> {
        let mut store = self.kube.store();
        let scale = match *self.method {
            Method::GET => scale::read(&*store.get(target)?),
            Method::PUT => scale::write(&mut store, target, &self.object_body()?, self.options())?,
            Method::PATCH => {
                let patch = Patch::read(self.content_type(), self.body)?;
                let patched = patch.apply(&scale::read(&*store.get(target)?))?;
                scale::write(&mut store, target, &patched, self.options())?
            }
            _ => return Err(Failure::method_not_allowed()),
        };
        Ok(reply(200, &scale))
    }

    fn show(&self, code: u16, resource: &Resource, object: &Value) -> Response {
        reply(code, &self.form().one(resource, object, self.kube))
    }

    fn form(&self) -> Form {
        Form::read(self.header(header::ACCEPT), self.query.text("includeObject"))
    }

    fn options(&self) -> Options {
        Options { dry_run: self.query.text("dryRun") == "All", strict: self.query.text("fieldValidation") == "Strict" }
    }

    fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    fn content_type(&self) -> &str {
        self.header(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    fn object_body(&self) -> Result<Value, Failure> {
        match self.content_type() {
            "" | "application/json" => serde_json::from_slice(self.body)
                .map_err(|e| Failure::bad_request(format!("couldn't get version/kind; json parse error: {e}"))),
            "application/yaml" => serde_yaml::from_slice(self.body)
                .map_err(|e| Failure::bad_request(format!("error converting YAML to JSON: {e}"))),
            other => Err(Failure::new(
                415,
                "UnsupportedMediaType",
                format!(
                    "the body of the request was in an unknown format ({other}) - accepted media types include: \
                     application/json, application/yaml"
                ),
            )),
        }
    }

    /// `DeleteOptions` from body and query. Grace periods and propagation need controllers that
    /// do not exist here: what nothing holds back is gone at once, and dependents stay.
    fn delete_options(&self) -> Result<(Preconditions, bool), Failure> {
        let body = if self.body.is_empty() { Value::Null } else { self.object_body()? };
        let precondition = |key: &str| body["preconditions"][key].as_str().map(str::to_owned);
        let preconditions =
            Preconditions { uid: precondition("uid"), resource_version: precondition("resourceVersion") };
        Ok((preconditions, self.options().dry_run || body["dryRun"][0] == "All"))
    }
}

fn deleted_status(resource: &Resource, object: &Value) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {
            "name": object["metadata"]["name"], "kind": resource.plural, "uid": object["metadata"]["uid"],
        },
    });
    if !resource.group.is_empty() {
        status["details"]["group"] = resource.group.into();
    }
    status
}

pub(super) fn reply(code: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, "application/json");
    response.body(Body::from(body.to_string())).unwrap_or_default()
}

fn refusal(failure: &Failure) -> Response {
    let mut response = reply(failure.code, &failure.status());
    if failure.code == 429 {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    response
}

fn injected(code: u16) -> Response {
    let (reason, message) = match code {
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "access to the requested resource is forbidden"),
        404 => ("NotFound", "the server could not find the requested resource"),
        409 => {
            ("Conflict", "the object has been modified; please apply your changes to the latest version and try again")
        }
        410 => ("Expired", "too old resource version"),
        429 => ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "the server was unable to return a response in the time allotted"),
        _ => ("InternalError", "Internal error occurred"),
    };
    refusal(&Failure::new(code, reason, message))
}

/// An answer whose body breaks off: over a socket the connection closes, without one the client
/// gets the same read error.
fn broken() -> Response {
    let error = io::Error::new(io::ErrorKind::ConnectionReset, "connection reset");
    Response::new(Body::from_stream(futures::stream::iter([Err::<Bytes, _>(error)])))
}
