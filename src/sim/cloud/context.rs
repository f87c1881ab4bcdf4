//! What an action may see of the call it serves.

use std::time::Duration;

use jiff::Timestamp;

use super::{Caller, Options, params::Params};
use crate::entropy::Entropy;

/// One call in progress.
pub(crate) struct Context<'a> {
    pub(crate) action: &'a str,
    pub(crate) params: &'a Params,
    pub(crate) region: &'a str,
    pub(crate) caller: &'a Caller,
    pub(crate) now: Timestamp,
    pub(crate) options: &'a Options,
    pub(crate) entropy: &'a Entropy,
    changed: bool,
}

// === impl Context ===

impl<'a> Context<'a> {
    pub(crate) fn new(
        action: &'a str,
        params: &'a Params,
        region: &'a str,
        caller: &'a Caller,
        now: Timestamp,
        options: &'a Options,
        entropy: &'a Entropy,
    ) -> Self {
        Self { action, params, region, caller, now, options, entropy, changed: false }
    }

    /// Notes that the call changes the cloud.
    pub(crate) fn change(&mut self) {
        self.changed = true;
    }

    pub(crate) fn changed(&self) -> bool {
        self.changed
    }

    /// Stores a value, and notes the change if it is another one than before.
    pub(crate) fn set<T: PartialEq>(&mut self, slot: &mut T, value: T) {
        if *slot != value {
            *slot = value;
            self.changed = true;
        }
    }

    /// A new resource id, such as `lb-bp1` and 17 random characters.
    pub(crate) fn id(&self, prefix: &str) -> String {
        new_id(self.entropy, prefix)
    }

    /// The time after one of the configured delays.
    pub(crate) fn after(&self, delay: Duration) -> Timestamp {
        self.now + delay
    }
}

pub(crate) fn new_id(entropy: &Entropy, prefix: &str) -> String {
    format!("{prefix}{}", entropy.alphanumeric(17))
}
