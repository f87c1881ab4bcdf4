//! Every call of the node and route path against everything that can go wrong with it: no Node is
//! deleted wrongly, nothing foreign is touched, and all is as it should be one backoff after the
//! trouble ends.

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind, vpc::RouteEntry};
use k8s_openapi::api::core::v1::NodeAddress;
use serde_json::json;

use crate::support::{Stage, host::Host, play, taints};

const LONE: &[&str] = &["--leader-elect=false"];
const ROLE: &str = "acs:ram::1234567890123456:role/ccm";

/// The longest wait between two attempts at anything, with its spread.
const BACKOFF: Duration = Duration::from_secs(360);

fn kinds() -> [(&'static str, FaultKind); 9] {
    let internal = FaultKind::Error { status: 500, code: "InternalError".into(), message: String::new() };
    [
        ("denied", FaultKind::Denied),
        ("throttled", FaultKind::Throttle { retry_after: None }),
        ("failing", internal),
        ("timing out", FaultKind::Slow(Duration::from_secs(30))),
        ("losing answers", FaultKind::DropAfter),
        ("malformed", FaultKind::TruncatedJson),
        ("empty", FaultKind::EmptyList),
        ("missing a page", FaultKind::MissingPage),
        ("of another region", FaultKind::OtherRegion),
    ]
}

/// What kubelets know of the instance that they run on.
#[derive(Clone, Copy)]
enum Kubelet {
    /// Its id: the node is looked up by that.
    Id,
    /// Its private address, by which it has to be found.
    Address,
    /// Its host name, the same.
    HostName,
}

/// A node with the instance behind it.
#[derive(Clone)]
struct Joined {
    node: String,
    instance: String,
}

// === impl Kubelet ===

impl Kubelet {
    fn join(self, stage: &Stage, number: u32) -> Joined {
        if matches!(self, Self::Id) {
            let node = stage.world.join().unwrap();
            let instance = node.split_once('.').unwrap().1.to_owned();
            return Joined { node, instance };
        }
        let (name, instance) = (format!("worker-{number}"), stage.world.boot(number).unwrap());
        let mut node = stage.world.node(&name, None, number);
        if matches!(self, Self::Address) {
            let all = stage.cloud().instances();
            let ip = all.iter().find(|one| one.id == instance).unwrap().private_ip.unwrap();
            let address = NodeAddress { type_: "InternalIP".into(), address: ip.to_string() };
            node.status.as_mut().unwrap().addresses.as_mut().unwrap().push(address);
        } else {
            let host = |state: &mut ccm::sim::cloud::State| {
                state.ecs.instances.get_mut(&instance).unwrap().hostname.clone_from(&name);
            };
            stage.cloud().with_state(host);
        }
        stage.world.kube.create(&node).unwrap();
        Joined { node: name, instance }
    }
}

/// Entries that are none of ours: one outside the cluster's range, one inside it that does not lead to
/// an instance.
async fn foreign_entries(stage: &Stage, table: &str) -> Vec<RouteEntry> {
    let instance = stage.world.boot(1).unwrap();
    let interface = stage.cloud().with_state(|state| state.ecs.instances[&instance].interfaces[0].clone());
    for (destination, kind, hop) in
        [("192.168.7.0/24", "Instance", instance), ("172.20.250.0/24", "NetworkInterface", interface)]
    {
        let params = [
            ("RouteTableId", table),
            ("DestinationCidrBlock", destination),
            ("NextHopType", kind),
            ("NextHopId", hop.as_str()),
        ];
        stage.cloud().administer("vpc.CreateRouteEntry", &params).unwrap();
        stage.pass(Duration::from_secs(1)).await;
    }
    stage.cloud().routes(table)
}

/// Whether the node is in service, and its pods reachable.
fn is_served(stage: &Stage, table: &str, one: &Joined) -> bool {
    let Some(node) = stage.node(&one.node) else { return false };
    let available = |condition: &k8s_openapi::api::core::v1::NodeCondition| {
        condition.type_ == "NetworkUnavailable" && condition.status == "False"
    };
    let instance = one.instance.as_str();
    let cidr = node.spec.as_ref().unwrap().pod_cidr.clone().unwrap();
    let closed = stage.cloud().with_state(|state| {
        let mut interfaces = state.ecs.interfaces.values();
        interfaces.any(|i| i.instance.as_deref() == Some(instance) && i.source_dest_check)
    });
    taints(&node).is_empty()
        && !closed
        && node.status.unwrap().conditions.unwrap().iter().any(available)
        && stage.cloud().routes(table).iter().any(|e| e.destination.to_string() == cidr && e.next_hop == instance)
}

/// Lets the metadata server of a hardened instance answer.
fn serve_metadata(stage: &Stage) {
    let instance = stage.world.boot(2).unwrap();
    stage.cloud().with_state(|state| {
        state.role = Some("ccm".to_owned());
        state.metadata_token_required = true;
        state.metadata_instance = Some(instance);
    });
}

fn trouble_with(action: &'static str, kubelet: Kubelet, host: &Host) {
    for (what, kind) in kinds() {
        let host = host.clone();
        play(move |stage| async move {
            serve_metadata(&stage);
            let table = stage.cloud().route_tables("vpc-bp1sim").remove(0);
            let foreign = foreign_entries(&stage, &table).await;
            let untouched = |stage: &Stage| {
                let all = stage.cloud().routes(&table);
                foreign.iter().all(|entry| all.contains(entry))
            };
            let served = |stage: &Stage, one: &Joined| is_served(stage, &table, one);
            let there = |stage: &Stage, all: &[Joined]| all.iter().all(|one| stage.node(&one.node).is_some());

            // From the start on.
            stage.cloud().inject(Fault::on(action, kind.clone()));
            let _replica = stage.start_on(&host, LONE);
            let mut nodes: Vec<Joined> = (101..105).map(|number| kubelet.join(&stage, number)).collect();
            stage.pass(Duration::from_secs(400)).await;
            assert!(there(&stage, &nodes), "{action} {what}: a Node was deleted");
            stage.cloud().clear_faults();
            stage.pass(BACKOFF).await;
            for one in &nodes {
                assert!(served(&stage, one), "{action} {what}: {} is not served after the start", one.node);
            }

            // In the middle of changes: one comes, one is really gone, one only falls silent.
            stage.cloud().inject(Fault::on(action, kind));
            stage.cloud().expire_credentials();
            nodes.push(kubelet.join(&stage, 105));
            let gone = nodes.remove(0);
            stage.cloud().remove_instance(&gone.instance);
            stage.world.set_ready(&gone.node, "Unknown").unwrap();
            stage.world.set_ready(&nodes[0].node, "Unknown").unwrap();
            stage.pass(Duration::from_secs(400)).await;
            assert!(there(&stage, &nodes), "{action} {what}: a Node was deleted wrongly");
            assert!(untouched(&stage), "{action} {what}: foreign entries were touched");
            stage.cloud().clear_faults();
            stage.world.set_ready(&nodes[0].node, "True").unwrap();
            stage.pass(BACKOFF).await;
            for one in &nodes {
                assert!(served(&stage, one), "{action} {what}: {} is not served", one.node);
            }
            assert!(stage.node(&gone.node).is_none(), "{action} {what}: the Node of a released instance stays");
            assert!(untouched(&stage), "{action} {what}: foreign entries were touched");
            let ours = stage.cloud().routes(&table).len() - foreign.len();
            assert_eq!(ours, nodes.len(), "{action} {what}: {:?}", stage.cloud().routes(&table));
        });
    }
}

/// With region, VPC and key in the cloud-config file.
fn told_all() -> Host {
    Host::with(json!({}))
}

/// With a role to take with the key of the file.
fn with_a_role() -> Host {
    Host::with(json!({ "assumeRoleArn": ROLE }))
}

/// With the role of a service account.
fn in_a_pod() -> Host {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/fault-matrix-token");
    std::fs::write(file, "head.token.signature").unwrap();
    let host = Host::with(json!({ "accessKeyID": null, "accessKeySecret": null }));
    host.set("ALIBABA_CLOUD_ROLE_ARN", ROLE);
    host.set("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "acs:ram::1234567890123456:oidc-provider/ack");
    host.set("ALIBABA_CLOUD_OIDC_TOKEN_FILE", file);
    host
}

/// With nothing: the metadata server tells all.
fn told_nothing() -> Host {
    Host::with(
        json!({ "accessKeyID": null, "accessKeySecret": null, "region": null, "vpcid": null, "vswitchid": null }),
    )
}

/// Makes a test of each row: what is spoiled, how nodes are found, and what is configured.
macro_rules! matrix {
    ($($test:ident: $target:literal, $kubelet:expr, $host:expr;)+) => {
        const TARGETS: &[&str] = &[$($target),+];

        $(#[test]
        fn $test() {
            trouble_with($target, $kubelet, &$host);
        })+
    };
}

matrix! {
    trouble_with_reading_instances_passes: "ecs.DescribeInstances", Kubelet::Id, told_all();
    trouble_with_finding_instances_by_address_passes: "ecs.DescribeInstances", Kubelet::Address, told_all();
    trouble_with_finding_instances_by_host_name_passes: "ecs.DescribeInstances", Kubelet::HostName, told_all();
    trouble_with_reading_interfaces_passes: "ecs.DescribeNetworkInterfaces", Kubelet::Id, told_all();
    trouble_with_opening_interfaces_passes: "ecs.ModifyNetworkInterfaceAttribute", Kubelet::Id, told_all();
    trouble_with_finding_the_route_table_passes: "vpc.DescribeRouteTableList", Kubelet::Id, told_all();
    trouble_with_reading_routes_passes: "vpc.DescribeRouteEntryList", Kubelet::Id, told_all();
    trouble_with_creating_routes_passes: "vpc.CreateRouteEntries", Kubelet::Id, told_all();
    trouble_with_deleting_routes_passes: "vpc.DeleteRouteEntries", Kubelet::Id, told_all();
    trouble_with_taking_a_role_passes: "sts.AssumeRole", Kubelet::Id, with_a_role();
    trouble_with_taking_the_role_of_a_service_account_passes: "sts.AssumeRoleWithOIDC", Kubelet::Id, in_a_pod();
    trouble_with_tokens_of_the_metadata_server_passes: "metadata.token", Kubelet::Id, told_nothing();
    trouble_with_learning_the_region_passes: "metadata.region-id", Kubelet::Id, told_nothing();
    trouble_with_learning_the_vpc_passes: "metadata.vpc-id", Kubelet::Id, told_nothing();
    trouble_with_learning_the_vswitch_passes: "metadata.vswitch-id", Kubelet::Id, told_nothing();
    trouble_with_the_name_of_the_ram_role_passes: "metadata.ram/security-credentials", Kubelet::Id, told_nothing();
    trouble_with_the_key_of_the_ram_role_passes: "metadata.ram/security-credentials/ccm", Kubelet::Id, told_nothing();
}

#[test]
fn every_call_that_nodes_and_routes_take_is_in_the_matrix() {
    for host in [with_a_role(), in_a_pod(), told_nothing()] {
        play(move |stage| async move {
            serve_metadata(&stage);
            let _replica = stage.start_on(&host, &["--leader-elect=false", "--controllers=node,route"]);
            let mut nodes = Vec::new();
            for (number, kubelet) in (101..).zip([Kubelet::Id, Kubelet::Address, Kubelet::HostName, Kubelet::Id]) {
                nodes.push(kubelet.join(&stage, number));
            }
            stage.pass(Duration::from_secs(400)).await;
            stage.cloud().remove_instance(&nodes[0].instance);
            stage.world.set_ready(&nodes[0].node, "Unknown").unwrap();
            stage.pass(Duration::from_secs(400)).await;
            assert!(stage.node(&nodes[0].node).is_none());
            let called: BTreeSet<String> = stage.cloud().call_counts().into_keys().collect();
            let missing: Vec<_> = called.iter().filter(|call| !TARGETS.contains(&call.as_str())).collect();
            assert!(missing.is_empty() && called.len() >= 7, "{missing:?} of {called:?}");
        });
    }
}
