//! The tables of `docs/configuration.md`, written from the same tables that are read. Run the
//! test below with `UPDATE_DOCS=1` in the environment to bring the page up to date.

use std::fmt::Write as _;

use super::{
    controllers,
    file::keys,
    flags::{self, Flag},
    gates::GATES,
    value::Kind,
    variables::VARIABLES,
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");

/// Every table by the name of its place in the page.
fn tables() -> [(&'static str, String); 6] {
    [
        ("flags", flag_table()),
        ("controllers", controllers::table()),
        ("keys", key_table()),
        ("gates", gate_table()),
        ("variables", variable_table()),
        ("accepted", accepted_table()),
    ]
}

fn flag_table() -> String {
    let mut table = String::new();
    let mut group = None;
    for flag in flags::all().filter(|flag| flag.has_effect()) {
        if group != Some(flag.group) {
            group = Some(flag.group);
            let _ = write!(table, "\n### {}\n\n| flag | value | default | |\n|---|---|---|---|\n", flag.group.title());
        }
        let _ = writeln!(table, "| {} | {} | {} | {} |", name(flag), kind(flag.kind), code(flag.default), flag.help);
    }
    table
}

fn accepted_table() -> String {
    let mut table = "\n| flag | why it does nothing |\n|---|---|\n".to_owned();
    for flag in flags::all().filter(|flag| !flag.has_effect()) {
        let _ = writeln!(table, "| {} | {} |", name(flag), flag.help);
    }
    table
}

fn key_table() -> String {
    let mut table = "\n| key | value | |\n|---|---|---|\n".to_owned();
    for key in keys() {
        let help = if key.effect { key.help.to_owned() } else { format!("No effect: {}", key.help) };
        let _ = writeln!(table, "| `{}` | {} | {help} |", key.name, kind(key.kind));
    }
    table
}

fn gate_table() -> String {
    let mut table = "\n| gate | default | |\n|---|---|---|\n".to_owned();
    for gate in GATES {
        let help = if gate.has_effect() { gate.help.to_owned() } else { format!("Fixed: {}", gate.help) };
        let _ = writeln!(table, "| `{}` | {} | {help} |", gate.name, gate.default);
    }
    table
}

fn variable_table() -> String {
    let mut table = "\n| variable | |\n|---|---|\n".to_owned();
    for variable in VARIABLES {
        let help = if variable.effect { variable.help.to_owned() } else { format!("No effect: {}", variable.help) };
        let _ = writeln!(table, "| `{}` | {help} |", variable.name);
    }
    table
}

fn name(flag: &Flag) -> String {
    flag.short.map_or_else(|| format!("`--{}`", flag.name), |short| format!("`--{}`, `-{short}`", flag.name))
}

fn kind(kind: Kind) -> &'static str {
    kind.placeholder()
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

/// The page with each table in its place, between two comments that name it.
fn filled(page: &str) -> String {
    let mut page = page.to_owned();
    for (name, table) in tables() {
        let (from, to) = (format!("<!-- {name} -->\n"), format!("\n<!-- end of {name} -->"));
        let start = page.find(&from).unwrap_or_else(|| panic!("{PAGE} has no {from}")) + from.len();
        let end = page.find(&to).unwrap_or_else(|| panic!("{PAGE} has no {to}"));
        page.replace_range(start..end, &table);
    }
    page
}

#[test]
fn the_page_about_the_configuration_is_current() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let current = filled(&page);
    #[expect(clippy::disallowed_methods, reason = "the only switch of a test, and no part of the program")]
    if std::env::var("UPDATE_DOCS").is_ok() {
        std::fs::write(PAGE, current).unwrap();
        return;
    }
    assert!(page == current, "{PAGE} is out of date: run UPDATE_DOCS=1 cargo test --lib reference");
}
