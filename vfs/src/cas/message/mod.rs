//! Directories and trees as messages of the Remote Execution API.
//!
//! A message from elsewhere becomes a [`Listing`], in which all names and digests are checked.
//! Only the canonical form is taken, since otherwise one directory would have many digests.

mod error;
mod listing;
mod record;
#[cfg(test)]
mod tests;
mod tree;
pub mod wire;

pub use error::MessageError;
pub use listing::{ListedDirectory, ListedFile, ListedSymlink, Listing};
pub use tree::TreeMessage;
