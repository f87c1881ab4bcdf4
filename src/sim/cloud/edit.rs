//! Looks at and edits to the world, as an administrator or another tool would make them.

use super::{
    Cloud, WorldError, agenda,
    ecs::{self, Instance, InstanceStatus},
    slb::LoadBalancer,
    vpc::RouteEntry,
};

// === impl Cloud ===

impl Cloud {
    /// All load balancers, in the order of their ids.
    pub fn load_balancers(&self) -> Vec<LoadBalancer> {
        self.with_state(|state| state.slb.load_balancers.values().cloned().collect())
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
        let now = self.clock.now();
        let inner = &mut *self.inner.lock();
        inner.state.add_instance(instance, now, &inner.entropy)
    }

    /// Releases an instance: it and its interfaces are gone from all answers.
    pub fn remove_instance(&self, id: &str) -> Option<Instance> {
        self.with_state(|state| {
            let removed = state.ecs.instances.remove(id)?;
            for interface in &removed.interfaces {
                if let Some(interface) = state.ecs.interfaces.remove(interface) {
                    for address in interface.private_ips {
                        state.network.release_address(&interface.vswitch, address);
                    }
                }
            }
            Some(removed)
        })
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
        let at = self.clock.now() + self.options().delays.instance;
        self.with_state(|state| state.agenda.push(at, agenda::Due::Ecs(ecs::Due::Status(id.to_owned(), after))));
        true
    }

    /// Enables or disables an access key. Answers whether it exists.
    pub fn set_access_key_active(&self, id: &str, active: bool) -> bool {
        self.with_state(|state| state.keys.set_active(id, active))
    }

    /// Ends all sessions: keys from STS and the metadata server are refused from now on.
    pub fn expire_credentials(&self) {
        let now = self.clock.now();
        let mut inner = self.inner.lock();
        inner.state.keys.expire_sessions(now);
        inner.forget_role_key();
    }

    /// Deletes a load balancer with all that belongs to it, protected or not.
    pub fn remove_load_balancer(&self, id: &str) -> Option<LoadBalancer> {
        self.with_state(|state| state.remove_load_balancer(id))
    }
}
