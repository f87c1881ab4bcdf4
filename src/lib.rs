//! Alibaba Cloud's controller manager for Kubernetes.
//!
//! One process connects a cluster to Alibaba Cloud: it initialises and watches over
//! nodes, keeps VPC routes for pod networks and gives every Service of type
//! LoadBalancer a load balancer.
//!
//! ```text
//!       kube-apiserver                                               Alibaba Cloud
//!    watch │      ▲ status, patches, events                             ▲  signed RPC
//!          ▼      │                                                     │
//!    ┌───────────────────────┐                                ┌──────────────────────┐
//!    │ kubernetes            │                                │ alibaba              │
//!    │ one cache of Services,│                                │ ecs vpc slb          │
//!    │ Nodes, EndpointSlices │                                ├──────────────────────┤
//!    │                       │                                │ alibaba::rpc         │
//!    └──────────┬────────────┘                                └──────────▲───────────┘
//!               │ keys                                                   │ implements
//!               ▼                                                        │
//!    ┌───────────────────────┐   observe → desired → plan → apply   ┌────┴─────────────┐
//!    │ controllers           │ ───────────────────────────────────▶ │ cloud            │
//!    │ node  route  service  │                                      │ CloudProvider    │
//!    └───────────────────────┘                                      └──────────────────┘
//! ```
//!
//! Dependencies run one way. [`cloud`] knows neither Kubernetes nor the wire; [`alibaba`]
//! implements it and knows no Kubernetes; [`kubernetes`] knows no cloud; only
//! [`controllers`] see both. [`daemon`] puts the parts together. [`sim`] shares no type,
//! signer or parser with [`alibaba`], so that each can prove the other wrong.
//!
//! Nothing below [`daemon`] reads a clock, a random number or the environment except
//! through the [`clock::Clock`] and [`entropy::Entropy`] it was given. That is what lets a
//! day of a cluster's life run in milliseconds and a failing seed replay exactly.

pub mod admin;
pub mod alibaba;
pub mod cli;
pub mod clock;
pub mod cloud;
pub mod config;
pub mod controllers;
pub mod daemon;
pub mod entropy;
pub mod kubernetes;
pub mod leader;
pub mod metrics;
#[cfg(feature = "sim")]
pub mod sim;
pub mod telemetry;
