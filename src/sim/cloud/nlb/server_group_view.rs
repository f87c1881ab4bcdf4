//! Server groups and their servers as the list actions show them.

use serde_json::{Map, Value, json};

use super::{Nlb, ServerGroup, server::NlbServer};
use crate::sim::cloud::{
    Context, State,
    contract::{Contract, Shape, shown},
    error::Failure,
    paging, tag,
};

fn shape() -> Option<&'static std::collections::BTreeMap<String, Shape>> {
    let reply = &Contract::get().action("nlb", "ListServerGroups")?.reply;
    reply.fields.as_ref()?.get("ServerGroups")?.items.as_ref()?.fields.as_ref()
}

fn item(nlb: &Nlb, group: &ServerGroup, region: &str, owner: i64) -> Value {
    let fields = shape();
    let mut item: Map<String, Value> =
        fields.map(|fields| shown(fields, |name| group.attributes.get(name).map(String::as_str))).unwrap_or_default();
    let check = fields.and_then(|fields| fields.get("HealthCheck")?.fields.as_ref());
    let mut check: Map<String, Value> =
        check.map(|fields| shown(fields, |name| group.health_check.get(name).map(String::as_str))).unwrap_or_default();
    check.insert("HealthCheckHttpCode".into(), group.health_check_codes.clone().into());
    let users = nlb.listeners.values().filter(|listener| listener.server_group == group.id);
    let users: std::collections::BTreeSet<&str> = users.map(|listener| listener.load_balancer.as_str()).collect();
    let mut put = |name: &str, value: Value| item.insert(name.to_owned(), value);
    put("HealthCheck", Value::Object(check));
    put("ServerGroupId", group.id.clone().into());
    put("ServerGroupName", group.name.clone().into());
    put("ServerGroupType", group.kind.clone().into());
    put("ServerGroupStatus", group.status.as_str().into());
    put("ServerCount", group.servers.len().into());
    put("Protocol", group.protocol.clone().into());
    put("VpcId", group.vpc.clone().into());
    put("RegionId", region.into());
    put("ResourceGroupId", group.resource_group.clone().into());
    put("AliUid", owner.into());
    put("RelatedLoadBalancerIds", json!(users));
    put("Tags", tag::short_list(&group.tags));
    Value::Object(item)
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let (ids, names) = (cx.params.list("ServerGroupIds"), cx.params.list("ServerGroupNames"));
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let found: Vec<&ServerGroup> = state
        .nlb
        .server_groups
        .values()
        .filter(|group| ids.is_empty() || ids.contains(&group.id))
        .filter(|group| names.is_empty() || names.contains(&group.name))
        .filter(|group| is("VpcId", &group.vpc) && is("ServerGroupType", &group.kind))
        .filter(|group| is("ResourceGroupId", &group.resource_group))
        .filter(|group| tag::matches(&group.tags, &wanted))
        .collect();
    let size = paging::size(cx.params, "MaxResults", 20, 100)?;
    let page = paging::tokened(cx.params, found, size)?;
    let owner = state.owner();
    let items: Vec<Value> = page.items.iter().map(|group| item(&state.nlb, group, cx.region, owner)).collect();
    Ok(json!({
        "ServerGroups": items,
        "MaxResults": page.size,
        "TotalCount": page.total,
        "NextToken": page.next.unwrap_or_default(),
    }))
}

pub(super) fn list_servers(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let groups: Vec<&ServerGroup> = match cx.params.get("ServerGroupId") {
        Some(id) => vec![state.nlb.server_group(id)?],
        None => state.nlb.server_groups.values().collect(),
    };
    let (ids, ips) = (cx.params.list("ServerIds"), cx.params.list("ServerIps"));
    let found: Vec<(&str, &NlbServer)> = groups
        .iter()
        .flat_map(|group| group.servers.iter().map(move |server| (group.id.as_str(), server)))
        .filter(|(_, server)| ids.is_empty() || ids.contains(&server.id))
        .filter(|(_, server)| ips.is_empty() || ips.contains(&server.ip))
        .collect();
    let size = paging::size(cx.params, "MaxResults", 20, 100)?;
    let page = paging::tokened(cx.params, found, size)?;
    let item = |(group, server): &(&str, &NlbServer)| {
        json!({
            "ServerGroupId": group,
            "ServerId": server.id,
            "ServerIp": server.ip,
            "ServerType": server.kind,
            "Port": server.port,
            "Weight": server.weight,
            "Description": server.description,
            "Status": server.status.as_str(),
            "ZoneId": server.zone,
        })
    };
    Ok(json!({
        "Servers": page.items.iter().map(item).collect::<Vec<_>>(),
        "MaxResults": page.size,
        "TotalCount": page.total,
        "NextToken": page.next.unwrap_or_default(),
    }))
}
