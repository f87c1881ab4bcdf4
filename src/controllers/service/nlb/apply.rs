//! Carries out plans as far as they go now.
//!
//! What a job works on is left alone until the job has ended; the pass does what else it can and
//! ends. What fails holds back only its own scope. Where an answer was lost, what is known is
//! dropped and the pass ends: the next one looks before it acts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{
    Memory,
    desired::Desired,
    observed::State,
    plan::{Plan, Scope},
};
use crate::{
    cloud::{
        Class, CloudProvider, Error, ListenerId, Member, NetworkAction, NetworkListenerSetting,
        NetworkListenerSettings, NetworkStatus, network_action::Lock,
    },
    controllers::service::{
        Key,
        apply::{Refused, over, room_text},
        ownership::Owner,
    },
};

/// More rounds than any plan needs; if they do not do, planning goes in circles.
const MOST_ROUNDS: usize = 100;

type MakePlan = fn(&Desired, &State, &BTreeSet<Scope>) -> Plan;

/// One pass over what one Service has.
pub struct Pass<'a> {
    pub cloud: &'a dyn CloudProvider,
    pub memory: &'a Memory,
    pub key: &'a Key,
    pub owner: &'a Owner,
    /// What is there, as far as it is known.
    pub state: State,
    now: Timestamp,
    /// Changes are not sent, and count as in place at once.
    pub pretends: bool,
    pub outcome: Outcome,
    failed: BTreeSet<Scope>,
    /// Groups that a quota let no member into in this round.
    full: BTreeMap<Scope, (NetworkAction, Error)>,
    /// What the cloud called busy in this pass.
    held: BTreeSet<Lock>,
    /// Nothing more can be done in this pass.
    ended: bool,
}

/// What came of a pass.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The changes begun, as they are logged.
    pub changes: Vec<String>,
    pub failures: Vec<Error>,
    /// The members that were left out.
    pub left_out: Vec<Refused>,
    /// Wishes that cannot be fulfilled on what is there.
    pub conflicts: Vec<String>,
    /// Somebody else is at what was to be changed.
    pub busy: Option<Error>,
    /// Where members had to go before others could come, and why.
    pub made_room: Vec<String>,
    /// Whether a listener is being deleted, so that somebody else may have its port.
    pub freed_ports: bool,
}

// === impl Pass ===

impl<'a> Pass<'a> {
    pub fn new(
        cloud: &'a dyn CloudProvider,
        memory: &'a Memory,
        key: &'a Key,
        owner: &'a Owner,
        now: Timestamp,
        state: State,
    ) -> Self {
        Self {
            cloud,
            memory,
            key,
            owner,
            state,
            now,
            pretends: false,
            outcome: Outcome::default(),
            failed: BTreeSet::new(),
            full: BTreeMap::new(),
            held: BTreeSet::new(),
            ended: false,
        }
    }

    /// Makes and changes things until nothing more can be done now.
    pub async fn converge(&mut self, desired: &mut Desired) {
        self.follow(desired, super::plan::plan).await;
    }

    /// The same for nothing but the members of the groups that are there.
    pub async fn converge_members(&mut self, desired: &mut Desired) {
        self.follow(desired, super::plan::members).await;
    }

    async fn follow(&mut self, desired: &mut Desired, next: MakePlan) {
        for _ in 0..MOST_ROUNDS {
            let plan = next(desired, &self.state, &self.failed);
            self.outcome.conflicts.clone_from(&plan.conflicts);
            if plan.needs_sources {
                self.look_up_sources().await;
            } else if !plan.needs_certificates.is_empty() {
                self.look_up_certificates(&plan.needs_certificates).await;
            }
            let looked = plan.needs_sources || !plan.needs_certificates.is_empty();
            if self.ended || (!self.run(plan, Some(desired)).await && !looked) {
                return self.wait_for_locks();
            }
        }
        self.does_not_settle();
    }

    /// Carries out what `next` plans until it plans nothing that can be done now, or something
    /// fails. For deletion, where each step needs the one before. Tells whether all is done.
    pub async fn dismantle(&mut self, next: impl Fn(&State) -> Plan) -> bool {
        for _ in 0..MOST_ROUNDS {
            let plan = next(&self.state);
            if plan.steps.is_empty() && self.outcome.failures.is_empty() {
                self.wait_for_locks();
                return !self.memory.jobs.is_waiting(self.key);
            }
            if !self.run(plan, None).await || !self.outcome.failures.is_empty() {
                self.wait_for_locks();
                return false;
            }
        }
        self.does_not_settle();
        false
    }

    /// Whether something is being changed of which no job here tells the end.
    pub fn is_unsettled(&self) -> bool {
        self.outcome.busy.is_some() || self.state.locks().iter().any(|lock| !self.memory.jobs.knows(lock))
    }

