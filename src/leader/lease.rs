//! What a Lease says, and what it says once taken or given back.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};

use super::Options;

/// Empty if nobody holds it.
pub(super) fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

/// How long its holder asked others to wait.
pub(super) fn duration(lease: &Lease) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

/// Taken or renewed by us. A renewal keeps when the lease was acquired; a change of hands counts.
pub(super) fn taken(before: Option<&LeaseSpec>, options: &Options, now: Timestamp) -> LeaseSpec {
    let mut spec = before.cloned().unwrap_or_default();
    let was_ours = spec.holder_identity.as_ref() == Some(&options.identity);
    if !was_ours {
        spec.acquire_time = Some(MicroTime(now));
        let transitions = spec.lease_transitions.unwrap_or_default();
        spec.lease_transitions = Some(if before.is_some() { transitions.saturating_add(1) } else { 0 });
    }
    spec.holder_identity = Some(options.identity.clone());
    spec.lease_duration_seconds = Some(i32::try_from(options.lease_duration.as_secs()).unwrap_or(i32::MAX));
    spec.renew_time = Some(MicroTime(now));
    spec
}

/// Given back: held by nobody, for the shortest time that the API server accepts.
pub(super) fn released(before: Option<&LeaseSpec>, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(now)),
        acquire_time: Some(MicroTime(now)),
        lease_transitions: before.and_then(|spec| spec.lease_transitions),
        ..LeaseSpec::default()
    }
}
