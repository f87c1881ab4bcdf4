//! Holds a reply to the contract's tree of names and types.

use serde_json::Value;

use super::{Kind, Shape};

/// Every place where `reply` departs from `shape`: unknown fields and wrong types.
pub(crate) fn breaches(shape: &Shape, reply: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(shape, reply, "", &mut found);
    found
}

fn walk(shape: &Shape, value: &Value, path: &str, found: &mut Vec<String>) {
    let fits = match shape.kind {
        Kind::String => value.is_string(),
        Kind::Integer => value.is_i64() || value.is_u64(),
        Kind::Number => value.is_number(),
        Kind::Boolean => value.is_boolean(),
        Kind::Array => value.is_array(),
        Kind::Object => value.is_object(),
        Kind::Unknown => true,
    };
    if !fits {
        found.push(format!("{path}: {value} is not of type {:?}", shape.kind));
        return;
    }
    if let (Value::Array(elements), Some(items)) = (value, &shape.items) {
        for (index, element) in elements.iter().enumerate() {
            walk(items, element, &format!("{path}[{index}]"), found);
        }
    }
    if let (Value::Object(members), Some(fields)) = (value, &shape.fields) {
        for (name, member) in members {
            match fields.get(name) {
                Some(field) => walk(field, member, &format!("{path}.{name}"), found),
                // Some trees of the published contract stop short of the innermost fields.
                None if fields.is_empty() => {}
                None => found.push(format!("{path}.{name}: not in the contract")),
            }
        }
    }
}
