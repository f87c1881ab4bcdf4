//! Text as Go's yaml.v2 writes it: only what the hash needs, and exactly that.

use std::{cmp::Ordering, fmt::Write};

use serde_json::{Map, Value};

/// Writes a list.
pub(super) fn write_list(out: &mut String, list: &[Value], indent: usize) {
    for (index, item) in list.iter().enumerate() {
        // The first item of a list within a list stands on its parent's line.
        if index > 0 || !out.ends_with("- ") {
            pad(out, indent);
        }
        out.push_str("- ");
        match item {
            Value::Array(inner) if !inner.is_empty() => write_list(out, inner, indent + 2),
            Value::Object(map) if !map.is_empty() => write_map(out, map, indent + 2),
            scalar => write_scalar(out, scalar, indent),
        }
    }
}

fn write_map(out: &mut String, map: &Map<String, Value>, indent: usize) {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_by(|a, b| natural_order(a, b));
    for (index, key) in keys.into_iter().enumerate() {
        if index > 0 || !out.ends_with("- ") {
            pad(out, indent);
        }
        write_string(out, key, indent);
        out.push(':');
        match &map[key] {
            // A list under a key is not indented further.
            Value::Array(list) if !list.is_empty() => {
                out.push('\n');
                write_list(out, list, indent);
            }
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_map(out, inner, indent + 2);
            }
            scalar => {
                out.push(' ');
                write_scalar(out, scalar, indent);
            }
        }
    }
}

fn write_scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(text) if text.contains('\n') => write_block(out, text, indent + 2),
        Value::String(text) => {
            write_string(out, text, indent + 2);
            out.push('\n');
        }
        other => {
            let _ = writeln!(out, "{other}");
        }
    }
}

/// A literal block, as yaml.v2 writes text of several lines.
fn write_block(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    if text.starts_with([' ', '\n']) {
        out.push('2');
    }
    if !text.ends_with('\n') {
        out.push('-');
    } else if text.ends_with("\n\n") || text == "\n" {
        out.push('+');
    }
    out.push('\n');
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Text on one line, quoted where it would be read as something else, folded near column 80.
fn write_string(out: &mut String, text: &str, indent: usize) {
    let start = out.len();
    let quote = if resolves_to_other(text) || text.chars().any(char::is_control) {
        Some('"')
    } else if !is_plain(text) {
        Some('\'')
    } else {
        None
    };
    let column = |out: &String| out.len() - out.rfind('\n').map_or(0, |at| at + 1);
    out.extend(quote);
    let chars: Vec<char> = text.chars().collect();
    let mut spaces = false;
    for (index, &c) in chars.iter().enumerate() {
        if c == ' ' {
            let foldable = !spaces
                && column(out) > 80
                && index > 0
                && index + 1 < chars.len()
                && chars.get(index + 1) != Some(&' ')
                && out.len() > start;
            if foldable {
                out.push('\n');
                pad(out, indent);
            } else {
                out.push(' ');
            }
            spaces = true;
            continue;
        }
        spaces = false;
        match (quote, c) {
            (Some('"'), '"') => out.push_str("\\\""),
            (Some('"'), '\\') => out.push_str("\\\\"),
            (Some('"'), '\t') => out.push_str("\\t"),
            (Some('"'), '\r') => out.push_str("\\r"),
            (Some('\''), '\'') => out.push_str("''"),
            _ => out.push(c),
        }
    }
    out.extend(quote);
}

/// Whether yaml.v2 would read the plain text as a number, a boolean, a time or nothing.
fn resolves_to_other(text: &str) -> bool {
    const WORDS: [&str; 23] = [
        "", "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "true", "True", "TRUE", "false", "False",
        "FALSE", "on", "On", "ON", "off", "Off", "OFF",
    ];
    const NULLS: [&str; 5] = ["~", "null", "Null", "NULL", "<<"];
    if WORDS.contains(&text) || NULLS.contains(&text) {
        return true;
    }
    let digits = text.replace('_', "");
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(&digits);
    let radix = |prefix: &str, radix| {
        unsigned.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
    };
    let float = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c))
        && unsigned.parse::<f64>().is_ok();
    float
        || radix("0x", 16)
        || radix("0b", 2)
        || radix("0o", 8)
        || [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"].contains(&unsigned)
        || is_time(text)
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let date = bytes.len() >= 8
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && text.chars().all(|c| c.is_ascii_digit() || "-:TtZz.+ ".contains(c));
    date && (text.parse::<jiff::Timestamp>().is_ok() || text.parse::<jiff::civil::Date>().is_ok())
}

/// Whether text may stand without quotes.
fn is_plain(text: &str) -> bool {
    let starts_badly = text
        .starts_with(['#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', ' '])
        || text.starts_with("---")
        || text.starts_with("...")
        || (text.starts_with(['-', '?', ':']) && (text.len() == 1 || text[1..].starts_with(' ')));
    !starts_badly && !text.ends_with(' ') && !text.contains(": ") && !text.ends_with(':') && !text.contains(" #")
}

/// yaml.v2's order of keys: digits as numbers, and at the first difference what is not a letter
/// before what is.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let number = |chars: &[char], from: usize| -> (u128, usize) {
        let end = chars[from..].iter().position(|c| !c.is_numeric()).map_or(chars.len(), |at| from + at);
        let value = chars[from..end]
            .iter()
            .fold(0u128, |n, c| n.saturating_mul(10).saturating_add(u128::from(c.to_digit(10).unwrap_or(0))));
        (value, end - from)
    };
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] == b[at] {
            at += 1;
            continue;
        }
        let (letter_a, letter_b) = (a[at].is_alphabetic(), b[at].is_alphabetic());
        if letter_a != letter_b {
            return if letter_b { Ordering::Less } else { Ordering::Greater };
        }
        let (value_a, length_a) = number(&a, at);
        let (value_b, length_b) = number(&b, at);
        // What is not a digit counts as an empty number.
        return value_a.cmp(&value_b).then(length_a.cmp(&length_b)).then(a[at].cmp(&b[at]));
    }
    a.len().cmp(&b.len())
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_naturally() {
        let mut keys = vec!["b", "a10", "a2", "a-b", "ab", "a", "A"];
        keys.sort_by(|a, b| natural_order(a, b));
        assert_eq!(keys, ["A", "a", "a-b", "a2", "a10", "ab", "b"]);
    }

    #[test]
    fn text_that_is_something_else_is_quoted() {
        for text in ["60", "on", "true", "2026-01-02T03:04:05Z", "1e3", "~", "0x1f"] {
            assert!(resolves_to_other(text), "{text}");
        }
        for text in ["intranet", "slb.s1.small", "tcp:80", "1.2.3.4", "10.0.0.0/8", "v1"] {
            assert!(!resolves_to_other(text), "{text}");
        }
    }
}
