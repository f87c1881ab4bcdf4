//! Why a pass did not reach its end, and what follows from that.

use std::time::Duration;

use super::Outcome;
use crate::{
    cloud::{Class, Error},
    controllers::service::annotations::Mistakes,
    kubernetes::patch,
};

/// How long the cache is given to learn what somebody else wrote. It does not grow: whoever writes all the
/// time shall not keep a Service waiting for minutes.
const CATCH_UP: Duration = Duration::from_secs(1);

/// Why a pass did not reach its end.
#[derive(Debug, thiserror::Error)]
pub(in crate::controllers::service) enum Failure {
    #[error("{0}")]
    Mistakes(#[from] Mistakes),
    /// What the user has to change; trying again does not help.
    #[error("{0}")]
    Unfulfillable(String),
    #[error("{}", join(.errors, .others))]
    Cloud { errors: Vec<Error>, others: Vec<String> },
    #[error("{text}")]
    Cluster { reason: &'static str, text: String },
    /// Someone else changed or removed the Service while it was worked on. The cache will tell.
    #[error("{0}")]
    Overtaken(String),
    /// Another replica leads now; what was to be written to the Service was not sent.
    #[error("{0}")]
    NotLeader(String),
}

fn join(errors: &[Error], others: &[String]) -> String {
    joined(errors, others, ToString::to_string)
}

fn joined(errors: &[Error], others: &[String], text: fn(&Error) -> String) -> String {
    let told = |error: &Error| match remedy(error) {
        Some(remedy) => format!("{}; {remedy}", text(error)),
        None => text(error),
    };
    errors.iter().map(told).chain(others.iter().cloned()).collect::<Vec<_>>().join("; ")
}

/// What to do about an error, where the cloud does not say it itself.
fn remedy(error: &Error) -> Option<&'static str> {
    if error.request_id.is_empty() {
        return None;
    }
    match error.class {
        Class::Denied => Some(
            "the credentials of this controller lack the right to do so, or are not accepted: compare their RAM policy with \
             those in config/ram-policies",
        ),
        Class::Invalid if MISSING_CERTIFICATES.iter().any(|code| error.code.eq_ignore_ascii_case(code)) => Some(
            "an annotation names a certificate that is not there; network load balancers take theirs from the certificate \
             management service: upload it there, or correct cert-id, additional-cert-ids or cacert-id",
        ),
        _ => None,
    }
}

/// What NLB answers about certificates that it does not know.
const MISSING_CERTIFICATES: [&str; 2] = ["ResourceNotFound.Certificate", "ResourceNotFound.CaCertificate"];

/// Whether the cloud answered that the same may work in a moment. Where it does not answer at all,
/// everything fails together, and it is not to be overrun when it comes back.
fn passes_by_itself(error: &Error) -> bool {
    error.is_retryable() && !error.request_id.is_empty()
}

/// A failed write to the Service object.
pub(in crate::controllers::service) fn cluster(reason: &'static str, what: &str, error: &patch::Error) -> Failure {
    let text = format!("{what}: {error}");
    match error {
        patch::Error::Conflict { .. } | patch::Error::NotFound { .. } => Failure::Overtaken(text),
        patch::Error::NotLeader { .. } => Failure::NotLeader(text),
        patch::Error::Other { .. } => Failure::Cluster { reason, text },
    }
}

// === impl Failure ===

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Cloud { errors: vec![error], others: Vec::new() }
    }
}

impl Failure {
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Mistakes(_) | Self::NotLeader(_) => Outcome::Done,
            Self::Unfulfillable(text) if text.starts_with("create public") => Outcome::Done,
            Self::Unfulfillable(_) | Self::Cluster { .. } => Outcome::Retry,
            Self::Overtaken(_) => Outcome::RetryAfter(CATCH_UP),
            Self::Cloud { errors, others }
                if others.is_empty() && !errors.is_empty() && errors.iter().all(|e| e.class == Class::Quota) =>
            {
                Outcome::RetrySlowly
            }
            Self::Cloud { errors, others } => match (&errors[..], others.is_empty()) {
                ([Error { retry_after: Some(delay), .. }], true) => Outcome::RetryAfter(*delay),
                (all, true) if all.iter().all(passes_by_itself) => Outcome::RetrySoon,
                _ => Outcome::Retry,
            },
        }
    }

    /// What a quota or an unpaid bill keeps from being done.
    pub(super) fn over_quota(&self) -> Vec<String> {
        let Self::Cloud { errors, .. } = self else { return Vec::new() };
        let of_quota = errors.iter().filter(|error| error.class == Class::Quota);
        of_quota
            .map(|error| {
                format!(
                    "a quota or the account's balance is used up, which only a person can change; tried again every few \
                     minutes: {}",
                    error.stable_text()
                )
            })
            .collect()
    }

    pub(super) fn is_about_leadership(&self) -> bool {
        match self {
            Self::Cloud { errors, .. } => errors.iter().any(|error| error.class == Class::NotLeader),
            other => matches!(other, Self::NotLeader(_)),
        }
    }

    pub(super) fn stable_text(&self) -> String {
        match self {
            Self::Cloud { errors, others } => joined(errors, others, Error::stable_text),
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_somebody_has_to_look_at_is_told() {
        let object = || "Service default/web".to_owned();
        let told = |error: patch::Error| match cluster("FailedUpdateStatus", "Error updating", &error) {
            Failure::Cluster { reason, .. } => Some(reason),
            _ => None,
        };
        let reason = || "because".to_owned();
        let refused = patch::Error::Other { action: "patch", object: object(), reason: reason(), code: Some(403) };
        assert_eq!(told(refused), Some("FailedUpdateStatus"));
        assert_eq!(told(patch::Error::Conflict { action: "patch", object: object(), reason: reason() }), None);
        assert_eq!(told(patch::Error::NotFound { action: "patch", object: object() }), None);
        assert_eq!(told(patch::Error::NotLeader { action: "patch", object: object(), reason: reason() }), None);
    }
}
