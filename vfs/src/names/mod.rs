//! The walk of names: which names of a tree do deny patterns hide?
//!
//! The kernel knows no patterns of names, so patterns that match at any depth need every name of
//! a tree. The walk reads names and their kinds, nothing else; a cache of what each directory
//! held makes the next walk one call a directory.

mod borders;
mod cache;
mod format;
mod list;
mod options;
pub(crate) mod pool;
mod vendored;
mod walk;
mod walked;

pub(crate) use borders::is_the_kernels;
pub use cache::WalkCache;
pub use options::{Foreign, NameRules, WalkOptions};
pub(crate) use vendored::VENDORED;
pub use vendored::{is_looked_into, vendored_above};
pub use walk::{ERRORS_MAX, walk, walk_again, walk_at_rest};
pub use walked::{HiddenName, WalkError, Walked};

#[cfg(test)]
mod tests;
