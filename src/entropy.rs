//! Randomness, handed to whatever needs jitter, a nonce or an id.
//!
//! One seeded source makes a whole simulated run repeatable. Parts that run side by side
//! take a [`Entropy::fork`] each, so that what one draws does not depend on when another
//! draws.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A shared source of random values. Clones draw from the same stream.
#[derive(Clone, Debug)]
pub struct Entropy(Arc<Mutex<ChaCha8Rng>>);

// === impl Entropy ===

impl Entropy {
    /// Seeded by the operating system.
    pub fn system() -> Self {
        Self(Arc::new(Mutex::new(ChaCha8Rng::from_seed(rand::random()))))
    }

    /// The same seed gives the same stream on every machine.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))))
    }

    /// An independent stream, derived from this one.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::seeded(self.0.lock().next_u64())
    }

    /// A random version 4 UUID in lower case.
    pub fn uuid(&self) -> String {
        let mut b = [0u8; 16];
        self.0.lock().fill_bytes(&mut b);
        b[6] = (b[6] & 0x0f) | 0x40;
        b[8] = (b[8] & 0x3f) | 0x80;
        let n = u128::from_be_bytes(b);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            n >> 96,
            (n >> 80) & 0xffff,
            (n >> 64) & 0xffff,
            (n >> 48) & 0xffff,
            n & 0xffff_ffff_ffff
        )
    }

    /// A uniform value in `[0, 1)`.
    pub fn fraction(&self) -> f64 {
        self.0.lock().random::<f64>()
    }

    /// A uniform value in `[0, bound)`; 0 for an empty range.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.lock().random_range(0..bound) }
    }

    /// A uniform duration in `[duration / 2, duration]`, for retry delays.
    pub fn jitter(&self, duration: Duration) -> Duration {
        duration.mul_f64(0.5 + self.fraction() / 2.0)
    }

    /// `length` random characters of `0-9a-z`, as cloud ids use them.
    pub fn alphanumeric(&self, length: usize) -> String {
        const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut rng = self.0.lock();
        (0..length).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_values() {
        let (a, b) = (Entropy::seeded(7), Entropy::seeded(7));
        assert_eq!(a.uuid(), b.uuid());
        assert_eq!(a.fork().alphanumeric(20), b.fork().alphanumeric(20));
        assert_ne!(a.uuid(), Entropy::seeded(8).uuid());
    }

    #[test]
    fn jitter_keeps_at_least_half() {
        let entropy = Entropy::seeded(1);
        for _ in 0..100 {
            let jittered = entropy.jitter(Duration::from_secs(10));
            assert!(jittered >= Duration::from_secs(5) && jittered <= Duration::from_secs(10));
        }
    }
}
