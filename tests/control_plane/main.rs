//! The stories on a real control plane: etcd, API server, controller manager and scheduler of
//! `tests/kubernetes`, over TLS and in real time. The controller has no more rights than the
//! ServiceAccount that `deploy/` ships.
//!
//! Run it with `make test-kubernetes`, which builds the control plane first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, unreachable_pub)]

#[path = "../stories/line.rs"]
mod line;
#[path = "../stories/meddler.rs"]
mod meddler;
#[path = "../stories/stage.rs"]
mod stage;

#[path = "../stories/autoscaling.rs"]
mod autoscaling;
#[path = "../stories/conflicts.rs"]
mod conflicts;
#[path = "../stories/events.rs"]
mod events;
#[path = "../stories/listeners.rs"]
mod listeners;
#[path = "../stories/network.rs"]
mod network;
#[path = "../stories/nodes.rs"]
mod nodes;
#[path = "../stories/outages.rs"]
mod outages;
#[path = "../stories/pods.rs"]
mod pods;
#[path = "../stories/readiness.rs"]
mod readiness;
#[path = "../stories/replicas.rs"]
mod replicas;
#[path = "../stories/routes.rs"]
mod routes;
#[path = "../stories/services.rs"]
mod services;

#[path = "../stories/all.rs"]
#[macro_use]
mod all;

mod answers;
mod audit;
mod clients;
mod commands;
mod dry_run;
mod lifetime;
mod manifests;
mod partition;
mod plane;
mod processes;
mod program;
mod quiet;
mod rights;
mod secure;
mod theatre;
mod wire;

mod real {
    use crate::theatre::play;

    each_story!(play);
}
