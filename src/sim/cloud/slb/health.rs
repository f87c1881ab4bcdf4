//! Health of servers: a running one is healthy, any other is not.

use serde_json::{Value, json};

use super::{Listener, Server};
use crate::sim::cloud::{Context, State, ecs::InstanceStatus, error::Failure};

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer(cx.params.required("LoadBalancerId")?)?;
    let port = cx.params.number::<u16>("ListenerPort")?;
    let protocol = cx.params.get("ListenerProtocol");
    let listeners =
        lb.listeners.iter().filter(|listener| port.is_none_or(|port| port == listener.port)).filter(|listener| {
            protocol.is_none_or(|protocol| protocol.eq_ignore_ascii_case(listener.protocol.as_str()))
        });
    let mut list = Vec::new();
    for listener in listeners {
        let servers = match listener.group() {
            Some(group) => &state.slb.group(group)?.servers,
            None => &lb.servers,
        };
        list.extend(servers.iter().map(|server| item(state, listener, server)));
    }
    Ok(json!({ "BackendServers": { "BackendServer": list } }))
}

fn item(state: &State, listener: &Listener, server: &Server) -> Value {
    let instance = state.ecs.instances.get(&server.id);
    let running = instance.map_or(server.kind != "ecs", |instance| instance.status == InstanceStatus::Running);
    let health = match (listener.setting("HealthCheck"), running) {
        (Some("on"), true) => "normal",
        (Some("on"), false) => "abnormal",
        _ => "unavailable",
    };
    let own = instance.and_then(|instance| instance.private_ip).map(|ip| ip.to_string()).unwrap_or_default();
    let port = match server.port {
        0 => listener.setting("BackendServerPort").and_then(|text| text.parse().ok()).unwrap_or_default(),
        port => port,
    };
    json!({
        "ListenerPort": listener.port,
        "Protocol": listener.protocol.as_str(),
        "ServerId": server.id,
        "ServerIp": if server.ip.is_empty() { own } else { server.ip.clone() },
        "Port": port,
        "Weight": server.weight.to_string(),
        "Type": server.kind,
        "ServerHealthStatus": health,
    })
}
