//! TLS policies: the product's own and those of the account.

use serde::Serialize;
use serde_json::{Value, json};

use super::job;
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
};

/// A TLS policy of the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecurityPolicy {
    /// `tls-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// TLS versions.
    pub versions: Vec<String>,
    /// Cipher suites.
    pub ciphers: Vec<String>,
    /// Resource group id.
    pub resource_group: String,
    /// Tags.
    pub tags: Tags,
}

/// The product's own policies with their TLS versions.
const SYSTEM: [(&str, &str); 5] = [
    ("tls_cipher_policy_1_0", "TLSv1.0,TLSv1.1,TLSv1.2"),
    ("tls_cipher_policy_1_1", "TLSv1.1,TLSv1.2"),
    ("tls_cipher_policy_1_2", "TLSv1.2"),
    ("tls_cipher_policy_1_2_strict", "TLSv1.2"),
    ("tls_cipher_policy_1_2_strict_with_1_3", "TLSv1.2,TLSv1.3"),
];

pub(super) fn missing(id: &str) -> Failure {
    Failure::not_found("ResourceNotFound.securitypolicy", format!("The specified resource {id} is not found."))
}

pub(super) fn check(state: &State, id: &str) -> Result<(), Failure> {
    if SYSTEM.iter().any(|(system, _)| *system == id) || state.nlb.security_policies.contains_key(id) {
        return Ok(());
    }
    Err(missing(id))
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let policy = SecurityPolicy {
        id: cx.id("tls-"),
        name: cx.params.text("SecurityPolicyName"),
        versions: cx.params.list("TlsVersions"),
        ciphers: cx.params.list("Ciphers"),
        resource_group: cx.params.get("ResourceGroupId").map_or_else(|| state.resource_group(), str::to_owned),
        tags: tag::given(cx.params)?,
    };
    let id = policy.id.clone();
    state.nlb.security_policies.insert(id.clone(), policy);
    let mut reply = job::begin(cx, state, None, Vec::new());
    reply["SecurityPolicyId"] = id.into();
    Ok(reply)
}

pub(super) fn update(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("SecurityPolicyId")?;
    let policy = state.nlb.security_policies.get_mut(id).ok_or_else(|| missing(id))?;
    if let Some(name) = cx.params.get("SecurityPolicyName") {
        name.clone_into(&mut policy.name);
    }
    let (versions, ciphers) = (cx.params.list("TlsVersions"), cx.params.list("Ciphers"));
    if !versions.is_empty() {
        policy.versions = versions;
    }
    if !ciphers.is_empty() {
        policy.ciphers = ciphers;
    }
    let mut reply = job::begin(cx, state, None, Vec::new());
    reply["SecurityPolicyId"] = id.into();
    Ok(reply)
}

fn users<'a>(state: &'a State, id: &'a str) -> impl Iterator<Item = Value> + 'a {
    let listeners = state.nlb.listeners.values();
    listeners.filter(move |one| one.attributes.get("SecurityPolicyId").is_some_and(|used| used == id)).map(|one| {
        json!({
            "ListenerId": one.id,
            "ListenerPort": one.port,
            "ListenerProtocol": one.protocol,
            "LoadBalancerId": one.load_balancer,
        })
    })
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("SecurityPolicyId")?;
    if users(state, id).next().is_some() {
        return Err(Failure::bad("ResourceInUse.SecurityPolicy", format!("A listener uses the policy {id}.")));
    }
    state.nlb.security_policies.remove(id).ok_or_else(|| missing(id))?;
    cx.change();
    Ok(json!({}))
}

pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let (ids, names) = (cx.params.list("SecurityPolicyIds"), cx.params.list("SecurityPolicyNames"));
    let found: Vec<&SecurityPolicy> = state
        .nlb
        .security_policies
        .values()
        .filter(|policy| ids.is_empty() || ids.contains(&policy.id))
        .filter(|policy| names.is_empty() || names.contains(&policy.name))
        .filter(|policy| tag::matches(&policy.tags, &wanted))
        .collect();
    let size = paging::size(cx.params, "MaxResults", 20, 100)?;
    let page = paging::tokened(cx.params, found, size)?;
    let item = |policy: &&SecurityPolicy| {
        json!({
            "SecurityPolicyId": policy.id,
            "SecurityPolicyName": policy.name,
            "SecurityPolicyStatus": "Available",
            "TlsVersion": policy.versions.join(","),
            "Ciphers": policy.ciphers.join(","),
            "RegionId": cx.region,
            "ResourceGroupId": policy.resource_group,
            "RelatedListeners": users(state, &policy.id).collect::<Vec<_>>(),
            "Tags": tag::short_list(&policy.tags),
        })
    };
    Ok(json!({
        "SecurityPolicies": page.items.iter().map(item).collect::<Vec<_>>(),
        "MaxResults": page.size,
        "TotalCount": page.total,
        "NextToken": page.next.unwrap_or_default(),
    }))
}

pub(super) fn list_system(_: &mut Context<'_>, _: &mut State) -> Result<Value, Failure> {
    let item = |(id, versions): &(&str, &str)| json!({ "SecurityPolicyId": id, "SecurityPolicyName": id, "TlsVersion": versions, "Ciphers": "" });
    Ok(json!({ "SecurityPolicies": SYSTEM.iter().map(item).collect::<Vec<_>>() }))
}
