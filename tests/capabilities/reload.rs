//! The cloud-config file changes while the controller runs.

use std::time::Duration;

use ccm::{
    daemon,
    sim::cloud::{Fault, FaultKind},
};
use serde_json::{Value, json};

use crate::support::{Stage, host::Host, log::Log, play};

const LONE: &[&str] = &["--leader-elect=false"];
/// Longer than it takes to notice a change.
const NOTICED: Duration = Duration::from_secs(15);

fn reloads(stage: &Stage, result: &str) -> Option<f64> {
    stage.metric(&format!("ccm_config_reloads_total{{result=\"{result}\"}}"))
}

fn in_force(stage: &Stage) -> Option<f64> {
    stage.metric("ccm_config_in_force")
}

#[test]
fn a_rotated_access_key_is_used_at_once_and_the_controllers_go_on() {
    play(|stage| async move {
        let host = Host::with(json!({}));
        let _replica = stage.start_on(&host, LONE);
        stage.joined(2).await;
        stage.cloud().add_access_key("newid", "newsecret");
        // As they stand in the file.
        for encoded in ["bmV3aWQ=", "bmV3c2VjcmV0"] {
            stage.secrets.guard(encoded);
        }
        host.configure(json!({ "accessKeyID": "bmV3aWQ=", "accessKeySecret": "bmV3c2VjcmV0" }));
        stage.pass(NOTICED).await;
        assert!(stage.cloud().set_access_key_active("testid", false));
        stage.clear_calls();
        stage.joined(1).await;
        assert!(stage.words().iter().all(|word| !word.contains(' ')), "{:?}", stage.words());
        assert!(!stage.words().contains(&"slb.DescribeLoadBalancers".to_owned()), "nothing was read anew");
        assert_eq!((reloads(&stage, "applied"), in_force(&stage)), (Some(1.0), Some(1.0)));
    });
}

#[test]
fn settings_are_applied_as_a_whole_without_a_write_for_what_is_there() {
    play(|stage| async move {
        let host = Host::with(json!({}));
        let _replica = stage.start_on(&host, LONE);
        stage.joined(2).await;
        stage.expose_web();
        stage.address("web").await;
        stage.pass(Duration::from_secs(30)).await;
        stage.clear_calls();
        host.configure(json!({ "disablePublicSLB": true, "resourceGroupID": "rg-other" }));
        stage.pass(NOTICED * 2).await;
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        let ports = json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] });
        stage.expose("public", &[], ports.clone());
        stage.pass(Duration::from_secs(10)).await;
        let refused = "create public address slb is not allowed";
        assert!(stage.told("public").iter().any(|(_, text)| text.contains(refused)), "{:?}", stage.told("public"));
        let internal = [("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type", "intranet")];
        stage.expose("internal", &internal, ports);
        stage.address("internal").await;
        let call = stage.cloud().calls().into_iter().find(|call| call.action == "CreateLoadBalancer").unwrap();
        assert_eq!(call.params["ResourceGroupId"], "rg-other");
        // The Service that was there still is looked after, and so are nodes.
        stage.clear_calls();
        stage.joined(1).await;
        stage.pass(Duration::from_secs(10)).await;
        let added = stage.words().iter().filter(|word| *word == "slb.AddVServerGroupBackendServers").count();
        assert_eq!(added, 2, "{:?}", stage.words());
        // Made anew, the controllers' metrics are still there once.
        let metrics = stage.metrics();
        assert_eq!(metrics.matches("# TYPE ccm_nodes_initialized_total ").count(), 1, "{metrics}");
    });
}

