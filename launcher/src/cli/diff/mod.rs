//! Differences as git writes them: patches that `git apply` takes, counts, quoted names.

mod binary;
mod blob;
pub(crate) mod change;
mod history;
mod hunks;
mod in_git;
mod patch;
mod quote;
mod stat;
pub(crate) mod trees;

pub(crate) use blob::{Blob, Content, Pair, exported, read};
pub(crate) use history::fold;
pub(crate) use patch::{Look, is_git_s_own, patch};
pub(crate) use quote::quoted;
pub(crate) use stat::{Counted, count, table};
