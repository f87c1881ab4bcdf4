//! Security groups.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::rule::Rule;
use crate::sim::cloud::{
    Context, State,
    error::Failure,
    paging,
    tag::{self, Tags},
    time,
};

/// A security group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecurityGroup {
    /// `sg-…`.
    pub id: String,
    /// Region id.
    #[serde(default)]
    pub region: String,
    /// The VPC's id.
    pub vpc: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Text.
    #[serde(default)]
    pub description: String,
    /// `normal` or `enterprise`.
    #[serde(default = "normal")]
    pub kind: String,
    /// Managed by another product of the cloud, which alone may change it.
    #[serde(default)]
    pub managed: bool,
    /// Rules in the order in which they came.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Tags.
    #[serde(default)]
    pub tags: Tags,
    /// Creation time.
    #[serde(default)]
    pub created: Timestamp,
}

fn normal() -> String {
    "normal".to_owned()
}

pub(super) fn missing(id: &str) -> Failure {
    Failure::not_found("InvalidSecurityGroupId.NotFound", format!("The security group {id} does not exist."))
}

pub(super) fn writable<'a>(state: &'a mut State, id: &str) -> Result<&'a mut SecurityGroup, Failure> {
    let group = state.ecs.security_groups.get_mut(id).ok_or_else(|| missing(id))?;
    if group.managed {
        return Err(Failure::new(
            403,
            "InvalidOperation.ResourceManagedByCloudProduct",
            format!("The security group {id} is managed by another product."),
        ));
    }
    Ok(group)
}

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let vpc = cx.params.text("VpcId");
    if !state.network.vpcs.contains_key(&vpc) {
        return Err(Failure::not_found("InvalidVpcId.NotFound", format!("The VPC {vpc} does not exist.")));
    }
    let group = SecurityGroup {
        id: cx.id("sg-bp1"),
        region: cx.region.to_owned(),
        vpc,
        name: cx.params.text("SecurityGroupName"),
        description: cx.params.text("Description"),
        kind: cx.params.get("SecurityGroupType").unwrap_or("normal").to_owned(),
        managed: cx.params.flag("ServiceManaged") == Some(true),
        rules: Vec::new(),
        tags: tag::given(cx.params)?,
        created: cx.now,
    };
    cx.change();
    let reply = json!({ "SecurityGroupId": group.id });
    state.ecs.security_groups.insert(group.id.clone(), group);
    Ok(reply)
}

/// Refused while an instance, an interface or another group's rule refers to the group.
pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("SecurityGroupId")?;
    if !state.ecs.security_groups.contains_key(id) {
        return Err(Failure::not_found(
            "InvalidSecurityGroup.NotFound",
            format!("The security group {id} does not exist."),
        ));
    }
    writable(state, id)?;
    let listed = |groups: &[String]| groups.iter().any(|group| group == id);
    let used = state.ecs.instances.values().any(|one| listed(&one.security_groups))
        || state.ecs.interfaces.values().any(|one| listed(&one.security_groups))
        || state.nlb.load_balancers.values().any(|one| listed(&one.security_groups));
    let mut others = state.ecs.security_groups.values().filter(|group| group.id != id);
    if used || others.any(|group| group.rules.iter().any(|rule| rule.source_group == id)) {
        return Err(Failure::new(403, "DependencyViolation", format!("The security group {id} is in use.")));
    }
    state.ecs.security_groups.remove(id);
    cx.change();
    Ok(json!({}))
}

pub(super) fn modify(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let group = writable(state, cx.params.required("SecurityGroupId")?)?;
    if let Some(name) = cx.params.get("SecurityGroupName") {
        cx.set(&mut group.name, name.to_owned());
    }
    if let Some(description) = cx.params.get("Description") {
        cx.set(&mut group.description, description.to_owned());
    }
    Ok(json!({}))
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let wanted = tag::filter(cx.params);
    let ids: Option<Vec<String>> = cx.params.json("SecurityGroupIds")?;
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let found: Vec<&SecurityGroup> = state
        .ecs
        .security_groups
        .values()
        .filter(|group| group.region == cx.region)
        .filter(|group| ids.as_ref().is_none_or(|ids| ids.contains(&group.id)))
        .filter(|group| is("SecurityGroupId", &group.id) && is("SecurityGroupName", &group.name))
        .filter(|group| is("VpcId", &group.vpc) && is("SecurityGroupType", &group.kind))
        .filter(|group| tag::matches(&group.tags, &wanted))
        .collect();
    if cx.params.has("MaxResults") || cx.params.has("NextToken") {
        let size = paging::size(cx.params, "MaxResults", 10, 100)?;
        let page = paging::tokened(cx.params, found, size)?;
        let mut reply =
            json!({ "SecurityGroups": items(state, &page.items), "TotalCount": page.total, "PageSize": page.size });
        reply["RegionId"] = cx.region.into();
        if let Some(next) = page.next {
            reply["NextToken"] = next.into();
        }
        return Ok(reply);
    }
    let page = paging::numbered(cx.params, found, 10, 50)?;
    Ok(json!({
        "SecurityGroups": items(state, &page.items),
        "TotalCount": page.total,
        "PageNumber": page.number,
        "PageSize": page.size,
        "RegionId": cx.region,
    }))
}

