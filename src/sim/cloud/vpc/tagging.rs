//! Tags of VPC resources.

use serde_json::Value;

use crate::sim::cloud::{Context, State, Tags, error::Failure, tag, tagging};

fn find<'a>(state: &'a mut State, kind: &str, id: &str) -> Result<&'a mut Tags, Failure> {
    let network = &mut state.network;
    let found = match kind {
        "VPC" => network.vpcs.get_mut(id).map(|one| &mut one.tags),
        "VSWITCH" => network.vswitches.get_mut(id).map(|one| &mut one.tags),
        "ROUTETABLE" => network.route_tables.get_mut(id).map(|one| &mut one.tags),
        "EIP" => network.eips.get_mut(id).map(|one| &mut one.tags),
        _ => return Err(not_simulated(kind)),
    };
    found.ok_or_else(|| Failure::not_found("InvalidInstanceIds.NotFound", format!("The {kind} {id} does not exist.")))
}

fn not_simulated(kind: &str) -> Failure {
    Failure::bad("UnsupportedOperation", format!("Tags of the ResourceType {kind} are not simulated."))
}

pub(super) fn tag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    tagging::tag(cx, state, find)
}

pub(super) fn untag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    tagging::untag(cx, state, find)
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    if cx.params.list("ResourceId").is_empty() && tag::filter(cx.params).is_empty() {
        return Err(Failure::bad("BothEmpty.TagsAndResources", "Give ResourceId or Tag."));
    }
    let kind = cx.params.required("ResourceType")?;
    let network = &state.network;
    let all: Vec<(String, &Tags)> = match kind {
        "VPC" => network.vpcs.values().map(|one| (one.id.clone(), &one.tags)).collect(),
        "VSWITCH" => network.vswitches.values().map(|one| (one.id.clone(), &one.tags)).collect(),
        "ROUTETABLE" => network.route_tables.values().map(|one| (one.id.clone(), &one.tags)).collect(),
        "EIP" => network.eips.values().map(|one| (one.id.clone(), &one.tags)).collect(),
        _ => return Err(not_simulated(kind)),
    };
    tagging::wrapped(cx, tagging::entries(cx, all))
}
