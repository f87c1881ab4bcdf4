//! Refusals of the right to see something, which may pass, or may be for good.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::cloud::{Class, Error};

/// So many in a row are believed.
const BELIEVED: u32 = 3;

/// How often in a row a look was refused.
#[derive(Debug, Default)]
pub struct Refusals(AtomicU32);

// === impl Refusals ===

impl Refusals {
    /// Counts a look, or starts anew if it was not refused.
    pub fn note<T>(&self, looked: &Result<T, Error>) {
        match looked {
            Err(error) if error.class == Class::Denied => drop(self.0.fetch_add(1, Ordering::Relaxed)),
            _ => self.0.store(0, Ordering::Relaxed),
        }
    }

    /// Whether the account may not look, and so has made nothing of the kind.
    pub fn are_for_good(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= BELIEVED
    }
}