fn items(state: &State, groups: &[&SecurityGroup]) -> Value {
    let item = |group: &&SecurityGroup| {
        let members = state.ecs.instances.values().filter(|one| one.security_groups.contains(&group.id)).count();
        json!({
            "SecurityGroupId": group.id,
            "SecurityGroupName": group.name,
            "SecurityGroupType": group.kind,
            "Description": group.description,
            "VpcId": group.vpc,
            "CreationTime": time::seconds(group.created),
            "EcsCount": members,
            "RuleCount": group.rules.len(),
            "ServiceManaged": group.managed,
            "ResourceGroupId": state.resource_group(),
            "Tags": { "Tag": tag::list(&group.tags) },
        })
    };
    json!({ "SecurityGroup": groups.iter().map(item).collect::<Vec<_>>() })
}

pub(super) fn describe_attribute(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("SecurityGroupId")?;
    let group = state.ecs.security_groups.get(id).ok_or_else(|| missing(id))?;
    let ingress = cx.params.get("Direction").is_none_or(|direction| !direction.eq_ignore_ascii_case("egress"));
    let rules: Vec<&Rule> = group.rules.iter().filter(|_| ingress).collect();
    let (rules, next) = if cx.params.has("MaxResults") || cx.params.has("NextToken") {
        let size = paging::size(cx.params, "MaxResults", 500, 1000)?;
        let page = paging::tokened(cx.params, rules, size)?;
        (page.items, page.next)
    } else {
        (rules, None)
    };
    let mut reply = json!({
        "SecurityGroupId": group.id,
        "SecurityGroupName": group.name,
        "Description": group.description,
        "VpcId": group.vpc,
        "RegionId": group.region,
        "InnerAccessPolicy": "Accept",
        "Permissions": { "Permission": rules.into_iter().map(Rule::item).collect::<Vec<_>>() },
    });
    if let Some(next) = next {
        reply["NextToken"] = next.into();
    }
    Ok(reply)
}

/// Puts an instance or interface into a group, or takes it out.
pub(super) fn join(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let group = cx.params.required("SecurityGroupId")?.to_owned();
    if !state.ecs.security_groups.contains_key(&group) {
        return Err(missing(&group));
    }
    let mut groups = member(cx, state)?.clone();
    if groups.contains(&group) {
        return Err(Failure::new(403, "InvalidInstanceId.AlreadyExists", format!("The member is in {group} already.")));
    }
    groups.push(group);
    *member(cx, state)? = groups;
    cx.change();
    Ok(json!({}))
}

pub(super) fn leave(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let group = cx.params.required("SecurityGroupId")?;
    let groups = member(cx, state)?;
    if !groups.iter().any(|one| one == group) {
        return Err(Failure::new(403, "InstanceNotInSecurityGroup", format!("The member is not in {group}.")));
    }
    groups.retain(|one| one != group);
    cx.change();
    Ok(json!({}))
}

fn member<'a>(cx: &Context<'_>, state: &'a mut State) -> Result<&'a mut Vec<String>, Failure> {
    if let Some(id) = cx.params.get("NetworkInterfaceId") {
        let interface = state.ecs.interfaces.get_mut(id);
        return interface
            .map(|interface| &mut interface.security_groups)
            .ok_or_else(|| Failure::not_found("InvalidEniId.NotFound", format!("The interface {id} does not exist.")));
    }
    let id = cx.params.required("InstanceId")?;
    let instance = state.ecs.instances.get_mut(id);
    instance.map(|instance| &mut instance.security_groups).ok_or_else(|| super::instance::missing(id))
}
