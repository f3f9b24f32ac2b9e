//! Which faults are tried: others each time, and the same for the same seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seed: `ENDOW_TEST_SEED`, or another one each time.
pub(super) fn seed() -> u64 {
    let asked = std::env::var("ENDOW_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    asked.unwrap_or_else(|| u64::from(now().subsec_nanos()))
}

/// Numbers that look random (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bound = u64::try_from(bound).expect("small");
        usize::try_from((self.0 >> 11) % bound).expect("small")
    }

    /// Puts them into another order.
    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }
}
