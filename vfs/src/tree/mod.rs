//! Trees of files: taking them away, whatever a command left in them.

mod remove;

pub use remove::{RemoveError, remove_tree};
