//! Every message of a wrong flag, variable or key.

use super::*;

#[test]
fn each_wrong_flag_has_one_message() {
    for (flags, expected) in [
        ("--sg-batch-size=0", "--sg-batch-size is 0: expected 1 to 40"),
        ("--sg-batch-size=41", "--sg-batch-size is 41: expected 1 to 40"),
        ("--node-reconcile-batch-size=101", "--node-reconcile-batch-size is 101: expected 0 to 100"),
        ("--node-reconcile-batch-size=-1", "--node-reconcile-batch-size is -1: expected 0 to 100"),
        ("--route-reconcile-batch-size=0", "--route-reconcile-batch-size is 0: expected 1 to 50"),
        ("--route-reconcile-batch-size=51", "--route-reconcile-batch-size is 51: expected 1 to 50"),
        ("--concurrent-node-syncs=0", "--concurrent-node-syncs is 0: expected 1 to 100"),
        ("--concurrent-service-syncs=-1", "--concurrent-service-syncs is -1: expected 0 to 1000"),
        ("--kube-api-burst=0", "--kube-api-burst is 0: expected 1 to 100000"),
        ("--network=classic", "--network is \"classic\": expected vpc or public"),
        ("--logging-format=xml", "--logging-format is \"xml\": expected text or json"),
        ("--master=user:hunter2@x", "--master is not a URL: expected one such as https://10.0.0.1:6443"),
        (
            "--cluster-cidr=",
            "--cluster-cidr must be set when --configure-cloud-routes=true: pass the network of the pods, or \
             --configure-cloud-routes=false where the network plugin needs no routes",
        ),
        ("--cluster-cidr=10.0.0.0", "--cluster-cidr has \"10.0.0.0\": expected a network such as 172.16.0.0/16"),
        (
            "--cluster-cidr=10.0.0.0/8,11.0.0.0/8",
            "--cluster-cidr is \"10.0.0.0/8,11.0.0.0/8\": expected one network, or one of each family",
        ),
        (
            "--cluster-cidr=10.0.0.0/8,fd00::/48,fd01::/48",
            "--cluster-cidr is \"10.0.0.0/8,fd00::/48,fd01::/48\": expected one network, or one of each family",
        ),
        (
            "--health-probe-bind-addr=10258",
            "--health-probe-bind-addr is \"10258\": expected an address such as :8080 or 127.0.0.1:8080, or 0 to turn \
             it off",
        ),
        (
            "--health-probe-bind-addr=:8080",
            "--health-probe-bind-addr and --metrics-bind-addr are both :8080: expected different ones",
        ),
        ("--leader-elect-resource-lock=endpoints", "--leader-elect-resource-lock is \"endpoints\": expected leases"),
        (
            "--leader-elect-resource-name=",
            "--leader-elect-resource-name is \"\": expected a Kubernetes name of lower-case letters, digits, dashes \
             and dots",
        ),
        (
            "--leader-elect-resource-namespace=Kube",
            "--leader-elect-resource-namespace is \"Kube\": expected a Kubernetes name of lower-case letters, digits, \
             dashes and dots",
        ),
        (
            "--leader-elect-lease-duration=10s",
            "--leader-elect-lease-duration is 10s: expected more than --leader-elect-renew-deadline, which is 10s",
        ),
        (
            "--leader-elect-retry-period=9s",
            "--leader-elect-renew-deadline is 10s: expected more than 1.2 times --leader-elect-retry-period, which is \
             9s",
        ),
        ("--leader-elect-retry-period=0", "--leader-elect-retry-period is 0s: expected a longer time"),
        (
            "--controllers=xyzzy",
            "--controllers: there is no controller \"xyzzy\"; known are node, route, service, nlb, \
          ingress, pvtz, cloud-node, cloud-node-lifecycle, node-route and service-lb, and * for all",
        ),
    ] {
        assert_eq!(errors(flags, SMALL), [expected], "{flags}");
    }
    assert_eq!(
        errors(
            "--leader-elect-lease-duration=300ms --leader-elect-renew-deadline=200ms \
                       --leader-elect-retry-period=100ms",
            SMALL
        ),
        ["--leader-elect-lease-duration is 300ms: expected at least a second"]
    );
}

#[test]
fn times_of_an_election_that_is_off_do_not_matter() {
    assert!(!config("--leader-elect=false --leader-elect-lease-duration=1s", SMALL).leader.elect);
}

