//! Faults that the cloud shows on demand.
//!
//! A fault is chosen once, when a call arrives, and applied in the gateway; no action knows
//! of faults.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::Failure;
use crate::entropy::Entropy;

/// What goes wrong, and for which calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Only calls of this product, for example `slb`.
    #[serde(default)]
    pub product: Option<String>,
    /// Only calls of this action, for example `CreateLoadBalancer`.
    #[serde(default)]
    pub action: Option<String>,
    /// The number of matching calls to let pass first.
    #[serde(default)]
    pub skip: u32,
    /// The number of calls to spoil after that; absent means all.
    #[serde(default)]
    pub times: Option<u32>,
    /// The share of matching calls to spoil; absent means each.
    #[serde(default)]
    pub probability: Option<f64>,
    /// What happens to a spoiled call.
    pub kind: Kind,
}

/// What happens to a spoiled call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// Refused by flow control, with or without a hint how long to wait.
    Throttle {
        /// Sent as `x-acs-retry-after`, in milliseconds.
        #[serde(default, with = "jiff::fmt::serde::unsigned_duration::friendly::compact::optional")]
        retry_after: Option<Duration>,
    },
    /// Refused with this status and code.
    Error {
        /// HTTP status; 0 or absent for the one that the contract documents for the code.
        #[serde(default)]
        status: u16,
        /// Error code.
        code: String,
        /// Message text.
        #[serde(default)]
        message: String,
    },
    /// The connection breaks before the call takes effect.
    DropBefore,
    /// The call takes effect and its answer is lost.
    DropAfter,
    /// The call waits before it takes effect.
    Slow(#[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")] Duration),
    /// The answer breaks off in the middle of its JSON text.
    TruncatedJson,
    /// Lists in the answer are empty and totals 0, as a caller without rights may see.
    EmptyList,
    /// This page's elements are lost while totals and the next page's token stay.
    MissingPage,
    /// Answered by another region, which knows nothing of what is here.
    OtherRegion,
    /// Refused for lack of rights.
    Denied,
    /// The call is accepted, and the job that it begins fails: nothing of it becomes true. One without a job is not
    /// spoiled.
    FailedJob,
}

/// The faults that wait for a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

// === impl Fault ===

impl Fault {
    /// Spoils every call of an action, given as `slb.CreateLoadBalancer`, of a product,
    /// given as `slb`, or every call, given as `*`. An item of the metadata server is
    /// `metadata.region-id`.
    pub fn on(target: &str, kind: Kind) -> Self {
        let (product, action) = match target.split_once('.') {
            Some((product, action)) => (Some(product.to_owned()), Some(action.to_owned())),
            None if target == "*" => (None, None),
            None => (Some(target.to_owned()), None),
        };
        Self { product, action, skip: 0, times: None, probability: None, kind }
    }

    /// Lets the first `calls` matching calls pass.
    #[must_use]
    pub fn after(self, calls: u32) -> Self {
        Self { skip: calls, ..self }
    }

    /// Spoils so many calls and no more.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Spoils one call.
    #[must_use]
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Spoils that share of the calls.
    #[must_use]
    pub fn with_probability(self, probability: f64) -> Self {
        Self { probability: Some(probability), ..self }
    }

    fn matches(&self, product: &str, action: &str) -> bool {
        self.times != Some(0)
            && self.product.as_ref().is_none_or(|wanted| wanted == product)
            && self.action.as_ref().is_none_or(|wanted| wanted == action)
    }
}

// === impl Kind ===

impl Kind {
    /// The refusal that this fault amounts to, if it is one.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        match self {
            Self::Throttle { retry_after } => Some(Failure {
                retry_after: *retry_after,
                ..Failure::bad("Throttling.User", "Request was denied due to user flow control.")
            }),
            Self::Error { status, code, message } => Some(Failure::new(*status, code, message.clone())),
            Self::Denied => Some(Failure::new(
                403,
                "Forbidden.RAM",
                "User not authorized to operate on the specified resource, or this API doesn't support RAM.",
            )),
            _ => None,
        }
    }

    /// Changes a good answer as the fault says.
    pub(crate) fn spoil(&self, reply: &mut Value) {
        let keep_totals = match self {
            Self::EmptyList => false,
            Self::MissingPage => true,
            _ => return,
        };
        let Value::Object(fields) = reply else { return };
        for (name, value) in fields.iter_mut() {
            match value {
                Value::Array(elements) => elements.clear(),
                Value::Object(wrapper) => wrapper.values_mut().filter_map(Value::as_array_mut).for_each(Vec::clear),
                Value::Number(total) if name == "TotalCount" && !keep_totals => *total = 0.into(),
                _ => {}
            }
        }
        if !keep_totals {
            fields.remove("NextToken");
        }
    }
}

// === impl Faults ===

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn list(&self) -> &[Fault] {
        &self.0
    }

    /// The fault for a call that just arrived; the first one that matches counts.
    pub(crate) fn pick(&mut self, product: &str, action: &str, entropy: &Entropy) -> Option<Kind> {
        for fault in self.0.iter_mut().filter(|fault| fault.matches(product, action)) {
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            if fault.probability.is_some_and(|probability| entropy.fraction() >= probability) {
                continue;
            }
            fault.times = fault.times.map(|times| times - 1);
            let kind = fault.kind.clone();
            self.0.retain(|fault| fault.times != Some(0));
            return Some(kind);
        }
        None
    }
}
