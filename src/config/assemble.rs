//! Puts flags, environment and file together, section by section, and checks each.
//!
//! A flag on the command line wins over the environment, that over the file, that over the
//! default. Two exceptions come from the released controller: the AccessKey of the file wins
//! over the one of the environment, and the file wins over `--concurrent-service-syncs`.

mod cloud;
mod cluster;
mod credentials;
mod nodes;
mod routes;
mod services;

use super::{
    Config, Controller, environment::Environment, file::Global, gates::FeatureGates, problems::Problems, scan::Given,
    variables::VARIABLES,
};

/// What a section is put together from.
struct Sources<'a> {
    flags: Given,
    file: Global,
    environment: &'a dyn Environment,
    problems: Problems,
}

/// Everything together; `Err` has all that is wrong.
pub(super) fn assemble(flags: Given, environment: &dyn Environment, problems: Problems) -> Result<Config, Vec<String>> {
    let mut sources = Sources { flags, file: Global::default(), environment, problems };
    let path = sources.flags.text("cloud-config");
    if path.is_empty() {
        sources.problems.fail(
            "cloud config cannot be empty: pass --cloud-config with the path of the cloud-config file; a file that \
             holds only {\"Global\": {}} takes everything from the metadata server"
                .to_owned(),
        );
    } else {
        sources.file = Global::read(&path, environment, &mut sources.problems);
    }
    sources.warn_of_idle_variables();
    let controllers = Controller::read(&sources.flags.list("controllers"), &mut sources.problems);
    let cloud = sources.cloud();
    let credentials = sources.credentials();
    let service = sources.service();
    let node = sources.node();
    let route = sources.route(&controllers, node.aggregation_wait);
    let leader = sources.leader();
    let serving = sources.serving();
    let kubernetes = sources.kubernetes();
    let logging = sources.logging();
    let feature_gates = sources.feature_gates();
    let dry_run = sources.flags.bool("dry-run");
    let Problems { errors, warnings } = sources.problems;
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Config {
        controllers,
        cloud,
        credentials,
        service,
        node,
        route,
        leader,
        serving,
        kubernetes,
        logging,
        feature_gates,
        dry_run,
        warnings,
    })
}

// === impl Sources ===

impl Sources<'_> {
    /// A variable that is set and not blank.
    fn variable(&self, name: &str) -> Option<String> {
        debug_assert!(VARIABLES.iter().any(|variable| variable.name == name), "no variable {name}");
        let value = self.environment.variable(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    }

    fn warn_of_idle_variables(&mut self) {
        for variable in VARIABLES.iter().filter(|variable| !variable.effect) {
            if self.variable(variable.name).is_some() {
                self.problems.warn(format!("{} has no effect: {}", variable.name, variable.help));
            }
        }
    }

    /// A whole number from `min` to `max`; outside of it an error, and `min`.
    fn within(&mut self, place: &str, number: i64, min: usize, max: usize) -> usize {
        if let Some(number) = usize::try_from(number).ok().filter(|number| (min..=max).contains(number)) {
            return number;
        }
        self.problems.fail(format!("{place} is {number}: expected {min} to {max}"));
        min
    }

    /// The flag's number from `min` to `max`.
    fn flag_within(&mut self, flag: &str, min: usize, max: usize) -> usize {
        self.within(&format!("--{flag}"), self.flags.integer(flag), min, max)
    }

    /// An id of a cloud object from the file.
    fn id(&mut self, key: &str, example: &str) -> Option<String> {
        let id = self.file.text(key)?.to_owned();
        if is_id(&id) {
            return Some(id);
        }
        let place = self.file.place(key);
        self.problems.fail(format!("{place} is \"{id}\": expected an id such as {example}"));
        None
    }

    fn feature_gates(&mut self) -> FeatureGates {
        let list = self.file.text("featureGates").unwrap_or_default().to_owned();
        let place = self.file.place("featureGates");
        FeatureGates::read(&list, &place, &mut self.problems)
    }
}

/// Whether the text can be an id of a cloud object at all.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 128 && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

#[cfg(test)]
mod tests;
