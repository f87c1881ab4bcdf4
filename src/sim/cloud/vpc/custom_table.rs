//! Custom route tables: creation, deletion, and the vswitches they serve.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{RouteTable, route_table::missing, vswitch};
use crate::sim::cloud::{Context, State, error::Failure, tag, world::system_entry};

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let vpc = cx.params.required("VpcId")?;
    if !state.network.vpcs.contains_key(vpc) {
        return Err(Failure::not_found("InvalidVpcId.NotFound", format!("Specified VPC {vpc} does not exist.")));
    }
    if cx.params.get("AssociateType") == Some("Gateway") {
        return Err(Failure::bad("UnsupportedOperation", "Gateway route tables are not simulated."));
    }
    let custom = state.network.route_tables.values().filter(|table| table.vpc == vpc && table.custom).count();
    if cx.options.quotas.route_tables.is_some_and(|limit| custom >= limit) {
        return Err(Failure::bad(
            "QuotaExceeded.RouteTable",
            "The number of route tables of the VPC exceeds the quota.",
        ));
    }
    let services = "100.64.0.0/10".parse().ok();
    let vswitches = state.network.vswitches.values().filter(|vswitch| vswitch.vpc == vpc).map(|vswitch| vswitch.cidr);
    let entries: BTreeMap<_, _> = vswitches
        .chain(services)
        .map(|cidr| {
            let entry = system_entry(cx.id("rte-bp1"), cidr);
            (entry.id.clone(), entry)
        })
        .collect();
    let table = RouteTable {
        id: cx.id("vtb-bp1"),
        vpc: vpc.to_owned(),
        custom: true,
        name: cx.params.text("RouteTableName"),
        description: cx.params.text("Description"),
        vswitches: BTreeSet::new(),
        entries,
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    cx.change();
    let reply = json!({ "RouteTableId": table.id });
    state.network.route_tables.insert(table.id.clone(), table);
    Ok(reply)
}

fn custom<'a>(state: &'a mut State, id: &str) -> Result<&'a mut RouteTable, Failure> {
    let table = state.network.route_tables.get_mut(id).ok_or_else(|| missing(id))?;
    if table.custom {
        return Ok(table);
    }
    Err(Failure::bad("IncorrectRouteTableType", format!("The route table {id} is the System table of its VPC.")))
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("RouteTableId")?;
    let table = custom(state, id)?;
    if !table.vswitches.is_empty() {
        return Err(Failure::bad("IncorrectRouteTableStatus", format!("The route table {id} serves a vSwitch.")));
    }
    if table.entries.values().any(|entry| !entry.system) {
        return Err(Failure::bad(
            "DependencyViolation.RouteEntry",
            format!("The route table {id} has custom entries."),
        ));
    }
    state.network.route_tables.remove(id);
    cx.change();
    Ok(json!({}))
}

pub(super) fn associate(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (id, to) = (cx.params.required("RouteTableId")?, cx.params.required("VSwitchId")?);
    let vswitch = state.network.vswitches.get(to).ok_or_else(|| vswitch::missing(to))?.clone();
    if state.network.table_of(&vswitch).is_some_and(|table| table.custom) {
        return Err(Failure::bad(
            "ResourceAlreadyAssociated.RouteTable",
            format!("The vSwitch {to} has a Custom table."),
        ));
    }
    let table = custom(state, id)?;
    if table.vpc != vswitch.vpc {
        return Err(Failure::bad("Forbidden.NotInSameVpc", format!("The vSwitch {to} is in another VPC.")));
    }
    table.vswitches.insert(to.to_owned());
    cx.change();
    Ok(json!({}))
}

pub(super) fn unassociate(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (id, from) = (cx.params.required("RouteTableId")?, cx.params.required("VSwitchId")?);
    let table = state.network.route_tables.get_mut(id).ok_or_else(|| missing(id))?;
    if !table.custom {
        return Err(Failure::bad(
            "OperationUnsupported.SystemRouteTable",
            "The System table serves all other vSwitches.",
        ));
    }
    if !table.vswitches.remove(from) {
        return Err(Failure::bad("OperationFailed.VSwitchNotAssociate", format!("The table does not serve {from}.")));
    }
    cx.change();
    Ok(json!({}))
}
