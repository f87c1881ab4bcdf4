//! Each change as the call that it is, and what of its answer is passed on.

mod group;
mod listener;
mod load_balancer;
mod security_group;

use serde_json::json;

use crate::{
    alibaba::rpc::testing::Script,
    cloud::{Class, Made, NetworkAction, NetworkEffect, NetworkLoadBalancers},
};

/// Carries out an action and returns what was sent, without region and fresh token, and its effect.
async fn run(action: NetworkAction) -> (Vec<String>, NetworkEffect) {
    let script = Script::default();
    script.answer(
        200,
        &json!({"RequestId": "R", "LoadbalancerId": "nlb-1", "ServerGroupId": "sgp-1", "ListenerId": "lsn-1@80",
            "SecurityGroupId": "sg-1", "JobId": "job-1"}),
    );
    let effect = script.cloud().execute_network(&action).await.unwrap();
    let mut lines = script.only();
    lines.retain(|line| line != "RegionId=cn-hangzhou");
    let takes_none = matches!(
        action,
        NetworkAction::CreateLoadBalancer(_)
            | NetworkAction::DeleteSecurityGroup { .. }
            | NetworkAction::NameSecurityGroup { .. }
    );
    if !takes_none {
        let token = lines.iter().position(|line| line.starts_with("ClientToken=")).expect("a token");
        lines.remove(token);
    }
    (lines, effect)
}

async fn sent(action: NetworkAction) -> Vec<String> {
    run(action).await.0
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_counts_as_deleted_and_what_is_busy_is_told_at_once() {
    let script = Script::default();
    script.refuse(404, "ResourceNotFound.loadBalancer", "");
    let gone =
        script.cloud().execute_network(&NetworkAction::DeleteLoadBalancer { load_balancer: "nlb-1".into() }).await;
    assert_eq!(gone.unwrap(), NetworkEffect { job: None, made: Made::Nothing });
    let script = Script::default();
    script.refuse(400, "Conflict.Lock", "");
    let client = script.client_with(crate::alibaba::rpc::Policy::default());
    let cloud = crate::alibaba::Alibaba::with_client(client, None, Vec::new(), None);
    let busy = cloud.execute_network(&NetworkAction::DeleteLoadBalancer { load_balancer: "nlb-1".into() }).await;
    assert_eq!(busy.unwrap_err().class, Class::Busy);
    assert_eq!(script.sent().len(), 1, "it is the caller who waits");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_attempt_carries_the_same_token() {
    let script = Script::default();
    script.fail(crate::alibaba::rpc::Reached::Maybe);
    script.answer(200, &json!({"RequestId": "R", "JobId": "job-1"}));
    script.answer(200, &json!({"RequestId": "R", "JobId": "job-2"}));
    let client = script.client_with(crate::alibaba::rpc::Policy::default());
    let cloud = crate::alibaba::Alibaba::with_client(client, None, Vec::new(), None);
    let action = NetworkAction::DeleteGroup { group: "sgp-1".into() };
    cloud.execute_network(&action).await.unwrap();
    cloud.execute_network(&action).await.unwrap();
    let tokens: Vec<String> = (0..3).map(|n| script.params(n)["ClientToken"].clone()).collect();
    assert_eq!(tokens[0], tokens[1]);
    assert_ne!(tokens[1], tokens[2], "another change has another token");
}
