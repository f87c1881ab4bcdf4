//! Carries out plans until nothing is left to do.
//!
//! What fails holds back only its own scope, except that nothing is cleaned up after a failure.
//! Where an answer was lost, what is known of the load balancer is dropped and the pass ends: the
//! next one looks before it acts.

mod room;

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
};

use jiff::Timestamp;

use self::room::is_about_numbers;
use super::{
    desired::Desired,
    known::Known,
    observed::after,
    plan::{Plan, Scope, Step},
};
use crate::cloud::{
    Action, Certificate, Class, CloudProvider, Effect, Error, GroupsView, LoadBalancer, LoadBalancerState, Member,
    Protocol, Setting, action::ListenerChange,
};

/// More rounds than any plan needs; if they do not do, planning goes in circles.
const MOST_ROUNDS: usize = 24;

type MakePlan = fn(&Desired, Option<&LoadBalancerState>, &BTreeSet<Scope>) -> Plan;

/// A member that the cloud did not take, while it took others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub member: Member,
    /// What the cloud said, without the request's id: it is compared with what was said before.
    pub answer: String,
}

/// One pass over one load balancer.
pub struct Pass<'a> {
    cloud: &'a dyn CloudProvider,
    known: &'a Known,
    /// The load balancer as far as it is known; `None` if there is none.
    pub state: Option<LoadBalancerState>,
    /// The changes made, as they are logged.
    pub changes: Vec<String>,
    pub failures: Vec<Error>,
    /// The members that were left out.
    pub left_out: Vec<Refused>,
    /// Wishes that cannot be fulfilled on what is there.
    pub conflicts: Vec<String>,
    /// Whether a listener was deleted, so that somebody else may have its port.
    pub freed_ports: bool,
    /// Where members had to go before others could come, and why.
    pub made_room: Vec<String>,
    failed: BTreeSet<Scope>,
    /// Nothing more can be done in this pass.
    ended: bool,
    /// Whether what is known of the load balancer includes what hangs on it.
    in_depth: bool,
    now: Timestamp,
}

// === impl Refused ===

impl Refused {
    pub(super) fn new(member: &Member, error: &Error) -> Self {
        let answer = if error.code.is_empty() {
            error.message.clone()
        } else {
            format!("{} (code {})", error.message, error.code)
        };
        Self { member: member.clone(), answer }
    }

    /// What to tell; `name` is what people call the member.
    pub(super) fn told(&self, name: Option<&str>) -> String {
        let Self { member, answer } = self;
        let address = member.address.map(|address| format!(" with the address {address}")).unwrap_or_default();
        let server = format!("{} {}{address}", member.kind.as_str(), member.server);
        let who = name.map_or_else(|| server.clone(), |name| format!("{name} ({server})"));
        format!("{who} is no member, because the cloud refused it: {answer}")
    }
}

// === impl Pass ===

impl<'a> Pass<'a> {
    pub fn new(
        cloud: &'a dyn CloudProvider,
        known: &'a Known,
        now: Timestamp,
        state: Option<LoadBalancerState>,
    ) -> Self {
        Self {
            cloud,
            known,
            state,
            changes: Vec::new(),
            failures: Vec::new(),
            left_out: Vec::new(),
            conflicts: Vec::new(),
            freed_ports: false,
            made_room: Vec::new(),
            failed: BTreeSet::new(),
            ended: false,
            in_depth: true,
            now,
        }
    }

    /// A pass that only concerns the load balancer itself, without knowing what hangs on it.
    pub fn on_the_outside(
        cloud: &'a dyn CloudProvider,
        known: &'a Known,
        now: Timestamp,
        load_balancer: LoadBalancer,
    ) -> Self {
        let state = LoadBalancerState {
            load_balancer,
            listeners: Vec::new(),
            groups: Vec::new(),
            groups_view: GroupsView::Referenced,
        };
        Self { in_depth: false, ..Self::new(cloud, known, now, Some(state)) }
    }

    /// Makes and changes things until all is as desired, or what is left failed.
    pub async fn converge(&mut self, desired: Desired) {
        self.follow(desired, super::plan::plan).await;
    }

    /// The same for nothing but the members of the groups that are there.
    pub async fn converge_members(&mut self, desired: Desired) {
        self.follow(desired, super::plan::members).await;
    }

    async fn follow(&mut self, mut desired: Desired, next: MakePlan) {
        for _ in 0..MOST_ROUNDS {
            let plan = next(&desired, self.state.as_ref(), &self.failed);
            self.conflicts.clone_from(&plan.conflicts);
            if plan.needs_groups {
                self.look_up_groups().await;
            } else if !plan.needs_domain_extensions.is_empty() {
                self.look_up_domain_extensions(&plan.needs_domain_extensions).await;
            } else if plan.steps.is_empty() {
                return;
            }
            self.run(plan, &mut desired).await;
            if self.ended {
                return;
            }
        }
        self.does_not_settle();
    }

