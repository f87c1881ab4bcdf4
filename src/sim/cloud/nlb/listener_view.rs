//! Listeners of network load balancers as the list and get actions show them.

use serde_json::{Map, Value, json};

use super::NlbListener;
use crate::sim::cloud::{
    Context, State,
    contract::{Contract, shown},
    error::Failure,
    paging, tag,
};

fn item(listener: &NlbListener, region: &str) -> Value {
    let fields = Contract::get().action("nlb", "GetListenerAttribute").and_then(|action| action.reply.fields.as_ref());
    let mut item: Map<String, Value> = fields
        .map(|fields| shown(fields, |name| listener.attributes.get(name).map(String::as_str)))
        .unwrap_or_default();
    let mut put = |name: &str, value: Value| item.insert(name.to_owned(), value);
    put("ListenerId", listener.id.clone().into());
    put("LoadBalancerId", listener.load_balancer.clone().into());
    put("ListenerPort", listener.port.into());
    put("ListenerProtocol", listener.protocol.clone().into());
    put("ListenerStatus", listener.status.as_str().into());
    put("ServerGroupId", listener.server_group.clone().into());
    put("RegionId", region.into());
    if let Some((start, end)) = listener.range {
        // These two come as text.
        put("StartPort", start.to_string().into());
        put("EndPort", end.to_string().into());
    }
    let defaults = listener.certificates.iter().filter(|one| one.is_default).map(|one| one.id.clone());
    put("CertificateIds", defaults.collect::<Vec<_>>().into());
    put("CaCertificateIds", listener.ca_certificates.clone().into());
    put("ProxyProtocolV2Config", json!(listener.proxy_protocol_config));
    Value::Object(item)
}

pub(super) fn get(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let listener = state.nlb.listener(cx.params.required("ListenerId")?)?;
    let mut reply = item(listener, cx.region);
    reply["Tags"] = tag::list(&listener.tags);
    Ok(reply)
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let (ids, load_balancers) = (cx.params.list("ListenerIds"), cx.params.list("LoadBalancerIds"));
    let protocol = cx.params.get("ListenerProtocol");
    let found: Vec<&NlbListener> = state
        .nlb
        .listeners
        .values()
        .filter(|one| ids.is_empty() || ids.contains(&one.id))
        .filter(|one| load_balancers.is_empty() || load_balancers.contains(&one.load_balancer))
        .filter(|one| protocol.is_none_or(|protocol| protocol == one.protocol))
        .filter(|one| tag::matches(&one.tags, &wanted))
        .collect();
    let size = paging::size(cx.params, "MaxResults", 20, 100)?;
    let page = paging::tokened(cx.params, found, size)?;
    let items: Vec<Value> = page
        .items
        .iter()
        .map(|listener| {
            let mut item = item(listener, cx.region);
            item["Tags"] = tag::short_list(&listener.tags);
            item
        })
        .collect();
    Ok(json!({
        "Listeners": items,
        "MaxResults": page.size,
        "TotalCount": page.total,
        "NextToken": page.next.unwrap_or_default(),
    }))
}
