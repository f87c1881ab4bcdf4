//! The shipped manifests, as they are, are accepted by the API server under strict validation.

use crate::theatre::theatre;

fn accepted(arguments: &[&str]) {
    let mut command = vec!["apply", "--dry-run=server", "--validate=strict"];
    command.extend(arguments);
    let printed = theatre().plane.kubectl(&command);
    assert!(printed.lines().count() > 0 && printed.lines().all(|line| line.contains("(server dry run)")), "{printed}");
}

#[test]
fn the_configurations_are_accepted() {
    accepted(&["-f", "deploy/configmap-ram-role.yaml"]);
    accepted(&["-f", "deploy/configmap-accesskey.yaml"]);
}

#[test]
fn both_kustomizations_are_accepted() {
    accepted(&["-k", "deploy/"]);
    accepted(&["-k", "deploy/kubeconfig"]);
}

#[test]
fn the_example_is_accepted() {
    accepted(&["-f", "config/nginx.yaml"]);
}

#[test]
fn strict_validation_would_notice_a_wrong_field() {
    let theatre = theatre();
    let manifest = std::fs::read_to_string("deploy/base/serviceaccount.yaml").unwrap() + "secret: []\n";
    let path = theatre.plane.told.dir.join("wrong.yaml");
    std::fs::write(&path, manifest).unwrap();
    let output =
        theatre.plane.kubectl_output(&["apply", "--dry-run=server", "--validate=strict", "-f", path.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown field \"secret\""), "{output:?}");
}

#[test]
fn applying_again_changes_nothing() {
    let printed = theatre().plane.kubectl(&["apply", "--validate=strict", "-k", "deploy/"]);
    assert!(printed.lines().all(|line| line.ends_with(" unchanged")), "{printed}");
}
