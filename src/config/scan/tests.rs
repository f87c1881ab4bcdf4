use super::*;

fn read(line: &str) -> (Asked, Problems) {
    let mut problems = Problems::default();
    let asked = scan(line.split_whitespace().map(OsString::from), &mut problems);
    (asked, problems)
}

/// The given flags; fails on any error.
fn given(line: &str) -> Given {
    let (asked, problems) = read(line);
    assert_eq!(problems.errors, Vec::<String>::new(), "{line}");
    let Asked::Run(given) = asked else { panic!("{line}: {asked:?}") };
    given
}

fn errors(line: &str) -> Vec<String> {
    read(line).1.errors
}

#[test]
fn values_come_after_an_equals_sign_or_as_the_next_argument() {
    for line in
        ["--cloud-config=/a --leader-elect-lease-duration=1m0s", "--cloud-config /a --leader-elect-lease-duration 60s"]
    {
        let given = given(line);
        assert_eq!(given.text("cloud-config"), "/a");
        assert_eq!(given.duration("leader-elect-lease-duration"), Duration::from_mins(1));
    }
    assert_eq!(given("--controllers -route,*").list("controllers"), ["-route", "*"]);
    assert_eq!(given("--cluster-cidr=a=b").text("cluster-cidr"), "a=b");
    assert_eq!(given("--kubeconfig=").text("kubeconfig"), "");
}

#[test]
fn switches_are_read_like_go_reads_them() {
    for (line, expected) in [
        ("", true),
        ("--leader-elect", true),
        ("--leader-elect=false", false),
        ("--leader-elect=0", false),
        ("--leader-elect=T", true),
        ("--leader-elect=false --leader-elect", true),
    ] {
        assert_eq!(given(line).bool("leader-elect"), expected, "{line}");
    }
    assert_eq!(
        errors("--leader-elect false"),
        ["--leader-elect false: a switch takes its value after an equals sign; write --leader-elect=false"]
    );
    assert_eq!(errors("--dry-run=yes"), ["--dry-run is \"yes\": expected true or false"]);
}

#[test]
fn the_last_mention_counts_and_lists_grow() {
    assert_eq!(given("--network=vpc --network=public").text("network"), "public");
    assert_eq!(
        given("--controllers=node --controllers=route,service").list("controllers"),
        ["node", "route", "service"]
    );
    assert_eq!(given("").list("controllers"), ["node", "route", "service", "nlb"]);
}

#[test]
fn verbosity_has_all_of_klogs_forms() {
    for line in ["--v=5", "--v 5", "-v=5", "-v 5", "-v5"] {
        assert_eq!(given(line).integer("v"), 5, "{line}");
    }
    assert_eq!(errors("-v=x"), ["--v is \"x\": expected a whole number"]);
    assert_eq!(errors("-v"), ["--v needs a value: a whole number"]);
}

#[test]
fn underscores_and_dashes_are_the_same() {
    assert_eq!(given("--cloud_config=/a").text("cloud-config"), "/a");
    assert_eq!(
        read("--log_dir=/x").1.warnings,
        ["--log-dir has no effect: the log is never written to files, it always goes to standard error"]
    );
}

#[test]
fn a_flag_without_effect_draws_one_warning_with_the_reason() {
    let (_, problems) = read("--cluster-name=a --cluster-name=b --profiling --cert-dir /x");
    assert_eq!(problems.errors, Vec::<String>::new());
    assert_eq!(
        problems.warnings,
        [
            "--cluster-name has no effect: the cluster is told apart by Global.clusterID of the cloud-config file",
            "--profiling has no effect: there is no profiling server",
            "--cert-dir has no effect: the secure port has fixed settings for this, those that TLS libraries recommend",
        ]
    );
}

#[test]
fn every_accepted_flag_is_accepted_and_explained() {
    for flag in flags::all().filter(|flag| !flag.has_effect()) {
        let sample = match flag.kind {
            Kind::Bool => "true",
            Kind::Integer | Kind::Decimal => "1",
            Kind::Duration => "1s",
            Kind::Text | Kind::List => "x",
        };
        let (_, problems) = read(&format!("--{}={sample}", flag.name));
        assert_eq!(problems.errors, Vec::<String>::new(), "{}", flag.name);
        assert_eq!(problems.warnings, [format!("--{} has no effect: {}", flag.name, flag.help)]);
        assert!(!flag.help.is_empty(), "{}", flag.name);
    }
}

#[test]
fn mistakes_are_gathered_and_explained() {
    assert_eq!(
        errors("--clusters-cidr=1 -cloud-config=x --node-monitor-period=5 --nonsense-xyz --v"),
        [
            "unknown flag --clusters-cidr (did you mean --cluster-cidr?)",
            "-cloud-config: flags start with two dashes; write --cloud-config",
            "--node-monitor-period is \"5\": expected a duration such as 15s, 5m or 1h30m",
            "unknown flag --nonsense-xyz",
            "--v needs a value: a whole number",
        ]
    );
    assert_eq!(errors("-x"), ["unknown flag -x"]);
    assert_eq!(
        errors("demon --dry-run -- --dry-run"),
        [
            "unexpected argument \"demon\" (did you mean demo?): flags start with two dashes, a command stands first",
            "unexpected argument \"--dry-run\": flags start with two dashes, a command stands first",
        ]
    );
}

#[test]
fn the_value_of_an_unknown_flag_is_not_repeated() {
    for line in ["--access-key-secret=hunter2", "--access-key-secret hunter2", "-access-key-secret=hunter2"] {
        let errors = errors(line);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(!errors[0].contains("hunter2"), "{errors:?}");
    }
}

#[test]
fn help_and_version_win() {
    assert!(matches!(read("--nonsense --help").0, Asked::Help { all: true }));
    assert!(matches!(read("-h").0, Asked::Help { all: false }));
    assert!(matches!(read("--dry-run --version").0, Asked::Version));
}
