use super::*;
use crate::config::environment::Fixed;

fn run(line: &str) -> Result<Command, Exit> {
    let environment = Fixed::default().with_file("/c", "Global:\n  clusterID: c1\n");
    parse(line.split_whitespace().map(OsString::from), &environment)
}

#[test]
fn without_a_command_it_is_the_daemon() {
    let Ok(Command::Run { config, .. }) = run("ccm --cloud-config=/c --configure-cloud-routes=false") else { panic!() };
    assert_eq!(config.cloud.cluster_id, "c1");
}

#[test]
fn a_wrong_command_line_ends_with_code_2() {
    let exit = run("ccm --cloud-confg=/c").unwrap_err();
    assert_eq!(exit.code, 2);
    assert!(exit.message.starts_with("error: 3 things are wrong with the configuration:\n"), "{}", exit.message);
    assert!(exit.message.contains("unknown flag --cloud-confg (did you mean --cloud-config?)\n"), "{}", exit.message);
    assert!(exit.message.ends_with("See --help for all flags.\n"), "{}", exit.message);
}

#[test]
fn version_and_help_end_with_code_0() {
    let version = run("ccm --version").unwrap_err();
    assert_eq!(version, Exit::printing(format!("{}\n", config::build_info::line())));
    let help = run("ccm --help").unwrap_err();
    assert_eq!(help.code, 0);
    for part in [
        "--cluster-cidr <string>",
        "Accepted without effect:",
        "--cert-dir <string>",
        "No effect: ",
        "--leader-elect[=<bool>]",
    ] {
        assert!(help.result.contains(part), "{part} in {}", help.result);
    }
    let short = run("ccm -h").unwrap_err();
    assert!(short.result.contains("--cluster-cidr <string>") && !short.result.contains("--cert-dir"));
    assert_eq!(run("ccm help").unwrap_err().code, 0);
}

#[cfg(feature = "sim")]
#[test]
fn commands_stand_first_and_have_options_of_their_own() {
    assert!(matches!(run("ccm demo --exit"), Ok(Command::Demo(DemoOptions { exit: true, logs: false }))));
    assert!(matches!(run("ccm demo"), Ok(Command::Demo(DemoOptions { exit: false, .. }))));
    let Ok(Command::Simulate(options)) = run("ccm simulate all --cloud-bind-addr 127.0.0.1:1") else { panic!() };
    let Simulate::All(options) = options.what else { panic!() };
    assert_eq!((options.cloud.cloud_bind_addr.port(), options.cluster.kube_bind_addr.port()), (1, 16443));
    let both = run("ccm simulate cloud --world=/w --nodes=5").unwrap_err();
    assert_eq!(both.code, 2);
    assert!(both.message.contains("--nodes") && both.message.contains("--world"), "{}", both.message);
    let wrong = run("ccm demo --cloud-config=/c").unwrap_err();
    assert_eq!(wrong.code, 2);
    assert!(wrong.message.contains("--cloud-config"), "{}", wrong.message);
    assert_eq!(run("ccm demo --help").unwrap_err().code, 0);
}
