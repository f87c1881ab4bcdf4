//! Looks at and edits to the world, as an administrator or another tool would make them.
//! None of them shows in the call log.

use serde_json::Value;

use super::{
    AccessKey, Caller, Cloud, Context, WorldError, agenda,
    contract::{self, Contract},
    ecs::{self, Instance, InstanceStatus},
    gateway,
    params::Params,
    slb::{Group, Listener, LoadBalancer},
    vpc::RouteEntry,
};

/// Why an edit was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {code}: {message}")]
pub struct EditError {
    /// The action, such as `slb.CreateLoadBalancer`.
    pub action: String,
    /// The cloud's error code.
    pub code: String,
    /// The cloud's message.
    pub message: String,
}

// === impl Cloud ===

impl Cloud {
    /// Performs an API action as somebody else would: no signature, no fault, no delay, no
    /// entry in the call log. This is how tests make foreign resources.
    ///
    /// `action` is `slb.CreateLoadBalancer` and the like; the reply is the action's.
    pub fn administer(&self, action: &str, params: &[(&str, &str)]) -> Result<Value, EditError> {
        let inner = &mut *self.inner.lock();
        let now = inner.warp.time(self.clock.now());
        inner.state.settle(now);
        let (product, name) = action.split_once('.').unwrap_or(("", action));
        let error = |code: &str, message: &str| EditError {
            action: action.to_owned(),
            code: code.to_owned(),
            message: message.to_owned(),
        };
        let (Some(known), Some(handler)) = (Contract::get().action(product, name), gateway::handler(product, name))
        else {
            return Err(error("InvalidAction.NotFound", "no such action is simulated"));
        };
        let region = inner.state.regions.first().map(|region| region.id.clone()).unwrap_or_default();
        let given = [("RegionId", region.as_str())].into_iter().chain(params.iter().copied());
        let given = Params::new(given.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let refused = |failure: super::error::Failure| error(&failure.code, &failure.message);
        let given = contract::check(known, &given).map_err(refused)?;
        let region = given.text("RegionId");
        let caller = Caller::default();
        let mut cx = Context::new(name, &given, &region, &caller, now, &inner.options, &inner.entropy);
        handler(&mut cx, &mut inner.state).map_err(refused)
    }

    /// All load balancers, in the order of their ids.
    pub fn load_balancers(&self) -> Vec<LoadBalancer> {
        self.with_state(|state| state.slb.load_balancers.values().cloned().collect())
    }

    /// The listeners of a load balancer, in the order of their ports.
    pub fn listeners(&self, load_balancer: &str) -> Vec<Listener> {
        self.with_state(|state| {
            state.slb.load_balancers.get(load_balancer).map(|lb| lb.listeners.clone()).unwrap_or_default()
        })
    }

    /// The server groups of a load balancer, in the order of their ids.
    pub fn groups(&self, load_balancer: &str) -> Vec<Group> {
        self.with_state(|state| {
            let groups = state.slb.groups.values().filter(|group| group.load_balancer == load_balancer);
            groups.cloned().collect()
        })
    }

    /// All instances, in the order of their ids.
    pub fn instances(&self) -> Vec<Instance> {
        self.with_state(|state| state.ecs.instances.values().cloned().collect())
    }

    /// The custom entries of a route table, in the order of their destinations.
    pub fn routes(&self, table: &str) -> Vec<RouteEntry> {
        self.with_state(|state| {
            let entries = state.network.route_tables.get(table).into_iter().flat_map(|table| table.entries.values());
            let mut routes: Vec<RouteEntry> = entries.filter(|entry| !entry.system).cloned().collect();
            routes.sort_by_key(|route| route.destination);
            routes
        })
    }

    /// The ids of the route tables of a VPC.
    pub fn route_tables(&self, vpc: &str) -> Vec<String> {
        self.with_state(|state| {
            let tables = state.network.route_tables.values().filter(|table| table.vpc == vpc);
            tables.map(|table| table.id.clone()).collect()
        })
    }

    /// Adds an instance with its primary interface.
    pub fn add_instance(&self, instance: Instance) -> Result<(), WorldError> {
        let inner = &mut *self.inner.lock();
        let now = inner.warp.time(self.clock.now());
        inner.state.add_instance(instance, now, &inner.entropy)
    }

    /// Releases an instance: it and its interfaces are gone from all answers and groups.
    pub fn remove_instance(&self, id: &str) -> Option<Instance> {
        self.with_state(|state| state.remove_instance(id))
    }

    /// Sets an instance's status. Answers whether the instance exists.
    pub fn set_instance_status(&self, id: &str, status: InstanceStatus) -> bool {
        self.with_state(|state| state.ecs.instances.get_mut(id).map(|instance| instance.status = status).is_some())
    }

    /// Shuts an instance down, which takes the configured time.
    pub fn stop_instance(&self, id: &str) -> bool {
        self.change_instance(id, InstanceStatus::Stopping, InstanceStatus::Stopped)
    }

    /// Boots an instance, which takes the configured time.
    pub fn start_instance(&self, id: &str) -> bool {
        self.change_instance(id, InstanceStatus::Starting, InstanceStatus::Running)
    }

    fn change_instance(&self, id: &str, during: InstanceStatus, after: InstanceStatus) -> bool {
        if !self.set_instance_status(id, during) {
            return false;
        }
        let at = self.now() + self.options().delays.instance;
        self.with_state(|state| state.agenda.push(at, agenda::Due::Ecs(ecs::Due::Status(id.to_owned(), after))));
        true
    }

    /// Takes a server out of a group. Answers whether it was there.
    pub fn remove_member(&self, group: &str, server: &str) -> bool {
        self.with_state(|state| {
            let Some(group) = state.slb.groups.get_mut(group) else { return false };
            let before = group.servers.len();
            group.servers.retain(|one| one.id != server);
            group.servers.len() != before
        })
    }

    /// Deletes a load balancer with all that belongs to it, protected or not.
    pub fn remove_load_balancer(&self, id: &str) -> Option<LoadBalancer> {
        self.with_state(|state| state.remove_load_balancer(id))
    }

    /// Enables or disables an access key. Answers whether it exists.
    pub fn set_access_key_active(&self, id: &str, active: bool) -> bool {
        self.with_state(|state| state.keys.set_active(id, active))
    }

    /// Makes one more access key of the account.
    pub fn add_access_key(&self, id: &str, secret: &str) {
        let key = AccessKey { id: id.to_owned(), secret: secret.to_owned() };
        self.with_state(|state| state.keys.add(&key));
    }

    /// Ends all sessions: keys from STS and the metadata server are refused from now on.
    pub fn expire_credentials(&self) {
        let now = self.now();
        let mut inner = self.inner.lock();
        inner.state.keys.expire_sessions(now);
        inner.forget_role_key();
    }

    /// Those of the cloud's secrets that stand in a text: key ids, their secrets and tokens, and
    /// the metadata server's tokens.
    pub fn secrets_in(&self, text: &str) -> Vec<String> {
        let inner = self.inner.lock();
        let all = inner.state.keys.secrets().chain(inner.metadata.tokens());
        all.filter(|secret| text.contains(secret)).map(str::to_owned).collect()
    }
}
