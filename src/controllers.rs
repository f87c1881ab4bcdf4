//! The controllers: each compares what the cluster asks for with what the cloud has, and
//! closes the gap.
//!
//! All take the same four steps: observe, desired, plan, apply. Only this level sees both
//! Kubernetes objects and the cloud's domain types.

pub mod node;
pub mod queue;
pub mod route;
pub mod service;