    /// Load balancers in the making have no job, and neither has what another process began. Other
    /// Services' jobs may work on what is shared with them.
    fn wait_for_locks(&self) {
        for lock in self.state.locks() {
            self.memory.jobs.wait_with(&lock, self.key);
        }
        if let Some(there) = &self.state.load_balancer
            && !matches!(there.load_balancer.status, NetworkStatus::Active | NetworkStatus::Unusable)
        {
            let id = &there.load_balancer.id;
            if !self.memory.jobs.knows(&Lock::LoadBalancer(id.clone())) {
                self.memory.jobs.watch(id, self.key);
            }
        }
    }

    /// Does what can be done now; tells whether that was anything.
    async fn run(&mut self, plan: Plan, mut desired: Option<&mut Desired>) -> bool {
        let mut done = false;
        for step in plan.steps {
            if self.ended {
                return done;
            }
            if self.failed.contains(&step.scope) || self.is_locked(&step.action) {
                continue;
            }
            done = true;
            if self.full.contains_key(&step.scope) {
                self.make_room(&step.scope, &step.action).await;
                continue;
            }
            match (step.action, &mut desired) {
                (NetworkAction::AddMembers { group, members }, Some(desired)) => {
                    let add = |members| NetworkAction::AddMembers { group: group.clone(), members };
                    self.add_members(&step.scope, members, &add, desired).await;
                }
                (action, _) => {
                    if let Err(error) = self.attempt(&action).await {
                        self.fail(&step.scope, &action, error);
                    }
                }
            }
        }
        for (scope, (action, error)) in std::mem::take(&mut self.full) {
            self.fail(&scope, &action, error);
        }
        done
    }

    /// Where a quota lets nobody in, some of those that are not wanted any more go first: half
    /// a batch, and never all that there are. When they are gone, the next pass adds again.
    async fn make_room(&mut self, scope: &Scope, action: &NetworkAction) {
        let NetworkAction::RemoveMembers { group, members } = action else { return };
        let there = self.state.groups.iter().find(|there| there.id == *group);
        let most = there.map_or(0, |group| group.members.len().saturating_sub(1));
        let members = members[..members.len().div_ceil(2).min(most)].to_vec();
        if members.is_empty() {
            return;
        }
        let action = NetworkAction::RemoveMembers { group: group.clone(), members };
        match self.attempt(&action).await {
            Err(error) => self.fail(scope, &action, error),
            Ok(()) => {
                if let Some((_, error)) = self.full.remove(scope) {
                    self.outcome.made_room.push(room_text(scope, &error));
                }
            }
        }
    }

    fn is_locked(&self, action: &NetworkAction) -> bool {
        action.lock().is_some_and(|lock| self.held.contains(&lock) || self.state.is_locked(&lock))
    }

    /// A batch that is refused for something in it is halved, until what is wrong stands alone
    /// and is left out.
    async fn add_members(
        &mut self,
        scope: &Scope,
        members: Vec<Member>,
        add: &(dyn Fn(Vec<Member>) -> NetworkAction + Sync),
        desired: &mut Desired,
    ) {
        let mut batches = vec![members];
        while let Some(mut batch) = batches.pop() {
            let action = add(batch.clone());
            // What was accepted works on the group; the rest follows in a later pass.
            let Err(error) = self.attempt(&action).await else { return };
            if error.class == Class::Quota {
                // As many as there is room for.
                if batch.len() > 1 {
                    batch.truncate(batch.len() / 2);
                    batches = vec![batch];
                    continue;
                }
                self.full.insert(scope.clone(), (action, error));
                return;
            }
            if error.class != Class::Invalid {
                return self.fail(scope, &action, error);
            }
            if batch.len() > 1 {
                batches.push(batch.split_off(batch.len() / 2));
                batches.push(batch);
                continue;
            }
            let refused = &batch[0];
            self.outcome.left_out.push(Refused::new(refused, &error));
            for wanted in desired.groups.values_mut() {
                wanted.members.retain(|member| member.server != refused.server);
            }
        }
    }

    async fn attempt(&mut self, action: &NetworkAction) -> Result<(), Error> {
        for id in self.new_certificates(action) {
            self.check_certificate(action, &id).await?;
        }
        let effect = self.cloud.execute_network(action).await?;
        tracing::info!(change = %action, "changed");
        self.outcome.changes.push(action.to_string());
        self.outcome.freed_ports |= matches!(action, NetworkAction::DeleteListener { .. });
        self.state.apply(action, &effect);
        if self.pretends {
            self.state.complete();
        }
        if let Some(job) = effect.job {
            let lock = match &effect.made {
                crate::cloud::Made::Group(id) => Some(Lock::Group(id.clone())),
                _ => action.lock(),
            };
            self.memory.jobs.wait_for(job, self.key, self.owner.default_name(), action.to_string(), lock);
        }
        self.memory.known.store(self.owner, &self.state);
        Ok(())
    }

