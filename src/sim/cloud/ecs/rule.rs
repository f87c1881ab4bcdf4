//! The rules of a security group, for traffic that comes in.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::security_group::writable;
use crate::sim::cloud::{Context, State, error::Failure, params::Params};

/// The most rules of one group.
const PER_GROUP: usize = 200;

/// A rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// `sgr-…`.
    pub id: String,
    /// `Accept` or `Drop`.
    pub policy: String,
    /// 1 to 100, the smallest first.
    pub priority: String,
    /// `TCP`, `UDP`, `ICMP`, `GRE`, `ALL`.
    pub protocol: String,
    /// `1/200`, `-1/-1`.
    pub ports: String,
    /// Source range.
    pub source: String,
    /// Source range, IPv6.
    pub source_ipv6: String,
    /// Destination range.
    pub destination: String,
    /// The source's security group.
    pub source_group: String,
    /// Text.
    pub description: String,
    /// Creation time, as it is shown.
    pub created: String,
}

// === impl Rule ===

impl Rule {
    fn parse(params: &Params) -> Result<Self, Failure> {
        let protocol = params.get("IpProtocol").unwrap_or_default().to_uppercase();
        if !["TCP", "UDP", "ICMP", "ICMPV6", "GRE", "ALL"].contains(&protocol.as_str()) {
            return Err(Failure::bad(
                "InvalidIpProtocol.ValueNotSupported",
                format!("The protocol {protocol} is not supported."),
            ));
        }
        let priority = params.number::<u8>("Priority")?.unwrap_or(1);
        if !(1..=100).contains(&priority) {
            return Err(Failure::bad("InvalidPriority.ValueNotSupported", "The priority must be 1 to 100."));
        }
        let policy = match params.get("Policy").unwrap_or("accept").to_ascii_lowercase().as_str() {
            "accept" => "Accept",
            "drop" => "Drop",
            other => {
                return Err(Failure::bad("InvalidPolicy.Malformed", format!("The policy {other} is not supported.")));
            }
        };
        let rule = Self {
            id: String::new(),
            policy: policy.to_owned(),
            priority: priority.to_string(),
            protocol,
            ports: params.get("PortRange").unwrap_or("-1/-1").to_owned(),
            source: params.text("SourceCidrIp"),
            source_ipv6: params.text("Ipv6SourceCidrIp"),
            destination: params.text("DestCidrIp"),
            source_group: params.text("SourceGroupId"),
            description: params.text("Description"),
            created: String::new(),
        };
        if !is_range(&rule.source) || !is_range(&rule.source_ipv6) || !is_range(&rule.destination) {
            return Err(Failure::bad("InvalidParam.SourceCidrIp", format!("The range {} is malformed.", rule.source)));
        }
        let ports = rule.ports.split_once('/');
        if ports.is_none_or(|(first, last)| first.parse::<i32>().is_err() || last.parse::<i32>().is_err()) {
            return Err(Failure::bad("InvalidParam.PortRange", format!("The ports {} are malformed.", rule.ports)));
        }
        Ok(rule)
    }

    /// Whether two rules say the same; descriptions and ids do not count.
    fn same(&self, other: &Self) -> bool {
        let key = |rule: &Self| Self {
            id: String::new(),
            description: String::new(),
            created: String::new(),
            ..rule.clone()
        };
        key(self) == key(other)
    }

    pub(super) fn item(&self) -> Value {
        json!({
            "SecurityGroupRuleId": self.id,
            "Direction": "ingress",
            "Policy": self.policy,
            "Priority": self.priority,
            "IpProtocol": self.protocol,
            "PortRange": self.ports,
            "SourcePortRange": "-1/-1",
            "SourceCidrIp": self.source,
            "Ipv6SourceCidrIp": self.source_ipv6,
            "DestCidrIp": self.destination,
            "SourceGroupId": self.source_group,
            "NicType": "intranet",
            "Description": self.description,
            "CreateTime": self.created,
        })
    }
}

