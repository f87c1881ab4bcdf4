//! Surroundings to run in without a cloud and without a cluster: for newcomers, and for tests.
//!
//! [`cloud`] speaks Alibaba Cloud's wire protocol, [`kube`] the Kubernetes API; neither knows
//! the other or the controller. [`world`] puts instances and Nodes, workloads and Services into
//! both, and plays kubelet, scheduler and controller manager between them.

pub mod cloud;
pub mod kube;
pub mod world;
