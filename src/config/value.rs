//! The kinds of values that flags and keys have, in Go's notation.

use std::time::Duration;

use super::go_duration;

/// What a flag or key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Integer,
    Decimal,
    /// Such as `1h30m`.
    Duration,
    Text,
    /// Texts separated by commas.
    List,
}

/// A value of one of these kinds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Integer(i64),
    Decimal(f64),
    Duration(Duration),
    Text(String),
    List(Vec<String>),
}

// === impl Kind ===

impl Kind {
    /// Reads a value; `None` if it is not of this kind.
    pub(super) fn parse(self, text: &str) -> Option<Value> {
        Some(match self {
            Self::Bool => Value::Bool(parse_bool(text)?),
            Self::Integer => Value::Integer(text.parse().ok()?),
            Self::Decimal => Value::Decimal(text.parse().ok().filter(|number: &f64| number.is_finite())?),
            Self::Duration => Value::Duration(go_duration::parse(text)?),
            Self::Text => Value::Text(text.to_owned()),
            Self::List if text.is_empty() => Value::List(Vec::new()),
            Self::List => Value::List(text.split(',').map(|entry| entry.trim().to_owned()).collect()),
        })
    }

    /// What to write, for messages.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Integer => "a whole number",
            Self::Decimal => "a number",
            Self::Duration => "a duration such as 15s, 5m or 1h30m",
            Self::Text => "a text",
            Self::List => "a list separated by commas",
        }
    }

    /// A short word for a value, for help and documentation.
    pub(super) fn placeholder(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Integer => "int",
            Self::Decimal => "number",
            Self::Duration => "duration",
            Self::Text => "string",
            Self::List => "list",
        }
    }
}

/// Go's `strconv.ParseBool`.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_kind() {
        for (kind, text, expected) in [
            (Kind::Bool, "T", Some(Value::Bool(true))),
            (Kind::Bool, "False", Some(Value::Bool(false))),
            (Kind::Bool, "yes", None),
            (Kind::Integer, "-3", Some(Value::Integer(-3))),
            (Kind::Integer, "3.5", None),
            (Kind::Integer, "", None),
            (Kind::Decimal, "0.5", Some(Value::Decimal(0.5))),
            (Kind::Decimal, "inf", None),
            (Kind::Duration, "1m30s", Some(Value::Duration(Duration::from_secs(90)))),
            (Kind::Duration, "90", None),
            (Kind::Text, " a ", Some(Value::Text(" a ".to_owned()))),
            (Kind::List, "a, b", Some(Value::List(vec!["a".to_owned(), "b".to_owned()]))),
            (Kind::List, "", Some(Value::List(vec![]))),
        ] {
            assert_eq!(kind.parse(text), expected, "{kind:?} {text:?}");
        }
    }
}
