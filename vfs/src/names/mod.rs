//! The walk of names: which names of a tree do deny patterns hide?
//!
//! The kernel knows no patterns of names, so patterns that match at any depth need every name of
//! a tree. The walk reads names and their kinds, nothing else; a cache of what each directory
//! held makes the next walk one call a directory.

mod cache;
mod format;
mod list;
mod options;
pub(crate) mod pool;
mod walk;
mod walked;

pub use cache::WalkCache;
pub(crate) use list::VENDORED;
pub use list::is_looked_into;
pub use options::{Borders, NameRules, Vendored, WalkOptions};
pub use walk::{ERRORS_MAX, walk, walk_again};
pub use walked::{HiddenName, WalkError, Walked};

#[cfg(test)]
mod tests;