/// Empty, an address or a range.
fn is_range(text: &str) -> bool {
    text.is_empty() || text.parse::<ipnet::IpNet>().is_ok() || text.parse::<std::net::IpAddr>().is_ok()
}

/// One rule in the call itself, or several in `Permissions`.
fn given(params: &Params) -> Result<Vec<Rule>, Failure> {
    let several = params.objects("Permissions");
    if several.is_empty() { Ok(vec![Rule::parse(params)?]) } else { several.iter().map(Rule::parse).collect() }
}

/// Adds rules; one that is there already succeeds and adds nothing.
pub(super) fn authorize(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let rules = given(cx.params)?;
    let sources: Vec<&String> = rules.iter().map(|rule| &rule.source_group).filter(|id| !id.is_empty()).collect();
    if let Some(unknown) = sources.into_iter().find(|id| !state.ecs.security_groups.contains_key(*id)) {
        return Err(super::security_group::missing(unknown));
    }
    let group = writable(state, cx.params.required("SecurityGroupId")?)?;
    let fresh: Vec<Rule> = rules.into_iter().filter(|rule| !group.rules.iter().any(|one| one.same(rule))).collect();
    if group.rules.len() + fresh.len() > PER_GROUP {
        return Err(Failure::new(
            403,
            "AuthorizationLimitExceed",
            "The number of rules exceeds the limit of the group.",
        ));
    }
    for rule in fresh {
        let created = crate::sim::cloud::time::seconds(cx.now);
        group.rules.push(Rule { id: cx.id("sgr-bp1"), created, ..rule });
        cx.change();
    }
    Ok(json!({}))
}

/// Removes rules. By id each must be there; by what they say, none needs to be.
pub(super) fn revoke(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let ids = cx.params.list("SecurityGroupRuleId");
    let rules = if ids.is_empty() { given(cx.params)? } else { Vec::new() };
    let group = writable(state, cx.params.required("SecurityGroupId")?)?;
    if let Some(unknown) = ids.iter().find(|id| !group.rules.iter().any(|rule| rule.id == **id)) {
        return Err(Failure::bad("InvalidParam.SecurityGroupRuleId", format!("The rule {unknown} does not exist.")));
    }
    let before = group.rules.len();
    group.rules.retain(|one| !ids.contains(&one.id) && !rules.iter().any(|rule| rule.same(one)));
    if group.rules.len() != before {
        cx.change();
    }
    Ok(json!({}))
}

/// Changes a rule: what the call leaves out stays as it is.
pub(super) fn modify(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let group = writable(state, cx.params.required("SecurityGroupId")?)?;
    let rule = if let Some(id) = cx.params.get("SecurityGroupRuleId") {
        group.rules.iter_mut().find(|rule| rule.id == id)
    } else {
        let wanted = Rule::parse(cx.params)?;
        group.rules.iter_mut().find(|rule| {
            (&rule.source, &rule.protocol, &rule.ports) == (&wanted.source, &wanted.protocol, &wanted.ports)
        })
    };
    let rule = rule.ok_or_else(|| Failure::bad("InvalidParam.SecurityGroupRuleId", "The rule does not exist."))?;
    let current = [
        ("IpProtocol", &rule.protocol),
        ("Policy", &rule.policy),
        ("Priority", &rule.priority),
        ("PortRange", &rule.ports),
        ("SourceCidrIp", &rule.source),
        ("Ipv6SourceCidrIp", &rule.source_ipv6),
        ("DestCidrIp", &rule.destination),
        ("SourceGroupId", &rule.source_group),
        ("Description", &rule.description),
    ];
    let merged = current.into_iter().map(|(name, value)| (name.to_owned(), value.clone()));
    let merged = Params::new(merged.chain(cx.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()))));
    let changed = Rule { id: rule.id.clone(), created: rule.created.clone(), ..Rule::parse(&merged)? };
    cx.set(rule, changed);
    Ok(json!({}))
}
