//! The flags, as tables: what is understood, what is shown by `--help`, what the documentation
//! says and what only draws a warning all come from here.

mod accepted;
mod daemon;

use super::value::Kind;

/// A flag of the daemon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// Without the dashes.
    pub(super) name: &'static str,
    /// klog's `-v` is the only one.
    pub(super) short: Option<char>,
    pub(super) kind: Kind,
    /// In the notation of the command line.
    pub(super) default: &'static str,
    pub(super) group: Group,
    /// What it does; in [`Group::WithoutEffect`] why it does nothing.
    pub(super) help: &'static str,
}

/// A chapter of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Daemon,
    Cloud,
    Nodes,
    Routes,
    Services,
    Kubernetes,
    Leader,
    Serving,
    Logging,
    /// Accepted because manifests pass it, and answered with a warning.
    WithoutEffect,
}

// === impl Flag ===

impl Flag {
    /// Whether it changes anything.
    pub(super) fn has_effect(&self) -> bool {
        self.group != Group::WithoutEffect
    }
}

// === impl Group ===

impl Group {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Daemon => "Daemon",
            Self::Cloud => "Cloud",
            Self::Nodes => "Nodes",
            Self::Routes => "Routes",
            Self::Services => "Services",
            Self::Kubernetes => "Kubernetes API",
            Self::Leader => "Leader election",
            Self::Serving => "Serving",
            Self::Logging => "Logging",
            Self::WithoutEffect => "Accepted without effect",
        }
    }
}

/// All flags, chapter by chapter.
pub(super) fn all() -> impl Iterator<Item = &'static Flag> {
    daemon::FLAGS.iter().chain(accepted::FLAGS)
}

/// The flag with this name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_normal_and_defaults_are_values() {
        let mut seen = BTreeSet::new();
        for flag in all() {
            assert!(seen.insert(flag.name), "{} is there twice", flag.name);
            assert!(flag.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{flag:?}");
            assert!(flag.kind.parse(flag.default).is_some() || !flag.has_effect(), "{flag:?}");
            assert!(!flag.help.ends_with('.'), "{flag:?}");
        }
    }
}
