//! Reads replies with the tolerance that they need.
//!
//! Numbers may come as text and text as numbers, lists may be wrapped in an object or absent,
//! and absent or empty text means the same. What a caller cannot do without is a plain field,
//! whose absence is an error.

use std::{collections::BTreeMap, fmt, marker::PhantomData, net::IpAddr, str::FromStr};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// A list, bare or wrapped in an object with one field: `[…]` or `{"LoadBalancer": […]}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

/// A tag as `{TagKey, TagValue}` or `{Key, Value}`.
#[derive(Clone, Debug, Deserialize)]
pub struct Tag {
    #[serde(default, rename = "TagKey", alias = "Key", deserialize_with = "text")]
    key: String,
    #[serde(default, rename = "TagValue", alias = "Value", deserialize_with = "text")]
    value: String,
}

// === impl Tag ===

impl Tag {
    /// Whether it is this tag.
    pub fn is(&self, key: &str, value: &str) -> bool {
        self.key == key && self.value == value
    }
}

// === impl List ===

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list, or an object around one")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(List::default())
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                if text.is_empty() { Ok(List::default()) } else { Err(E::custom("text in place of a list")) }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let Some((_, inner)) = map.next_entry::<String, Value>()? else { return Ok(List::default()) };
                if map.next_entry::<String, Value>()?.is_some() {
                    return Err(A::Error::custom("an object with several fields in place of a list"));
                }
                match inner {
                    Value::Null => Ok(List::default()),
                    Value::Array(items) => items
                        .into_iter()
                        .map(|item| T::deserialize(item).map_err(A::Error::custom))
                        .collect::<Result<_, _>>()
                        .map(List),
                    _ => Err(A::Error::custom("an object without a list in place of a list")),
                }
            }
        }

        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Text, also from a number or a boolean; empty if `null`.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    optional_text(deserializer).map(Option::unwrap_or_default)
}

/// A part that is absent or `null`: as if it were empty. One odd part must not spoil the list it stands in.
pub fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Text that is absent, `null` or empty: `None`.
pub fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        value @ (Value::Number(_) | Value::Bool(_)) => Ok(Some(value.to_string())),
        Value::Array(_) | Value::Object(_) => Err(D::Error::custom("a structure in place of text")),
    }
}

/// A number, also from text.
pub fn number<'de, D: Deserializer<'de>, N: FromStr>(deserializer: D) -> Result<N, D::Error> {
    optional_number(deserializer)?.ok_or_else(|| D::Error::custom("no number"))
}

/// A number, also from text; absent, `null` or empty: `None`.
pub fn optional_number<'de, D: Deserializer<'de>, N: FromStr>(deserializer: D) -> Result<Option<N>, D::Error> {
    optional_text(deserializer)?
        .map(|text| text.trim().parse().map_err(|_| D::Error::custom(format!("{text:?} is not such a number"))))
        .transpose()
}

/// A boolean, also from text in any case; absent, `null` or empty: `None`.
pub fn optional_bool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match optional_text(deserializer)?.map(|text| text.to_ascii_lowercase()).as_deref() {
        None => Ok(None),
        Some("true" | "on") => Ok(Some(true)),
        Some("false" | "off") => Ok(Some(false)),
        Some(other) => Err(D::Error::custom(format!("{other:?} is neither true nor false"))),
    }
}

/// Tags by key.
pub fn tags(list: impl IntoIterator<Item = Tag>) -> BTreeMap<String, String> {
    list.into_iter().filter(|tag| !tag.key.is_empty()).map(|tag| (tag.key, tag.value)).collect()
}

/// The texts that are addresses; the cloud fills some fields with empty text.
pub fn addresses(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<IpAddr> {
    texts.into_iter().filter_map(|text| text.as_ref().trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Sample {
        #[serde(default)]
        items: List<String>,
        #[serde(default, deserialize_with = "text")]
        name: String,
        #[serde(deserialize_with = "number")]
        port: u16,
        #[serde(default, deserialize_with = "optional_number")]
        weight: Option<u32>,
        #[serde(default, deserialize_with = "optional_bool")]
        check: Option<bool>,
    }

    fn sample(value: &Value) -> Result<Sample, serde_json::Error> {
        Sample::deserialize(value)
    }

    #[test]
    fn lists_may_be_bare_wrapped_or_absent() {
        for (value, items) in [
            (json!({"Port": 1, "Items": ["a", "b"]}), vec!["a", "b"]),
            (json!({"Port": 1, "Items": {"Item": ["a"]}}), vec!["a"]),
            (json!({"Port": 1, "Items": {"Item": null}}), vec![]),
            (json!({"Port": 1, "Items": {}}), vec![]),
            (json!({"Port": 1, "Items": null}), vec![]),
            (json!({"Port": 1, "Items": ""}), vec![]),
            (json!({"Port": 1}), vec![]),
        ] {
            assert_eq!(sample(&value).unwrap().items.0, items, "{value}");
        }
        for value in [json!({"Port": 1, "Items": {"A": [], "B": []}}), json!({"Port": 1, "Items": {"A": 3}})] {
            sample(&value).unwrap_err();
        }
    }

    #[test]
    fn numbers_text_and_booleans_convert() {
        let value = json!({"Name": 7, "Port": "80", "Weight": "100", "Check": "True"});
        let read = sample(&value).unwrap();
        assert_eq!((read.name.as_str(), read.port, read.weight, read.check), ("7", 80, Some(100), Some(true)));
        let read = sample(&json!({"Port": 80, "Weight": "", "Check": null})).unwrap();
        assert_eq!((read.weight, read.check), (None, None));
    }

    #[test]
    fn what_is_needed_and_absent_is_an_error() {
        sample(&json!({})).unwrap_err();
        sample(&json!({"Port": "http"})).unwrap_err();
        sample(&json!({"Port": 70000})).unwrap_err();
    }
}
