//! The four kinds of patch that the API takes.

mod strategic;

use serde_json::Value;

use super::failure::Failure;

/// A patch as its content type and body say.
#[derive(Clone, Debug)]
pub(super) enum Patch {
    /// `application/merge-patch+json`, RFC 7396.
    Merge(Value),
    /// `application/json-patch+json`, RFC 6902.
    Json(json_patch::Patch),
    /// `application/strategic-merge-patch+json`: lists are merged by key.
    Strategic(Value),
    /// `application/apply-patch+yaml`: creates what is absent, else merges. Field ownership is not
    /// tracked: fields that an applier stops sending stay.
    Apply(Value),
}

// === impl Patch ===

impl Patch {
    /// Reads a patch of the given content type.
    pub(super) fn read(content_type: &str, body: &[u8]) -> Result<Self, Failure> {
        let json =
            || serde_json::from_slice(body).map_err(|e| Failure::bad_request(format!("error decoding patch: {e}")));
        match content_type {
            "application/merge-patch+json" => Ok(Self::Merge(json()?)),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic(json()?)),
            "application/json-patch+json" => serde_json::from_slice(body)
                .map(Self::Json)
                .map_err(|e| Failure::bad_request(format!("error decoding patch: {e}"))),
            "application/apply-patch+yaml" | "application/apply-patch+json" => serde_yaml::from_slice(body)
                .map(Self::Apply)
                .map_err(|e| Failure::bad_request(format!("error decoding YAML: {e}"))),
            other => Err(Failure::new(
                415,
                "UnsupportedMediaType",
                format!(
                    "the body of the request was in an unknown format ({other}) - accepted media types include: \
                     application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, \
                     application/apply-patch+yaml"
                ),
            )),
        }
    }

    /// Whether it creates the object it is for.
    pub(super) fn creates(&self) -> bool {
        matches!(self, Self::Apply(_))
    }

    /// The object that results.
    pub(super) fn apply(&self, current: &Value) -> Result<Value, Failure> {
        let mut object = current.clone();
        match self {
            Self::Merge(patch) => json_patch::merge(&mut object, patch),
            Self::Strategic(patch) | Self::Apply(patch) => strategic::merge(&mut object, patch)?,
            Self::Json(patch) => {
                let operations: Vec<_> = patch.iter().filter(|o| !tests_absence(o, current)).cloned().collect();
                json_patch::patch(&mut object, &operations).map_err(|e| {
                    let message = format!("the server rejected our request due to an error in our request: {e}");
                    Failure::new(422, "Invalid", message)
                })?;
            }
        }
        Ok(object)
    }
}

/// The Go server holds an absent value equal to null; kube's `finalizer()` relies on it.
fn tests_absence(operation: &json_patch::PatchOperation, current: &Value) -> bool {
    match operation {
        json_patch::PatchOperation::Test(test) => test.value.is_null() && current.pointer(test.path.as_str()).is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
