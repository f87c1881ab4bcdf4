//! The cloud-config file: YAML or JSON with one object `Global`.
//!
//! As in the released controller keys match in any case and numbers or switches may stand where
//! a text is expected. Each key stands on its own. The text of a secret is never repeated.

mod keys;

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value as Json};

use super::{
    environment::Environment,
    problems::{Problems, did_you_mean},
    value::{Kind, Value, parse_bool},
};

/// A key below `Global`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it sets; without effect: why it does nothing.
    pub(super) help: &'static str,
    pub(super) secret: bool,
    pub(super) effect: bool,
}

/// The keys that are set, read by kind. Empty texts count as not set.
#[derive(Default)]
pub(super) struct Global {
    path: String,
    values: BTreeMap<&'static str, Value>,
}

/// All keys, in the order of the documentation.
pub(super) fn keys() -> &'static [Key] {
    keys::KEYS
}

// === impl Global ===

impl Global {
    /// Reads the file. What is wrong goes to `problems`; what is right is returned.
    pub(super) fn read(path: &str, environment: &dyn Environment, problems: &mut Problems) -> Self {
        let mut global = Self { path: path.to_owned(), values: BTreeMap::new() };
        match environment.file(Path::new(path)) {
            Ok(text) => match decode(&text) {
                Ok(top) => global.take_top(top, problems),
                Err(error) => problems.fail(format!("{path} is neither YAML nor JSON: {error}")),
            },
            Err(error) => problems.fail(format!(
                "{path} cannot be read: {error}; --cloud-config names the cloud-config file, usually a mounted \
                 ConfigMap"
            )),
        }
        global
    }

    fn take_top(&mut self, top: Json, problems: &mut Problems) {
        let path = self.path.clone();
        let top = match top {
            Json::Object(top) => top,
            Json::Null => Map::new(),
            other => {
                problems.fail(format!("{path} holds {}: expected an object with the key Global", what(&other)));
                return;
            }
        };
        let mut found = false;
        for (key, value) in top {
            if !key.eq_ignore_ascii_case("Global") {
                let hint = did_you_mean(&key, ["Global"].into_iter());
                problems
                    .warn(format!("{path}: {key} is not a known key{hint} and is ignored; all keys are below Global"));
                continue;
            }
            found = true;
            match value {
                Json::Object(global) => self.take_all(global, problems),
                Json::Null => {}
                other => problems.fail(format!("{path}: {key} is {}: expected an object", what(&other))),
            }
        }
        if !found {
            problems.warn(format!("{path} has no object Global: nothing is configured there"));
        }
    }

    fn take_all(&mut self, global: Map<String, Json>, problems: &mut Problems) {
        let path = self.path.clone();
        let mut written: BTreeMap<&str, String> = BTreeMap::new();
        for (spelling, value) in global {
            let Some(key) = keys().iter().find(|key| key.name.eq_ignore_ascii_case(&spelling)) else {
                let hint = did_you_mean(&spelling, keys().iter().map(|key| key.name));
                problems.warn(format!("{path}: Global.{spelling} is not a known key{hint} and is ignored"));
                continue;
            };
            if let Some(before) = written.insert(key.name, spelling.clone()) {
                problems.fail(format!("{path}: Global.{before} and Global.{spelling} are the same key: keep one"));
                continue;
            }
            if value.is_null() {
                continue;
            }
            let Some(read) = convert(key.kind, &value) else {
                let shown = if key.secret { what(&value).to_owned() } else { shown(&value) };
                problems.fail(format!("{path}: Global.{spelling} is {shown}: expected {}", key.kind.expected()));
                continue;
            };
            if matches!(&read, Value::Text(text) if text.is_empty()) {
                continue;
            }
            if !key.effect {
                problems.warn(format!("{path}: Global.{spelling} has no effect: {}", key.help));
            }
            self.values.insert(key.name, read);
        }
    }

    /// How to name a key in a message.
    pub(super) fn place(&self, name: &str) -> String {
        format!("{}: Global.{name}", self.path)
    }

    /// Without blanks around it, and not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        debug_assert!(keys().iter().any(|key| key.name == name), "no key {name}");
        if let Some(Value::Text(text)) = self.values.get(name) { Some(text) } else { None }
    }

    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        if let Some(Value::Integer(number)) = self.values.get(name) { Some(*number) } else { None }
    }

    pub(super) fn bool(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some(Value::Bool(true)))
    }
}

/// JSON first: it may be indented with tabs, which YAML forbids.
fn decode(text: &str) -> Result<Json, serde_yaml::Error> {
    serde_json::from_str(text).or_else(
        |_| {
            if text.trim().is_empty() { Ok(Json::Null) } else { serde_yaml::from_str(text) }
        },
    )
}

fn convert(kind: Kind, value: &Json) -> Option<Value> {
    match (kind, value) {
        (Kind::Text, Json::String(text)) => Some(Value::Text(text.trim().to_owned())),
        (Kind::Text, Json::Number(_) | Json::Bool(_)) => Some(Value::Text(value.to_string())),
        (Kind::Bool, Json::Bool(on)) => Some(Value::Bool(*on)),
        (Kind::Bool, Json::String(text)) => yaml_bool(text.trim()).map(Value::Bool),
        (Kind::Integer, Json::Number(number)) => number.as_i64().map(Value::Integer),
        (Kind::Integer, Json::String(text)) => Kind::Integer.parse(text.trim()),
        _ => None,
    }
}

/// The switches of YAML 1.1, which the released controller's parser follows.
fn yaml_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" => Some(true),
        "n" | "no" | "off" => Some(false),
        _ => parse_bool(text),
    }
}

fn what(value: &Json) -> &'static str {
    match value {
        Json::Null => "nothing",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// The value as it may stand in a message; long or nested ones only by their kind.
fn shown(value: &Json) -> String {
    match value {
        Json::Array(_) | Json::Object(_) => what(value).to_owned(),
        _ => {
            let text = value.to_string();
            if text.chars().count() > 60 { what(value).to_owned() } else { text }
        }
    }
}

#[cfg(test)]
mod tests;
