//! Health of a listener's servers, and the region's fine-grained monitoring.

use serde_json::{Value, json};

use super::server::NlbServer;
use crate::sim::cloud::{Context, State, ecs::InstanceStatus, error::Failure};

pub(super) fn get(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let listener = state.nlb.listener(cx.params.required("ListenerId")?)?;
    let group = state.nlb.server_group(&listener.server_group)?;
    let stopped = |server: &&NlbServer| {
        let instance = state.ecs.instances.get(&server.id);
        server.kind == "Ecs" && instance.is_none_or(|instance| instance.status != InstanceStatus::Running)
    };
    let unhealthy = |server: &NlbServer| {
        json!({
            "ServerId": server.id,
            "ServerIp": server.ip,
            "Port": server.port,
            "Status": "Unhealthy",
            "Reason": { "ReasonCode": "CONNECT_TIMEOUT" },
        })
    };
    Ok(json!({
        "ListenerHealthStatus": [{
            "ListenerId": listener.id,
            "ListenerPort": listener.port,
            "ListenerProtocol": listener.protocol,
            "ServerGroupInfos": [{
                "ServerGroupId": group.id,
                // This spelling is the product's.
                "HeathCheckEnabled": group.health_check.get("HealthCheckEnabled").is_some_and(|on| on == "true"),
                "NonNormalServers": group.servers.iter().filter(stopped).map(unhealthy).collect::<Vec<_>>(),
            }],
        }],
        "TotalCount": 1,
        "MaxResults": 20,
        "NextToken": "",
    }))
}

pub(super) fn set_monitoring(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = (cx.params.required("LogProject")?.to_owned(), cx.params.required("MetricStore")?.to_owned());
    cx.set(&mut state.nlb.monitoring, Some(wanted));
    describe_monitoring(cx, state)
}

pub(super) fn describe_monitoring(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (project, store) = state.nlb.monitoring.clone().unwrap_or_default();
    Ok(json!({ "RegionId": cx.region, "LogProject": project, "MetricStore": store }))
}
