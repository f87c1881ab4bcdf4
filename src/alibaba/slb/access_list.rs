//! Access control lists: who may reach a listener.

use std::{collections::BTreeSet, net::IpAddr};

use async_trait::async_trait;
use ipnet::IpNet;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::debug;

use crate::{
    alibaba::{
        Alibaba,
        rpc::{
            Product, Request,
            decode::{self, List, Tag},
            paging::{Page, Paged},
        },
    },
    cloud::{
        AccessList, AccessListId, AccessLists, Class, Error,
        action::{CreateAccessList, ENTRIES_PER_CALL},
    },
};

/// The page size of lists; entries come as many as one may add.
const PAGE: usize = 50;

/// `DescribeAccessControlLists`
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Lists {
    acls: Option<List<ListItem>>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListItem {
    acl_id: String,
    #[serde(default, deserialize_with = "decode::text")]
    acl_name: String,
    #[serde(default, rename = "AddressIPVersion", deserialize_with = "decode::text")]
    ip_version: String,
    tags: Option<List<Tag>>,
}

/// `DescribeAccessControlListAttribute`. Without entries, the list of them may be absent.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entries {
    #[serde(default)]
    acl_entrys: List<Entry>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    total_acl_entry: Option<usize>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "AclEntryIP")]
    range: String,
}

/// `CreateAccessControlList`
#[derive(Deserialize)]
pub(super) struct Created {
    #[serde(rename = "AclId")]
    pub(super) id: String,
}

#[async_trait]
impl AccessLists for Alibaba {
    async fn access_lists(&self, tag_key: &str, tag_value: &str) -> Result<Vec<AccessList>, Error> {
        let request = Request::read(Product::Slb, "DescribeAccessControlLists")
            .about(format!("tag {tag_key}={tag_value}"))
            .param("Tag.1.Key", tag_key)
            .param("Tag.1.Value", tag_value);
        let mut found = self.client().read_numbered::<Lists>(request, PAGE).await?;
        // Were the filter ever ignored, other people's lists would pass for ours.
        found.retain(|list| list.tags.as_ref().is_some_and(|tags| tags.0.iter().any(|tag| tag.is(tag_key, tag_value))));
        Ok(found.into_iter().map(ListItem::into_list).collect())
    }

    async fn access_entries(&self, list: &AccessListId) -> Result<Option<BTreeSet<IpNet>>, Error> {
        let request =
            Request::read(Product::Slb, "DescribeAccessControlListAttribute").about(list).param("AclId", list);
        match self.client().read_numbered_as::<Entries>("Page", request, ENTRIES_PER_CALL).await {
            Ok(entries) => Ok(Some(entries.iter().filter_map(Entry::range).collect())),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The error, with what the call was about being gone as its class. Elsewhere, where a list is
/// only mentioned, the same code means a mistake.
pub(super) fn about_it(error: Error) -> Error {
    if is_missing(&error) { Error { class: Class::NotFound, ..error } } else { error }
}

fn is_missing(error: &Error) -> bool {
    error.class == Class::NotFound || ["AclNotExist", "ResourceNotExist"].contains(&error.code.as_str())
}

pub(super) fn create(create: &CreateAccessList) -> Request {
    let CreateAccessList { name, ip_version, resource_group, tags } = create;
    Request::write(Product::Slb, "CreateAccessControlList")
        .about(name)
        .param("AclName", name)
        .param("AddressIPVersion", ip_version)
        .param_if("ResourceGroupId", resource_group.as_ref())
        .tags(tags)
}

pub(super) fn on(action: &str, list: &AccessListId) -> Request {
    Request::write(Product::Slb, action).about(list).param("AclId", list)
}

pub(super) fn change(action: &str, list: &AccessListId, entries: &[IpNet]) -> Request {
    let entries: Value = entries.iter().map(|entry| json!({ "entry": entry })).collect();
    on(action, list).param("AclEntrys", entries)
}

pub(super) fn untag(list: &AccessListId, keys: &[String]) -> Request {
    Request::write(Product::Slb, "UntagResources")
        .about(list)
        .param("ResourceType", "acl")
        .list("ResourceId", [list])
        .list("TagKey", keys)
}

// === impl Lists ===

impl Paged for Lists {
    type Item = ListItem;

    fn into_page(self) -> Option<Page<ListItem>> {
        Some(Page { items: self.acls?.0, total: self.total_count, next_token: None })
    }

    fn key(item: &ListItem) -> String {
        item.acl_id.clone()
    }
}

// === impl ListItem ===

impl ListItem {
    fn into_list(self) -> AccessList {
        AccessList {
            id: self.acl_id.into(),
            name: self.acl_name,
            ip_version: self.ip_version,
            tags: decode::tags(self.tags.unwrap_or_default().0),
        }
    }
}

// === impl Entries ===

impl Paged for Entries {
    type Item = Entry;

    fn into_page(self) -> Option<Page<Entry>> {
        Some(Page { items: self.acl_entrys.0, total: self.total_acl_entry, next_token: None })
    }

    fn key(item: &Entry) -> String {
        item.range.clone()
    }
}

// === impl Entry ===

impl Entry {
    /// The range, which may be written as a plain address.
    fn range(&self) -> Option<IpNet> {
        let range = self.range.parse().ok().or_else(|| self.range.parse::<IpAddr>().ok().map(IpNet::from));
        if range.is_none() {
            debug!(entry = self.range, "an entry of an access control list that is no range");
        }
        range
    }
}
