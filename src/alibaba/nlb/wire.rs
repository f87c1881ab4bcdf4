//! Replies of NLB, and of ECS about security groups, as they come.
#![expect(clippy::struct_field_names, reason = "fields are named as the API names them")]

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::alibaba::rpc::decode::{self, List, Tag};

macro_rules! page {
    ($(#[$doc:meta])* $page:ident, $field:literal, $item:ident, $key:expr) => {
        $(#[$doc])*
        #[derive(Deserialize)]
        pub(in crate::alibaba::nlb) struct $page {
            #[serde(rename = $field)]
            items: Option<List<$item>>,
            #[serde(default, rename = "NextToken", deserialize_with = "decode::optional_text")]
            next_token: Option<String>,
            #[serde(default, rename = "TotalCount", deserialize_with = "decode::optional_number")]
            total_count: Option<usize>,
        }

        impl Paged for $page {
            type Item = $item;

            fn into_page(self) -> Option<Page<$item>> {
                Some(Page { items: self.items?.0, total: self.total_count, next_token: self.next_token })
            }

            fn key(item: &$item) -> String {
                let key: fn(&$item) -> String = $key;
                key(item)
            }
        }
    };
}

// After the macro, which they use.
pub(super) mod group;
pub(super) mod job;
pub(super) mod listener;
pub(super) mod load_balancer;
pub(super) mod security_group;

/// What changes answer.
#[derive(Deserialize)]
pub(super) struct Changed {
    #[serde(default, rename = "JobId", deserialize_with = "decode::optional_text")]
    pub(super) job: Option<String>,
    /// This spelling is the product's.
    #[serde(default, rename = "LoadbalancerId", deserialize_with = "decode::optional_text")]
    pub(super) load_balancer: Option<String>,
    #[serde(default, rename = "ServerGroupId", deserialize_with = "decode::optional_text")]
    pub(super) group: Option<String>,
    #[serde(default, rename = "ListenerId", deserialize_with = "decode::optional_text")]
    pub(super) listener: Option<String>,
    #[serde(default, rename = "SecurityGroupId", deserialize_with = "decode::optional_text")]
    pub(super) security_group: Option<String>,
    /// There in every answer that is one.
    #[serde(rename = "RequestId", deserialize_with = "decode::text")]
    _request: String,
}

fn may_have_tag(tags: Option<&List<Tag>>, key: &str, value: &str) -> bool {
    tags.is_none_or(|tags| tags.0.iter().any(|tag| tag.is(key, value)))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Array(items) => {
            let items: BTreeSet<String> = items.iter().filter_map(text).collect();
            (!items.is_empty()).then(|| items.into_iter().collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Object(_) => None,
    }
}
