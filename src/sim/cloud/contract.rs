//! The published contract of the products, kept as data: which actions exist, what they
//! take and what they answer. The simulator holds every request to it and tests hold every
//! reply to it.

mod render;
mod reply;
mod request;

use std::{collections::BTreeMap, sync::OnceLock};

use serde::Deserialize;

pub(crate) use self::{render::shown, reply::breaches, request::check};

/// All products and actions.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Contract {
    versions: BTreeMap<String, String>,
    actions: BTreeMap<String, Action>,
}

/// One action of one product.
#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub(crate) product: String,
    #[serde(rename = "action")]
    pub(crate) name: String,
    /// `ClientToken` for the actions that can be repeated under a token.
    pub(crate) idempotent_via: Option<String>,
    /// `anonymous` for the actions that are sent unsigned.
    pub(crate) auth: Option<String>,
    #[serde(default)]
    pub(crate) dry_run: bool,
    pub(crate) params: BTreeMap<String, Shape>,
    pub(crate) reply: Shape,
    /// Documented codes with their HTTP status, where it is known.
    pub(crate) errors: BTreeMap<String, Option<u16>>,
}

/// The type of a parameter or of a field of a reply.
#[derive(Debug, Deserialize)]
pub(crate) struct Shape {
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    #[serde(default)]
    pub(crate) required: bool,
    /// The parameter is JSON in one text.
    #[serde(default)]
    pub(crate) json: bool,
    #[serde(rename = "enum")]
    pub(crate) choices: Option<Vec<String>>,
    pub(crate) items: Option<Box<Self>>,
    pub(crate) fields: Option<BTreeMap<String, Self>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Unknown,
}

// === impl Contract ===

impl Contract {
    /// The contract that is built in.
    pub(crate) fn get() -> &'static Self {
        static CONTRACT: OnceLock<Contract> = OnceLock::new();
        CONTRACT.get_or_init(|| serde_json::from_str(include_str!("contract/openapi.json")).unwrap_or_default())
    }

    /// The product with that API version; versions are unique among the products.
    pub(crate) fn product(&self, version: &str) -> Option<&str> {
        self.versions.iter().find(|(_, known)| *known == version).map(|(product, _)| product.as_str())
    }

    pub(crate) fn action(&self, product: &str, action: &str) -> Option<&Action> {
        self.actions.get(&format!("{product}.{action}"))
    }

    /// All actions, in the order of product and name.
    pub(crate) fn actions(&self) -> impl Iterator<Item = &Action> {
        self.actions.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_contract_is_whole() {
        let contract = Contract::get();
        assert_eq!(contract.actions().count(), 181);
        assert_eq!(contract.product("2014-05-15"), Some("slb"));
        assert!(contract.action("slb", "CreateLoadBalancer").unwrap().params["RegionId"].required);
    }
}
