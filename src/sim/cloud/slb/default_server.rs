//! The load balancer's default servers, which listeners without a group use.

use serde_json::{Value, json};

use super::{Server, member};
use crate::sim::cloud::{Context, State, error::Failure};

/// The replies of the three actions differ in the weight's type, and in the order of their words.
fn reply(servers: &[Server], id: &str, weight_as_text: bool) -> Value {
    let item = |server: &Server| {
        let weight = if weight_as_text { server.weight.to_string().into() } else { Value::from(server.weight) };
        json!({
            "ServerId": server.id,
            "Weight": weight,
            "Type": server.kind,
            "ServerIp": server.ip,
            "Description": server.description,
        })
    };
    json!({ "LoadBalancerId": id, "BackendServers": { "BackendServer": servers.iter().map(item).collect::<Vec<_>>() } })
}

pub(super) fn add(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let present = state.slb.load_balancer(id)?.servers.clone();
    let list = member::given(cx.params, "BackendServers")?;
    let fresh = list.into_iter().filter(|given| !present.iter().any(|server| given.means(server))).collect();
    let fresh = member::admit_default(cx, state, id, fresh)?;
    if !fresh.is_empty() {
        cx.change();
    }
    let servers = &mut state.slb.load_balancer_mut(id)?.servers;
    servers.extend(fresh);
    Ok(reply(servers, id, true))
}

pub(super) fn remove(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    // Callers give a list of ids or a list of servers.
    let ids: Vec<String> = match cx.params.json::<Vec<String>>("BackendServers") {
        Ok(ids) => ids.unwrap_or_default(),
        Err(_) => member::given(cx.params, "BackendServers")?.into_iter().map(member::Given::into_id).collect(),
    };
    let servers = &mut state.slb.load_balancer_mut(id)?.servers;
    let before = servers.len();
    servers.retain(|server| !ids.contains(&server.id));
    if servers.len() != before {
        cx.change();
    }
    Ok(reply(servers, id, false))
}

pub(super) fn set(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("LoadBalancerId")?;
    let list = member::given(cx.params, "BackendServers")?;
    let servers = &mut state.slb.load_balancer_mut(id)?.servers;
    for given in &list {
        if let Some(server) = servers.iter_mut().find(|server| given.means(server))
            && let Some(weight) = given.weight("BackendServers")?
        {
            cx.set(&mut server.weight, weight);
        }
    }
    Ok(reply(servers, id, true))
}
