//! Objects read as their types: wrong types are refused, unknown fields are dropped, times and
//! quantities come out in the one way the real server writes them.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Why an object is not of its kind.
#[derive(Debug)]
pub(super) struct Unreadable(pub(super) String);

/// Reads `object` as a `K` and writes it back.
pub(super) fn read<K: Serialize + DeserializeOwned>(object: Value) -> Result<Value, Unreadable> {
    let typed: K = serde_json::from_value(object).map_err(|e| Unreadable(e.to_string()))?;
    serde_json::to_value(typed).map_err(|e| Unreadable(e.to_string()))
}

/// Paths in `sent` that reading dropped, such as `spec.prots`. Nulls and empties do not count.
pub(super) fn dropped(sent: &Value, kept: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    walk(sent, kept, "", &mut paths);
    paths
}

fn walk(sent: &Value, kept: &Value, path: &str, paths: &mut Vec<String>) {
    match (sent, kept) {
        (Value::Object(sent), Value::Object(kept)) => {
            for (key, value) in sent {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match kept.get(key) {
                    Some(kept) => walk(value, kept, &path, paths),
                    None if value.is_null() => {}
                    None => paths.push(path),
                }
            }
        }
        (Value::Array(sent), Value::Array(kept)) => {
            for (index, (sent, kept)) in sent.iter().zip(kept).enumerate() {
                walk(sent, kept, &format!("{path}[{index}]"), paths);
            }
        }
        _ => {}
    }
}
