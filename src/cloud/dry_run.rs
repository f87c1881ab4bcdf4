//! Changes are recorded and never sent.
//!
//! Each recorded change answers as if it had worked, with placeholder ids, so that a whole
//! plan becomes visible and not only its first step.

use std::sync::Arc;

use parking_lot::Mutex;

use super::guard::{Change, Guard, Verdict};

/// Records what would have been changed. Clones share the record.
#[derive(Clone, Default)]
pub struct DryRun(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    changes: Vec<Change>,
    judged: usize,
}

// === impl DryRun ===

impl DryRun {
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything recorded so far, in order. What was asked for again is there once.
    pub fn changes(&self) -> Vec<Change> {
        self.0.lock().changes.clone()
    }
}

impl Guard for DryRun {
    fn judge(&self, changes: &[Change]) -> Verdict {
        let mut record = self.0.lock();
        record.judged += 1;
        for change in changes {
            if !record.changes.contains(change) {
                tracing::info!(%change, "dry run: would {change}");
                record.changes.push(change.clone());
            }
        }
        Verdict::Pretend(record.judged)
    }
}
