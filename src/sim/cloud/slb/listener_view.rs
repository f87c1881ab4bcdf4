//! Listeners as the describe actions show them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Listener, LoadBalancer};
use crate::sim::cloud::{
    Context, State,
    contract::{self, Contract, Shape},
    error::Failure,
    paging, tag,
};

/// The answer of one of the four attribute actions.
pub(super) fn attribute(action: &str, load_balancer: &str, listener: &Listener) -> Value {
    let fields = reply(action).and_then(|shape| shape.fields.as_ref());
    let mut item = fields.map(|fields| shown(fields, listener)).unwrap_or_default();
    item.insert("LoadBalancerId".into(), load_balancer.into());
    item.insert("ListenerPort".into(), listener.port.into());
    item.insert("Status".into(), listener.status.as_str().into());
    item.insert("Tags".into(), json!({ "Tag": tag::list(&listener.tags) }));
    if let Some(acl) = listener.setting("AclId") {
        item.insert("AclIds".into(), json!({ "AclId": [acl] }));
    }
    item.insert("RequestId".into(), "".into());
    Value::Object(item)
}

fn reply(action: &str) -> Option<&'static Shape> {
    Contract::get().action("slb", action).map(|action| &action.reply)
}

/// Those attributes that the contract names at this place, in its types.
fn shown(fields: &BTreeMap<String, Shape>, listener: &Listener) -> Map<String, Value> {
    contract::shown(fields, |name| {
        // Some places show the health check under the name of its switch.
        listener.settings.raw(if name == "HealthCheckSwitch" { "HealthCheck" } else { name })
    })
}

fn list_item(load_balancer: &LoadBalancer, listener: &Listener) -> Option<Value> {
    let fields = reply("DescribeLoadBalancerListeners")?.fields.as_ref()?;
    let fields = fields.get("Listeners")?.items.as_ref()?.fields.as_ref()?;
    let mut item = shown(fields, listener);
    let protocol = listener.protocol.as_str();
    let config = format!("{}ListenerConfig", protocol.to_uppercase());
    if let Some(inner) = fields.get(&config).and_then(|shape| shape.fields.as_ref()) {
        item.insert(config, Value::Object(shown(inner, listener)));
    }
    item.insert("LoadBalancerId".into(), load_balancer.id.clone().into());
    item.insert("ListenerPort".into(), listener.port.into());
    item.insert("ListenerProtocol".into(), protocol.into());
    item.insert("Status".into(), listener.status.as_str().into());
    item.insert("Tags".into(), tag::list(&listener.tags));
    if let Some(acl) = listener.setting("AclId") {
        item.insert("AclIds".into(), json!([acl]));
    }
    Some(Value::Object(item))
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let ids = cx.params.list("LoadBalancerId");
    if ids.len() > 10 {
        return Err(Failure::bad("IllegalParamSize.LoadBalancerId", "At most 10 load balancers can be given."));
    }
    for id in &ids {
        state.slb.load_balancer(id)?;
    }
    let wanted = tag::filter(cx.params);
    let port = cx.params.number::<u16>("ListenerPort")?;
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let found: Vec<(&LoadBalancer, &Listener)> = state
        .slb
        .load_balancers
        .values()
        .filter(|lb| lb.region == cx.region && (ids.is_empty() || ids.contains(&lb.id)))
        .flat_map(|lb| lb.listeners.iter().map(move |listener| (lb, listener)))
        .filter(|(_, listener)| is("ListenerProtocol", listener.protocol.as_str()))
        .filter(|(_, listener)| port.is_none_or(|port| port == listener.port))
        .filter(|(_, listener)| is("Description", listener.setting("Description").unwrap_or_default()))
        .filter(|(_, listener)| tag::matches(&listener.tags, &wanted))
        .collect();
    let size = paging::size(cx.params, "MaxResults", 20, 100)
        .map_err(|_| Failure::bad("IllegalParam.MaxResults", "The MaxResults must be 1 to 100."))?;
    let page = paging::tokened(cx.params, found, size)
        .map_err(|_| Failure::bad("IllegalParam.NextToken", "The NextToken is not valid."))?;
    let items: Vec<Value> = page.items.iter().filter_map(|(lb, listener)| list_item(lb, listener)).collect();
    let mut reply = json!({ "Listeners": items, "MaxResults": page.size, "TotalCount": page.total });
    if let Some(next) = page.next {
        reply["NextToken"] = next.into();
    }
    Ok(reply)
}
