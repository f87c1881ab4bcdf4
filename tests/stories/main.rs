//! What the controller does for its users, told once and played on two clusters. Here it is the
//! embedded Kubernetes API, without a socket and on paused time; in `tests/control_plane` it is a
//! real one.

#![cfg(feature = "sim")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

mod line;
mod meddler;
mod stage;

mod autoscaling;
mod conflicts;
mod events;
mod listeners;
mod network;
mod nodes;
mod outages;
mod pods;
mod readiness;
mod replicas;
mod routes;
mod services;

#[macro_use]
mod all;

mod embedded {
    use std::{future::Future, time::Duration};

    use ccm::{clock::Clock, entropy::Entropy, sim::cloud, sim::world::World};

    use crate::stage::{Cluster, Stage, region};

    /// How often scheduler, kubelets and controller manager look whether there is something to do.
    const PACE: Duration = Duration::from_millis(200);

    fn play<F: Future<Output = ()>>(story: impl FnOnce(Stage) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (clock, entropy) = (Clock::simulated("2026-01-02T03:04:05Z".parse().unwrap()), Entropy::seeded(1));
            let world = World::with(region(), cloud::Options::default(), clock.clone(), &entropy).unwrap();
            let alive = world.clone();
            tokio::spawn(async move {
                loop {
                    alive.settle().unwrap();
                    tokio::time::sleep(PACE).await;
                }
            });
            let cluster = Cluster { administrator: world.kube.client(), controller: world.kube.client(), real: false };
            Stage::new(world, cluster, clock, entropy).play(story).await;
        });
    }

    each_story!(play);
}
