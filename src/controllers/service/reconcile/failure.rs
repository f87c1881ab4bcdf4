//! Why a pass did not reach its end, and what follows from that.

use super::Outcome;
use crate::{
    cloud::{Class, Error},
    controllers::service::annotations::Mistakes,
    kubernetes::patch,
};

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
}

fn join(errors: &[Error], others: &[String]) -> String {
    errors.iter().map(ToString::to_string).chain(others.iter().cloned()).collect::<Vec<_>>().join("; ")
}

/// A failed write to the Service object.
pub(super) fn cluster(reason: &'static str, what: &str, error: &patch::Error) -> Failure {
    Failure::Cluster { reason, text: format!("{what}: {error}") }
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
            Self::Mistakes(_) => Outcome::Done,
            Self::Unfulfillable(text) if text.starts_with("create public") => Outcome::Done,
            Self::Unfulfillable(_) | Self::Cluster { .. } => Outcome::Retry,
            Self::Cloud { errors, others } => match (&errors[..], others.is_empty()) {
                ([only], true) => only.retry_after.map_or(Outcome::Retry, Outcome::RetryAfter),
                _ => Outcome::Retry,
            },
        }
    }

    pub(super) fn is_about_leadership(&self) -> bool {
        matches!(self, Self::Cloud { errors, .. } if errors.iter().any(|error| error.class == Class::NotLeader))
    }

    pub(super) fn stable_text(&self) -> String {
        match self {
            Self::Cloud { errors, others } => {
                errors.iter().map(Error::stable_text).chain(others.iter().cloned()).collect::<Vec<_>>().join("; ")
            }
            other => other.to_string(),
        }
    }
}
