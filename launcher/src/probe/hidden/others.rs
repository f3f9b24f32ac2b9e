//! Other runs, whose commands may move what is looked at.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_vfs::fs::{Errno, FileId, Fs, OsFs};
use endow_vfs::state::live_roots;
use rustix::fs::CWD;

/// Whether a run of this user's is going on whose command changes a directory at once that is in a tree, or that the tree
/// is in. One whose state can't be looked at counts.
pub(super) fn may_move(runs: &Path, tree: &Path) -> bool {
    let opened = runs.canonicalize().map_err(|error| error.kind());
    let runs = match opened.map(|runs| OsFs.open_canonical(&runs)) {
        Err(ErrorKind::NotFound) => return false,
        Ok(Ok(runs)) => runs,
        Err(_) | Ok(Err(_)) => return true,
    };
    let listed = OsFs.open_dir(runs.as_fd(), OsStr::new("."));
    let Ok(names) = listed.and_then(|it| OsFs.list(it.as_fd(), usize::MAX)) else { return true };
    let is_one = |name: &OsStr| match OsFs.open_dir(runs.as_fd(), name) {
        Ok(run) => is_going_on(run.as_fd()) && changes(run.as_fd(), tree),
        // It has ended meanwhile, or is none.
        Err(errno) => !matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
    };
    // One that is being made has no command yet, and nobody may be in the way of its lock.
    let mut made = names.iter().filter(|entry| !entry.name.as_bytes().starts_with(b"."));
    made.any(|entry| is_one(&entry.name))
}

fn is_going_on(run: BorrowedFd<'_>) -> bool {
    OsFs.lock_shared(run) == Err(Errno::WOULDBLOCK)
}

/// Whether a run notes that it changes a directory which has something in common with a tree. One that has noted nothing
/// has not started its command.
fn changes(run: BorrowedFd<'_>, tree: &Path) -> bool {
    live_roots(&OsFs, run).map_or(true, |roots| roots.iter().any(|root| overlap(root, tree)))
}

/// By what the directories are: a path may lead through a mount to the same.
fn overlap(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| OsFs.status(CWD, path.as_os_str()).map(|status| status.id);
    let way = |path: &Path| -> BTreeSet<FileId> {
        path.ancestors().filter_map(|above| id(above).ok()).collect()
    };
    let (Ok(top), Ok(tree)) = (id(one), id(other)) else { return true };
    way(one).contains(&tree) || way(other).contains(&top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_overlap_where_one_is_in_the_other() {
        let top = tempfile::tempdir().expect("a directory");
        let at = |name: &str| top.path().join(name);
        for name in ["a/b", "a/c"] {
            std::fs::create_dir_all(at(name)).expect("made");
        }
        for (one, other, expected) in [
            ("a", "a", true),
            ("a", "a/b", true),
            ("a/b", "a", true),
            ("a/b", "a/c", false),
            ("a/b", "gone", true),
        ] {
            assert_eq!(overlap(&at(one), &at(other)), expected, "{one} {other}");
        }
    }
}
