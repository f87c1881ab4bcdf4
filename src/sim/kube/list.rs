//! Lists: which version, which objects, in pages.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{
    failure::Failure,
    object,
    resource::Resource,
    selector::Selector,
    store::{Key, Store},
    write::shown,
};

/// The query of a list or watch, as sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(pub(super) BTreeMap<String, String>);

/// The answer to a list.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) items: Vec<Arc<Value>>,
    pub(super) revision: u64,
    /// Token for the next page; empty on the last.
    pub(super) next: String,
    /// Objects after this page, where the real server tells it.
    pub(super) remaining: Option<usize>,
}

// === impl Query ===

impl Query {
    pub(super) fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        matches!(self.text(key), "true" | "1")
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, Failure> {
        let text = self.text(key);
        let bad = |_| Failure::bad_request(format!("invalid value {text:?} for query parameter {key}"));
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(bad) }
    }

    pub(super) fn selector(&self, resource: &Resource) -> Result<Selector, Failure> {
        Selector::read(resource, self.text("labelSelector"), self.text("fieldSelector"))
    }
}

// === impl Page ===

impl Page {
    /// The list object of a kind.
    pub(super) fn into_list(self, resource: &Resource) -> Value {
        let items: Vec<Value> = self.items.iter().map(|item| bare(item)).collect();
        json!({
            "kind": format!("{}List", resource.kind),
            "apiVersion": resource.api_version(),
            "metadata": self.metadata(),
            "items": items,
        })
    }

    pub(super) fn metadata(&self) -> Value {
        let mut metadata = json!({ "resourceVersion": self.revision.to_string() });
        if !self.next.is_empty() {
            metadata["continue"] = self.next.clone().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

/// Elements of a list carry no kind of their own.
fn bare(item: &Value) -> Value {
    let mut item = item.clone();
    let fields = object::map(&mut item);
    fields.remove("kind");
    fields.remove("apiVersion");
    item
}

// === impl Store ===

impl Store {
    /// The objects that `query` asks for.
    pub(super) fn list(&self, resource: &Resource, namespace: Option<&str>, query: &Query) -> Result<Page, Failure> {
        let selector = query.selector(resource)?;
        let limit = query.number("limit")?.and_then(|l| usize::try_from(l).ok()).filter(|l| *l > 0);
        let asked = query.number("resourceVersion")?;
        let token = query.text("continue");
        let (revision, after) = if token.is_empty() {
            (self.list_revision(query, asked, limit.is_some())?, None)
        } else {
            let (revision, after) = read_token(resource, token)?;
            (revision, Some(after))
        };
        let objects = self.snapshot(resource.stored(), namespace, revision).ok_or_else(|| {
            Failure::expired(
                "The provided continue parameter is too old to display a consistent list result. You must start a new \
                 list without the continue parameter.",
            )
        })?;
        // Served from the real server's cache: the limit is ignored.
        let limit = if asked == Some(0) { None } else { limit };
        let mut selected = objects
            .into_iter()
            .filter(|(key, object)| after.as_ref().is_none_or(|a| key > a) && selector.matches(object));
        let mut items = Vec::new();
        let mut last = None;
        for (key, object) in selected.by_ref().take(limit.unwrap_or(usize::MAX)) {
            items.push(shown(resource, &object));
            last = Some(key);
        }
        let left = selected.count();
        let next = last.filter(|_| left > 0).map(|key| write_token(revision, &key)).unwrap_or_default();
        Ok(Page { items, revision, next, remaining: (left > 0 && selector.is_empty()).then_some(left) })
    }

    fn list_revision(&self, query: &Query, asked: Option<u64>, paged: bool) -> Result<u64, Failure> {
        let current = self.revision();
        match (query.text("resourceVersionMatch"), asked) {
            (_, Some(asked)) if asked > current => Err(Failure::too_large_version(asked, current)),
            ("Exact", Some(asked)) if asked > 0 => Ok(asked),
            ("Exact", _) => Err(Failure::bad_request(
                "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\" or unset",
            )),
            ("NotOlderThan", None) => {
                Err(Failure::bad_request("resourceVersionMatch is forbidden unless resourceVersion is provided"))
            }
            // Without a match rule, a page of a given version means exactly that version.
            ("", Some(asked)) if paged && asked > 0 => Ok(asked),
            _ => Ok(current),
        }
    }
}

fn write_token(revision: u64, after: &Key) -> String {
    let token = json!({ "v": "meta.k8s.io/v1", "rv": revision, "start": [after.namespace, after.name] });
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(resource: &Resource, token: &str) -> Result<(u64, Key), Failure> {
    let bad = || Failure::bad_request(format!("continue key is not valid: {token:?}"));
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| bad())?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| bad())?;
    let part = |index: usize| token["start"][index].as_str().ok_or_else(bad);
    let revision = token["rv"].as_u64().ok_or_else(bad)?;
    Ok((revision, Key::new(resource, part(0)?, part(1)?)))
}
