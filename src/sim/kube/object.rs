//! Reading and editing the untyped objects of the store.

use serde_json::{Map, Value, json};

static NOTHING: Value = Value::Null;

/// The value at `path` below `object`, null when any step is missing.
pub(super) fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(object, |value, step| value.get(step).unwrap_or(&NOTHING))
}

/// The text at `path`, empty when missing.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// The list at `path`, empty when missing.
pub(super) fn items<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

pub(super) fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

pub(super) fn is_deleting(object: &Value) -> bool {
    !at(object, &["metadata", "deletionTimestamp"]).is_null()
}

pub(super) fn has_finalizers(object: &Value) -> bool {
    !items(object, &["metadata", "finalizers"]).is_empty()
}

/// `object` as a map; anything else becomes an empty one.
pub(super) fn map(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let Value::Object(map) = object else { unreachable!("made a map above") };
    map
}

/// The map under `key`, created when missing.
pub(super) fn child<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    map(map(object).entry(key).or_insert_with(|| json!({})))
}

pub(super) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    child(object, "metadata")
}

/// Sets `key` unless it already has a value that is not null or an empty string.
pub(super) fn default(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let unset = map.get(key).is_none_or(|v| v.is_null() || v.as_str() == Some(""));
    if unset {
        map.insert(key.into(), value.into());
    }
}

/// Copies `key` from `from`, or removes it where `from` has none.
pub(super) fn carry(key: &str, from: &Value, to: &mut Map<String, Value>) {
    match from.get(key) {
        Some(value) => to.insert(key.into(), value.clone()),
        None => to.remove(key),
    };
}
