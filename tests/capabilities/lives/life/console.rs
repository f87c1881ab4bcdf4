//! Somebody meddles in the cloud's console with what is the controller's.

use ccm::sim::cloud::nlb;

use super::{
    super::marks::{OWNER_TAG, is_marked},
    Life,
};

impl Life {
    /// Somebody changes something on a load balancer of ours.
    pub(super) fn meddle(&mut self) -> Option<String> {
        let mut ours: Vec<String> = self.stage.cloud().load_balancers().into_iter().map(|lb| lb.id).collect();
        ours.extend(
            self.stage.cloud().with_state(|state| state.nlb.load_balancers.keys().cloned().collect::<Vec<_>>()),
        );
        ours.retain(|id| self.foreign.is_ours(id));
        let id = self.dice.pick(&ours)?.clone();
        if id.starts_with("nlb-") { self.meddle_with_network(&id) } else { self.meddle_with_classic(&id) }
    }

    /// Whatever comes of it.
    fn administer(&self, action: &str, params: &[(&str, &str)]) {
        let _ = self.stage.cloud().administer(action, params);
    }

    fn meddle_with_classic(&self, id: &str) -> Option<String> {
        let cloud = self.stage.cloud();
        let lb = cloud.load_balancers().into_iter().find(|lb| lb.id == id)?;
        let groups = cloud.groups(id);
        let said = match self.dice.below(9) {
            0 => {
                let group = self.dice.pick(&groups)?;
                let server = self.dice.pick(&group.servers)?;
                cloud.remove_member(&group.id, &server.id);
                format!("a member is taken out of {}", group.name)
            }
            1 => {
                let group = self.dice.pick(&groups)?;
                let server = self.dice.pick(&group.servers)?;
                let servers = format!(r#"[{{"ServerId":"{}","Port":"{}","Weight":"1"}}]"#, server.id, server.port);
                let params = [("VServerGroupId", group.id.as_str()), ("BackendServers", &servers)];
                self.administer("slb.SetVServerGroupAttribute", &params);
                format!("a weight is changed in {}", group.name)
            }
            2 => {
                let port = self.dice.pick(&lb.listeners)?.port.to_string();
                self.administer("slb.StopLoadBalancerListener", &[("LoadBalancerId", id), ("ListenerPort", &port)]);
                format!("the listener {port} is stopped")
            }
            3 => {
                let port = self.dice.pick(&lb.listeners)?.port.to_string();
                self.administer("slb.DeleteLoadBalancerListener", &[("LoadBalancerId", id), ("ListenerPort", &port)]);
                format!("the listener {port} is deleted")
            }
            4 => {
                self.administer("slb.SetLoadBalancerName", &[("LoadBalancerId", id), ("LoadBalancerName", "mine now")]);
                "a load balancer is renamed".into()
            }
            5 => {
                let lists: Vec<(String, String)> = cloud.with_state(|state| {
                    let ours = state.slb.acls.values().filter(|acl| is_marked(&acl.tags));
                    ours.filter_map(|acl| Some((acl.id.clone(), acl.entries.keys().next()?.clone()))).collect()
                });
                let (list, entry) = self.dice.pick(&lists)?;
                let entries = format!(r#"[{{"entry":"{entry}"}}]"#);
                self.administer("slb.RemoveAccessControlListEntry", &[("AclId", list), ("AclEntrys", &entries)]);
                format!("the entry {entry} is taken out of {list}")
            }
            6 => {
                cloud.remove_load_balancer(id);
                "a load balancer is deleted".into()
            }
            7 => {
                cloud.with_state(|state| state.slb.load_balancers.get_mut(id).map(|lb| lb.delete_protection = false));
                "a load balancer is unprotected".into()
            }
            _ => {
                self.administer("slb.CreateVServerGroup", &[("LoadBalancerId", id), ("VServerGroupName", "by-hand")]);
                "a group is made by hand".into()
            }
        };
        Some(format!("{id} of {:?}: {said}", lb.tags.get(OWNER_TAG)))
    }

    fn meddle_with_network(&self, id: &str) -> Option<String> {
        let (owner, listeners, groups) = self.stage.cloud().with_state(|state| {
            let owner = state.nlb.load_balancers.get(id)?.tags.get(OWNER_TAG).cloned();
            let listeners = state.nlb.listeners.values().filter(|one| one.load_balancer == id);
            let listeners: Vec<nlb::NlbListener> = listeners.cloned().collect();
            let groups = state.nlb.server_groups.values().filter(|one| one.tags.get(OWNER_TAG) == owner.as_ref());
            let groups: Vec<nlb::ServerGroup> = groups.cloned().collect();
            Some((owner, listeners, groups))
        })?;
        let said = match self.dice.below(9) {
            at @ 0..2 => {
                let group = self.dice.pick(&groups)?;
                let server = self.dice.pick(&group.servers)?;
                let port = server.port.to_string();
                let mut params = vec![
                    ("ServerGroupId", group.id.as_str()),
                    ("Servers.1.ServerId", &server.id),
                    ("Servers.1.ServerType", &server.kind),
                    ("Servers.1.ServerIp", &server.ip),
                    ("Servers.1.Port", &port),
                ];
                if at == 0 {
                    self.administer("nlb.RemoveServersFromServerGroup", &params);
                    format!("a member is taken out of {}", group.name)
                } else {
                    params.push(("Servers.1.Weight", "1"));
                    self.administer("nlb.UpdateServerGroupServersAttribute", &params);
                    format!("a weight is changed in {}", group.name)
                }
            }
            2 => {
                let listener = &self.dice.pick(&listeners)?.id;
                self.administer("nlb.StopListener", &[("ListenerId", listener)]);
                format!("the listener {listener} is stopped")
            }
            3 => {
                let listener = &self.dice.pick(&listeners)?.id;
                self.administer("nlb.DeleteListener", &[("ListenerId", listener)]);
                format!("the listener {listener} is deleted")
            }
            4 => {
                let params = [("LoadBalancerId", id), ("LoadBalancerName", "mine now")];
                self.administer("nlb.UpdateLoadBalancerAttribute", &params);
                "a load balancer is renamed".into()
            }
            5 => {
                let group = self.dice.pick(&groups)?;
                self.administer(
                    "nlb.UpdateServerGroupAttribute",
                    &[("ServerGroupId", &group.id), ("Scheduler", "Wlc"), ("ConnectionDrainTimeout", "77")],
                );
                format!("settings of {} are changed", group.name)
            }
            6 => {
                let rules = self.stage.cloud().with_state(|state| {
                    let ours = state.ecs.security_groups.values_mut().filter(|one| is_marked(&one.tags));
                    ours.map(|group| (group.id.clone(), group.rules.pop())).collect::<Vec<_>>()
                });
                format!("rules are taken away: {rules:?}")
            }
            7 => {
                let unprotected = [("LoadBalancerId", id), ("DeletionProtectionEnabled", "false")];
                self.administer("nlb.UpdateLoadBalancerProtection", &unprotected);
                self.administer("nlb.DeleteLoadBalancer", &[("LoadBalancerId", id)]);
                "a load balancer is deleted".into()
            }
            _ => {
                self.administer("nlb.CreateServerGroup", &[("VpcId", "vpc-bp1sim"), ("ServerGroupName", "by-hand")]);
                "a group is made by hand".into()
            }
        };
        Some(format!("{id} of {owner:?}: {said}"))
    }
}
