//! The little of OpenAPI v3 that kubectl needs before it applies: that a kind exists, and that
//! PATCH takes `fieldValidation` (then the server checks the fields, not kubectl).

use serde_json::{Map, Value, json};

use crate::sim::kube::resource::{RESOURCES, Resource, groups};

/// `/openapi/v3`: where each group's document is.
pub(super) fn index() -> Value {
    let paths: Map<String, Value> = groups()
        .into_iter()
        .map(|group| {
            let path = if group.is_empty() { "api/v1".into() } else { format!("apis/{group}/v1") };
            let document = json!({ "serverRelativeURL": format!("/openapi/v3/{path}") });
            (path, document)
        })
        .collect();
    json!({ "paths": paths })
}

/// One group's document: every kind is an open object.
pub(super) fn document(group: &str) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for resource in RESOURCES.iter().filter(|r| r.group == group) {
        let kind = json!({ "group": resource.group, "version": resource.version, "kind": resource.kind });
        paths.insert(
            path(resource),
            json!({ "patch": {
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": kind,
                "parameters": [
                    { "name": "dryRun", "in": "query", "schema": { "type": "string" } },
                    { "name": "fieldManager", "in": "query", "schema": { "type": "string" } },
                    { "name": "fieldValidation", "in": "query", "schema": { "type": "string" } },
                ],
                "responses": {},
            } }),
        );
        schemas.insert(
            format!("{}.{}", resource.qualified(), resource.kind),
            json!({
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "x-kubernetes-group-version-kind": [kind],
            }),
        );
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "v1.33.0" },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn path(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "/api/v1".into() } else { format!("/apis/{}/v1", resource.group) };
    let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    format!("{root}{scope}/{}/{{name}}", resource.plural)
}
