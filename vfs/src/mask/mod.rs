//! Mask layers: what stands above a host directory in an overlay to hide names of it.
//!
//! `lowerdir=mask:real` with a whiteout for each hidden name: the name is absent, not listed, and
//! stays so when the host replaces the file, which no mount over it would. The mount needs
//! `userxattr` where the mask has opaque directories.

mod apply;
mod plan;

pub use apply::{MaskApplyError, apply};
pub use plan::{MaskError, MaskPlan, MaskStep, PointKind};

#[cfg(test)]
mod tests;
