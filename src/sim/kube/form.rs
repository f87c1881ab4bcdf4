//! The forms in which a client may ask for objects: whole, as a table to print, or metadata only.

use serde_json::{Value, json};

use super::{Kube, list::Page, resource::Resource, table};

/// What the Accept header asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    /// `meta.k8s.io/v1 Table`; how much of each object goes with its row.
    Table(Include),
    /// `meta.k8s.io/v1 PartialObjectMetadata`.
    Metadata,
}

/// The `includeObject` parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Include {
    Nothing,
    Metadata,
    Object,
}

// === impl Form ===

impl Form {
    /// Reads Accept (the first form that is offered) and `includeObject`.
    pub(super) fn read(accept: &str, include: &str) -> Self {
        let first = accept.split(',').next().unwrap_or_default();
        let wants = |form: &str| first.split(';').any(|p| p.trim() == form);
        if wants("as=Table") {
            Self::Table(match include {
                "None" => Include::Nothing,
                "Object" => Include::Object,
                _ => Include::Metadata,
            })
        } else if wants("as=PartialObjectMetadata") || wants("as=PartialObjectMetadataList") {
            Self::Metadata
        } else {
            Self::Whole
        }
    }

    /// One object in this form.
    pub(super) fn one(&self, resource: &Resource, object: &Value, kube: &Kube) -> Value {
        match self {
            Self::Whole => object.clone(),
            Self::Table(include) => {
                let metadata = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
                table::render(resource, &[object], &metadata, *include, kube.now())
            }
            Self::Metadata => metadata_of(object),
        }
    }

    /// A list in this form.
    pub(super) fn list(&self, resource: &Resource, page: Page, kube: &Kube) -> Value {
        match self {
            Self::Whole => page.into_list(resource),
            Self::Table(include) => {
                let objects: Vec<&Value> = page.items.iter().map(AsRef::as_ref).collect();
                table::render(resource, &objects, &page.metadata(), *include, kube.now())
            }
            Self::Metadata => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": page.metadata(),
                "items": page.items.iter().map(|o| metadata_of(o)).collect::<Vec<_>>(),
            }),
        }
    }

    /// A watch's bookmark in this form.
    pub(super) fn bookmark(&self, object: Value) -> Value {
        match self {
            Self::Whole => object,
            Self::Table(_) => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
                "columnDefinitions": [], "rows": [],
            }),
            Self::Metadata => metadata_of(&object),
        }
    }
}

/// Only the metadata of an object.
pub(super) fn metadata_of(object: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
}
