//! What git would follow or run outside: names that are no matter of patterns, since any directory can
//! be a repository, and any `.git` can lead to one.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use endow_vfs::fs::{Fs, Kind, Open, OsFs, Special};

use super::Target;

/// Files by which a repository is steered, or leads to another (gitrepository-layout(5)).
const STEERING: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// Directories whose content git runs, now or when work in progress goes on.
const RUN: [&str; 4] = ["hooks", "rebase-apply", "rebase-merge", "sequencer"];

/// Looks at both sides of a mount.
pub(super) struct GitTraps<'a> {
    sides: Vec<BorrowedFd<'a>>,
}

impl<'a> GitTraps<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        let upper = target.upper.as_ref().map(AsFd::as_fd);
        Self { sides: upper.into_iter().chain([target.root.as_fd()]).collect() }
    }

    /// Returns why a changed entry is held; `None` for what git takes as data.
    pub(super) fn held(&self, path: &Path, kind: Kind) -> Option<&'static str> {
        let name = path.file_name()?;
        if is(name, ".git") && kind != Kind::Directory {
            return Some("a `.git` that leads elsewhere");
        }
        let steers = STEERING.iter().any(|it| is(name, it));
        if steers && path.parent().is_some_and(|above| self.is_git_dir(above)) {
            return Some("what steers a repository");
        }
        let run = path.ancestors().filter(|it| it.file_name().is_some_and(is_run));
        let mut homes = run.filter_map(Path::parent);
        homes.any(|home| self.is_git_dir(home)).then_some("what a repository runs")
    }

    /// A directory below a `.git`, or one with the parts of a repository.
    fn is_git_dir(&self, path: &Path) -> bool {
        let named = path.components().any(|it| is(it.as_os_str(), ".git"));
        named
            || self.has(path, "HEAD")
                && ["objects", "refs", "commondir"].iter().any(|it| self.has(path, it))
    }

    fn has(&self, above: &Path, name: &str) -> bool {
        let has = |side: &BorrowedFd<'_>| {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let dir = OsFs.open_below(*side, above, Open::Handle).ok()?;
            let node = OsFs.node(dir.as_fd(), OsStr::new(name)).ok()?;
            (node.special != Some(Special::Whiteout)).then_some(())
        };
        self.sides.iter().any(|side| has(side).is_some())
    }
}

fn is_run(name: &OsStr) -> bool {
    RUN.iter().any(|it| is(name, it))
}

/// Some file systems take names of any case for one.
fn is(name: &OsStr, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}
