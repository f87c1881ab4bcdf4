//! Reads a command line the way pflag does, because that is what existing manifests were
//! written for: `--flag=value` and `--flag value`, switches with their value only after `=`,
//! the last of several mentions counts, lists grow.
//!
//! Unlike a general parser it goes on after a mistake, so that one start shows all of them. A
//! value is never repeated in a message unless its flag is known: it could be a secret.

use std::{collections::BTreeMap, ffi::OsString, time::Duration};

use super::{
    flags::{self, Flag},
    problems::{Problems, did_you_mean},
    value::{Kind, Value},
};

/// The words that may stand first and ask for something other than the daemon, which knows no words.
pub(crate) const COMMANDS: &[&str] = if cfg!(feature = "sim") { &["demo", "simulate", "help"] } else { &["help"] };

/// The flags that were given, with their values.
#[derive(Debug, Default)]
pub(super) struct Given(BTreeMap<&'static str, Value>);

/// What a command line asks for.
#[derive(Debug)]
pub(super) enum Asked {
    Run(Given),
    /// `-h` leaves out what has no effect.
    Help {
        all: bool,
    },
    Version,
}

/// Reads the arguments after the program's name.
pub(super) fn scan(arguments: impl IntoIterator<Item = OsString>, problems: &mut Problems) -> Asked {
    let mut arguments = arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned()).peekable();
    let mut given = Given::default();
    let mut only_words = false;
    while let Some(argument) = arguments.next() {
        if only_words || !argument.starts_with('-') || argument == "-" {
            problems.fail(unexpected(&argument));
            continue;
        }
        match argument.as_str() {
            "--" => {
                only_words = true;
                continue;
            }
            "-h" => return Asked::Help { all: false },
            "--help" => return Asked::Help { all: true },
            "--version" => return Asked::Version,
            _ => {}
        }
        let Some((flag, value)) = split(&argument, problems) else {
            // What follows an unknown flag is most likely its value.
            if !argument.contains('=') {
                arguments.next_if(|next| !next.starts_with('-'));
            }
            continue;
        };
        let value = match value {
            Some(value) => value,
            None if flag.kind == Kind::Bool => {
                if let Some(word) = arguments.next_if(|next| Kind::Bool.parse(next).is_some()) {
                    problems.fail(format!(
                        "--{name} {word}: a switch takes its value after an equals sign; write --{name}={word}",
                        name = flag.name
                    ));
                    continue;
                }
                "true".to_owned()
            }
            None => {
                let Some(next) = arguments.next() else {
                    problems.fail(format!("--{} needs a value: {}", flag.name, flag.kind.expected()));
                    continue;
                };
                next
            }
        };
        given.take(flag, &value, problems);
    }
    Asked::Run(given)
}

/// Finds the flag of one argument and, if it is in there too, its value.
fn split(argument: &str, problems: &mut Problems) -> Option<(&'static Flag, Option<String>)> {
    let (written, value) = argument.split_once('=').map_or((argument, None), |(flag, value)| (flag, Some(value)));
    let value = value.map(ToOwned::to_owned);
    if let Some(name) = written.strip_prefix("--") {
        // klog's flags have underscores, the library's dashes; both spellings are in use.
        let name = name.replace('_', "-");
        let flag = flags::find(&name);
        if flag.is_none() {
            let hint = did_you_mean(&name, flags::all().map(|flag| flag.name));
            problems.fail(format!("unknown flag --{name}{}", hint.replace("mean ", "mean --")));
        }
        return flag.map(|flag| (flag, value));
    }
    let name = written.strip_prefix('-')?;
    let mut letters = name.chars();
    let short = letters.next().and_then(|letter| flags::all().find(|flag| flag.short == Some(letter)));
    let rest = letters.as_str();
    match short {
        Some(flag) if rest.is_empty() => return Some((flag, value)),
        Some(flag) if value.is_none() && flag.kind.parse(rest).is_some() => {
            return Some((flag, Some(rest.to_owned())));
        }
        _ => {}
    }
    let name = name.replace('_', "-");
    if flags::find(&name).is_some() {
        problems.fail(format!("-{name}: flags start with two dashes; write --{name}"));
    } else {
        problems.fail(format!("unknown flag -{name}"));
    }
    None
}

fn unexpected(word: &str) -> String {
    let hint = did_you_mean(word, COMMANDS.iter().copied());
    format!("unexpected argument \"{word}\"{hint}: flags start with two dashes, a command stands first")
}

// === impl Given ===

impl Given {
    fn take(&mut self, flag: &'static Flag, text: &str, problems: &mut Problems) {
        let Some(value) = flag.kind.parse(text) else {
            problems.fail(format!("--{} is \"{text}\": expected {}", flag.name, flag.kind.expected()));
            return;
        };
        if !flag.has_effect() {
            if self.0.insert(flag.name, value).is_none() {
                problems.warn(format!("--{} has no effect: {}", flag.name, flag.help));
            }
            return;
        }
        match (self.0.get_mut(flag.name), value) {
            (Some(Value::List(list)), Value::List(more)) => list.extend(more),
            (_, value) => {
                self.0.insert(flag.name, value);
            }
        }
    }

    /// Whether the flag is on the command line.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value given, else the default.
    fn value(&self, name: &str) -> Option<Value> {
        let default = || flags::find(name).and_then(|flag| flag.kind.parse(flag.default));
        debug_assert!(flags::find(name).is_some(), "no flag {name}");
        self.0.get(name).cloned().or_else(default)
    }

    pub(super) fn bool(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }

    pub(super) fn integer(&self, name: &str) -> i64 {
        if let Some(Value::Integer(number)) = self.value(name) { number } else { 0 }
    }

    pub(super) fn decimal(&self, name: &str) -> f64 {
        if let Some(Value::Decimal(number)) = self.value(name) { number } else { 0.0 }
    }

    pub(super) fn duration(&self, name: &str) -> Duration {
        if let Some(Value::Duration(duration)) = self.value(name) { duration } else { Duration::ZERO }
    }

    /// Without blanks around it.
    pub(super) fn text(&self, name: &str) -> String {
        if let Some(Value::Text(text)) = self.value(name) { text.trim().to_owned() } else { String::new() }
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        if let Some(Value::List(list)) = self.value(name) { list } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
