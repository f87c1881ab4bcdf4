//! Jobs: most writes answer before they are done, with the id of a job that can be asked for.
//! While a job works on a load balancer, other writes to it are refused.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Due, Nlb, certificate::CertificateState, listener::ListenerState, load_balancer::NlbStatus, server::ServerState,
    server_group::GroupState,
};
use crate::sim::cloud::{Context, State, agenda, error::Failure};

/// The most jobs that are remembered.
const KEPT: usize = 10_000;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Job {
    /// A UUID.
    pub id: String,
    /// The action that started it.
    pub action: String,
    /// The load balancer that it locks.
    pub load_balancer: Option<String>,
    /// Where it is.
    pub status: JobStatus,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum JobStatus {
    /// Under way.
    Processing,
    /// Done.
    Succeeded,
    /// Given up; nothing of it became true.
    Failed,
}

/// What becomes true when a job ends.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    LoadBalancerGone(String),
    Listener(String, ListenerState),
    ListenerGone(String),
    GroupAvailable(String),
    GroupGone(String),
    CertificateAssociated(String, String),
    CertificateGone(String, String),
}

// === impl JobStatus ===

impl JobStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "Processing",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

/// Starts a job that locks a load balancer, and returns the start of the action's reply.
pub(super) fn begin(
    cx: &mut Context<'_>,
    state: &mut State,
    load_balancer: Option<&str>,
    effects: Vec<Effect>,
) -> Value {
    cx.change();
    let id = cx.entropy.uuid();
    let job = Job {
        id: id.clone(),
        action: cx.action.to_owned(),
        load_balancer: load_balancer.map(str::to_owned),
        status: JobStatus::Processing,
    };
    enter(state, job);
    state.later(cx, cx.options.delays.job, agenda::Due::Nlb(Due::Job { id: id.clone(), effects }));
    json!({ "JobId": id })
}

/// Starts a job that will fail, for the call that has just begun it elsewhere.
pub(crate) fn begin_in_vain(cx: &Context<'_>, state: &mut State, job: Job) {
    let id = job.id.clone();
    enter(state, job);
    state.later(cx, cx.options.delays.job, agenda::Due::Nlb(Due::FailedJob(id)));
}

/// A job locks what it works on, and old ones are forgotten.
fn enter(state: &mut State, job: Job) {
    let (id, load_balancer) = (job.id.clone(), job.load_balancer.clone());
    state.nlb.jobs.insert(id.clone(), job);
    state.nlb.job_order.push_back(id.clone());
    if state.nlb.job_order.len() > KEPT
        && let Some(oldest) = state.nlb.job_order.pop_front()
    {
        state.nlb.jobs.remove(&oldest);
    }
    if let Some(lb) = load_balancer.and_then(|id| state.nlb.load_balancers.get_mut(&id)) {
        lb.lock = Some(id);
        if lb.status == NlbStatus::Active {
            lb.status = NlbStatus::Configuring;
        }
    }
}

// === impl Nlb ===

impl Nlb {
    pub(crate) fn apply(&mut self, due: Due) {
        match due {
            Due::Job { .. } | Due::FailedJob(_) if self.jobs_paused => self.held.push(due),
            Due::Job { id, effects } => self.finish(&id, JobStatus::Succeeded, effects),
            Due::FailedJob(id) => self.finish(&id, JobStatus::Failed, Vec::new()),
            Due::Active(id) => {
                if let Some(lb) = self.load_balancers.get_mut(&id) {
                    lb.status = NlbStatus::Active;
                }
            }
        }
    }

    /// Lets the jobs that were held back end.
    pub fn resume_jobs(&mut self) {
        self.jobs_paused = false;
        for due in std::mem::take(&mut self.held) {
            self.apply(due);
        }
    }

    /// Ends the jobs that were held back without success: nothing of them becomes true.
    pub fn fail_held_jobs(&mut self) {
        for due in std::mem::take(&mut self.held) {
            if let Due::Job { id, .. } | Due::FailedJob(id) = due {
                self.finish(&id, JobStatus::Failed, Vec::new());
            }
        }
    }

    fn finish(&mut self, id: &str, status: JobStatus, effects: Vec<Effect>) {
        let mut locked = None;
        if let Some(job) = self.jobs.get_mut(id) {
            job.status = status;
            locked.clone_from(&job.load_balancer);
        }
        if let Some(lb) = locked.and_then(|lb| self.load_balancers.get_mut(&lb))
            && lb.lock.as_deref() == Some(id)
        {
            lb.lock = None;
            if lb.status == NlbStatus::Configuring {
                lb.status = NlbStatus::Active;
            }
        }
        for effect in effects {
            self.make_true(effect);
        }
    }

    fn make_true(&mut self, effect: Effect) {
        match effect {
            Effect::LoadBalancerGone(id) => {
                self.load_balancers.remove(&id);
                self.listeners.retain(|_, listener| listener.load_balancer != id);
            }
            Effect::Listener(id, status) => {
                if let Some(listener) = self.listeners.get_mut(&id) {
                    listener.status = status;
                }
            }
            Effect::ListenerGone(id) => {
                self.listeners.remove(&id);
            }
            Effect::GroupAvailable(id) => {
                if let Some(group) = self.server_groups.get_mut(&id) {
                    group.status = GroupState::Available;
                    group.servers.retain(|server| server.status != ServerState::Removing);
                    group.servers.iter_mut().for_each(|server| server.status = ServerState::Available);
                }
            }
            Effect::GroupGone(id) => {
                self.server_groups.remove(&id);
            }
            Effect::CertificateAssociated(listener, id) => {
                let listener = self.listeners.get_mut(&listener);
                let certificate = listener.and_then(|one| one.certificates.iter_mut().find(|one| one.id == id));
                if let Some(certificate) = certificate {
                    certificate.status = CertificateState::Associated;
                }
            }
            Effect::CertificateGone(listener, id) => {
                if let Some(listener) = self.listeners.get_mut(&listener) {
                    listener.certificates.retain(|certificate| certificate.id != id);
                }
            }
        }
    }
}

fn missing(id: &str) -> Failure {
    Failure::not_found("ResourceNotFound.JobId", format!("The job {id} does not exist."))
}

pub(super) fn get(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let id = cx.params.required("JobId")?;
    let job = state.nlb.jobs.get(id).ok_or_else(|| missing(id))?;
    Ok(json!({ "Status": job.status.as_str() }))
}

/// Several jobs at once; the total comes as text.
pub(super) fn list(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let ids = cx.params.list("JobIds");
    let mut jobs = Vec::new();
    for id in &ids {
        let job = state.nlb.jobs.get(id).ok_or_else(|| missing(id))?;
        jobs.push(json!({ "Id": id, "Status": job.status.as_str() }));
    }
    Ok(json!({ "TotalCount": jobs.len().to_string(), "Jobs": jobs }))
}
