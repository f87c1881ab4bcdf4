//! Everything that is wrong with a configuration, gathered so that one start shows all of it.

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    /// Each stops the start.
    pub(super) errors: Vec<String>,
    /// Each is worth a line in the log.
    pub(super) warnings: Vec<String>,
}

// === impl Problems ===

impl Problems {
    pub(super) fn fail(&mut self, message: String) {
        self.errors.push(message);
    }

    pub(super) fn warn(&mut self, message: String) {
        self.warnings.push(message);
    }
}

/// ` (did you mean x?)` where a known name is close to `name`, else nothing.
pub(super) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(name, known).map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

/// The known name that `name` was most likely meant to be, if one is close at all.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        // Of equals the first, which is the one to recommend.
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_or_none() {
        let known = ["cluster-cidr", "cluster-name", "cloud-config"];
        assert_eq!(nearest("cluster-cidrs", known.into_iter()), Some("cluster-cidr"));
        assert_eq!(nearest("CloudConfig", known.into_iter()), Some("cloud-config"));
        assert_eq!(nearest("xyzzy", known.into_iter()), None);
    }
}
