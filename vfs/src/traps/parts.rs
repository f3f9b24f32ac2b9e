//! What tells that a directory was one of git's before a command took its `HEAD` away: whoever puts that back has the
//! repository again, with all that was written there meanwhile.

use std::path::Path;

use super::Sides;
use super::sides::is_absent;
use crate::git_config;
use crate::git_dir::WORKTREES;

const HEAD: &str = "HEAD";
const CONFIG: &str = "config";

impl Sides<'_> {
    /// Returns whether a directory is one of git's as far as a `HEAD` tells, or was one.
    pub(super) fn may_be_git_dir(&self, path: &Path) -> bool {
        self.has(path, HEAD) || self.was_git_dir(path)
    }

    /// Returns whether a directory has two of those things that git makes in its own: directories of objects and of
    /// references, or either of them, or work trees, beside settings of a repository.
    pub(super) fn was_git_dir(&self, path: &Path) -> bool {
        let [objects, references] = ["objects", "refs"].map(|name| self.has_kind(path, name, true));
        objects && references
            || (objects || references || self.has_kind(path, WORKTREES, true))
                && self.has_kind(path, CONFIG, false)
                && self.has_settings(path)
    }

    /// Whether either side has settings as `git init` writes them, or ones that can't be read.
    fn has_settings(&self, path: &Path) -> bool {
        [self, &self.tree_alone()].iter().any(|side| match side.open_file(&path.join(CONFIG)) {
            Ok(file) => git_config::read(&file).is_none_or(|it| git_config::says_repository(&it)),
            Err(errno) => !is_absent(errno),
        })
    }
}
