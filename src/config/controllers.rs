//! `--controllers`: which controllers run, in the released program's names and in those of the
//! Kubernetes cloud-provider library.

use std::{collections::BTreeSet, fmt};

use super::problems::{Problems, did_you_mean};

/// A controller that can be turned on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Initialises new nodes, keeps addresses and labels up to date.
    Node,
    /// Marks nodes whose instance is shut down and removes those whose instance is gone.
    NodeLifecycle,
    /// Keeps the VPC's routes to pod networks.
    Route,
    /// Gives Services classic load balancers.
    Service,
    /// Gives Services network load balancers.
    Nlb,
}

/// What a name in the list stands for.
enum Means {
    /// These controllers.
    Controllers(&'static [Controller]),
    /// Nothing in this program; the text says why.
    Nothing(&'static str),
}

/// Every name that is understood, the ones to recommend first.
const NAMES: &[(&str, Means)] = &[
    ("node", Means::Controllers(&[Controller::Node, Controller::NodeLifecycle])),
    ("route", Means::Controllers(&[Controller::Route])),
    ("service", Means::Controllers(&[Controller::Service])),
    ("nlb", Means::Controllers(&[Controller::Nlb])),
    ("ingress", Means::Nothing("Ingresses with application load balancers are not part of this program")),
    ("pvtz", Means::Nothing("PrivateZone records are not part of this program")),
    ("cloud-node", Means::Controllers(&[Controller::Node])),
    ("cloud-node-controller", Means::Controllers(&[Controller::Node])),
    ("cloud-node-lifecycle", Means::Controllers(&[Controller::NodeLifecycle])),
    ("cloud-node-lifecycle-controller", Means::Controllers(&[Controller::NodeLifecycle])),
    ("node-route", Means::Controllers(&[Controller::Route])),
    ("node-route-controller", Means::Controllers(&[Controller::Route])),
    ("service-lb", Means::Controllers(&[Controller::Service])),
    ("service-lb-controller", Means::Controllers(&[Controller::Service])),
];

// === impl Controller ===

impl Controller {
    /// All of them, which is what `*` stands for.
    pub const ALL: [Self; 5] = [Self::Node, Self::NodeLifecycle, Self::Route, Self::Service, Self::Nlb];

    /// The name that turns on this controller alone.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "cloud-node",
            Self::NodeLifecycle => "cloud-node-lifecycle",
            Self::Route => "route",
            Self::Service => "service",
            Self::Nlb => "nlb",
        }
    }

