//! How long finished runs are kept.

use serde::Serialize;

/// What `endow gc` leaves of runs that were written back. Changes that were not are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StateRules {
    /// The most runs.
    pub runs: u64,
    /// The most days.
    pub days: u64,
    /// The most bytes of all together.
    pub size_bytes: u64,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { runs: 20, days: 14, size_bytes: 5 << 30 }
    }
}
