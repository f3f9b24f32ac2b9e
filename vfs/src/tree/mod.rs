//! Trees of files: measuring them, copying layers, and taking trees away, whatever a command left
//! in them.

mod copy;
mod measure;
mod remove;

pub use copy::{CopyError, copy_layer};
pub use measure::{Measure, measure_tree};
pub use remove::{RemoveError, remove_tree};
