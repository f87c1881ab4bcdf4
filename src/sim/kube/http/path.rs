//! What a path under `/api` and `/apis` is about.

use percent_encoding::percent_decode_str;

use crate::sim::kube::resource::{Resource, Status, find};

/// A collection, an object, or a subresource of one.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) resource: &'static Resource,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

/// Reads a path; none if nothing is served there.
pub(super) fn read(path: &str) -> Option<Place> {
    let decoded: Vec<String> = path
        .trim_matches('/')
        .split('/')
        .map(|s| percent_decode_str(s).decode_utf8().map(Into::into))
        .collect::<Result<_, _>>()
        .ok()?;
    let segments: Vec<&str> = decoded.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["api", "v1", rest @ ..] => in_group("", rest),
        ["apis", group, "v1", rest @ ..] if !group.is_empty() => in_group(group, rest),
        _ => None,
    }
}

fn in_group(group: &str, rest: &[&str]) -> Option<Place> {
    if let ["namespaces", namespace, plural, rest @ ..] = rest
        && let Some(resource) = find(group, plural).filter(|r| r.namespaced)
    {
        return place(resource, Some(namespace), rest);
    }
    let (plural, rest) = rest.split_first()?;
    let resource = find(group, plural)?;
    // A namespaced object has no address outside its namespace.
    if resource.namespaced && !rest.is_empty() {
        return None;
    }
    place(resource, None, rest)
}

fn place(resource: &'static Resource, namespace: Option<&str>, rest: &[&str]) -> Option<Place> {
    let (name, subresource) = match rest {
        [] => (None, None),
        [name] => (Some(*name), None),
        [name, "status"] if resource.status != Status::None => (Some(*name), Some("status")),
        [name, "scale"] if resource.scalable => (Some(*name), Some("scale")),
        _ => return None,
    };
    let own = |text: Option<&str>| text.map(str::to_owned);
    Some(Place { resource, namespace: own(namespace), name: own(name), subresource: own(subresource) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(path: &str) -> Option<String> {
        read(path).map(|p| {
            let part = |text: Option<String>| text.unwrap_or_else(|| "-".into());
            format!("{} {} {} {}", p.resource.qualified(), part(p.namespace), part(p.name), part(p.subresource))
        })
    }

    #[test]
    fn paths_name_collections_objects_and_subresources() {
        let table = [
            ("/api/v1/nodes", Some("nodes - - -")),
            ("/api/v1/nodes/n1/status", Some("nodes - n1 status")),
            ("/api/v1/services", Some("services - - -")),
            ("/api/v1/services/web", None),
            ("/api/v1/namespaces/default", Some("namespaces - default -")),
            ("/api/v1/namespaces/default/status", Some("namespaces - default status")),
            ("/api/v1/namespaces/default/services/web", Some("services default web -")),
            ("/api/v1/namespaces/default/services/web/status", Some("services default web status")),
            ("/api/v1/namespaces/default/configmaps/web/status", None),
            ("/apis/apps/v1/namespaces/default/deployments/web/scale", Some("deployments.apps default web scale")),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Accm",
                Some("clusterroles.rbac.authorization.k8s.io - system:ccm -"),
            ),
            ("/apis/apps/v2/deployments", None),
            ("/elsewhere", None),
        ];
        for (path, wanted) in table {
            assert_eq!(describe(path).as_deref(), wanted, "{path}");
        }
    }
}
