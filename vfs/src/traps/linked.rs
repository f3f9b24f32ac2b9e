//! Linked work trees: what a repository keeps of one is no use without the file by which it leads there, and git
//! removes it then (git-worktree(1), `prune`).

use std::path::Path;

use super::GitTraps;
use super::git::is;
use crate::fs::Kind;
use crate::git_config;
use crate::git_dir::WORKTREES;

/// What leads to the work tree.
const GITDIR: &str = "gitdir";
/// What leads to the repository.
const COMMONDIR: &str = "commondir";

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

    /// Whether what is held below a directory comes along where the user asked for that: of a linked work tree only what
    /// leads there and back, as git writes it.
    pub fn comes_along(&self, directory: &Path, path: &Path) -> bool {
        if !self.is_new_linked(directory, Kind::Directory) {
            return true;
        }
        let is_one = |known| path.file_name().is_some_and(|name| is(name, known));
        let opened = self.sides().open_file(path).ok();
        let text = opened.and_then(|file| git_config::read(&file)).unwrap_or_default();
        let line = text.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n'));
        path.parent() == Some(directory)
            && line.is_some_and(|line| {
                is_one(GITDIR) && line.ends_with(b"/.git") || is_one(COMMONDIR) && line == b"../.."
            })
    }
}