    /// Carries out what `next` plans on the load balancer until it plans nothing, or something
    /// fails. For deletion, where each step needs the one before.
    pub async fn dismantle(&mut self, next: impl Fn(&LoadBalancerState) -> Plan) {
        for _ in 0..MOST_ROUNDS {
            let Some(state) = &self.state else { return };
            let plan = next(state);
            if plan.steps.is_empty() {
                return;
            }
            for step in plan.steps {
                if self.execute(&step).await.is_err() {
                    return;
                }
            }
        }
        self.does_not_settle();
    }

    async fn run(&mut self, plan: Plan, desired: &mut Desired) {
        let mut steps = VecDeque::from(plan.steps);
        // Where only a part found room; the rest is for the next plan.
        let mut crowded = BTreeSet::new();
        while let Some(step) = steps.pop_front() {
            if self.ended {
                return;
            }
            if self.failed.contains(&step.scope) || crowded.contains(&step.scope) || self.would_lead_nowhere(&step) {
                continue;
            }
            match step.action {
                Action::CreateLoadBalancer(_) => match self.attempt(&step.action).await {
                    // The next plan makes it in another one.
                    Err(error) if is_about_room(&error) && desired.use_spare_vswitch() => {
                        tracing::info!(%error, "no room in a vSwitch; trying another one");
                        return;
                    }
                    Err(error) => self.fail(&step, error),
                    Ok(()) => {}
                },
                Action::AddMembers { load_balancer, group, members } => {
                    let add = |members| Action::AddMembers {
                        load_balancer: load_balancer.clone(),
                        group: group.clone(),
                        members,
                    };
                    if !self.add_members(&step.scope, members, &add, &mut steps, desired).await {
                        crowded.insert(step.scope);
                    }
                }
                Action::CreateServerGroup { load_balancer, name, members } if !members.is_empty() => {
                    let create = |members| Action::CreateServerGroup {
                        load_balancer: load_balancer.clone(),
                        name: name.clone(),
                        members,
                    };
                    let full = Step { scope: step.scope.clone(), action: create(members) };
                    // Members that the cloud refuses must not keep the group from being made.
                    if let Err(error) = self.attempt(&full.action).await {
                        if is_about_members(&error) || error.class == Class::Quota {
                            let _ = self.execute(&Step { scope: step.scope, action: create(Vec::new()) }).await;
                        } else {
                            self.fail(&full, error);
                        }
                    }
                }
                _ => {
                    let _ = self.execute(&step).await;
                }
            }
        }
    }

    /// A listener is not sent to a group that nobody could be added to.
    fn would_lead_nowhere(&self, step: &Step) -> bool {
        let Action::UpdateListener(ListenerChange { group: Some(id), .. }) = &step.action else { return false };
        let groups = self.state.iter().flat_map(|state| &state.groups);
        let empty = groups.filter(|group| group.id == *id && group.members.is_empty());
        empty.into_iter().any(|group| {
            let failed = |name: &str| self.failed.contains(&Scope::Group(name.to_owned()));
            failed(&group.name) || failed(&group.id.to_string())
        })
    }

    /// Adds members; `false` if there was room for a part of them only. A batch that is refused is halved until
    /// the members at fault stand alone. Where a quota is used up, some of those that are to go anyway go
    /// first, as many as then can come.
    async fn add_members(
        &mut self,
        scope: &Scope,
        members: Vec<Member>,
        add: &(dyn Fn(Vec<Member>) -> Action + Sync),
        steps: &mut VecDeque<Step>,
        desired: &mut Desired,
    ) -> bool {
        let (mut complete, mut tried) = (true, false);
        let mut batches = vec![members];
        while let Some(mut batch) = batches.pop() {
            let action = add(batch.clone());
            let Err(error) = self.attempt(&action).await else { continue };
            if error.class == Class::Quota {
                // Once: what still does not fit then is held back by something else.
                let first = !std::mem::replace(&mut tried, true);
                let made = if first && is_about_numbers(&error) {
                    self.make_room(scope, &error, batch.len(), steps, desired).await
                } else {
                    None
                };
                let room = made.unwrap_or(batch.len() / 2);
                if room == 0 {
                    self.fail(&Step { scope: scope.clone(), action }, error);
                    return true;
                }
                complete &= room >= batch.len();
                batch.truncate(room);
                batches = vec![batch];
                continue;
            }
            if !is_about_members(&error) {
                self.fail(&Step { scope: scope.clone(), action }, error);
                return true;
            }
            if batch.len() > 1 {
                batches.push(batch.split_off(batch.len() / 2));
                batches.push(batch);
                continue;
            }
            let refused = &batch[0];
            self.left_out.push(Refused::new(refused, &error));
            for (name, wanted) in desired.groups.iter_mut().filter(|(_, wanted)| !wanted.is_empty()) {
                wanted.retain(|member| member.server != refused.server);
                // Those that are there stay until somebody can take their place.
                if wanted.is_empty() {
                    self.failed.insert(Scope::Group(name.to_string()));
                }
            }
        }
        complete
    }

