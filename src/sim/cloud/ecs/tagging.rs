//! Tags of ECS resources.

use serde_json::Value;

use crate::sim::cloud::{Context, State, Tags, error::Failure, tagging};

fn find<'a>(state: &'a mut State, kind: &str, id: &str) -> Result<&'a mut Tags, Failure> {
    let ecs = &mut state.ecs;
    let found = match kind.to_ascii_lowercase().as_str() {
        "instance" => ecs.instances.get_mut(id).map(|instance| &mut instance.tags),
        "eni" => ecs.interfaces.get_mut(id).map(|interface| &mut interface.tags),
        "securitygroup" => ecs.security_groups.get_mut(id).map(|group| &mut group.tags),
        _ => return Err(unknown_kind(kind)),
    };
    found.ok_or_else(|| Failure::not_found("InvalidResourceId.NotFound", format!("The {kind} {id} does not exist.")))
}

fn unknown_kind(kind: &str) -> Failure {
    Failure::not_found("InvalidResourceType.NotFound", format!("The ResourceType {kind} is not known."))
}

pub(super) fn tag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    tagging::tag(cx, state, find)
}

pub(super) fn untag(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    tagging::untag(cx, state, find)
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let kind = cx.params.required("ResourceType")?;
    let all: Vec<(String, &Tags)> = match kind.to_ascii_lowercase().as_str() {
        "instance" => state.ecs.instances.values().map(|one| (one.id.clone(), &one.tags)).collect(),
        "eni" => state.ecs.interfaces.values().map(|one| (one.id.clone(), &one.tags)).collect(),
        "securitygroup" => state.ecs.security_groups.values().map(|one| (one.id.clone(), &one.tags)).collect(),
        _ => return Err(unknown_kind(kind)),
    };
    tagging::wrapped(cx, tagging::entries(cx, all))
}
