//! The API server's audit log: who asked for what, and what was answered.

use std::path::Path;

use serde::Deserialize;

/// One request that was answered. <https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/>
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub struct Entry {
    /// `ResponseStarted` (watches only) or `ResponseComplete`.
    pub stage: String,
    pub verb: String,
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    pub user: User,
    pub user_agent: String,
    pub object_ref: Option<Object>,
    pub response_status: Option<Status>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct User {
    pub username: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Object {
    pub api_group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    pub code: u16,
    pub message: String,
}

// === impl Entry ===

impl Entry {
    /// Whether the request was wrong in itself: not allowed, or not understood. That an object is
    /// not there (404) or has changed meanwhile (409) is an answer.
    pub fn is_refusal(&self) -> bool {
        self.response_status
            .as_ref()
            .is_some_and(|status| (400..500).contains(&status.code) && ![404, 409].contains(&status.code))
    }

    /// The resource as RBAC names it, such as `nodes/status`.
    pub fn resource(&self) -> Option<(String, String)> {
        let object = self.object_ref.as_ref()?;
        let resource = match object.subresource.as_str() {
            "" => object.resource.clone(),
            subresource => format!("{}/{subresource}", object.resource),
        };
        Some((object.api_group.clone(), resource))
    }
}

/// The whole log so far, but for a line that is being written.
pub fn read(log: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(log).unwrap();
    let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