    /// Reads the list. As in the library, `x` turns x on, `-x` off, `*` all that are not named,
    /// and of two mentions of the same controller the first counts.
    pub(super) fn read(list: &[String], problems: &mut Problems) -> BTreeSet<Self> {
        let mut on = BTreeSet::new();
        let mut named = BTreeSet::new();
        let mut star = false;
        let mut understood = true;
        for entry in list.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()) {
            if entry == "*" {
                star = true;
                continue;
            }
            let (name, wanted) = entry.strip_prefix('-').map_or((entry, true), |name| (name, false));
            match NAMES.iter().find(|(known, _)| *known == name) {
                Some((_, Means::Controllers(controllers))) => {
                    for controller in *controllers {
                        if named.insert(*controller) && wanted {
                            on.insert(*controller);
                        }
                    }
                }
                Some((_, Means::Nothing(why))) => {
                    if wanted {
                        problems.warn(format!("--controllers: {name} has no effect: {why}"));
                    }
                }
                None => {
                    understood = false;
                    let hint = did_you_mean(name, NAMES.iter().map(|(name, _)| *name));
                    problems.fail(format!(
                        "--controllers: there is no controller \"{name}\"{hint}; known are node, route, service, nlb, \
                         ingress, pvtz, cloud-node, cloud-node-lifecycle, node-route and service-lb, and * for all"
                    ));
                }
            }
        }
        if star {
            on.extend(Self::ALL.into_iter().filter(|controller| !named.contains(controller)));
        }
        if on.is_empty() && understood {
            problems.fail(
                "--controllers leaves no controller to run: name at least one of node, route, service and nlb, or write * \
                 before the ones to leave out, as in --controllers=*,-route"
                    .to_owned(),
            );
        }
        on
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The names as a table for the documentation.
#[cfg(test)]
pub(super) fn table() -> String {
    let rows = NAMES.iter().map(|(name, means)| match means {
        Means::Controllers([only]) if only.name() == *name => format!("| `{name}` | on its own |\n"),
        Means::Controllers(controllers) => {
            let all: Vec<_> = controllers.iter().map(|controller| format!("`{controller}`")).collect();
            format!("| `{name}` | {} |\n", all.join(" and "))
        }
        Means::Nothing(why) => format!("| `{name}` | No effect: {why} |\n"),
    });
    format!("\n| name | turns on |\n|---|---|\n{}", rows.collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &str) -> (String, Problems) {
        let mut problems = Problems::default();
        let list: Vec<String> = list.split(',').map(ToOwned::to_owned).collect();
        let on = Controller::read(&list, &mut problems);
        (on.iter().map(ToString::to_string).collect::<Vec<_>>().join(","), problems)
    }

    #[test]
    fn both_sets_of_names_are_understood() {
        let all = "cloud-node,cloud-node-lifecycle,route,service,nlb";
        for (list, expected) in [
            ("node,route,service,nlb", all),
            ("*", all),
            ("*,-route", "cloud-node,cloud-node-lifecycle,service,nlb"),
            ("-route,*", "cloud-node,cloud-node-lifecycle,service,nlb"),
            ("*,-node-route-controller", "cloud-node,cloud-node-lifecycle,service,nlb"),
            ("*,-node", "route,service,nlb"),
            ("cloud-node", "cloud-node"),
            ("cloud-node-lifecycle-controller, service-lb", "cloud-node-lifecycle,service"),
            ("node-route,service-lb-controller,cloud-node-controller", "cloud-node,route,service"),
            ("route,-route", "route"),
            ("-route,route,node", "cloud-node,cloud-node-lifecycle"),
            ("node,", "cloud-node,cloud-node-lifecycle"),
        ] {
            let (on, problems) = read(list);
            assert_eq!(on, expected, "{list}");
            assert_eq!(problems.errors, Vec::<String>::new(), "{list}");
            assert_eq!(problems.warnings, Vec::<String>::new(), "{list}");
        }
    }

    #[test]
    fn names_of_what_is_not_here_are_accepted_with_a_warning() {
        let (on, problems) = read("service,ingress,pvtz,-ingress");
        assert_eq!(on, "service");
        assert_eq!(problems.errors, Vec::<String>::new());
        assert_eq!(
            problems.warnings,
            [
                "--controllers: ingress has no effect: Ingresses with application load balancers are not part of this \
                 program",
                "--controllers: pvtz has no effect: PrivateZone records are not part of this program",
            ]
        );
    }

    #[test]
    fn an_unknown_name_fails_with_the_nearest_known() {
        let (_, problems) = read("node,rout");
        assert_eq!(
            problems.errors,
            ["--controllers: there is no controller \"rout\" (did you mean route?); known are node, route, service, \
              nlb, ingress, pvtz, cloud-node, cloud-node-lifecycle, node-route and service-lb, and * for all"]
        );
        assert!(
            read("zzzzzzzzzz").1.errors[0].starts_with("--controllers: there is no controller \"zzzzzzzzzz\"; known")
        );
    }

    #[test]
    fn a_list_that_leaves_nothing_fails() {
        for list in ["", "-route", "pvtz", "*,-node,-route,-service,-nlb"] {
            let (_, problems) = read(list);
            assert_eq!(problems.errors.len(), 1, "{list}: {:?}", problems.errors);
            assert!(problems.errors[0].starts_with("--controllers leaves no controller to run"), "{list}");
        }
    }
}