    /// The certificates that a change puts in place, but for those that are there already.
    fn new_certificates(&self, action: &NetworkAction) -> Vec<String> {
        let of = |settings: &NetworkListenerSettings| -> Vec<String> {
            let ids = settings.get(NetworkListenerSetting::Certificates).into_iter().flat_map(|ids| ids.split(','));
            ids.map(str::to_owned).collect()
        };
        match action {
            NetworkAction::CreateListener(create) => of(&create.settings),
            NetworkAction::UpdateListener(change) => {
                let mut listeners = self.state.load_balancer.iter().flat_map(|there| &there.listeners);
                let there = listeners.find(|listener| listener.id == change.listener);
                let there = there.map_or_else(Vec::new, |listener| of(&listener.settings));
                of(&change.settings).into_iter().filter(|id| !there.contains(id)).collect()
            }
            NetworkAction::AddCertificates { certificates, .. } => certificates.clone(),
            _ => Vec::new(),
        }
    }

    /// A listener with a certificate that is over would refuse every client. The list of certificates that
    /// can be asked lacks some that listeners may have, and may not be open to us: then the cloud has
    /// the only word.
    async fn check_certificate(&self, action: &NetworkAction, id: &str) -> Result<(), Error> {
        let known = match self.cloud.certificate(id).await {
            Err(error) if error.class == Class::Denied => {
                tracing::debug!(%error, "cannot look whether a certificate is over");
                None
            }
            answer => answer?,
        };
        match known.and_then(|certificate| over(&certificate, self.now)) {
            Some(message) => Err(Error::new(Class::Denied, action.to_string(), format!("certificate {id}"), message)),
            None => Ok(()),
        }
    }

    fn fail(&mut self, scope: &Scope, action: &NetworkAction, error: Error) {
        match error.class {
            Class::Busy => {
                // Not a failure: somebody else is at it, and will be done.
                match action.lock() {
                    Some(lock) => self.held.insert(lock),
                    None => self.failed.insert(scope.clone()),
                };
                self.outcome.busy = Some(error);
                return;
            }
            Class::Unknown | Class::Malformed | Class::NotFound => {
                self.doubt(action);
                self.ended = true;
            }
            Class::NotLeader => self.ended = true,
            // Something is there that we did not know of, or is not there that we knew.
            Class::Invalid if !matches!(scope, Scope::Attribute(_)) => self.doubt(action),
            _ => {}
        }
        self.ended |= *scope == Scope::LoadBalancer;
        self.failed.insert(scope.clone());
        self.outcome.failures.push(error);
    }

    fn doubt(&self, action: &NetworkAction) {
        let known = &self.memory.known;
        match action {
            NetworkAction::CreateLoadBalancer(_) => known.doubt_absence(self.owner),
            NetworkAction::CreateGroup(_) | NetworkAction::UntagGroups { .. } => known.doubt_groups(self.owner),
            NetworkAction::CreateSecurityGroup(_)
            | NetworkAction::NameSecurityGroup { .. }
            | NetworkAction::AddRules { .. }
            | NetworkAction::RemoveRules { .. }
            | NetworkAction::DeleteSecurityGroup { .. } => known.doubt_sources(self.owner),
            NetworkAction::Tag { load_balancer, .. } | NetworkAction::Untag { load_balancer, .. } => {
                known.doubt(load_balancer);
            }
            NetworkAction::CreateListener(_) | NetworkAction::UpdateListener(_) => {
                // It may be the group that is not as we believe.
                known.doubt_groups(self.owner);
                action.lock().iter().for_each(|lock| known.doubt_lock(lock));
            }
            _ => action.lock().iter().for_each(|lock| known.doubt_lock(lock)),
        }
    }

    async fn look_up_sources(&mut self) {
        // Rules that were just added have ids by now, which their addition did not tell.
        self.memory.known.doubt_sources(self.owner);
        match self.memory.known.sources(self.cloud, self.owner).await {
            Ok(found) => self.state.sources = Some(found),
            Err(error) => self.give_up(error),
        }
    }

    async fn look_up_certificates(&mut self, listeners: &[ListenerId]) {
        for id in listeners {
            let read = self.cloud.additional_certificates(id).await;
            let there = self.state.load_balancer.iter_mut().flat_map(|there| &mut there.listeners);
            match (read, there.into_iter().find(|listener| listener.id == *id)) {
                (Ok(certificates), Some(listener)) => {
                    listener.additional_certificates = Some(certificates.into_iter().collect());
                }
                (Ok(_), None) => {}
                (Err(error), _) => return self.give_up(error),
            }
        }
        self.memory.known.store(self.owner, &self.state);
    }

    fn give_up(&mut self, error: Error) {
        self.outcome.failures.push(error);
        self.ended = true;
    }

    fn does_not_settle(&mut self) {
        let other = self.state.load_balancer.as_ref().map(|there| there.load_balancer.id.clone());
        self.memory.known.doubt_all(self.owner, other.as_ref());
        let subject = other.map_or_else(String::new, |id| id.to_string());
        let message = "changes do not have the effect they should; what is there will be read again";
        self.outcome.failures.push(Error::new(Class::Malformed, "converge", subject, message));
    }
}
