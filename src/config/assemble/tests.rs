//! Whole command lines, files and environments against the configuration they make.

mod credentials;
mod effect;
mod errors;
mod manifests;
mod precedence;

use std::ffi::OsString;

use crate::config::{Config, Invalid, Request, environment::Fixed, read};

/// A file with a cluster id only, so that nothing needs a warning.
const SMALL: &str = "Global:\n  clusterID: c1\n";

/// What is needed to start without a warning, beside the file.
const LINE: &str = "--cloud-config=/c --controllers=node,route,service --cluster-cidr=172.16.0.0/16";

fn surroundings(file: &str) -> Fixed {
    Fixed::default().with_file("/c", file).with_file("/proc/sys/kernel/hostname", "host-1\n")
}

fn try_config(line: &str, environment: &Fixed) -> Result<Config, Vec<String>> {
    match read(line.split_whitespace().map(OsString::from), environment) {
        Ok(Request::Run(config)) => Ok(*config),
        Ok(other) => panic!("{line}: {other:?}"),
        Err(Invalid(errors)) => Err(errors),
    }
}

/// [`LINE`] and `more`, with this file.
fn config(more: &str, file: &str) -> Config {
    try_config(&format!("{LINE} {more}"), &surroundings(file)).unwrap()
}

fn errors(more: &str, file: &str) -> Vec<String> {
    try_config(&format!("{LINE} {more}"), &surroundings(file)).unwrap_err()
}

#[test]
fn the_smallest_configuration_has_the_documented_defaults_and_no_warning() {
    let config = config("", SMALL);
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(
        config.to_string(),
        "controllers=cloud-node,cloud-node-lifecycle,route,service dry_run=false region=metadata vpc=metadata \
         zone=metadata vswitches=metadata cluster_id=c1 resource_group=default network=vpc scheme=https \
         metadata_token=true credentials=ram-role service_workers=3 backend_type=ecs control_plane_nodes=legacy only_ready_nodes=false disable_public_slb=false \
         server_group_batch=40 node_batch=100 node_workers=1 aggregation_wait=1s node_period=5m \
         skip_source_dest_check=false configure_routes=true cluster_cidrs=172.16.0.0/16 route_period=5m \
         route_batch=50 route_tables=discovered leader_elect=true lease=kube-system/ccm lease_duration=15s \
         renew_deadline=10s retry_period=2s health=:10258 metrics=:8080 secure=off kubeconfig=none kube_qps=200 kube_burst=2000 \
         log_format=text v=0 ipv6_dual_stack=false"
    );
    assert_eq!(config.leader.hostname, "host-1");
}

