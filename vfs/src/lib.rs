//! What stands where: the file trees behind the mounts of a sandbox, what of them is shown, kept and written back.
//!
//! [`mount_table::MountTable`] and [`mask::MaskPlan`] are pure values. What touches the disk goes through
//! [`fs::Fs`], whose calls name things below a descriptor and never follow a link, so that a tree
//! a hostile command left behind can be walked, masked, copied and removed.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod action;
pub mod cas;
pub mod foreign;
pub mod fs;
pub mod git_blob;
pub mod git_config;
pub mod git_dir;
pub mod git_index;
pub mod git_object;
pub mod git_tree;
pub mod held;
pub mod hex;
pub mod inputs;
pub mod json_path;
pub mod layer;
pub mod mask;
pub mod materialize;
pub mod mount_table;
pub mod names;
pub mod opening;
mod path_list;
pub mod private;
pub mod snapshot;
pub mod state;
pub mod sync;
pub mod traps;
pub mod tree;
pub mod trees;
pub mod versions;
pub mod working_copy;

#[cfg(test)]
mod testing;
