//! The parameters of one call, flat and in the order that signatures need.

use std::collections::{BTreeMap, btree_map};

use serde_json::Value;

/// Parameters by name. Names sort by their bytes (`Tag.10.Key` before `Tag.2.Key`, capitals
/// before small letters), which is the order the signature is made over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, String>);

// === impl Params ===

impl Params {
    /// Sets a parameter.
    #[expect(clippy::needless_pass_by_value, reason = "callers have references, ids and numbers alike")]
    pub fn set(&mut self, name: impl Into<String>, value: impl ToString) {
        self.0.insert(name.into(), value.to_string());
    }

    /// Sets `name.1`, `name.2` and so on, the way lists are written.
    pub fn set_list(&mut self, name: &str, values: impl IntoIterator<Item = impl ToString>) {
        for (n, value) in (1..).zip(values) {
            self.set(format!("{name}.{n}"), value);
        }
    }

    /// Adds a JSON object's fields, with lists as `Name.1` and objects as `Name.Field`. `null` is
    /// left out, an empty text is sent as such.
    pub fn flatten(&mut self, object: &Value) {
        if let Value::Object(fields) = object {
            for (name, value) in fields {
                self.flatten_value(name.clone(), value);
            }
        }
    }

    fn flatten_value(&mut self, name: String, value: &Value) {
        match value {
            Value::Null => {}
            Value::String(text) => self.set(name, text),
            Value::Bool(_) | Value::Number(_) => self.set(name, value),
            Value::Array(items) => {
                for (n, item) in (1..).zip(items) {
                    self.flatten_value(format!("{name}.{n}"), item);
                }
            }
            Value::Object(fields) => {
                for (field, item) in fields {
                    self.flatten_value(format!("{name}.{field}"), item);
                }
            }
        }
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All parameters in signing order.
    pub fn iter(&self) -> btree_map::Iter<'_, String, String> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Params {
    type Item = (&'a String, &'a String);
    type IntoIter = btree_map::Iter<'a, String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Into<String>, V: ToString> FromIterator<(K, V)> for Params {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(iter: T) -> Self {
        Self(iter.into_iter().map(|(name, value)| (name.into(), value.to_string())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alibaba::rpc::testing::vectors;

    #[test]
    fn flattens_as_the_official_clients_do() {
        for case in vectors()["flatten"].as_array().unwrap() {
            let mut params = Params::default();
            params.flatten(&case["in"]);
            // Booleans: `True` in one official client, `true` in another; the service takes both.
            let booleans = |text: &str| match text {
                "True" => "true".to_owned(),
                "False" => "false".to_owned(),
                other => other.to_owned(),
            };
            let expected: Params = case["out"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(k, v)| (k.clone(), booleans(v.as_str().unwrap())))
                .collect();
            assert_eq!(params, expected, "{}", case["name"]);
        }
    }

    #[test]
    fn lists_count_from_one() {
        let mut params = Params::default();
        params.set_list("ResourceId", ["lb-1", "lb-2"]);
        assert_eq!(params.get("ResourceId.1"), Some("lb-1"));
        assert_eq!(params.get("ResourceId.2"), Some("lb-2"));
    }
}
