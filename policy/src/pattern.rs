//! Patterns of paths, matched from the root of a mount.

use serde::Serialize;

use crate::Origin;

/// One pattern as written, with its origin. A leading `!` re-admits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternRule {
    /// The text as written.
    pub pattern: String,
    /// Who wrote it.
    pub origin: Origin,
}
