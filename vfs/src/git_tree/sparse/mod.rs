//! Which paths of a tree are selected: the patterns of git's sparse-checkout, not in its cone mode
//! (git-sparse-checkout(1)). A directory is there when something in it is selected.

mod class;
mod glob;
mod select;
mod walk;

pub use select::Sparse;
pub(super) use walk::snapshot;
