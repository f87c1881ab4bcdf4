//! Strategic merge: JSON merge in which some lists are merged by key, with directives.

use serde_json::{Map, Value, json};

use crate::sim::kube::{failure::Failure, object::map};

/// How a list is patched.
enum List {
    /// Elements with the same value of this field are the same element.
    Keyed(&'static str),
    /// A set of plain values.
    Set,
    /// Replaced as a whole.
    Atomic,
}

/// Merges `patch` into `object`.
pub(super) fn merge(object: &mut Value, patch: &Value) -> Result<(), Failure> {
    let sliced = patch.get("kind").or_else(|| object.get("kind")).is_some_and(|k| k == "EndpointSlice");
    let Value::Object(patch) = patch else {
        return Err(Failure::bad_request("a strategic merge patch must be an object"));
    };
    merge_map(map(object), patch, sliced)
}

/// The patch strategy of a list field, from the struct tags of the Kubernetes API types. A name
/// means the same in every kind but `EndpointSlice`, whose lists are all atomic.
fn strategy(field: &str, patch: &[Value], sliced: bool) -> List {
    match field {
        "finalizers" | "podCIDRs" => List::Set,
        "ownerReferences" => List::Keyed("uid"),
        _ if sliced => List::Atomic,
        "ports" if patch.iter().any(|p| p.get("containerPort").is_some()) => List::Keyed("containerPort"),
        "ports" => List::Keyed("port"),
        "conditions" | "addresses" => List::Keyed("type"),
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "secrets" => List::Keyed("name"),
        "volumeMounts" => List::Keyed("mountPath"),
        "volumeDevices" => List::Keyed("devicePath"),
        "hostAliases" | "podIPs" | "hostIPs" => List::Keyed("ip"),
        "topologySpreadConstraints" => List::Keyed("topologyKey"),
        _ => List::Atomic,
    }
}

fn merge_map(object: &mut Map<String, Value>, patch: &Map<String, Value>, sliced: bool) -> Result<(), Failure> {
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => object.clear(),
        Some("delete") => {
            object.clear();
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => return Err(Failure::bad_request(format!("Unknown patch type found: {other}"))),
    }
    if let Some(retained) = patch.get("$retainKeys").and_then(Value::as_array) {
        object.retain(|key, _| retained.iter().any(|r| r == key));
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = value.as_array().map_or(&[][..], Vec::as_slice);
            if let Some(list) = object.get_mut(field).and_then(Value::as_array_mut) {
                list.retain(|v| !gone.contains(v));
            }
        }
    }
    for (key, value) in patch.iter().filter(|(key, _)| !key.starts_with('$')) {
        match value {
            Value::Null => {
                object.remove(key);
            }
            Value::Object(value) if value.get("$patch").is_some_and(|p| p == "delete") => {
                object.remove(key);
            }
            Value::Object(value) => {
                let target = object.entry(key).or_insert_with(|| json!({}));
                merge_map(map(target), value, sliced)?;
            }
            Value::Array(value) => {
                let target = object.entry(key).or_insert_with(|| json!([]));
                if !target.is_array() {
                    *target = json!([]);
                }
                if let Some(target) = target.as_array_mut() {
                    merge_list(target, key, value, sliced)?;
                }
            }
            plain => {
                object.insert(key.clone(), plain.clone());
            }
        }
    }
    for (key, order) in patch {
        if let (Some(field), Some(order)) = (key.strip_prefix("$setElementOrder/"), order.as_array())
            && let Some(list) = object.get_mut(field).and_then(Value::as_array_mut)
        {
            sort(list, field, order, sliced);
        }
    }
    Ok(())
}

fn merge_list(target: &mut Vec<Value>, field: &str, patch: &[Value], sliced: bool) -> Result<(), Failure> {
    match strategy(field, patch, sliced) {
        List::Atomic => *target = patch.to_vec(),
        List::Set => {
            for value in patch {
                if !target.contains(value) {
                    target.push(value.clone());
                }
            }
        }
        List::Keyed(by) => {
            let directive = |v: &Value, name: &str| v.get("$patch").is_some_and(|p| p == name);
            if patch.iter().any(|v| directive(v, "replace")) {
                // As it stands, also with several elements of one key: a Node has several addresses of a type.
                *target = patch.iter().filter(|v| v.get("$patch").is_none()).cloned().collect();
                return Ok(());
            }
            let before: Vec<Value> = target.iter().filter_map(|v| v.get(by).cloned()).collect();
            for element in patch {
                let Some(id) = element.get(by) else {
                    return Err(Failure::bad_request(format!(
                        "map: {element} does not contain declared merge key: {by}"
                    )));
                };
                if directive(element, "delete") {
                    target.retain(|v| v.get(by) != Some(id));
                    continue;
                }
                let Value::Object(element) = element else { continue };
                if let Some(found) = target.iter_mut().find(|v| v.get(by) == Some(id)) {
                    merge_map(map(found), element, sliced)?;
                } else {
                    let mut added = json!({});
                    merge_map(map(&mut added), element, sliced)?;
                    target.push(added);
                }
            }
            interleave(target, by, patch, &before);
        }
    }
    Ok(())
}

/// Brings what the patch names into its order. The others keep theirs, and stand before the first
/// of those that they stood before.
fn interleave(target: &mut Vec<Value>, by: &str, patch: &[Value], before: &[Value]) {
    let place = |list: &[Value], value: &Value| list.iter().position(|id| Some(id) == value.get(by));
    let named: Vec<Value> = patch.iter().filter_map(|v| v.get(by).cloned()).collect();
    let (mut patched, others): (Vec<Value>, Vec<Value>) =
        std::mem::take(target).into_iter().partition(|value| place(&named, value).is_some());
    patched.sort_by_key(|value| place(&named, value));
    let mut others = others.into_iter().peekable();
    for value in patched {
        let there = place(before, &value);
        while let Some(other) = others.next_if(|other| there.is_some() && place(before, other) < there) {
            target.push(other);
        }
        target.push(value);
    }
    target.extend(others);
}

/// Brings the elements into the order the patch names; others follow as they were.
fn sort(list: &mut [Value], field: &str, order: &[Value], sliced: bool) {
    let place = |value: &Value| match strategy(field, order, sliced) {
        List::Keyed(by) => order.iter().position(|o| o.get(by) == value.get(by)),
        List::Set | List::Atomic => order.iter().position(|o| o == value),
    };
    list.sort_by_key(|value| place(value).unwrap_or(usize::MAX));
}
