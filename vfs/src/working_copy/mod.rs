//! A git tree that a command may change: what stands in its `.git` at the start, and what its
//! changes are as objects of the repository afterwards.
//!
//! The command has a git directory of its own, whose objects it borrows from the host's repository.
//! Nothing that it wrote there is believed afterwards: no setting of it is used, every object is
//! checked against its name, every tree against the names that may stand in one, and what the
//! host's repository has is never written again.
//!
//! `start` makes the files of the git directory, `index` the index that fits the tree. `capture`
//! reads layer and git directory when the last process is gone, and stages objects; `land` puts
//! these into the host's repository and lets one reference name them.

mod capture;
mod commit;
mod diff;
mod edit;
mod error;
mod export;
mod guest;
mod ignore;
mod import;
mod index;
mod land;
mod objects;
mod order;
mod reference;
mod start;
mod trees;
mod verify;
mod whole;
mod work_tree;

pub use capture::RefusedPath;
pub use capture::{Captured, ChangedKind, ChangedPath, Source, Taken, capture};
pub use error::CopyError;
pub use export::export;
pub use index::write_index;
pub use land::{LandError, descends, land_objects};
pub use reference::{Landed, put_reference, reference, take_reference};
pub use start::{BORROWED, REFERENCES, Start, make, packed};
pub use whole::is_whole;

#[cfg(test)]
mod tests;
