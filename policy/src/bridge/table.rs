//! The table `[bridges]`, as one source says it.

use crate::Stated;

/// The table `[bridges]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgesTable {
    /// The bridges; `!X` takes X back. Each is a word that [`Bridge`](crate::Bridge) reads.
    pub open: Vec<Stated<String>>,
}
