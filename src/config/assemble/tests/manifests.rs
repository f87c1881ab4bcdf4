//! Command lines of manifests that are in use, and the files that are shipped here.

use super::*;

#[test]
fn daemon_sets_in_use_start() {
    for (line, warnings) in [
        // The released controller's newest manifest.
        (
            "--kubeconfig=/etc/kubernetes/cloud-controller-manager.conf --cloud-config=/c --metrics-bind-addr=0 \
             --configure-cloud-routes=false",
            &[][..],
        ),
        // Its older ones, whose flags it does not even know itself.
        (
            "--kubeconfig=/etc/kubernetes/cloud-controller-manager.conf --address=127.0.0.1 \
             --allow-untagged-cloud=true --leader-elect=true --cloud-provider=alicloud \
             --use-service-account-credentials=true --cloud-config=/c --feature-gates=ServiceNodeExclusion=true \
             --configure-cloud-routes=true --allocate-node-cidrs=true --route-reconciliation-period=3m \
             --controllers=node,route,service --cluster-cidr=172.20.0.0/16 --v=5",
            &[
                "--address has no effect",
                "--allow-untagged-cloud has no effect",
                "--use-service-account-credentials has no effect",
                "--feature-gates has no effect",
                "--allocate-node-cidrs has no effect",
            ],
        ),
        // Run by hand against an API server.
        (
            "--master=http://127.0.0.1:8080 --address=0.0.0.0 --cloud-config /c --controllers service --leader-elect=false \
             --logtostderr=true --stderrthreshold=info -v=5",
            &["--address has no effect", "--logtostderr has no effect", "--stderrthreshold has no effect"],
        ),
        // A command line of the Kubernetes library.
        (
            "--cloud-provider=external --cloud-config=/c --controllers=*,-node-route --bind-address=127.0.0.1 \
             --authentication-skip-lookup --secure-port=10258 --concurrent-service-syncs=2 --profiling=false \
             --leader-elect-resource-name=cloud-controller-manager --node-status-update-frequency=5m0s \
             --logging-format=json",
            &[
                "--authentication-skip-lookup has no effect",
                "--profiling has no effect",
                "health over plain HTTP is off",
            ],
        ),
    ] {
        let config = try_config(line, &surroundings(SMALL)).unwrap_or_else(|errors| panic!("{line}: {errors:?}"));
        assert_eq!(config.warnings.len(), warnings.len(), "{:?}", config.warnings);
        for (warning, expected) in config.warnings.iter().zip(warnings) {
            assert!(warning.starts_with(expected), "{warning} instead of {expected}");
        }
    }
}

#[test]
fn the_files_shipped_here_are_read_without_a_warning() {
    for file in [
        include_str!("../../../../config/cloud-config/accesskey.json"),
        include_str!("../../../../config/cloud-config/full.yaml"),
        include_str!("../../../../config/cloud-config/ram-role.json"),
    ] {
        assert_eq!(config("", file).warnings, Vec::<String>::new(), "{file}");
    }
}

#[test]
fn the_daemon_set_starts_on_the_first_node_of_a_cluster() {
    // Its node is tainted, has no network, no address and no DNS, all of which wait for this program.
    let manifest: serde_json::Value =
        serde_yaml::from_str(include_str!("../../../../deploy/base/daemonset.yaml")).unwrap();
    let pod = &manifest["spec"]["template"]["spec"];
    assert_eq!((&pod["hostNetwork"], &pod["dnsPolicy"]), (&true.into(), &"Default".into()));
    let tolerations = pod["tolerations"].as_array().unwrap();
    for taint in [
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/network-unavailable",
        "node-role.kubernetes.io/control-plane",
    ] {
        let tolerates =
            |toleration: &serde_json::Value| toleration["key"] == taint && toleration["operator"] == "Exists";
        assert!(tolerations.iter().any(tolerates), "{taint}");
    }
}
