//! Chance, from one seed.

use ccm::entropy::Entropy;

/// Throws of one seed.
pub struct Dice(Entropy);

// === impl Dice ===

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Not the stream that the simulators draw from.
        Self(Entropy::seeded(seed ^ 0x5eed))
    }

    /// 0 up to, but not including, `bound`.
    pub fn below(&self, bound: usize) -> usize {
        usize::try_from(self.0.below(bound.try_into().unwrap())).unwrap()
    }

    /// True in so many of a hundred throws.
    pub fn chance(&self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { all.get(self.below(all.len())) }
    }

    pub fn choose<T: Copy>(&self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