    async fn execute(&mut self, step: &Step) -> Result<(), ()> {
        self.attempt(&step.action).await.map_err(|error| self.fail(step, error))
    }

    async fn attempt(&mut self, action: &Action) -> Result<(), Error> {
        if let Some(id) = certificate_of(action) {
            self.check_certificate(action, id).await?;
        }
        let effect = self.cloud.execute(action).await?;
        tracing::info!(change = %action, "changed");
        self.changes.push(action.to_string());
        self.freed_ports |= matches!(action, Action::DeleteListener { .. });
        self.note(action, &effect);
        Ok(())
    }

    /// A listener with a certificate that is missing or over would refuse every client.
    async fn check_certificate(&self, action: &Action, id: &str) -> Result<(), Error> {
        let refused =
            |message: &str| Err(Error::new(Class::Denied, action.to_string(), format!("certificate {id}"), message));
        match self.cloud.certificate(id).await? {
            None => refused("can not found cert by id; upload it in this region or correct the annotation"),
            Some(certificate) => over(&certificate, self.now).map_or(Ok(()), |message| refused(&message)),
        }
    }

    async fn look_up_domain_extensions(&mut self, ports: &[u16]) {
        let Some(state) = &mut self.state else { return };
        for port in ports {
            let read = self.cloud.domain_extensions(&state.load_balancer.id, *port).await;
            let there = state.listeners.iter_mut().find(|l| (l.port, l.protocol) == (*port, Protocol::Https));
            match (read, there) {
                (Ok(extensions), Some(listener)) => listener.domain_extensions = Some(extensions),
                (Ok(_), None) => {}
                (Err(error), _) => {
                    self.failed.insert(Scope::Listener(*port, Protocol::Https));
                    self.failures.push(error);
                    self.ended = true;
                }
            }
        }
        self.known.put(state.clone());
    }

    fn note(&mut self, action: &Action, effect: &Effect) {
        self.state = after(self.state.take(), action, effect);
        match (&self.state, action.load_balancer()) {
            (Some(state), _) if self.in_depth => self.known.put(state.clone()),
            (None, Some(id)) => self.known.gone(id),
            _ => {}
        }
    }

    fn fail(&mut self, step: &Step, error: Error) {
        match error.class {
            Class::Unknown | Class::Malformed | Class::NotFound => {
                if let Some(id) = step.action.load_balancer() {
                    self.known.doubt(id);
                }
                self.ended = true;
            }
            // Something is there that we did not know of.
            _ if error.code.contains("AlreadyExist") => {
                if let Some(id) = step.action.load_balancer() {
                    self.known.doubt(id);
                }
            }
            Class::NotLeader => self.ended = true,
            _ => self.ended = step.scope == Scope::LoadBalancer,
        }
        self.failed.insert(step.scope.clone());
        self.failures.push(error);
    }

    async fn look_up_groups(&mut self) {
        let Some(state) = &mut self.state else { return };
        match self.cloud.server_groups(&state.load_balancer.id).await {
            Ok(groups) => {
                state.groups = groups;
                state.groups_view = GroupsView::Complete;
                self.known.put(state.clone());
            }
            Err(error) => {
                self.failures.push(error);
                self.ended = true;
            }
        }
    }

    fn does_not_settle(&mut self) {
        let subject = self.state.as_ref().map_or_else(String::new, |state| state.load_balancer.id.to_string());
        if let Some(state) = &self.state {
            self.known.doubt(&state.load_balancer.id);
        }
        let message = "changes do not have the effect they should; what is there will be read again";
        self.failures.push(Error::new(Class::Malformed, "converge", subject, message));
    }
}

/// The certificate that a change puts in place.
fn certificate_of(action: &Action) -> Option<&str> {
    match action {
        Action::CreateListener(change) | Action::UpdateListener(change) => change.settings.get(Setting::Certificate),
        Action::CreateDomainExtension { certificate, .. } | Action::SetDomainExtension { certificate, .. } => {
            Some(certificate)
        }
        _ => None,
    }
}

/// That members had to go from `place` before others could come.
pub(super) fn room_text(place: &impl fmt::Display, error: &Error) -> String {
    format!(
        "{place}: members that are not wanted any more left before new ones came, because the quota of backend servers is used up: {}",
        error.stable_text()
    )
}

/// That the certificate is over, if so.
pub(super) fn over(certificate: &Certificate, now: Timestamp) -> Option<String> {
    let expires = certificate.expires.filter(|expires| *expires <= now)?;
    Some(format!("it is expired since {expires}; renew it"))
}

/// Whether there is no address left in the vSwitch.
fn is_about_room(error: &Error) -> bool {
    error.class == Class::Quota && error.code.eq_ignore_ascii_case("VSwitchAvailableIpNotExist")
}

/// Whether the cloud refused the members rather than the call.
fn is_about_members(error: &Error) -> bool {
    error.class == Class::Invalid
}
