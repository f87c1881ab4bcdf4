//! Shows stored attributes in a reply: the names and types are the contract's.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Kind, Shape};

/// Those plain fields that `get` knows, each in the contract's type.
pub(crate) fn shown<'a>(fields: &BTreeMap<String, Shape>, get: impl Fn(&str) -> Option<&'a str>) -> Map<String, Value> {
    let typed = |name: &str, shape: &Shape| -> Option<Value> {
        let text = get(name)?;
        match shape.kind {
            Kind::Integer => text.parse::<i64>().ok().map(Value::from),
            Kind::Boolean => Some(Value::from(text.eq_ignore_ascii_case("true"))),
            Kind::String => Some(Value::from(text)),
            _ => None,
        }
    };
    fields.iter().filter_map(|(name, shape)| Some((name.clone(), typed(name, shape)?))).collect()
}
