//! Which build this is.

/// The release, such as `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit it was built from, or `unknown`, as in all builds for development.
pub const COMMIT: &str = env!("CCM_COMMIT");

/// The time of that commit, or of the build if the builder said so (RFC 3339), or `unknown`.
pub const DATE: &str = env!("CCM_DATE");

/// One line for `--version`.
pub fn line() -> String {
    let date = if DATE == "unknown" { String::new() } else { format!(", {DATE}") };
    format!("alibaba-cloud-controller-manager {VERSION} (commit {COMMIT}{date})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_commit_and_date_are_on_the_line() {
        let line = line();
        assert!(line.starts_with("alibaba-cloud-controller-manager 0."), "{line}");
        assert!(line.contains(&format!("commit {COMMIT}")), "{line}");
        assert!(DATE == "unknown" || line.contains(DATE), "{line}");
        assert!(DATE == "unknown" || DATE.parse::<jiff::Timestamp>().is_ok(), "{DATE}");
    }
}
