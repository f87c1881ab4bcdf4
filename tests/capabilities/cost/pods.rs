//! What pods that are members at their own addresses cost.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use ccm::{
    alibaba::rpc::{InProcess, Transport, TransportError},
    sim::cloud::Cloud,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::slb;
use crate::support::{Stage, play, play_unheard};

const LONE: &[&str] = &["--leader-elect=false"];
const ENI: (&str, &str) = ("service.beta.kubernetes.io/backend-type", "eni");

/// Notes by group the fewest members there were after any call, once the group had some.
struct Watched {
    way: InProcess,
    cloud: Cloud,
    lowest: Mutex<BTreeMap<String, usize>>,
}

impl Watched {
    fn of(stage: &Stage) -> Arc<Self> {
        let way = InProcess::new(stage.cloud().router());
        Arc::new(Self { way, cloud: stage.cloud().clone(), lowest: Mutex::default() })
    }

    fn look(&self) {
        let mut lowest = self.lowest.lock();
        self.cloud.with_state(|state| {
            for (id, group) in &state.slb.groups {
                let there = lowest.entry(id.clone()).or_insert(usize::MAX);
                *there = (*there).min(group.servers.len());
            }
        });
    }
}

#[async_trait]
impl Transport for Watched {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, TransportError> {
        let answer = self.way.send(request).await;
        self.look();
        answer
    }
}

/// Addresses that network interfaces of the cloud hold.
fn addresses(stage: &Stage, count: u32) -> Vec<String> {
    (0..count).for_each(|number| drop(stage.world.boot(number).unwrap()));
    stage.cloud().with_state(|state| {
        state.ecs.interfaces.values().map(|interface| interface.private_ips[0].to_string()).collect()
    })
}

/// The slice of a Service becomes one with these addresses as ready pods.
fn slice<'a>(stage: &Stage, service: &str, pods: impl IntoIterator<Item = &'a String>) {
    let endpoint = |address: &String| {
        let target = json!({ "kind": "Pod", "name": address, "uid": format!("uid-{address}") });
        json!({ "addresses": [address], "conditions": { "ready": true }, "targetRef": target })
    };
    let endpoints: Vec<Value> = pods.into_iter().map(endpoint).collect();
    let slice = json!({
        "metadata": { "name": service, "namespace": "default", "labels": { "kubernetes.io/service-name": service } },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "", "port": 8080, "protocol": "TCP" }],
    });
    let slice: EndpointSlice = serde_json::from_value(slice).unwrap();
    let there = stage.world.kube.modify::<EndpointSlice>("default", service, |there| {
        there.endpoints.clone_from(&slice.endpoints);
    });
    if there.is_err() {
        stage.world.kube.create(&slice).unwrap();
    }
}

fn expose(stage: &Stage, name: &str) {
    let ports = json!([{ "port": 80, "targetPort": 8080 }]);
    stage.expose(
        name,
        &[ENI],
        json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": ports }),
    );
}

fn count(stage: &Stage, action: &str) -> usize {
    stage.words().iter().filter(|word| *word == action).count()
}

/// Once all groups have so many members.
async fn filled(stage: &Stage, groups: usize, members: usize) {
    let seen = || {
        let sizes: Vec<usize> =
            stage.cloud().with_state(|state| state.slb.groups.values().map(|g| g.servers.len()).collect());
        (sizes == vec![members; groups]).then_some(())
    };
    stage.until("all members", seen).await;
    stage.pass(Duration::from_secs(30)).await;
}

