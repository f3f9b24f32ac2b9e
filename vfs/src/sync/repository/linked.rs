//! Linked work trees: where they stand is apart from where the repository does, and the host may have moved on there.

use std::path::Path;

use super::is_state;
use crate::git_dir::WORKTREES;
use crate::sync::{Change, ChangeKind, ChangeSet};

/// Returns whether the run changed nothing else of where a repository stands; what both sides changed is looked for
/// before.
pub(super) fn are_all(set: &ChangeSet, git_dir: &Path) -> bool {
    let mut state = set.below(git_dir).iter().filter(|change| is_state(change, git_dir));
    state.all(|change| is_of_linked(change, git_dir))
}

fn is_of_linked(change: &Change, git_dir: &Path) -> bool {
    let Ok(below) = change.path.strip_prefix(git_dir) else { return false };
    let is_new = change.kind == ChangeKind::Created && change.host.is_none();
    below.starts_with(WORKTREES) && (is_new || below.iter().nth(2).is_some())
}
