//! The documents that tell a client what is served: discovery, version, OpenAPI, health.

mod openapi;

use axum::{body::Body, response::Response};
use http::header;
use serde_json::{Value, json};

use super::{
    http::reply,
    resource::{RESOURCES, Resource, Status, groups},
};

/// The document at `path`; none if it is not one of these.
pub(super) fn answer(path: &str) -> Option<Response> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let document = match segments.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => return Some(plain("ok")),
        [""] => json!({ "paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"] }),
        ["version"] => version(),
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        ["api", "v1"] => resources(""),
        ["apis"] => {
            let groups: Vec<Value> = groups().into_iter().filter(|g| !g.is_empty()).map(group).collect();
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
        }
        ["apis", name] if is_served(name) => {
            let mut group = group(name);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            group
        }
        ["apis", name, "v1"] if is_served(name) => resources(name),
        ["openapi", "v3"] => openapi::index(),
        ["openapi", "v3", "api", "v1"] => openapi::document(""),
        ["openapi", "v3", "apis", name, "v1"] if is_served(name) => openapi::document(name),
        _ => return None,
    };
    Some(reply(200, &document))
}

fn plain(text: &'static str) -> Response {
    let response = Response::builder().header(header::CONTENT_TYPE, "text/plain; charset=utf-8");
    response.body(Body::from(text)).unwrap_or_default()
}

fn is_served(group: &str) -> bool {
    !group.is_empty() && RESOURCES.iter().any(|r| r.group == group)
}

/// The oldest supported server; clients decide by it what they may use.
fn version() -> Value {
    json!({
        "major": "1", "minor": "33", "gitVersion": "v1.33.0+simulated", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "linux/amd64",
    })
}

fn group(name: &str) -> Value {
    let version = json!({ "groupVersion": format!("{name}/v1"), "version": "v1" });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

fn resources(group: &str) -> Value {
    let served = RESOURCES.iter().filter(|r| r.group == group);
    let resources: Vec<Value> = served.flat_map(entries).collect();
    let version = if group.is_empty() { "v1".into() } else { format!("{group}/v1") };
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources })
}

fn entries(resource: &Resource) -> Vec<Value> {
    let mut main = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    });
    if !resource.short.is_empty() {
        main["shortNames"] = json!(resource.short);
    }
    if resource.in_all {
        main["categories"] = json!(["all"]);
    }
    let mut entries = vec![main];
    let subresource = |name: &str, kind: &str| {
        json!({
            "name": format!("{}/{name}", resource.plural), "singularName": "",
            "namespaced": resource.namespaced, "kind": kind, "verbs": ["get", "patch", "update"],
        })
    };
    if resource.status != Status::None {
        entries.push(subresource("status", resource.kind));
    }
    if resource.scalable {
        let mut scale = subresource("scale", "Scale");
        scale["group"] = "autoscaling".into();
        scale["version"] = "v1".into();
        entries.push(scale);
    }
    entries
}
