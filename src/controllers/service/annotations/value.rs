//! What the value of an annotation may be, and how it reads in the API's spelling.

use std::{collections::BTreeMap, fmt};

/// What a value may be.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words in any letter case.
    AnyCase(&'static [&'static str]),
    /// A whole number in this range.
    Number(i64, i64),
    /// A port number, or this one, which stands for the member's own.
    Port(i64),
    /// Text of at most so many characters.
    Text(usize),
    /// Anything that is not empty.
    Present,
    /// `key=value` pairs, joined by commas.
    Pairs,
    /// Pairs joined by colons, joined by commas; the text shows the form.
    Colons(&'static str),
    /// Words joined by commas.
    List,
    /// The same, each one of these.
    Words(&'static [&'static str]),
}

// === impl Value ===

impl Value {
    /// The value in the API's spelling, or what would be right.
    pub(super) fn read(self, value: &str) -> Result<String, String> {
        let found = match self {
            Self::Word(words) => words.contains(&value).then(|| value.to_owned()),
            Self::AnyCase(words) => {
                words.iter().find(|word| word.eq_ignore_ascii_case(value)).map(|word| (*word).to_owned())
            }
            Self::Port(none) => {
                let is_port = |n: &i64| *n == none || (1..=65535).contains(n);
                value.parse::<i64>().ok().filter(is_port).map(|n| n.to_string())
            }
            Self::Number(least, most) => {
                value.parse::<i64>().ok().filter(|n| (least..=most).contains(n)).map(|n| n.to_string())
            }
            Self::Text(most) => (value.chars().count() <= most && value.trim() == value).then(|| value.to_owned()),
            Self::Present | Self::Colons(_) => Some(value.to_owned()),
            Self::Pairs => value
                .split(',')
                .all(|part| part.trim().split_once('=').is_some_and(|(key, _)| !key.is_empty()))
                .then(|| value.to_owned()),
            Self::Words(allowed) if !value.split(',').all(|word| allowed.contains(&word.trim())) => None,
            Self::List | Self::Words(_) => {
                let mut words: Vec<&str> = value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
                words.sort_unstable();
                (!words.is_empty()).then(|| words.join(","))
            }
        };
        found.ok_or_else(|| self.to_string())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(words) | Self::AnyCase(words) => f.write_str(&one_of(words)),
            Self::Number(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Port(none) => write!(f, "a port number or {none}"),
            Self::Words(words) => write!(f, "one or more of {}, joined by commas", words.join(", ")),
            Self::Text(most) => write!(f, "at most {most} characters without spaces around them"),
            Self::Present => f.write_str("anything that is not empty"),
            Self::Pairs => f.write_str("pairs such as key=value, joined by commas"),
            Self::Colons(form) => write!(f, "pairs such as {form}"),
            Self::List => f.write_str("words joined by commas"),
        }
    }
}

fn one_of(allowed: &[&str]) -> String {
    match allowed {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

pub(super) fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port != 0)
}

/// Tags as the released controller reads them: a key may stand without a value, and of a value
/// only the part before a second `=` counts.
pub(super) fn tags(text: &str) -> BTreeMap<String, String> {
    let pair = |part: &str| {
        let mut parts = part.trim().split('=');
        let key = parts.next().filter(|key| !key.is_empty())?;
        Some((key.to_owned(), parts.next().unwrap_or_default().to_owned()))
    };
    text.split(',').filter_map(pair).collect()
}

pub(super) fn labels(text: &str) -> BTreeMap<String, String> {
    let pair = |part: &str| part.trim().split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    text.split(',').filter_map(pair).collect()
}
