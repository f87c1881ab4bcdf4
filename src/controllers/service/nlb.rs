//! What is different when the load balancer is a network load balancer.
//!
//! The steps are those of classic load balancers (observe, desired, plan, apply), and queue,
//! triggers, members, marks, records and events are shared with them. What is different: the cloud
//! is not done with most changes when their calls answer ([`jobs`]), and groups stand by themselves.
//! Nobody waits for a job: the pass ends, and the Service comes back when the job has.

pub mod apply;
pub mod desired;
pub mod jobs;
pub mod known;
pub mod observed;
pub mod plan;
mod reconcile;
mod reuse;

use std::sync::Arc;

use self::{jobs::Jobs, known::Known};

/// What is remembered of network load balancers between passes.
#[derive(Default)]
pub struct Memory {
    pub known: Known,
    pub jobs: Jobs,
}

/// Shared by all workers.
pub type SharedMemory = Arc<Memory>;
