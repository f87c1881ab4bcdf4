//! What the controller does for its users, one file a capability. The real program runs against
//! the simulated cloud and the embedded Kubernetes API in one process.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::needless_pass_by_value, unreachable_pub)]

#[path = "../stories/line.rs"]
mod line;

mod adoption;
mod api_server;
mod attributes;
mod autoscaling;
mod checks;
mod cost;
mod credentials;
mod deletion;
mod determinism;
mod drift;
mod dry_run;
mod endpoints;
mod fault_matrix;
mod faults;
mod fields;
mod identity;
mod kill_points;
mod lifecycle;
mod lingjun;
mod listeners;
mod lives;
mod members;
mod membership;
mod network;
mod nodes;
mod outage;
mod pace;
mod pods;
mod quota;
mod refusals;
mod reload;
mod replicas;
mod reuse;
mod rollout;
mod routes;
mod scale;
mod services;
mod source_ranges;
mod support;
mod telemetry;
mod triggers;
mod user_groups;
