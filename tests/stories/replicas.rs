//! Several replicas, of which one works.

use crate::stage::{SHORT, Stage};

pub async fn a_killed_leader_is_followed_without_a_write(stage: Stage) {
    let first = stage.start_with(stage.controller(), &SHORT);
    stage.joined(2).await;
    stage.expose_web().await;
    stage.ensured("web").await;
    let before = holder(&stage).await.unwrap();
    let _second = stage.start_with(stage.controller(), &SHORT);
    first.kill().await;
    stage.cloud().clear_calls();
    stage.until("another leader", || async { holder(&stage).await.filter(|now| *now != before) }).await;
    let inventory = || async { stage.calls().iter().any(|call| call == "slb.DescribeLoadBalancers").then_some(()) };
    stage.until("the inventory read by the second", inventory).await;
    // It leads: what changes is acted on, and nothing else is.
    stage.joined(1).await;
    let added = "slb.AddVServerGroupBackendServers";
    stage.until("the new member", || async { stage.calls().iter().any(|call| call == added).then_some(()) }).await;
    let balancing: Vec<String> = stage.writes().into_iter().filter(|call| call.starts_with("slb.")).collect();
    assert_eq!(balancing, [added]);
    assert_eq!(stage.cloud().load_balancers().len(), 1);
}

pub async fn a_stopped_leader_gives_its_lease_back(stage: Stage) {
    let first = stage.start();
    stage.joined(1).await;
    first.stop().await.unwrap();
    assert_eq!(holder(&stage).await, None);
    let _second = stage.start();
    stage.joined(1).await;
}

/// Who holds the leader lease.
async fn holder(stage: &Stage) -> Option<String> {
    let lease = stage.lease().await?;
    lease.spec?.holder_identity.filter(|holder| !holder.is_empty())
}
