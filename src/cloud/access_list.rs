//! Access control lists of classic load balancers: who may reach a listener.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use ipnet::IpNet;

use super::{AccessListId, Error};

/// An access control list without its entries (SLB `DescribeAccessControlLists`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessList {
    pub id: AccessListId,
    pub name: String,
    /// `ipv4` or `ipv6`; entries are all of this family.
    pub ip_version: String,
    pub tags: BTreeMap<String, String>,
}

/// Reads about access control lists; they are changed by
/// [`LoadBalancers::execute`](super::LoadBalancers::execute).
#[async_trait]
pub trait AccessLists: Send + Sync {
    /// Every list that carries the tag `key=value` (50 a call).
    async fn access_lists(&self, tag_key: &str, tag_value: &str) -> Result<Vec<AccessList>, Error>;

    /// The entries of a list as the cloud writes them; `None` if there is no such list (SLB
    /// `DescribeAccessControlListAttribute`, 50 entries a call).
    async fn access_entries(&self, list: &AccessListId) -> Result<Option<BTreeSet<IpNet>>, Error>;
}