#[test]
fn a_wrong_file_is_refused_as_a_whole_and_the_old_one_stays_in_force() {
    play(|stage| async move {
        let host = Host::with(json!({}));
        let _replica = stage.start_on(&host, LONE);
        stage.joined(1).await;
        let wrong: [(Value, &str); 3] = [
            (json!({ "disablePublicSLB": true, "routeTableIDs": "not an id" }), "a wrong value"),
            (json!({ "disablePublicSLB": true, "accessKeyID": "hunter2!" }), "a wrong key"),
            (json!({ "disablePublicSLB": true, "clusterID": "c2" }), "what needs a restart"),
        ];
        stage.secrets.guard("hunter2");
        for ((keys, what), number) in wrong.into_iter().zip(1..) {
            host.configure(keys);
            stage.pass(Duration::from_secs(120)).await;
            assert_eq!(reloads(&stage, "refused"), Some(f64::from(number)), "{what} is told once");
            assert_eq!((reloads(&stage, "applied"), in_force(&stage)), (None, Some(0.0)), "{what}");
        }
        let service = format!("web-{}", "public");
        stage.expose(&service, &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        stage.address(&service).await;
        host.configure(json!({}));
        stage.pass(NOTICED).await;
        assert_eq!(in_force(&stage), Some(1.0));
    });
}

/// Puts a new version into the folder of a mounted ConfigMap as kubelet does: beside the old one, and then the
/// link to the version in force is exchanged.
fn mount(folder: &std::path::Path, version: &str, keys: Value) {
    let (place, fresh) = (folder.join(version), folder.join("..data_tmp"));
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("cloud-config.conf"), Host::text(keys)).unwrap();
    std::os::unix::fs::symlink(version, &fresh).unwrap();
    std::fs::rename(fresh, folder.join("..data")).unwrap();
}

