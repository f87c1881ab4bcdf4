//! What was called: a bounded log of calls and unbounded counters.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

use super::Caller;

/// One API call as the cloud saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// `slb`, `ecs`, `vpc`, `nlb`, `sts`; empty when the request named no known version.
    pub product: String,
    /// The action's name as it was sent.
    pub action: String,
    /// Business parameters. System parameters and secrets are left out.
    pub params: BTreeMap<String, String>,
    /// Who called; an empty access key for unsigned or refused signatures.
    pub caller: Caller,
    /// The caller's `User-Agent`.
    pub user_agent: String,
    /// HTTP status of the answer; 0 when the connection was cut.
    pub status: u16,
    /// The error code, absent for success.
    pub code: Option<String>,
    /// Whether the call changed anything.
    pub changed: bool,
    /// The id in the answer.
    pub request_id: String,
    /// When the call took effect.
    pub at: Timestamp,
}

/// The most actions that are counted apart; names that callers make up cannot fill the memory.
const NAMES: usize = 1_000;

/// The calls so far.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    capacity: usize,
    calls: VecDeque<Call>,
    counts: BTreeMap<String, u64>,
}

// === impl Call ===

impl Call {
    /// `slb.CreateLoadBalancer`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.product, self.action)
    }

    /// Whether the action reads only, judged by its name as the products form them.
    pub fn is_read(&self) -> bool {
        ["Describe", "List", "Get", "Check"].iter().any(|verb| self.action.starts_with(verb))
    }
}

// === impl CallLog ===

impl CallLog {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, ..Self::default() }
    }

    pub(crate) fn push(&mut self, call: Call) {
        let name = call.name();
        let known = self.counts.len() < NAMES || self.counts.contains_key(&name);
        *self.counts.entry(if known { name } else { "other".to_owned() }).or_default() += 1;
        if self.calls.len() >= self.capacity {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.iter().cloned().collect()
    }

    pub(crate) fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Forgets the calls and starts the counters again.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.counts.clear();
    }
}
