//! The one error that crosses the seam.
//!
//! It is classified once, where the cloud's answer is read, and keeps what the cloud said
//! (code, message, request id) up to the event that a user reads. Controllers decide by
//! [`Class`] alone.

use std::{fmt, time::Duration};

/// Why a call failed, as far as it decides what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The rate limit was hit; try again after the time asked for, if any. Nothing was changed.
    Throttled,
    /// The cloud was not reached or answered with a server error, and nothing was changed.
    Transient,
    /// The object is being changed right now; try again shortly. Nothing was changed.
    Busy,
    /// The object does not exist.
    NotFound,
    /// The credentials do not allow it. Retrying soon does not help.
    Denied,
    /// The request itself is wrong. Retrying does not help until it changes.
    Invalid,
    /// A quota is used up or the account is in arrears.
    Quota,
    /// The connection broke or timed out after the request may have arrived: it may or may not
    /// have taken effect. Look before repeating.
    Unknown,
    /// The answer could not be understood.
    Malformed,
    /// This process no longer holds the leader lease and may not change anything.
    NotLeader,
}

/// A failed cloud call: what was attempted on which object, and what the cloud answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What to do about it.
    pub class: Class,
    /// The API action, such as `CreateLoadBalancer`.
    pub action: String,
    /// What the action was about, such as `lb-bp1…` or `12 instances in cn-hangzhou`; may be empty.
    pub subject: String,
    /// The cloud's error code, empty if it gave none.
    pub code: String,
    /// The cloud's message, or what went wrong on the way.
    pub message: String,
    /// The cloud's request id, empty if it gave none.
    pub request_id: String,
    /// How long the cloud asked to wait.
    pub retry_after: Option<Duration>,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.action)?;
        if !self.subject.is_empty() {
            write!(f, " on {}", self.subject)?;
        }
        write!(f, ": {}", self.message)?;
        match (self.code.is_empty(), self.request_id.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => write!(f, " (code {})", self.code),
            (true, false) => write!(f, " (request id {})", self.request_id),
            (false, false) => write!(f, " (code {}, request id {})", self.code, self.request_id),
        }
    }
}

impl Error {
    /// An error that did not come from the cloud's own answer.
    pub fn new(
        class: Class,
        action: impl Into<String>,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            class,
            action: action.into(),
            subject: subject.into(),
            code: String::new(),
            message: message.into(),
            request_id: String::new(),
            retry_after: None,
        }
    }

    /// Whether the same call may succeed later without anyone changing anything.
    pub fn is_retryable(&self) -> bool {
        matches!(self.class, Class::Throttled | Class::Transient | Class::Busy | Class::Unknown | Class::Malformed)
    }

    /// The text without the request id, for messages that are compared with one another.
    pub fn stable_text(&self) -> String {
        let mut stable = self.clone();
        stable.request_id.clear();
        stable.to_string()
    }
}

impl Class {
    /// A short lower-case word, for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::Transient => "transient",
            Self::Busy => "busy",
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Quota => "quota",
            Self::Unknown => "unknown",
            Self::Malformed => "malformed",
            Self::NotLeader => "not_leader",
        }
    }
}
