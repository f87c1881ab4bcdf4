//! Tells the program which commit it is built from. Never fails a build: what cannot be found
//! out is `unknown`.
//!
//! Only a release build, whose version line somebody will read, asks git: to follow every commit
//! compiles the whole package anew for each, and not to follow them names the wrong one.
//! `CCM_COMMIT` and `SOURCE_DATE_EPOCH` win over what git says, for builds from an archive and
//! for reproducible builds.

#![expect(clippy::disallowed_methods, reason = "a build script has nothing but its environment")]

use std::{env, process::Command};

fn main() {
    let release = given("PROFILE").as_deref() == Some("release");
    let git = |arguments: &[&str]| if release { git(arguments) } else { None };
    let commit = given("CCM_COMMIT").or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let seconds = given("SOURCE_DATE_EPOCH").or_else(|| git(&["log", "-1", "--format=%ct"]));
    let date = seconds.and_then(|seconds| seconds.parse().ok()).map(rfc3339);
    println!("cargo::rustc-env=CCM_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rustc-env=CCM_DATE={}", date.as_deref().unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CCM_COMMIT");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}

fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Seconds since 1970 as a date and time in UTC.
fn rfc3339(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let february = if days_of(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
}

fn days_of(year: u64) -> u64 {
    if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) { 366 } else { 365 }
}
