//! Trees of files: measuring them, and taking them away, whatever a command left in them.

mod measure;
mod remove;

pub use measure::{Measure, measure_tree};
pub use remove::{RemoveError, remove_tree};
