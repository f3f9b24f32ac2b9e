//! Repositories in other people's code (`node_modules`, `vendor`). Nobody knows which of them were there when the run
//! began; an index may name one, or a command to come may, and git enters it by itself then, as `git status` does.

use std::path::Path;

use endow_vfs::fs::Kind;
use endow_vfs::git_dir;
use endow_vfs::names::vendored_above;

use super::Tree;

/// Whether a path lies below other people's code.
pub(super) fn is_vendored(path: &Path) -> bool {
    vendored_above(path).is_some()
}

impl Tree {
    /// Whether what is at a path there was at it when the run began: it was looked at by an earlier run then, or is the user's.
    ///
    /// No name below the outermost `.git` was changed or moved. That itself is changed by each command of git's; it was not
    /// put there where the directory that it is in stayed as it was.
    pub(super) fn is_untouched(&self, path: &Path) -> bool {
        let depth = path.iter().position(|name| name == ".git").unwrap_or(0);
        let length = |path: &Path| path.iter().count();
        let mut below = path.ancestors().take_while(|above| length(above) > depth + 1);
        let Some(git) = path.ancestors().find(|above| length(above) == depth + 1) else {
            return false;
        };
        let is_same = || self.left.is_same(self.held.root(), git);
        let is_in_place = || {
            git != path && (git.parent().is_some_and(|above| self.is_as_old(above)) || is_same())
        };
        below.all(|path| self.is_as_old(path)) && (self.is_as_old(git) || is_in_place())
    }

    /// Whether a `.git` leads elsewhere, which is no directory.
    pub(super) fn leads(&self, path: &Path) -> bool {
        git_dir::is_file(path) && self.kind(path) != Some(Kind::Directory)
    }

    /// Whether what is below other people's code was not moved there, nor a directory that it is in.
    pub(super) fn has_stood(&self, path: &Path) -> bool {
        let Some(top) = vendored_above(path) else { return false };
        let is_below = |above: &&Path| above.starts_with(top) && *above != top;
        path.ancestors().take_while(is_below).all(|above| self.is_as_old(above))
    }
}
