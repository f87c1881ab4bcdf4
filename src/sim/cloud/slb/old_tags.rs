//! The older tag actions, which know only load balancers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::sim::cloud::{Context, State, error::Failure, paging, tag::Tags};

const PER_CALL: usize = 5;
const PER_RESOURCE: usize = 10;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Given {
    tag_key: String,
    tag_value: Option<String>,
}

fn given(cx: &Context<'_>) -> Result<Tags, Failure> {
    let list: Vec<Given> = cx.params.json("Tags")?.unwrap_or_default();
    if list.is_empty() || list.len() > PER_CALL {
        return Err(Failure::bad("MissingParameter.Tags", "Give 1 to 5 tags."));
    }
    Ok(list.into_iter().map(|tag| (tag.tag_key, tag.tag_value.unwrap_or_default())).collect())
}

pub(super) fn add(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let more = given(cx)?;
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    let mut tags = lb.tags.clone();
    tags.extend(more);
    if tags.len() > PER_RESOURCE {
        return Err(Failure::bad("QuotaExceed.TagsPerResource", "A load balancer can have at most 10 tags."));
    }
    cx.set(&mut lb.tags, tags);
    Ok(json!({}))
}

pub(super) fn remove(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let less = given(cx)?;
    let lb = state.slb.load_balancer_mut(cx.params.required("LoadBalancerId")?)?;
    let mut tags = lb.tags.clone();
    tags.retain(|key, _| !less.contains_key(key));
    cx.set(&mut lb.tags, tags);
    Ok(json!({}))
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = cx.params.get("LoadBalancerId");
    let distinct = cx.params.flag("DistinctKey") == Some(true);
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for lb in state.slb.load_balancers.values().filter(|lb| wanted.is_none_or(|id| id == lb.id)) {
        for (key, value) in &lb.tags {
            let value = if distinct { String::new() } else { value.clone() };
            *counts.entry((key.clone(), value)).or_default() += 1;
        }
    }
    let page = paging::numbered(cx.params, counts.into_iter().collect(), 50, 100)?;
    let item = |((key, value), count): &((String, String), usize)| json!({ "TagKey": key, "TagValue": value, "InstanceCount": count });
    Ok(json!({
        "TagSets": { "TagSet": page.items.iter().map(item).collect::<Vec<_>>() },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}