#[test]
fn interfaces_of_many_services_pods_are_looked_up_together() {
    play_unheard(|stage| async move {
        stage.cloud().configure(|options| options.check_replies = false);
        let all = addresses(&stage, 210);
        for (number, pods) in all.chunks(7).enumerate() {
            slice(&stage, &format!("s{number:02}"), pods);
            expose(&stage, &format!("s{number:02}"));
        }
        let replica = stage.start_with(LONE, json!({}));
        filled(&stage, 30, 7).await;
        assert_eq!(count(&stage, "ecs.DescribeNetworkInterfaces"), 3, "a hundred addresses a call");
        replica.stop().await.unwrap();
        stage.clear_calls();
        let _replica = stage.start_with(LONE, json!({}));
        stage.pass(Duration::from_secs(120)).await;
        assert_eq!(count(&stage, "ecs.DescribeNetworkInterfaces"), 3, "{:?}", stage.cloud().call_counts());
        assert_eq!(slb(stage.words()).len(), 32, "one for load balancers, one for listeners, one a group");
        assert!(stage.cloud().calls().iter().all(|call| !call.changed), "{:?}", stage.words());
        // A pod more for each Service, all within a moment.
        stage.clear_calls();
        let more = addresses(&stage, 30);
        let new: Vec<&String> = more.iter().filter(|address| !all.contains(address)).collect();
        for (number, pods) in all.chunks(7).enumerate() {
            slice(&stage, &format!("s{number:02}"), pods.iter().chain([new[number]]));
        }
        filled(&stage, 30, 8).await;
        assert_eq!(count(&stage, "ecs.DescribeNetworkInterfaces"), 1, "{:?}", stage.cloud().call_counts());
        assert_eq!(slb(stage.words()), vec!["slb.AddVServerGroupBackendServers"; 30]);
    });
}

#[test]
fn a_pod_is_looked_up_once_and_one_that_the_cloud_does_not_show_again_and_again() {
    play(|stage| async move {
        let mut all = addresses(&stage, 2);
        let _replica = stage.start_with(LONE, json!({}));
        slice(&stage, "web", &all);
        expose(&stage, "web");
        filled(&stage, 1, 2).await;
        stage.pass(Duration::from_secs(600)).await;
        assert_eq!(count(&stage, "ecs.DescribeNetworkInterfaces"), 1);
        // Its interface comes late.
        all.push("10.0.0.250".to_owned());
        slice(&stage, "web", &all);
        stage.pass(Duration::from_secs(60)).await;
        let tries = count(&stage, "ecs.DescribeNetworkInterfaces") - 1;
        assert!((2..=8).contains(&tries), "{tries} in a minute");
        stage.cloud().with_state(|state| {
            let interface = state.ecs.interfaces.values_mut().next().unwrap();
            interface.private_ips.push("10.0.0.250".parse().unwrap());
        });
        filled(&stage, 1, 3).await;
    });
}

/// S03, G4: pods come and go ten at a time, twice a second.
#[test]
fn a_rolling_update_of_a_hundred_pods_is_written_in_few_calls_with_successors_first() {
    play(|stage| async move {
        let all = addresses(&stage, 200);
        let watched = Watched::of(&stage);
        let _replica = stage.start_over(watched.clone(), LONE, json!({}));
        slice(&stage, "web", &all[..100]);
        expose(&stage, "web");
        filled(&stage, 1, 100).await;
        watched.lowest.lock().clear();
        stage.clear_calls();
        for step in 1..=10 {
            slice(&stage, "web", &all[step * 10..100 + step * 10]);
            stage.pass(Duration::from_millis(500)).await;
        }
        filled(&stage, 1, 100).await;
        let writes = |action: &str| count(&stage, &format!("slb.{action}VServerGroupBackendServers"));
        assert!(writes("Add") <= 6, "twenty a call: {:?}", stage.words());
        assert!(writes("Remove") <= 6, "twenty a call: {:?}", stage.words());
        assert!(count(&stage, "ecs.DescribeNetworkInterfaces") <= 6, "{:?}", stage.words());
        assert_eq!(slb(stage.words()).len(), writes("Add") + writes("Remove"), "no reads: {:?}", stage.words());
        assert_eq!(
            watched.lowest.lock().values().copied().collect::<Vec<_>>(),
            [100],
            "none goes before its successor"
        );
    });
}

/// Behind node ports pods make no difference to the load balancer.
#[test]
fn a_rolling_update_behind_node_ports_costs_nothing() {
    play(|stage| async move {
        let _replica = stage.start_with(LONE, json!({}));
        stage.joined(3).await;
        let pods =
            |from: u32| (from..from + 100).map(|n| format!("172.20.{}.{}", n / 200, n % 200)).collect::<Vec<_>>();
        slice(&stage, "web", &pods(0));
        stage.expose("web", &[], json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "targetPort": 8080 }] }));
        filled(&stage, 1, 3).await;
        stage.clear_calls();
        for step in 1..=10 {
            slice(&stage, "web", &pods(step * 10));
            stage.pass(Duration::from_millis(500)).await;
        }
        stage.pass(Duration::from_secs(60)).await;
        assert_eq!(stage.words(), Vec::<String>::new());
    });
}
