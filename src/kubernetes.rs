//! The cluster side: informers, patches, events, provider ids and conditions.
//!
//! Knows Kubernetes and nothing of the cloud.

pub mod cache;
pub mod client;
pub mod condition;
pub mod deadline;
pub mod delegation;
pub mod dry_run;
pub mod events;
pub mod failure;
pub mod fence;
pub mod limit;
pub mod patch;
pub mod pod;
pub mod provider_id;
pub mod slice;