#[test]
fn a_config_map_that_kubelet_exchanged_is_noticed() {
    play(|stage| async move {
        let folder = tempfile::tempdir().unwrap();
        mount(folder.path(), "..2026_01_02_a", json!({}));
        let file = folder.path().join("cloud-config.conf");
        std::os::unix::fs::symlink("..data/cloud-config.conf", &file).unwrap();
        let _replica = stage.start_on(&Host::mounted(file), LONE);
        stage.joined(1).await;
        mount(folder.path(), "..2026_01_02_b", json!({ "disablePublicSLB": true }));
        std::fs::remove_dir_all(folder.path().join("..2026_01_02_a")).unwrap();
        stage.pass(NOTICED).await;
        assert_eq!((reloads(&stage, "applied"), in_force(&stage)), (Some(1.0), Some(1.0)));
        stage.expose("public", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        stage.pass(Duration::from_secs(10)).await;
        let refused = "create public address slb is not allowed";
        assert!(stage.told("public").iter().any(|(_, text)| text.contains(refused)), "{:?}", stage.told("public"));
    });
}

#[test]
fn worker_counts_routes_and_feature_gates_need_no_restart() {
    play(|stage| async move {
        let made = stage.cloud().administer("vpc.CreateRouteTable", &[("VpcId", "vpc-bp1sim")]).unwrap();
        let table = made["RouteTableId"].as_str().unwrap().to_owned();
        let host = Host::with(json!({}));
        let _replica = stage.start_on(&host, LONE);
        let name = stage.joined(1).await.remove(0);
        let instance = name.split_once('.').unwrap().1;
        stage.cloud().with_state(|state| {
            let id = state.ecs.instances[instance].interfaces[0].clone();
            state.ecs.interfaces.get_mut(&id).unwrap().ipv6.push("2408:4005::5".parse().unwrap());
        });
        let has_ipv6 = || format!("{:?}", stage.node(&name).unwrap().status).contains("2408:4005::5");
        stage.pass(Duration::from_secs(400)).await;
        assert!(!has_ipv6(), "without the gate, IPv6 addresses are not shown");
        assert_eq!(stage.cloud().routes(&table).len(), 0);
        let all = format!("{},{table}", stage.cloud().route_tables("vpc-bp1sim")[0]);
        host.configure(json!({
            "featureGates": "IPv6DualStack=true", "routeTableIDs": all, "nodeMaxConcurrentReconciles": 3,
        }));
        stage.pass(NOTICED * 2).await;
        assert_eq!((reloads(&stage, "applied"), reloads(&stage, "refused")), (Some(1.0), None));
        assert!(has_ipv6());
        assert_eq!(stage.cloud().routes(&table).len(), 1);
    });
}

#[test]
fn what_needs_a_restart_says_so() {
    play(|stage| async move {
        let host = Host::with(json!({}));
        let _replica = stage.start_on(&host, LONE);
        stage.joined(1).await;
        let (log, _guard) = Log::collect();
        host.configure(json!({ "clusterID": "c2", "vpcid": "vpc-bp1other", "disablePublicSLB": true }));
        stage.pass(Duration::from_secs(120)).await;
        let told: Vec<_> = log.take().into_iter().filter(|line| line.contains("restart to apply it")).collect();
        assert!(told.len() == 1 && told[0].contains("clusterID, vpcid: where the cluster is"), "{told:?}");
    });
}

#[test]
fn a_rotated_profile_is_noticed() {
    play(|stage| async move {
        let host = Host::with(json!({ "accessKeyID": null, "accessKeySecret": null }));
        host.set("HOME", "/root");
        let write = |id: &str, secret: &str| {
            let profile = json!({ "name": "a", "mode": "AK", "access_key_id": id, "access_key_secret": secret });
            host.write("/root/.aliyun/config.json", &json!({ "current": "a", "profiles": [profile] }).to_string());
        };
        write("testid", "testsecret");
        let _replica = stage.start_on(&host, LONE);
        stage.joined(1).await;
        stage.cloud().add_access_key("newid", "newsecret");
        write("newid", "newsecret");
        stage.pass(NOTICED).await;
        stage.cloud().set_access_key_active("testid", false);
        stage.clear_calls();
        stage.joined(1).await;
        assert!(stage.words().iter().all(|word| !word.contains(' ')), "{:?}", stage.words());
    });
}

/// Everything that the cloud is asked hangs, in the middle of the work, and the configuration changes.
async fn change_while_the_cloud_hangs(stage: &Stage, host: &Host) -> String {
    stage.joined(2).await;
    stage.cloud().inject(Fault::on("*", FaultKind::Slow(Duration::from_secs(3600))));
    stage.expose_web();
    let late = stage.world.join().unwrap();
    stage.pass(Duration::from_secs(4)).await;
    host.configure(json!({ "disablePublicSLB": true }));
    late
}

#[test]
fn a_change_while_the_cloud_hangs_ends_no_leader_and_is_applied_when_the_work_under_way_is_over() {
    play(|stage| async move {
        let host = Host::with(json!({}));
        let replica = stage.start_on(&host, &[]);
        let (log, _guard) = Log::collect();
        let late = change_while_the_cloud_hangs(&stage, &host).await;
        stage.pass(Duration::from_secs(600)).await;
        stage.expose("public", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
        assert!(!replica.has_ended());
        let told = log.take();
        assert!(told.iter().any(|line| line.contains("the controllers start anew")), "{told:#?}");
        stage.cloud().clear_faults();
        let refused = "create public address slb is not allowed";
        stage
            .until_within(Duration::from_secs(360), "the late node, and the new setting", || {
                let joined = crate::support::taints(&stage.node(&late)?).is_empty();
                (joined && stage.told("public").iter().any(|(_, text)| text.contains(refused))).then_some(())
            })
            .await;
        replica.stop().await.unwrap();
    });
}

#[test]
fn asked_to_stop_while_a_change_waits_it_ends_in_time() {
    play(|stage| async move {
        let host = Host::with(json!({}));
        let replica = stage.start_on(&host, &[]);
        change_while_the_cloud_hangs(&stage, &host).await;
        stage.pass(Duration::from_secs(10)).await;
        let began = stage.clock.now();
        let ended = replica.stop().await;
        assert!(stage.clock.since(began) < Duration::from_secs(30), "what kubelet leaves between SIGTERM and SIGKILL");
        assert!(matches!(ended, Ok(()) | Err(daemon::Error::NotDrained(_))), "{ended:?}");
    });
}
