//! Access lists.

use std::{collections::BTreeMap, str::FromStr};

use ipnet::IpNet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
    time,
};

/// The most entries in one call and in one list.
const PER_CALL: usize = 50;
const PER_LIST: usize = 300;

/// An access list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Acl {
    /// `acl-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// `ipv4` or `ipv6`.
    pub ip_version: String,
    /// Comments by range.
    pub entries: BTreeMap<String, String>,
    /// Tags.
    pub tags: Tags,
    /// Creation time.
    pub created: Timestamp,
}

#[derive(Deserialize)]
struct Entry {
    entry: String,
    comment: Option<String>,
}

fn missing(id: &str) -> Failure {
    Failure::bad("AclNotExist", format!("The access control list {id} does not exist."))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    if cx.options.quotas.acls.is_some_and(|limit| state.slb.acls.len() >= limit) {
        return Err(Failure::bad("AclNumberOverLimit", "The number of access control lists exceeds the quota."));
    }
    let acl = Acl {
        id: cx.id("acl-bp1"),
        name: cx.params.required("AclName")?.to_owned(),
        ip_version: cx.params.get("AddressIPVersion").unwrap_or("ipv4").to_owned(),
        entries: BTreeMap::new(),
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    cx.change();
    let reply = json!({ "AclId": acl.id });
    state.slb.acls.insert(acl.id.clone(), acl);
    Ok(reply)
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AclId")?;
    if !state.slb.acls.contains_key(id) {
        return Err(missing(id));
    }
    if related(state, id).next().is_some() {
        return Err(Failure::bad("OperationFailed.AclBindedWithVip", "A listener uses the access control list."));
    }
    state.slb.acls.remove(id);
    cx.change();
    Ok(json!({}))
}

fn entries(cx: &Context<'_>) -> Result<Vec<Entry>, Failure> {
    let list: Vec<Entry> = cx.params.json("AclEntrys")?.unwrap_or_default();
    if list.is_empty() || list.len() > PER_CALL {
        return Err(Failure::bad("AclEntryIllegal", "Give 1 to 50 entries."));
    }
    if let Some(bad) = list.iter().find(|entry| IpNet::from_str(&entry.entry).is_err()) {
        return Err(Failure::bad("InvalidEntry", format!("The entry {} is not a CIDR block.", bad.entry)));
    }
    Ok(list)
}

pub(super) fn add_entries(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AclId")?;
    let list = entries(cx)?;
    let acl = state.slb.acls.get_mut(id).ok_or_else(|| missing(id))?;
    if let Some(twice) = list.iter().find(|entry| acl.entries.contains_key(&entry.entry)) {
        return Err(Failure::bad("InvalidParam.AclEntryExists", format!("The entry {} exists already.", twice.entry)));
    }
    if acl.entries.len() + list.len() > PER_LIST {
        return Err(Failure::bad("AclEntryExceedLimit", "A list can have at most 300 entries."));
    }
    for entry in list {
        acl.entries.insert(entry.entry, entry.comment.unwrap_or_default());
        cx.change();
    }
    Ok(json!({}))
}

pub(super) fn remove_entries(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AclId")?;
    let list = entries(cx)?;
    let acl = state.slb.acls.get_mut(id).ok_or_else(|| missing(id))?;
    for entry in list {
        if acl.entries.remove(&entry.entry).is_some() {
            cx.change();
        }
    }
    Ok(json!({}))
}

fn item(state: &State, acl: &Acl) -> Value {
    json!({
        "AclId": acl.id,
        "AclName": acl.name,
        "AddressIPVersion": acl.ip_version,
        "CreateTime": time::seconds(acl.created),
        "ResourceGroupId": state.resource_group(),
        "Tags": { "Tag": tag::list(&acl.tags) },
    })
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let found: Vec<&Acl> = state
        .slb
        .acls
        .values()
        .filter(|acl| is("AclName", &acl.name) && is("AddressIPVersion", &acl.ip_version))
        .filter(|acl| tag::matches(&acl.tags, &wanted))
        .collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let items: Vec<Value> = page.items.iter().map(|acl| item(state, acl)).collect();
    Ok(json!({
        "Count": items.len(),
        "Acls": { "Acl": items },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}

/// The listeners that use a list, as the attribute action shows them.
fn related<'a>(state: &'a State, id: &'a str) -> impl Iterator<Item = Value> + 'a {
    let all = state.slb.load_balancers.values().flat_map(|lb| lb.listeners.iter().map(move |listener| (lb, listener)));
    all.filter(move |(_, listener)| listener.setting("AclId").is_some_and(|ids| ids.split(',').any(|one| one == id)))
        .map(|(lb, listener)| {
            json!({
                "LoadBalancerId": lb.id,
                "ListenerPort": listener.port,
                "Protocol": listener.protocol.as_str(),
                "AclType": listener.setting("AclType").unwrap_or_default(),
            })
        })
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("AclId")?;
    let acl = state.slb.acls.get(id).ok_or_else(|| missing(id))?;
    let mut reply = item(state, acl);
    let comment = cx.params.get("AclEntryComment");
    let all = acl.entries.iter().filter(|(_, text)| comment.is_none_or(|comment| text.contains(comment)));
    // The number of the page has a name of its own here.
    let (page, size) = (cx.params.number::<usize>("Page")?.unwrap_or(1), paging::size(cx.params, "PageSize", 10, 50)?);
    let entries: Vec<Value> = all
        .skip(page.saturating_sub(1).saturating_mul(size))
        .take(size)
        .map(|(entry, comment)| json!({ "AclEntryIP": entry, "AclEntryComment": comment }))
        .collect();
    reply["AclEntrys"] = json!({ "AclEntry": entries });
    reply["RelatedListeners"] = json!({ "RelatedListener": related(state, id).collect::<Vec<_>>() });
    reply["TotalAclEntry"] = acl.entries.len().into();
    Ok(reply)
}
