//! Forwarding rules of HTTP and HTTPS listeners.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Protocol;
use crate::sim::cloud::{Context, State, error::Failure};

/// The most rules on one listener.
const PER_LISTENER: usize = 40;

/// A forwarding rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// `rule-…`.
    pub id: String,
    /// Name.
    pub name: String,
    /// The load balancer's id.
    pub load_balancer: String,
    /// The listener's port.
    pub port: u16,
    /// The listener's protocol.
    pub protocol: Protocol,
    /// The host that matches.
    pub domain: String,
    /// The path that matches.
    pub url: String,
    /// The server group that matching requests go to.
    pub group: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Given {
    rule_name: String,
    domain: Option<String>,
    url: Option<String>,
    #[serde(rename = "VServerGroupId")]
    group: String,
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (load_balancer, port, protocol) = super::listener_change::layer_seven(cx, state)?;
    let list: Vec<Given> = cx.params.json("RuleList")?.unwrap_or_default();
    let present = state.slb.rules.values().filter(|rule| rule.load_balancer == load_balancer && rule.port == port);
    if present.count() + list.len() > PER_LISTENER {
        return Err(Failure::bad("RuleNumberOverLimit", "A listener can have at most 40 rules."));
    }
    let mut created = Vec::new();
    for given in list {
        let group = state.slb.group(&given.group)?;
        if group.load_balancer != load_balancer {
            return Err(super::group::missing(&given.group));
        }
        let (domain, url) = (given.domain.unwrap_or_default(), given.url.unwrap_or_default());
        let same = |rule: &Rule| {
            rule.load_balancer == load_balancer && rule.port == port && rule.domain == domain && rule.url == url
        };
        if state.slb.rules.values().any(same) || created.iter().any(same) {
            return Err(Failure::bad("DomainExist", format!("A rule for {domain}{url} exists already.")));
        }
        created.push(Rule {
            id: cx.id("rule-bp1"),
            name: given.rule_name,
            load_balancer: load_balancer.clone(),
            port,
            protocol,
            domain,
            url,
            group: given.group,
        });
    }
    cx.change();
    let rules: Vec<Value> = created.iter().map(|rule| json!({ "RuleId": rule.id, "RuleName": rule.name })).collect();
    state.slb.rules.extend(created.into_iter().map(|rule| (rule.id.clone(), rule)));
    Ok(json!({ "Rules": { "Rule": rules } }))
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let ids: Vec<String> = match cx.params.json("RuleIds") {
        Ok(ids) => ids.unwrap_or_default(),
        Err(_) => cx.params.text("RuleIds").split(',').map(|id| id.trim().to_owned()).collect(),
    };
    if let Some(id) = ids.iter().find(|id| !state.slb.rules.contains_key(*id)) {
        return Err(Failure::bad("InvalidRuleId.NotFound", format!("The rule {id} does not exist.")));
    }
    for id in ids {
        state.slb.rules.remove(&id);
        cx.change();
    }
    Ok(json!({}))
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let (load_balancer, port, protocol) = super::listener_change::layer_seven(cx, state)?;
    let rules: Vec<Value> = state
        .slb
        .rules
        .values()
        .filter(|rule| rule.load_balancer == load_balancer && rule.port == port && rule.protocol == protocol)
        .map(|rule| {
            json!({
                "RuleId": rule.id,
                "RuleName": rule.name,
                "Domain": rule.domain,
                "Url": rule.url,
                "VServerGroupId": rule.group,
                "ListenerSync": "on",
            })
        })
        .collect();
    Ok(json!({ "Rules": { "Rule": rules } }))
}
