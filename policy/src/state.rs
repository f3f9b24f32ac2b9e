//! How long finished runs are kept, and how much of the cache.

use serde::Serialize;

use crate::{StateTable, Stated};

/// What is left of runs that were written back. Changes that were not are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StateRules {
    /// The most runs.
    pub runs: u64,
    /// The most days.
    pub days: u64,
    /// The most bytes of all together.
    pub size_bytes: u64,
    /// The most bytes of the trees in the cache, and as many of the content-addressed store.
    pub cache_bytes: u64,
}

impl Default for StateRules {
    fn default() -> Self {
        Self { runs: 20, days: 14, size_bytes: 5 << 30, cache_bytes: 10 << 30 }
    }
}

impl From<&StateTable> for StateRules {
    /// Takes what is said, and the default where nothing is.
    fn from(table: &StateTable) -> Self {
        let value = |said: &Option<Stated<u64>>| said.as_ref().map(|said| said.value);
        let usual = Self::default();
        Self {
            runs: value(&table.runs).unwrap_or(usual.runs),
            days: value(&table.days).unwrap_or(usual.days),
            size_bytes: value(&table.size).unwrap_or(usual.size_bytes),
            cache_bytes: value(&table.cache).unwrap_or(usual.cache_bytes),
        }
    }
}