#[test]
fn each_wrong_key_has_one_message() {
    let long = "x".repeat(129);
    for (key, value, expected) in [
        ("region", "cn hangzhou", "/c: Global.region is \"cn hangzhou\": expected an id such as cn-hangzhou"),
        ("vpcid", "vpc/1", "/c: Global.vpcid is \"vpc/1\": expected an id such as vpc-2zeaybwqmvn6qgabfd3pe"),
        ("zoneid", "a;b", "/c: Global.zoneid is \"a;b\": expected an id such as cn-hangzhou-h"),
        (
            "resourceGroupID",
            "rg 1",
            "/c: Global.resourceGroupID is \"rg 1\": expected an id such as rg-acfmxazb4ph6aiy",
        ),
        (
            "vswitchid",
            "a:b:c",
            "/c: Global.vswitchid has the entry \"a:b:c\": expected a vSwitch id such as vsw-2ze1xyzabc, or \
             zone:vswitch separated by commas",
        ),
        (
            "routeTableIDs",
            "vtb-1;vtb-2",
            "/c: Global.routeTableIDs has \"vtb-1;vtb-2\": expected ids such as vtb-bp145q7glnuzd separated by commas",
        ),
        ("serviceBackendType", "pod", "/c: Global.serviceBackendType is \"pod\": expected eni or ecs"),
        (
            "serviceControlPlaneNodes",
            "never",
            "/c: Global.serviceControlPlaneNodes is \"never\": expected legacy, include or exclude",
        ),
        ("serviceMaxConcurrentReconciles", "-1", "/c: Global.serviceMaxConcurrentReconciles is -1: expected 0 to 1000"),
        ("nodeMaxConcurrentReconciles", "101", "/c: Global.nodeMaxConcurrentReconciles is 101: expected 1 to 100"),
        (
            "nodeMonitorPeriod",
            "-5",
            "/c: Global.nodeMonitorPeriod is -5: expected a number of seconds, or 0 for the default",
        ),
        (
            "featureGates",
            "Nope=true",
            "/c: Global.featureGates: unknown gate \"Nope\"; known are IPv6DualStack, EndpointSlice, \
             FilterServiceOnNodeChange, LoadBalancerTypeAnnotation",
        ),
    ] {
        assert_eq!(errors("", &format!("{SMALL}  {key}: '{value}'\n")), [expected], "{key}: {value}");
    }
    assert_eq!(
        errors("", &format!("Global:\n  clusterID: {long}\n")),
        [format!("/c: Global.clusterID is \"{long}\": expected up to 128 visible ASCII characters without blanks")]
    );
}

#[test]
fn each_wrong_variable_has_one_message() {
    for (name, value, expected) in [
        (
            "SLB_ENDPOINT",
            "http://user:hunter2@x",
            "SLB_ENDPOINT is not an endpoint: expected a host or host:port, without a user",
        ),
        (
            "METADATA_ENDPOINT",
            "ftp://x",
            "METADATA_ENDPOINT is not a base URL: expected one such as http://100.100.100.200, without a user",
        ),
        ("ALICLOUD_CLIENT_SCHEME", "FTP", "ALICLOUD_CLIENT_SCHEME is \"FTP\": expected HTTP or HTTPS"),
    ] {
        assert_eq!(try_config(LINE, &surroundings(SMALL).with_variable(name, value)).unwrap_err(), [expected]);
    }
}

#[test]
fn the_cloud_config_file_is_required() {
    let errors = try_config("--configure-cloud-routes=false", &Fixed::default()).unwrap_err();
    assert_eq!(
        errors,
        [
            "cloud config cannot be empty: pass --cloud-config with the path of the cloud-config file; a file that holds \
         only {\"Global\": {}} takes everything from the metadata server"
        ]
    );
}

#[test]
fn all_that_is_wrong_is_reported_together() {
    let line = "--cloud-config=/c --controllers=rout --clusters-cidr=x --kube-api-burst=0 --dry-run=maybe";
    let environment = surroundings("Global:\n  region: a b\n").with_variable("ALICLOUD_CLIENT_SCHEME", "FTP");
    let result = read(line.split_whitespace().map(OsString::from), &environment);
    assert_eq!(
        result.unwrap_err().to_string(),
        "6 things are wrong with the configuration:
  unknown flag --clusters-cidr (did you mean --cluster-cidr?)
  --dry-run is \"maybe\": expected true or false
  --controllers: there is no controller \"rout\" (did you mean route?); known are node, route, service, nlb, ingress, \
         pvtz, cloud-node, cloud-node-lifecycle, node-route and service-lb, and * for all
  /c: Global.region is \"a b\": expected an id such as cn-hangzhou
  ALICLOUD_CLIENT_SCHEME is \"FTP\": expected HTTP or HTTPS
  --kube-api-burst is 0: expected 1 to 100000"
    );
}

#[test]
fn what_is_corrected_is_a_warning() {
    for (flags, expected) in [
        (
            "--route-reconciliation-period=10s",
            "--route-reconciliation-period is 10s, below the minimum: 1m is used; changes of nodes are acted on at once \
             anyway",
        ),
        ("--node-monitor-period=5s", "--node-monitor-period is 5s, below the minimum: 10s is used"),
        (
            "--node-event-aggregation-wait-seconds=100",
            "--node-event-aggregation-wait-seconds is 100, above the maximum: 60 is used",
        ),
        (
            "--cloud-provider=aws",
            "--cloud-provider is \"aws\" and changes nothing: this program serves Alibaba Cloud only",
        ),
    ] {
        let config = config(flags, SMALL);
        assert_eq!(config.warnings, [expected]);
    }
    let config = config("", "Global: {}");
    assert_eq!(config.cloud.cluster_id, "clusterid");
    assert_eq!(
        config.warnings,
        ["/c: Global.clusterID is not set: load balancers are tagged with \"clusterid\", which two clusters of one \
         account must not share"]
    );
}
