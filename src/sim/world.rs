//! A cluster's life around the controller: machines that join and leave, workloads that move.
//!
//! Plays what is neither the cloud nor the API server: the kubelets, the scheduler and the
//! Kubernetes controller manager, as far as the controller under test can tell them apart from
//! the real ones. Nothing happens by itself: [`World::settle`] lets everybody act until there is
//! nothing to do, and [`World::live`] does so after every change.

mod machines;
mod workloads;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use super::{
    cloud::{self, Cloud},
    kube::{Failure, Kube},
};
use crate::{clock::Clock, entropy::Entropy};

/// How long changes are collected before the next turn.
const TURN: Duration = Duration::from_millis(50);
/// How soon a turn that failed is tried again if nothing changes.
const AGAIN: Duration = Duration::from_secs(1);

/// A cluster and the cloud it runs in. Clones are handles to the same.
#[derive(Clone)]
pub struct World {
    pub cloud: Cloud,
    pub kube: Kube,
    clock: Clock,
    entropy: Entropy,
    counters: Arc<Counters>,
    /// Held while somebody acts, so that two turns do not both fill the same gap.
    turn: Arc<Mutex<()>>,
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
            turn: Arc::default(),
        })
    }

    /// Lets everybody act after every change of the cluster, for as long as it is awaited.
    pub async fn live(&self) {
        let mut changes = self.kube.changes();
        loop {
            changes.borrow_and_update();
            if let Err(error) = self.settle() {
                // Somebody else wrote in between, as happens in a cluster. The next turn sees it.
                tracing::debug!(%error, "a turn was not finished");
                let _ = tokio::time::timeout(AGAIN, changes.changed()).await;
            } else if changes.changed().await.is_err() {
                return;
            }
            tokio::time::sleep(TURN).await;
        }
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
