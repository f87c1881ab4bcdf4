//! Changes pass only while this process is known to lead.
//!
//! A leader that was stopped and woken again may believe in a lease that another replica holds
//! by now. So each change first asks whether the lease was renewed recently enough.

use std::sync::Arc;

use super::{
    Class, Error,
    guard::{Change, Guard, Verdict},
};

/// Tells whether this process may write at this moment.
pub type MayWrite = Arc<dyn Fn() -> bool + Send + Sync>;

/// Sends changes only while `may_write` says so.
pub struct Fence(MayWrite);

// === impl Fence ===

impl Fence {
    pub fn new(may_write: MayWrite) -> Self {
        Self(may_write)
    }
}

impl Guard for Fence {
    fn judge(&self, changes: &[Change]) -> Verdict {
        if (self.0)() {
            return Verdict::Send;
        }
        let first = changes.first().map_or_else(String::new, ToString::to_string);
        let reason = "not sent: this replica does not hold the leader lease any more";
        Verdict::Refuse(Error::new(Class::NotLeader, first, "", reason))
    }
}
