//! Load balancers as the describe actions show them.

use serde_json::{Value, json};

use super::{Listener, LoadBalancer, Server};
use crate::sim::cloud::{Context, State, error::Failure, paging, params::Params, tag, time};

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = wanted_tags(cx.params)?;
    let is = |name: &str| cx.params.is(name);
    // Some filters take several values, separated by commas.
    let several = |name: &str| cx.params.get(name).map(|list| list.split(',').map(str::trim).collect::<Vec<_>>());
    let (ids, names, addresses) = (several("LoadBalancerId"), several("LoadBalancerName"), several("Address"));
    let among = |list: &Option<Vec<&str>>, value: &str| list.as_ref().is_none_or(|list| list.contains(&value));
    let (address_type, ip_version, status) = (is("AddressType"), is("AddressIPVersion"), is("LoadBalancerStatus"));
    let (vpc, vswitch, charge, group) = (is("VpcId"), is("VSwitchId"), is("InternetChargeType"), is("ResourceGroupId"));
    let (master, slave, network) = (is("MasterZoneId"), is("SlaveZoneId"), cx.params.get("NetworkType"));
    let passes = |lb: &&LoadBalancer| {
        lb.region == cx.region
            && among(&ids, &lb.id)
            && among(&names, &lb.name)
            && (addresses.is_none() || among(&addresses, &lb.address.to_string()))
            && address_type(&lb.address_type)
            && ip_version(&lb.ip_version)
            && status(&lb.status)
            && vpc(&lb.vpc)
            && vswitch(&lb.vswitch)
            && charge(&lb.internet_charge_type)
            && group(&lb.resource_group)
            && master(&lb.master_zone)
            && slave(&lb.slave_zone)
            && network.is_none_or(|kind| kind.eq_ignore_ascii_case(lb.network_type()))
            // Unlike the other products' filters, one of the tags is enough here.
            && (wanted.is_empty() || wanted.iter().any(|one| tag::matches(&lb.tags, std::slice::from_ref(one))))
    };
    let found: Vec<&LoadBalancer> = state.slb.load_balancers.values().filter(passes).collect();
    let page = paging::numbered(cx.params, found, 10, 100)?;
    let items: Vec<Value> = page.items.iter().map(|lb| list_item(lb)).collect();
    Ok(json!({
        "LoadBalancers": { "LoadBalancer": items },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

/// Tags come as `Tag.N.…` or, from older callers, as JSON text in `Tags`.
fn wanted_tags(params: &Params) -> Result<Vec<(String, Option<String>)>, Failure> {
    let mut wanted = tag::filter(params);
    let list: Option<Vec<Value>> = params.json("Tags")?;
    for element in list.into_iter().flatten() {
        let text = |name: &str| element.get(name).and_then(Value::as_str).map(str::to_owned);
        let key = text("TagKey").ok_or_else(|| Failure::invalid("Tags"))?;
        wanted.push((key, text("TagValue").filter(|value| !value.is_empty())));
    }
    if wanted.len() > 20 {
        return Err(Failure::invalid("Tags"));
    }
    Ok(wanted)
}

fn list_item(lb: &LoadBalancer) -> Value {
    let mut item = shared(lb);
    // A digit here, the word in the alias; the attribute action answers the word.
    let digit = if lb.internet_charge_type == "paybybandwidth" { "3" } else { "4" };
    item["InternetChargeType"] = digit.into();
    item["InternetChargeTypeAlias"] = lb.internet_charge_type.clone().into();
    item
}

fn shared(lb: &LoadBalancer) -> Value {
    json!({
        "LoadBalancerId": lb.id,
        "LoadBalancerName": lb.name,
        "LoadBalancerStatus": lb.status,
        "LoadBalancerSpec": lb.spec,
        "Address": lb.address.to_string(),
        "AddressType": lb.address_type,
        "AddressIPVersion": lb.ip_version,
        "NetworkType": lb.network_type(),
        "VpcId": lb.vpc,
        "VSwitchId": lb.vswitch,
        "RegionId": lb.region,
        "RegionIdAlias": lb.region,
        "MasterZoneId": lb.master_zone,
        "SlaveZoneId": lb.slave_zone,
        "Bandwidth": lb.bandwidth,
        "PayType": lb.pay_type,
        "InstanceChargeType": lb.instance_charge_type,
        "InternetChargeType": lb.internet_charge_type,
        "DeleteProtection": if lb.delete_protection { "on" } else { "off" },
        "ModificationProtectionStatus": lb.modification_protection,
        "ModificationProtectionReason": lb.modification_protection_reason,
        "ResourceGroupId": lb.resource_group,
        "CreateTime": time::minutes(lb.created),
        "CreateTimeStamp": lb.created.as_millisecond(),
        "Tags": { "Tag": tag::list(&lb.tags) },
    })
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.slb.load_balancer(cx.params.required("LoadBalancerId")?)?;
    let mut item = shared(lb);
    let server = |server: &Server| {
        json!({
            "ServerId": server.id,
            "Weight": server.weight,
            "Type": server.kind,
            "ServerIp": server.ip,
            "Description": server.description,
        })
    };
    item["BackendServers"] = json!({ "BackendServer": lb.servers.iter().map(server).collect::<Vec<_>>() });
    // Three lists of the same, one of them misspelled; callers rely on each.
    let mut ports: Vec<u16> = lb.listeners.iter().map(|listener| listener.port).collect();
    ports.dedup();
    item["ListenerPorts"] = json!({ "ListenerPort": ports });
    let misspelled = |one: &Listener| json!({ "ListenerPort": one.port, "ListenerProtocal": one.protocol.as_str() });
    let spelled = |one: &Listener| {
        json!({
            "ListenerPort": one.port,
            "ListenerProtocol": one.protocol.as_str(),
            "Description": one.setting("Description").unwrap_or_default(),
        })
    };
    item["ListenerPortsAndProtocal"] =
        json!({ "ListenerPortAndProtocal": lb.listeners.iter().map(misspelled).collect::<Vec<_>>() });
    item["ListenerPortsAndProtocol"] =
        json!({ "ListenerPortAndProtocol": lb.listeners.iter().map(spelled).collect::<Vec<_>>() });
    item["CreateTime"] = time::seconds(lb.created).into();
    item["EndTime"] = "2999-09-08T16:00:00Z".into();
    item["EndTimeStamp"] = 32_493_801_600_000_i64.into();
    Ok(item)
}
