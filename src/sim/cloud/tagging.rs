//! The tag actions, which all products have in nearly the same shape.

use serde_json::{Value, json};

use super::{Context, State, error::Failure, paging, tag};
use crate::sim::cloud::Tags;

/// Finds the tags of one resource by type and id.
pub(crate) type Find = for<'a> fn(&'a mut State, &str, &str) -> Result<&'a mut Tags, Failure>;

/// Adds the call's tags to its resources: all of them or none.
pub(crate) fn tag(cx: &mut Context<'_>, state: &mut State, find: Find) -> Result<Value, Failure> {
    let kind = cx.params.required("ResourceType")?;
    let ids = cx.params.list("ResourceId");
    let more = tag::given(cx.params)?;
    for id in &ids {
        tag::add(&mut find(state, kind, id)?.clone(), &more)?;
    }
    for id in &ids {
        let tags = find(state, kind, id)?;
        let mut changed = tags.clone();
        tag::add(&mut changed, &more)?;
        cx.set(tags, changed);
    }
    Ok(json!({}))
}

/// Takes the call's tag keys, or all tags, from its resources: from all of them or none.
pub(crate) fn untag(cx: &mut Context<'_>, state: &mut State, find: Find) -> Result<Value, Failure> {
    let kind = cx.params.required("ResourceType")?;
    let ids = cx.params.list("ResourceId");
    let keys = cx.params.list("TagKey");
    let all = keys.is_empty() && cx.params.flag("All") == Some(true);
    for id in &ids {
        find(state, kind, id)?;
    }
    for id in &ids {
        let tags = find(state, kind, id)?;
        let mut left = tags.clone();
        left.retain(|key, _| !all && !keys.contains(key));
        cx.set(tags, left);
    }
    Ok(json!({}))
}

/// One entry for each tag of each resource that the call asks for.
pub(crate) fn entries<'a>(cx: &Context<'_>, all: impl IntoIterator<Item = (String, &'a Tags)>) -> Vec<Value> {
    let kind = cx.params.get("ResourceType").unwrap_or_default();
    let ids = cx.params.list("ResourceId");
    let wanted = tag::filter(cx.params);
    let mut found = Vec::new();
    for (id, tags) in all {
        if (ids.is_empty() || ids.contains(&id)) && tag::matches(tags, &wanted) {
            found.extend(tags.iter().map(
                |(key, value)| json!({ "ResourceId": id, "ResourceType": kind, "TagKey": key, "TagValue": value }),
            ));
        }
    }
    found
}

/// The answer of the products that wrap the list and page by token alone.
pub(crate) fn wrapped(cx: &Context<'_>, entries: Vec<Value>) -> Result<Value, Failure> {
    let page = paging::tokened(cx.params, entries, 50)?;
    let mut reply = json!({ "TagResources": { "TagResource": page.items } });
    if let Some(next) = page.next {
        reply["NextToken"] = next.into();
    }
    Ok(reply)
}
