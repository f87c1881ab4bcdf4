//! The program as it is started from a shell.
#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, reason = "the lint sees no test in the functions that tests share")]

use std::process::{Command, Output};

/// Runs the program with nothing of this process's environment but what it needs to start.
fn run(arguments: &[&str]) -> (Output, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_alibaba-cloud-controller-manager"));
    let output = command.args(arguments).env_clear().output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output, out, err)
}

#[test]
fn the_demo_sees_every_step_and_leaves_nothing_behind() {
    let (output, out, err) = run(&["demo", "--exit"]);
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert_eq!(err, "");
    for line in [
        "1. Three nodes register, as kubelet does with --cloud-provider=external",
        "3. A node is added",
        "4. A node leaves: its instance is released, its kubelet falls silent",
        "6. kubectl delete: both Services",
        "All 6 steps seen in ",
    ] {
        assert!(out.lines().any(|there| there.starts_with(line)), "{line} is not in\n{out}");
    }
    for part in [
        "taint gone, InternalIP 10.0.",
        "zone cn-hangzhou-i",
        "nginx  tcp:80 running -> group k8s/",
        "nginx  3 (Cluster: all nodes)",
        "nginx-local  2 (Local: nodes with pods)",
        "EnsuredLoadBalancer: ",
        "EXTERNAL-IP ",
        "weight 100",
    ] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "a line is too long:\n{out}");
    let kubeconfig = out.lines().find_map(|line| line.trim().strip_prefix("kubeconfig")).unwrap().trim();
    assert!(!std::path::Path::new(kubeconfig).exists(), "{kubeconfig} was left behind");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let (output, out, err) = run(&["--help"]);
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    assert!(out.contains("--cloud-config") && out.contains("demo") && out.contains("simulate"), "{out}");
    let (output, out, err) = run(&["--version"]);
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    assert!(out.starts_with("alibaba-cloud-controller-manager ") && out.contains("commit"), "{out}");
}

#[test]
fn wrong_input_ends_with_code_2_or_1_and_one_message() {
    let directory = tempfile::tempdir().unwrap();
    let world = directory.path().join("world.yaml");
    std::fs::write(&world, "regions: []\nvpcs: []\ncolour: red\nvswitches: []\n").unwrap();
    let world = world.to_str().unwrap();
    for (arguments, code, told) in [
        (vec!["--cloud-confg=/c"], 2, "unknown flag --cloud-confg (did you mean --cloud-config?)".to_owned()),
        (vec!["--cloud-config=/nowhere/at/all", "--cluster-cidr=10.0.0.0/8"], 2, "/nowhere/at/all".to_owned()),
        (vec!["simulate", "everything"], 2, "unrecognized subcommand 'everything'".to_owned()),
        (vec!["demo", "--quit"], 2, "unexpected argument '--quit' found".to_owned()),
        (
            vec!["simulate", "cloud", "--cloud-bind-addr=127.0.0.1:0", "--world", world],
            1,
            format!("error: {world}, line 3: unknown field `colour`"),
        ),
    ] {
        let (output, out, err) = run(&arguments);
        assert_eq!((output.status.code(), out.as_str()), (Some(code), ""), "{arguments:?}: {err}");
        assert!(err.contains(&told), "{arguments:?}: {err}");
    }
}
