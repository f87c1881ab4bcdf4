//! Services of the class of network load balancers.

use std::collections::BTreeSet;

use ccm::sim::cloud::nlb::{NetworkLoadBalancer, ServerGroup};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::{
    services::set,
    stage::{SHORT, Stage},
};

const WEB: &str = "web";

pub async fn a_network_load_balancer_follows_its_service_and_goes_with_it(stage: Stage) {
    let _replica = stage.start();
    let mut nodes = stage.joined(2).await;
    stage.deploy_web(3).await;
    stage.expose_on_network(WEB, &[]).await;
    let name = stage.host_name(WEB).await;
    stage.ensured(WEB).await;
    let [balancer] = &balancers(&stage)[..] else { panic!("{:?}", stage.calls()) };
    assert_eq!((&balancer.dns_name, balancer.zones.len()), (&name, 2));
    assert_eq!(members(&stage), set(&nodes));
    assert!(stage.cloud().load_balancers().is_empty(), "no classic one beside it");

    nodes.extend(stage.joined(1).await);
    stage.until("the new node as a member", || async { (members(&stage) == set(&nodes)).then_some(()) }).await;

    // Only nodes with a pod, of which there are more and then fewer.
    stage.change(WEB, json!({ "externalTrafficPolicy": "Local" })).await;
    for count in [6, 1] {
        scale(&stage, count).await;
        let follows = || async {
            let there = places(&stage, count).await?;
            (members(&stage) == there).then_some(())
        };
        stage.until("the nodes with pods as members", follows).await;
    }
    assert_eq!(members(&stage).len(), 1);
    assert_eq!(stage.host_name(WEB).await, name, "it is still the same");

    stage.delete_service(WEB).await;
    stage.until("the Service gone", || async { stage.service(WEB).await.is_none().then_some(()) }).await;
    assert!(balancers(&stage).is_empty() && groups(&stage).is_empty(), "{:?}", stage.calls());
    let told = stage.told(WEB).await;
    assert!(told.iter().all(|(kind, _, _)| kind != "Warning"), "{told:#?}");
}

pub async fn leaders_killed_while_a_network_load_balancer_is_made_leave_one(stage: Stage) {
    let mut leader = stage.start_with(stage.controller(), &SHORT);
    let nodes = stage.joined(1).await;
    stage.expose_on_network(WEB, &[]).await;
    for action in ["nlb.CreateLoadBalancer", "nlb.CreateListener"] {
        let called = || async { stage.calls().iter().any(|call| call == action).then_some(()) };
        stage.until(action, called).await;
        leader.kill().await;
        leader = stage.start_with(stage.controller(), &SHORT);
    }
    let name = stage.host_name(WEB).await;
    stage.ensured(WEB).await;
    let all = balancers(&stage);
    assert_eq!(all.iter().map(|one| &one.dns_name).collect::<Vec<_>>(), [&name], "{:?}", stage.calls());
    assert_eq!((groups(&stage).len(), members(&stage)), (1, set(&nodes)));
    for action in ["nlb.CreateLoadBalancer", "nlb.CreateServerGroup", "nlb.CreateListener"] {
        assert_eq!(stage.calls().iter().filter(|call| *call == action).count(), 1, "{action}: {:?}", stage.calls());
    }
    stage.delete_service(WEB).await;
    stage.until("the Service gone", || async { stage.service(WEB).await.is_none().then_some(()) }).await;
    assert!(balancers(&stage).is_empty() && groups(&stage).is_empty(), "{:?}", stage.calls());
}

async fn scale(stage: &Stage, replicas: usize) {
    let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    stage.api::<Deployment>().patch(WEB, &PatchParams::default(), &patch).await.unwrap();
}

/// The nodes on which so many pods run, once no others are there.
async fn places(stage: &Stage, count: usize) -> Option<BTreeSet<String>> {
    let pods = stage.list::<Pod>().await;
    let runs = |pod: &&Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
    let there: Vec<String> = pods.iter().filter(runs).filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect();
    (pods.len() == count && there.len() == count).then(|| set(&there))
}

fn balancers(stage: &Stage) -> Vec<NetworkLoadBalancer> {
    stage.cloud().with_state(|state| state.nlb.load_balancers.values().cloned().collect())
}

pub fn groups(stage: &Stage) -> Vec<ServerGroup> {
    stage.cloud().with_state(|state| state.nlb.server_groups.values().cloned().collect())
}

/// The nodes that are members of the groups.
fn members(stage: &Stage) -> BTreeSet<String> {
    let all = groups(stage);
    let servers = all.iter().flat_map(|group| &group.servers);
    servers.map(|server| format!("cn-hangzhou.{}", server.id)).collect()
}
