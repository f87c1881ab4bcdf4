//! Network load balancers as the list and get actions show them.

use serde_json::{Value, json};

use super::{NetworkLoadBalancer, ZoneMapping};
use crate::sim::cloud::{Context, State, error::Failure, paging, tag, time};

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let (ids, names, vpcs) =
        (cx.params.list("LoadBalancerIds"), cx.params.list("LoadBalancerNames"), cx.params.list("VpcIds"));
    let among = |list: &[String], value: &String| list.is_empty() || list.contains(value);
    let found: Vec<&NetworkLoadBalancer> = state
        .nlb
        .load_balancers
        .values()
        .filter(|lb| lb.region == cx.region)
        .filter(|lb| among(&ids, &lb.id) && among(&names, &lb.name) && among(&vpcs, &lb.vpc))
        .filter(|lb| is("AddressType", &lb.address_type) && is("AddressIpVersion", &lb.ip_version))
        .filter(|lb| is("LoadBalancerStatus", lb.status.as_str()) && is("DNSName", &lb.dns_name))
        .filter(|lb| is("Ipv6AddressType", &lb.ipv6_address_type) && is("ResourceGroupId", &lb.resource_group))
        .filter(|lb| cx.params.get("ZoneId").is_none_or(|zone| lb.zones.iter().any(|one| one.zone == zone)))
        .filter(|lb| tag::matches(&lb.tags, &wanted))
        .collect();
    let size = paging::size(cx.params, "MaxResults", 20, 100)?;
    let page = paging::tokened(cx.params, found, size)?;
    let items: Vec<Value> = page
        .items
        .iter()
        .map(|lb| {
            let mut item = shared(lb);
            item["Tags"] = tag::short_list(&lb.tags);
            item
        })
        .collect();
    Ok(json!({
        "LoadBalancers": items,
        "MaxResults": page.size,
        "TotalCount": page.total,
        "NextToken": page.next.unwrap_or_default(),
    }))
}

pub(super) fn get(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let lb = state.nlb.load_balancer(cx.params.required("LoadBalancerId")?)?;
    let mut reply = shared(lb);
    reply["Tags"] = tag::list(&lb.tags);
    reply["Cps"] = lb.cps.into();
    Ok(reply)
}

fn shared(lb: &NetworkLoadBalancer) -> Value {
    let mut item = json!({
        "LoadBalancerId": lb.id,
        "LoadBalancerName": lb.name,
        "LoadBalancerStatus": lb.status.as_str(),
        "LoadBalancerBusinessStatus": "Normal",
        "LoadBalancerType": "network",
        "LoadBalancerBillingConfig": { "PayType": "PostPay" },
        "AddressType": lb.address_type,
        "AddressIpVersion": lb.ip_version,
        "DNSName": lb.dns_name,
        "VpcId": lb.vpc,
        "RegionId": lb.region,
        "ResourceGroupId": lb.resource_group,
        "CreateTime": time::minutes(lb.created),
        "CrossZoneEnabled": lb.cross_zone,
        "SecurityGroupIds": lb.security_groups,
        "OperationLocks": [],
        "DeletionProtectionConfig": {
            "Enabled": lb.delete_protection.is_some(),
            "Reason": lb.delete_protection.as_deref().unwrap_or_default(),
        },
        "ModificationProtectionConfig": {
            "Status": lb.modification_protection,
            "Reason": lb.modification_protection_reason,
        },
        "ZoneMappings": lb.zones.iter().map(zone).collect::<Vec<_>>(),
    });
    if lb.ip_version == "DualStack" {
        item["Ipv6AddressType"] = lb.ipv6_address_type.clone().into();
    }
    if let Some(package) = &lb.bandwidth_package {
        item["BandwidthPackageId"] = package.clone().into();
    }
    item
}

fn zone(mapping: &ZoneMapping) -> Value {
    let mut address = json!({
        "PrivateIPv4Address": mapping.private_ip.to_string(),
        "PrivateIPv4HcStatus": "Healthy",
        "EniId": mapping.interface,
    });
    if let Some(public) = mapping.public_ip {
        address["PublicIPv4Address"] = public.to_string().into();
    }
    if let Some(eip) = &mapping.eip {
        address["AllocationId"] = eip.clone().into();
    }
    json!({
        "ZoneId": mapping.zone,
        "VSwitchId": mapping.vswitch,
        "Status": mapping.status,
        "LoadBalancerAddresses": [address],
    })
}
