//! The part of the plan that is about security groups: those asked for, and the Service's own for
//! its source ranges.
//!
//! The own group gets its rules before the load balancer joins it, because an empty one lets
//! nobody in; and the load balancer leaves it before it is deleted.

use std::collections::BTreeSet;

use super::{Planner, Scope};
use crate::{
    cloud::{
        NetworkAction, NetworkLoadBalancer, NetworkLoadBalancerState, NetworkStatus, SecurityGroup, SecurityGroupId,
        SourceRule,
    },
    controllers::service::nlb::{
        desired::{Desired, DesiredSources},
        observed::State,
    },
};

/// The most security groups of one load balancer.
const GROUPS: usize = 4;

impl Planner<'_> {
    pub(super) fn sources(&mut self, desired: &Desired, state: &State) {
        let has_own = (desired.sources.is_some() || desired.may_have_sources) && desired.requested.id.is_none();
        if has_own && state.sources.is_none() {
            self.plan.needs_sources = true;
            return;
        }
        let own = state.sources.iter().flatten().next();
        let mut ready = None;
        if let Some(wanted) = desired.sources.as_ref().filter(|_| has_own) {
            match own {
                None => self.push(Scope::Sources, NetworkAction::CreateSecurityGroup(wanted.create.clone())),
                Some(group) => {
                    self.name(wanted, group);
                    ready = self.rules(wanted, group);
                }
            }
        }
        if let Some(there) = &state.load_balancer
            && there.load_balancer.status != NetworkStatus::Provisioning
            && !desired.leaves_attributes_alone()
        {
            let wants_none = desired.sources.is_none();
            self.membership(desired, &there.load_balancer, ready, own.map(|group| &group.id).filter(|_| !wants_none));
        }
    }

    fn name(&mut self, wanted: &DesiredSources, there: &SecurityGroup) {
        let (name, description) = (wanted.create.name.clone(), wanted.create.description.clone());
        if (&name, &description) != (&there.name, &there.description) {
            let action = NetworkAction::NameSecurityGroup { group: there.id.clone(), name, description };
            self.push(Scope::Attribute("name of the security group"), action);
        }
    }

    /// Plans the rules; answers the group if it has all of them. A rule that does the same is as good as
    /// ours, whatever its description: the cloud knows no second one like it.
    fn rules(&mut self, wanted: &DesiredSources, group: &SecurityGroup) -> Option<SecurityGroupId> {
        let same =
            |a: &SourceRule, b: &SourceRule| (a.source, a.policy, a.priority) == (b.source, b.policy, b.priority);
        let missing: Vec<SourceRule> =
            wanted.rules.iter().filter(|rule| !group.rules.iter().any(|there| same(there, rule))).cloned().collect();
        let ours = |description: &str| description == wanted.create.description;
        let is_wanted = |there: &SourceRule| wanted.rules.iter().any(|rule| same(there, rule));
        let extra = group.rules.iter().filter(|there| ours(&there.description) && !is_wanted(there));
        // Somebody has made less of them: the whole ones are missing, and come.
        let narrowed = group.others.iter().filter(|(_, description)| ours(description)).map(|(id, _)| id);
        let extra: Vec<String> = extra.map(|rule| &rule.id).chain(narrowed).cloned().collect();
        if extra.iter().any(String::is_empty) {
            self.plan.needs_sources = true;
            return None;
        }
        let complete = missing.is_empty();
        if !complete {
            self.push(Scope::Sources, NetworkAction::AddRules { group: group.id.clone(), rules: missing });
        }
        if !extra.is_empty() {
            self.push(Scope::Sources, NetworkAction::RemoveRules { group: group.id.clone(), rules: extra });
        }
        complete.then(|| group.id.clone())
    }

    /// Joins what is asked for and leaves what is not. `ready` is the own group if it is to be
    /// joined now, `own` if it is not to be left.
    fn membership(
        &mut self,
        desired: &Desired,
        there: &NetworkLoadBalancer,
        ready: Option<SecurityGroupId>,
        own: Option<&SecurityGroupId>,
    ) {
        let asked = desired.requested.security_groups.clone();
        let wanted: BTreeSet<SecurityGroupId> = asked.clone().unwrap_or_default().into_iter().chain(ready).collect();
        let join: Vec<SecurityGroupId> = wanted.difference(&there.security_groups).cloned().collect();
        let mut leave: Vec<SecurityGroupId> = there.security_groups.difference(&wanted).cloned().collect();
        // Without the annotation, only the own group is our business.
        leave.retain(|group| asked.is_some() && Some(group) != own);
        let load_balancer = || there.id.clone();
        let scope = || Scope::Sources;
        let leaving = !leave.is_empty();
        let no_room = there.security_groups.len() + join.len() > GROUPS;
        let leave = NetworkAction::LeaveSecurityGroups { load_balancer: load_balancer(), groups: leave };
        if leaving && no_room {
            self.push(scope(), leave.clone());
        }
        if !join.is_empty() {
            self.push(scope(), NetworkAction::JoinSecurityGroups { load_balancer: load_balancer(), groups: join });
        }
        if leaving && !no_room {
            self.push(scope(), leave);
        }
    }

    /// Without source ranges the own group is left, and deleted when that is done.
    pub(super) fn leave_sources(&mut self, desired: &Desired, state: &State, there: &NetworkLoadBalancerState) {
        let (None, Some(Some(group))) = (&desired.sources, &state.sources) else { return };
        let there = &there.load_balancer;
        let action = if there.security_groups.contains(&group.id) {
            NetworkAction::LeaveSecurityGroups { load_balancer: there.id.clone(), groups: vec![group.id.clone()] }
        } else {
            NetworkAction::DeleteSecurityGroup { group: group.id.clone() }
        };
        self.push(Scope::Cleanup, action);
    }
}
