//! Linked work trees: what a repository keeps of one is no use without the file by which it leads there, and git
//! removes it then (git-worktree(1), `prune`).

use std::path::Path;

use super::GitTraps;
use super::git::is;
use crate::fs::Kind;

/// Where a repository keeps them.
const WORKTREES: &str = "worktrees";
/// What leads to the work tree.
const GITDIR: &str = "gitdir";

impl GitTraps<'_> {
    /// Whether a directory is what a repository has to keep of a new work tree, which is held as a whole: the file
    /// that leads there is.
    pub(super) fn is_new_linked(&self, path: &Path, kind: Kind) -> bool {
        let above = path.parent();
        let is_place = above.is_some_and(|above| {
            above.file_name().is_some_and(|name| is(name, WORKTREES))
                && above.parent().is_some_and(|git_dir| self.may_become(git_dir))
        });
        let sides = self.sides();
        let is_new = || sides.has(path, GITDIR) && !sides.tree_has(path, GITDIR);
        kind == Kind::Directory && is_place && is_new()
    }
}
