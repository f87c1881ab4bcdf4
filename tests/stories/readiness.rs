//! Pods that are ready only once the load balancer has them.

use std::{collections::BTreeSet, time::Duration};

use ccm::sim::cloud::{Fault, FaultKind};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use serde_json::json;

use crate::{network::groups, stage::Stage};

const ENI: (&str, &str) = ("service.beta.kubernetes.io/backend-type", "eni");
const GATE: &str = "service.readiness.alibabacloud.com/web";
const ADD: &str = "slb.AddVServerGroupBackendServers";

pub async fn a_rolling_update_waits_until_new_pods_are_registered(stage: Stage) {
    let _replica = stage.start();
    stage.joined(2).await;
    stage.give_pods_interfaces();
    stage.deploy_gated_web(2, "1").await;
    expose(&stage).await;
    stage.until("two ready pods", || async { rolled_out(&stage, 2).await.then_some(()) }).await;
    let (old, old_names) = (addresses(&stage).await, names(&stage).await);
    assert_eq!(members(&stage), old);
    assert!(stage.list::<Pod>().await.iter().all(is_registered));

    // While the cloud takes no members, the update does not go on.
    let refusal = FaultKind::Error { status: 400, code: "OperationConflict".into(), message: "Busy.".into() };
    stage.cloud().inject(Fault::on(ADD, refusal));
    stage.deploy_gated_web(2, "2").await;
    let refused = || async { stage.calls().iter().any(|call| call.starts_with(ADD) && call != ADD).then_some(()) };
    stage.until("a refused member", refused).await;
    let now = addresses(&stage).await;
    assert!(now.is_superset(&old) && now.len() == 3, "one new pod beside the old ones: {now:?}");
    assert_eq!(members(&stage), old);
    let unready = stage.list::<Pod>().await.into_iter().filter(|pod| !is_registered(pod)).count();
    assert_eq!(unready, 1);

    stage.cloud().clear_faults();
    // Addresses may come again.
    let done = || async {
        let all_new = names(&stage).await.is_disjoint(&old_names);
        (rolled_out(&stage, 2).await && all_new && members(&stage) == addresses(&stage).await).then_some(())
    };
    stage.until("the update at its end", done).await;
}

pub async fn a_rolling_update_waits_until_the_network_load_balancer_is_done(stage: Stage) {
    let _replica = stage.start();
    stage.joined(2).await;
    stage.give_pods_interfaces();
    stage.deploy_gated_web(2, "1").await;
    stage.expose_on_network("web", &[ENI]).await;
    stage.until("two ready pods", || async { rolled_out(&stage, 2).await.then_some(()) }).await;
    let (old, old_names) = (addresses(&stage).await, names(&stage).await);
    assert_eq!(network_members(&stage), old);

    // It takes members, but does not come to an end with it; so long the update does not go on.
    stage.cloud().with_state(|state| state.nlb.jobs_paused = true);
    stage.deploy_gated_web(2, "2").await;
    stage.until("a third member", || async { (network_members(&stage).len() == 3).then_some(()) }).await;
    stage.pass(Duration::from_secs(3)).await;
    let now = addresses(&stage).await;
    assert!(now.is_superset(&old) && now.len() == 3, "one new pod beside the old ones: {now:?}");
    let unready = stage.list::<Pod>().await.into_iter().filter(|pod| !is_registered(pod)).count();
    assert_eq!(unready, 1);

    stage.cloud().with_state(|state| state.nlb.resume_jobs());
    let done = || async {
        let all_new = names(&stage).await.is_disjoint(&old_names);
        (rolled_out(&stage, 2).await && all_new && network_members(&stage) == addresses(&stage).await).then_some(())
    };
    stage.until("the update at its end", done).await;
}

pub async fn a_pod_that_came_while_nobody_led_becomes_ready(stage: Stage) {
    let replica = stage.start();
    stage.joined(1).await;
    stage.give_pods_interfaces();
    expose(&stage).await;
    stage.deploy_gated_web(1, "1").await;
    stage.until("a ready pod", || async { rolled_out(&stage, 1).await.then_some(()) }).await;
    let old = names(&stage).await;
    replica.stop().await.unwrap();
    stage.deploy_gated_web(1, "2").await;
    let waits = |pod: &Pod| is_true(pod, "ContainersReady") && !is_true(pod, "Ready");
    let waiting = || async { stage.list::<Pod>().await.iter().any(waits).then_some(()) };
    stage.until("a pod that waits", waiting).await;
    let _replica = stage.start();
    let done = || async {
        let all_new = names(&stage).await.is_disjoint(&old);
        (rolled_out(&stage, 1).await && all_new && members(&stage) == addresses(&stage).await).then_some(())
    };
    stage.until("the update at its end", done).await;
}

/// A Service whose members are pods.
async fn expose(stage: &Stage) {
    let spec =
        json!({ "type": "LoadBalancer", "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": 8080 }] });
    stage.expose("web", &[ENI], spec).await;
}

/// Whether the Deployment is at so many pods of its newest template, all of them available.
async fn rolled_out(stage: &Stage, replicas: i32) -> bool {
    let deployment = stage.api::<Deployment>().get("web").await.unwrap();
    let (generation, status) = (deployment.metadata.generation, deployment.status.unwrap_or_default());
    status.observed_generation == generation
        && [status.replicas, status.updated_replicas, status.available_replicas].iter().all(|n| *n == Some(replicas))
}

async fn addresses(stage: &Stage) -> BTreeSet<String> {
    stage.list::<Pod>().await.into_iter().filter_map(|pod| pod.status?.pod_ip).collect()
}

async fn names(stage: &Stage) -> BTreeSet<String> {
    stage.list::<Pod>().await.into_iter().filter_map(|pod| pod.metadata.name).collect()
}

fn members(stage: &Stage) -> BTreeSet<String> {
    let balancers = stage.cloud().load_balancers();
    let groups = balancers.iter().flat_map(|lb| stage.cloud().groups(&lb.id));
    groups.flat_map(|group| group.servers).map(|server| server.ip).collect()
}

fn network_members(stage: &Stage) -> BTreeSet<String> {
    groups(stage).into_iter().flat_map(|group| group.servers).map(|server| server.ip).collect()
}

/// Whether the pod was told that the load balancer has it.
pub fn is_registered(pod: &Pod) -> bool {
    is_true(pod, GATE)
}

fn is_true(pod: &Pod, kind: &str) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == kind && condition.status == "True")
}
