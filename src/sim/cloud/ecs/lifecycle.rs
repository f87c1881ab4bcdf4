//! Instances: deletion, status, attributes, types and RAM roles.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Instance, InstanceStatus, instance};
use crate::sim::cloud::{Context, State, error::Failure, paging};

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("InstanceId")?;
    let found = state.ecs.instances.get(id).ok_or_else(|| instance::missing(id))?;
    if found.status != InstanceStatus::Stopped && cx.params.flag("Force") != Some(true) {
        return Err(Failure::new(
            403,
            "IncorrectInstanceStatus",
            format!("The instance {id} is {}.", found.status.as_str()),
        ));
    }
    if found.charge_type == "PrePaid" && cx.params.flag("TerminateSubscription") != Some(true) {
        return Err(Failure::new(403, "ChargeTypeViolation", "A subscription cannot be released before it ends."));
    }
    let tables = state.network.route_tables.values();
    if tables.flat_map(|table| table.entries.values()).any(|entry| entry.next_hop == id) {
        return Err(Failure::new(403, "DependencyViolation.RouteEntry", format!("A route entry goes to {id}.")));
    }
    state.remove_instance(id);
    cx.change();
    Ok(json!({}))
}

pub(super) fn describe_status(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let ids = cx.params.list("InstanceId");
    if ids.len() > 100 {
        return Err(Failure::bad("InvalidParameter.TooManyInstanceIds", "At most 100 instances can be given."));
    }
    let found: Vec<&Instance> = state
        .ecs
        .instances
        .values()
        .filter(|one| one.region == cx.region && (ids.is_empty() || ids.contains(&one.id)))
        .filter(|one| cx.params.get("ZoneId").is_none_or(|zone| zone == one.zone))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let item = |one: &&Instance| json!({ "InstanceId": one.id, "Status": one.status.as_str() });
    Ok(json!({
        "InstanceStatuses": { "InstanceStatus": page.items.iter().map(item).collect::<Vec<_>>() },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("InstanceId")?;
    let found = state.ecs.instances.get(id).ok_or_else(|| instance::missing(id))?;
    let mut reply = instance::whole_item(state, found);
    if let Value::Object(fields) = &mut reply {
        let absent = [
            "DeletionProtection",
            "DeviceAvailable",
            "InstanceTypeFamily",
            "NetworkInterfaces",
            "OSType",
            "ResourceGroupId",
            "SpotStrategy",
            "StartTime",
            "Tags",
        ];
        for name in absent {
            fields.remove(name);
        }
        // Text here, a flag in the list.
        fields.insert("IoOptimized".into(), "optimized".into());
    }
    Ok(reply)
}

/// The types that the region's instances have, all of one size.
pub(super) fn describe_types(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = cx.params.list("InstanceTypes");
    let known: BTreeSet<&str> = state.ecs.instances.values().map(|one| one.instance_type.as_str()).collect();
    let types = known.into_iter().filter(|name| wanted.is_empty() || wanted.iter().any(|one| one == name));
    let item = |name: &str| {
        let family = name.rsplit_once('.').map_or(name, |(family, _)| family);
        json!({
            "InstanceTypeId": name,
            "InstanceTypeFamily": family,
            "CpuCoreCount": 4,
            "MemorySize": 16.0,
            "CpuArchitecture": "X86",
            "EniQuantity": 4,
            "EniTotalQuantity": 4,
            "EniPrivateIpAddressQuantity": 15,
            "EniIpv6AddressQuantity": 15,
        })
    };
    Ok(json!({ "InstanceTypes": { "InstanceType": types.map(item).collect::<Vec<_>>() } }))
}

pub(super) fn attach_role(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let role = cx.params.required("RamRoleName")?;
    let ids: Vec<String> = cx.params.json("InstanceIds")?.unwrap_or_default();
    let mut results = Vec::new();
    let mut failed = 0;
    for id in &ids {
        if let Some(instance) = state.ecs.instances.get_mut(id) {
            cx.set(&mut instance.role, Some(role.to_owned()));
            results.push(json!({ "InstanceId": id, "Code": "200", "Message": "success", "Success": true }));
        } else {
            failed += 1;
            let message = "The specified InstanceId does not exist.";
            results.push(json!({
                "InstanceId": id,
                "Code": "InvalidInstanceId.NotFound",
                "Message": message,
                "Success": false,
            }));
        }
    }
    Ok(json!({
        "RamRoleName": role,
        "TotalCount": ids.len(),
        "FailCount": failed,
        "AttachInstanceRamRoleResults": { "AttachInstanceRamRoleResult": results },
    }))
}

pub(super) fn describe_role(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let ids: Option<Vec<String>> = cx.params.json("InstanceIds")?;
    let wanted = cx.params.get("RamRoleName");
    if ids.is_none() && wanted.is_none() {
        return Err(Failure::bad("InvalidParameter.AllEmpty", "Give InstanceIds or RamRoleName."));
    }
    let found: Vec<(&str, &str)> = state
        .ecs
        .instances
        .values()
        .filter(|one| ids.as_ref().is_none_or(|ids| ids.contains(&one.id)))
        .filter_map(|one| Some((one.id.as_str(), one.role.as_deref()?)))
        .filter(|(_, role)| wanted.is_none_or(|wanted| wanted == *role))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let item = |(id, role): &(&str, &str)| json!({ "InstanceId": id, "RamRoleName": role });
    Ok(json!({
        "RegionId": cx.region,
        "TotalCount": page.total,
        "InstanceRamRoleSets": { "InstanceRamRoleSet": page.items.iter().map(item).collect::<Vec<_>>() },
    }))
}
