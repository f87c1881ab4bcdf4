//! A cluster's life around the controller: machines that join and leave, workloads that move.
//!
//! Plays what is neither the cloud nor the API server: the kubelets, the scheduler and the
//! Kubernetes controller manager, as far as the controller under test can tell them apart from
//! the real ones. Nothing happens by itself: [`World::settle`] lets everybody act until there is
//! nothing to do.

mod machines;
mod workloads;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{
    cloud::{self, Cloud},
    kube::{Failure, Kube},
};
use crate::{clock::Clock, entropy::Entropy};

/// A cluster and the cloud it runs in. Clones are handles to the same.
#[derive(Clone)]
pub struct World {
    pub cloud: Cloud,
    pub kube: Kube,
    clock: Clock,
    entropy: Entropy,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    machines: AtomicU32,
    pods: AtomicU32,
}

/// Why something could not be played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Cloud(#[from] cloud::WorldError),
    #[error("the API refused: {0}")]
    Kube(String),
}

// === impl World ===

impl World {
    /// A region with a VPC and an empty cluster.
    pub fn new(options: cloud::Options, clock: Clock, entropy: &Entropy) -> Result<Self, Error> {
        Self::with(cloud::World::default(), options, clock, entropy)
    }

    /// An empty cluster in that cloud.
    pub fn with(world: cloud::World, options: cloud::Options, clock: Clock, entropy: &Entropy) -> Result<Self, Error> {
        Ok(Self {
            cloud: Cloud::new(world, options, clock.clone(), entropy.fork())?,
            kube: Kube::new(clock.clone(), entropy.fork()),
            clock,
            entropy: entropy.fork(),
            counters: Arc::default(),
        })
    }
}

// === impl Counters ===

impl Counters {
    fn next(counter: &AtomicU32) -> u32 {
        counter.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Kube(failure.to_string())
    }
}
