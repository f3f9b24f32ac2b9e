//! Trees of files: measuring them, copying and pruning layers, and taking trees away, whatever a command left
//! in them.

mod copy;
mod drop;
mod measure;
mod prune;
mod remove;

pub use copy::{CopyError, copy_layer, copy_tree};
pub use drop::{DropError, drop_paths};
pub use measure::{Measure, measure_tree};
pub use prune::{Needed, prune_layer};
pub use remove::{RemoveError, remove_tree};