#[test]
fn everything_can_be_set() {
    let file = "
Global:
  accessKeyID: TFRBSWV4YW1wbGU=
  accessKeySecret: ZXhhbXBsZS1zZWNyZXQ=
  clusterID: c2
  region: cn-beijing
  vpcid: vpc-1
  zoneid: cn-beijing-a
  vswitchid: cn-beijing-a:vsw-a, :vsw-b
  resourceGroupID: ' rg-1 '
  serviceMaxConcurrentReconciles: 5
  serviceBackendType: eni
  disablePublicSLB: true
  nodeMaxConcurrentReconciles: 2
  nodeMonitorPeriod: 120
  nodeAddrSyncPeriod: 90
  routeTableIDs: ' vtb-1, ,vtb-2,vtb-1 '
  featureGates: IPv6DualStack=true
";
    let environment = surroundings(file)
        .with_variable("ECS_ENDPOINT", "http://127.0.0.1:1/x")
        .with_variable("VPC_ENDPOINT", "vpc.local")
        .with_variable("SLB_ENDPOINT", "slb.local:2")
        .with_variable("NLB_ENDPOINT", "nlb.local")
        .with_variable("STS_ENDPOINT", "sts.local")
        .with_variable("METADATA_ENDPOINT", "http://127.0.0.1:3/")
        .with_variable("ALICLOUD_CLIENT_SCHEME", "HTTP")
        .with_variable("RUST_LOG", "info");
    let line = "--cloud-config=/c --controllers=*,-cloud-node-lifecycle --cluster-cidr=172.16.5.0/16,fd00::/48 --dry-run \
                --network=public --enable-imdsv2=false --sg-batch-size=20 --node-reconcile-batch-size=0 \
                --node-event-aggregation-wait-seconds=-3 --skip-disable-source-dest-check \
                --route-reconciliation-period=2m --route-reconcile-batch-size=10 --leader-elect-lease-duration=1m \
                --leader-elect-renew-deadline=30s --leader-elect-retry-period=5s --leader-elect-resource-name=x \
                --leader-elect-resource-namespace=y --health-probe-bind-addr=127.0.0.1:1 --metrics-bind-addr=0 \
                --secure-port=10259 --bind-address=10.0.0.1 --kubeconfig=/k --master=https://10.0.0.1:6443 --kube-api-qps=0.5 --kube-api-burst=1 --v=300 \
                --logging-format=json";
    let config = try_config(line, &environment).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(
        config.to_string(),
        "controllers=cloud-node,route,service,nlb dry_run=true region=cn-beijing vpc=vpc-1 zone=cn-beijing-a \
         vswitches=cn-beijing-a:vsw-a,vsw-b cluster_id=c2 resource_group=rg-1 network=public scheme=http \
         ecs_endpoint=127.0.0.1:1 vpc_endpoint=vpc.local slb_endpoint=slb.local:2 nlb_endpoint=nlb.local \
         sts_endpoint=sts.local metadata_endpoint=http://127.0.0.1:3 metadata_token=false credentials=cloud-config \
         service_workers=5 backend_type=eni control_plane_nodes=legacy only_ready_nodes=false disable_public_slb=true server_group_batch=20 node_batch=100 \
         node_workers=2 aggregation_wait=0s node_period=1m30s skip_source_dest_check=true configure_routes=true \
         cluster_cidrs=172.16.0.0/16,fd00::/48 route_period=2m route_batch=10 route_tables=vtb-1,vtb-2 \
         leader_elect=true lease=y/x lease_duration=1m renew_deadline=30s retry_period=5s health=127.0.0.1:1 \
         metrics=off secure=10.0.0.1:10259 kubeconfig=/k master=https://10.0.0.1:6443 kube_qps=0.5 kube_burst=1 log_format=json v=255 \
         ipv6_dual_stack=true"
    );
    assert_eq!(config.logging.filter.as_deref(), Some("info"));
}

#[test]
fn each_key_of_the_file_stands_on_its_own() {
    let of = |key: &str, value: &str| config("", &format!("{SMALL}  {key}: {value}\n")).cloud;
    assert_eq!(of("region", "r-1").region, Some("r-1".into()));
    assert_eq!(of("vpcid", "vpc-1").vpc, Some("vpc-1".into()));
    assert_eq!(of("zoneid", "z-1").zone, Some("z-1".into()));
    assert_eq!(of("vswitchid", "vsw-1").vswitches, [(None, "vsw-1".into())]);
    assert_eq!(of("region", "r-1").vpc, None);
}

#[test]
fn vswitches_have_two_forms() {
    let of = |text: &str| {
        let config = config("", &format!("{SMALL}  vswitchid: '{text}'\n"));
        let list: Vec<String> = config
            .cloud
            .vswitches
            .iter()
            .map(|(zone, id)| format!("{}/{id}", zone.as_ref().map(ToString::to_string).unwrap_or_default()))
            .collect();
        (list.join(" "), config.warnings)
    };
    for (text, expected) in [
        ("vsw-a", "/vsw-a"),
        (":vsw-b", "/vsw-b"),
        (":vsw-c,:vsw-d", "/vsw-c /vsw-d"),
        ("cn-hangzhou-h:vsw-h", "cn-hangzhou-h/vsw-h"),
        ("h:vsw-h, i:vsw-i,", "h/vsw-h i/vsw-i"),
        ("vsw-a,vsw-b", "/vsw-a /vsw-b"),
    ] {
        assert_eq!(of(text), (expected.to_owned(), vec![]), "{text}");
    }
    assert_eq!(
        of("vsw-a,h:vsw-h"),
        (
            "h/vsw-h".to_owned(),
            vec![
                "/c: Global.vswitchid: \"vsw-a\" is skipped: in a list with zones write zone:vswitch or :vswitch"
                    .to_owned()
            ]
        )
    );
}

proptest::proptest! {
    #[test]
    fn no_command_line_and_no_file_is_too_strange(line in "(-{0,3}[a-z_=,*:0-9-]{0,20} ){0,5}", file in "(Global:\n)?.*") {
        // Whatever it is, it ends in a configuration or in messages.
        let _ = read(format!("{LINE} {line}").split_whitespace().map(OsString::from), &surroundings(&file));
    }
}
